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
