"""Models of events."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from xapp_operator.gateway.schemas.records import ResponseModel


class EventObjectModel(ResponseModel):
    """The object of an event."""

    kind: str | None
    name: str | None


class EventModel(ResponseModel):
    """One Kubernetes event."""

    type: str | None = Field(description="Normal or Warning.")
    reason: str | None
    message: str | None
    object: EventObjectModel
    count: int = Field(description="Number of occurrences.")
    last_seen: datetime | None
