"""Models of sessions."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SignInRequest(BaseModel):
    """A bearer token of the cluster."""

    model_config = ConfigDict(extra="forbid", strict=True)

    token: str = Field(min_length=1, description="At most 3,000 bytes, the maximum for a cookie.")


class CallerIdentity(BaseModel):
    """The caller, as the cluster identifies them."""

    model_config = ConfigDict(extra="forbid")

    user: str | None = Field(description="Null if authentication is turned off.")
    groups: list[str]
    auth: Literal["kubernetes", "none"] = Field(description="none: everyone acts as the gateway.")
