"""The shapes of an xApp's configuration, and of changes to it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from xapp_operator.gateway.schemas.records import ResponseModel, ServiceModel


class ServiceAddress(ResponseModel):
    """One way to a port of a Service."""

    url: str = Field(description="Absolute, or for proxy a path of this gateway.")
    via: Literal["nodePort", "loadBalancer", "ingress", "clusterDNS", "proxy"]


class ServiceWithAddresses(ServiceModel):
    """One Service with the addresses at which its ports can be reached."""

    addresses: list[ServiceAddress]


class XAppConfiguration(ResponseModel):
    """Where an xApp can be reached, and what it is configured with."""

    services: list[ServiceWithAddresses]
    values: dict[str, Any] | None = Field(
        description="The user's values, secrets masked. Of an xApp known by its labels null without the right to get "
        "Secrets."
    )
    defaults: dict[str, Any] | None = Field(
        description="The chart's own values, secrets masked; null before the first revision, or without the right to "
        "get Secrets."
    )
    json_schema: dict[str, Any] | bool | None = Field(
        alias="schema", description="The chart's values.schema.json; null without one, or where defaults are null."
    )
    metadata: dict[str, Any] | None = Field(
        description="What the xApp's own API answers at /metadata or /config/metadata; null where it has none, does "
        "not answer at once, or without the right on services/proxy."
    )


class ValuesRequest(BaseModel):
    """Values that replace the present ones."""

    model_config = ConfigDict(extra="forbid")

    values: dict[str, Any] = Field(description="All of the user's values; a mask keeps the value behind it.")


class ConfigDryRun(ResponseModel):
    """What a change of values would do; nothing has been changed."""

    diff: str | None = Field(
        description="Unified diff of the objects in force and those that would be, secrets masked; null without the "
        "right to get Secrets."
    )
    manifest: str = Field(description="The rendered objects, as YAML documents, secrets masked.")
    warnings: list[str]
