"""Models of discovery."""

from __future__ import annotations

from pydantic import Field

from xapp_operator.gateway.schemas.records import ResponseModel, ServiceModel


class XAppReference(ResponseModel):
    """A reference to an xApp."""

    namespace: str
    name: str


class DiscoveredService(ServiceModel):
    """One Service of the cluster, whether it belongs to an xApp or not."""

    namespace: str
    labels: dict[str, str]
    x_app: XAppReference | None = Field(
        description="The xApp that it belongs to; also null if the caller may not list xApps there."
    )
