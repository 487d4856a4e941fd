"""The shapes of what discovery answers."""

from __future__ import annotations

from pydantic import Field

from xapp_operator.gateway.schemas.records import ResponseModel, ServiceModel


class XAppReference(ResponseModel):
    """Names one xApp."""

    namespace: str
    name: str


class DiscoveredService(ServiceModel):
    """One Service of the cluster, of an xApp or not."""

    namespace: str
    labels: dict[str, str]
    x_app: XAppReference | None = Field(
        description="The xApp that it belongs to; null too where the caller may not list xApps."
    )
