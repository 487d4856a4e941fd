"""Models of sessions and of what the gateway tells about itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from xapp_operator.gateway.schemas.records import ResponseModel


class SignInRequest(BaseModel):
    """A bearer token of the cluster."""

    model_config = ConfigDict(extra="forbid", strict=True)

    token: str = Field(min_length=1, description="At most 3,000 bytes, the maximum for a cookie.")


class CallerIdentity(ResponseModel):
    """The caller, as the cluster identifies them."""

    user: str | None = Field(description="Null if authentication is turned off.")
    groups: list[str]
    auth: Literal["kubernetes", "none"] = Field(description="none: everyone acts as the gateway.")
    expires_at: datetime | None = Field(
        description="When the session or the token ends, whichever is first; null if that is not known."
    )


class SignedIn(CallerIdentity):
    """The caller, and the proof that requests with the session cookie must carry."""

    proof: str | None = Field(
        description="Send it as X-Session-Proof with every request that the cookie signs in; null if authentication is "
        "turned off. It is returned only here."
    )


class RequestLimits(ResponseModel):
    """Bounds of requests, in bytes, seconds and items."""

    chart_bytes: int
    values_bytes: int
    wait_seconds: float
    fetch_seconds: float = Field(description="Until a repository must have delivered an index or an archive.")
    per_page: int = Field(description="Largest per_page.")


class AboutAnyone(BaseModel):
    """What everybody may know about the gateway."""

    model_config = ConfigDict(extra="forbid")

    version: str
    auth: Literal["kubernetes", "none"]
    insecure: str | None = Field(
        None, description="Present for a caller who is not signed in only if there is a warning to show."
    )


class About(ResponseModel):
    """The gateway and its cluster."""

    version: str
    auth: Literal["kubernetes", "none"]
    commit: str | None = Field(description="The commit that the image was built from, if it says so.")
    kubernetes: str | None = Field(description="Version of the cluster; null while the API server does not answer.")
    address: str | None = Field(description="The cluster advertise address, if it is known.")
    limits: RequestLimits
    unpaginated: list[str] = Field(description="Lists that are bare arrays.")
    insecure: str | None = Field(description="A warning: what others can read along, and what to do.")
