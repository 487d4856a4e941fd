"""The shapes of what is told about the objects of an xApp by those who run them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from xapp_operator.gateway.schemas.records import ResponseModel


class EventObjectModel(ResponseModel):
    """What an event is about."""

    kind: str | None
    name: str | None


class EventModel(ResponseModel):
    """One event of Kubernetes."""

    type: str | None = Field(description="Normal or Warning.")
    reason: str | None
    message: str | None
    object: EventObjectModel
    count: int = Field(description="How often it happened.")
    last_seen: datetime | None
