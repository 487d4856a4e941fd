"""Models of what callers may do."""

from __future__ import annotations

from pydantic import Field

from xapp_operator.gateway.schemas.records import MissingRightModel, ResponseModel


class ActionRight(ResponseModel):
    """Whether the caller may do one action."""

    action: str
    allowed: bool
    missing: list[MissingRightModel] = Field(description="The rights that the caller lacks for it.")


class PermissionReport(ResponseModel):
    """What the caller may do."""

    rights: list[ActionRight]


class NamespaceRecord(ResponseModel):
    """A namespace, and whether the caller may do the action there."""

    name: str
    exists: bool | None = Field(description="Null if the caller may not know.")
    allowed: bool = Field(description="A namespace that does not exist also needs the right to create it.")
    xapps: int | None = Field(description="Number of its xApps; null if the caller may not list them.")
