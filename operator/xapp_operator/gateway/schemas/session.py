"""The shapes of signing in."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SignInRequest(BaseModel):
    """A bearer token of the cluster."""

    model_config = ConfigDict(extra="forbid", strict=True)

    token: str = Field(min_length=1, description="Of at most 3,000 bytes, to fit a cookie.")


class CallerIdentity(BaseModel):
    """Who the caller is to the cluster."""

    model_config = ConfigDict(extra="forbid")

    user: str | None = Field(description="Null where nobody has to sign in.")
    groups: list[str]
    auth: Literal["kubernetes", "none"] = Field(description="none: everybody acts as the gateway itself.")
