"""Models of an xApp's configuration and of changes to it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from xapp_operator.gateway.schemas.records import ResponseModel, ServiceModel


class ServiceAddress(ResponseModel):
    """One address of a port of a Service."""

    url: str = Field(description="An absolute URL; via proxy, a path of this gateway.")
    via: Literal["nodePort", "loadBalancer", "ingress", "clusterDNS", "proxy"]


class ServiceWithAddresses(ServiceModel):
    """One Service with the addresses of its ports."""

    addresses: list[ServiceAddress]


class XAppConfiguration(ResponseModel):
    """The addresses and the configuration of an xApp."""

    services: list[ServiceWithAddresses]
    values: dict[str, Any] | None = Field(
        description="The user's values, secrets masked. For an xApp known by its labels: null without permission to "
        "get Secrets."
    )
    defaults: dict[str, Any] | None = Field(
        description="The chart's own values, secrets masked; null before the first revision, or without permission to "
        "get Secrets."
    )
    json_schema: dict[str, Any] | bool | None = Field(
        alias="schema", description="The chart's values.schema.json; null if it has none or defaults is null."
    )
    metadata: dict[str, Any] | None = Field(
        description="The response of the xApp's own API to /metadata or /config/metadata; null if there is none, if it "
        "takes too long, or without permission on services/proxy."
    )


class ValuesRequest(BaseModel):
    """Values that replace the current ones."""

    model_config = ConfigDict(extra="forbid")

    values: dict[str, Any] = Field(description="All of the user's values; a mask keeps the current value.")


class ConfigDryRun(ResponseModel):
    """The effect that a change of values would have; nothing has been changed."""

    diff: str | None = Field(
        description="Unified diff from the current objects to the new ones, secrets masked; null without permission to "
        "get Secrets."
    )
    manifest: str = Field(description="The rendered objects, as YAML documents, secrets masked.")
    warnings: list[str]
