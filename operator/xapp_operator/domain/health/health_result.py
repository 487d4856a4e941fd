"""The result of a health rule for one object, and the conditions in its status. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import Json, integer, items, obj, text
from xapp_operator.api.models import HealthStatus

EVENT_MESSAGE_MAX: Final = 1024
"""Characters that Kubernetes keeps of the message of an Event."""
RESOURCE_MESSAGE_MAX: Final = 1536
"""Characters of the message on one object: a whole message of an Event, and what it is about."""


@dataclass(frozen=True, slots=True)
class HealthResult:
    """The health of one object or xApp; `message` is the reason, which may be empty."""

    status: HealthStatus
    message: str = ""


HEALTHY: Final = HealthResult(HealthStatus.HEALTHY)


def healthy(note: str) -> HealthResult:
    return HealthResult(HealthStatus.HEALTHY, note)


def progressing(message: str) -> HealthResult:
    return HealthResult(HealthStatus.PROGRESSING, message)


def degraded(message: str) -> HealthResult:
    return HealthResult(HealthStatus.DEGRADED, message)


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """One condition of an object; `generation` is 0 when the condition has none."""

    type: str
    status: str
    reason: str
    message: str
    generation: int

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        return self.status == "False"

    @property
    def explanation(self) -> str:
        """Return its reason and message, or its type and status if it has neither."""
        explanation = ": ".join(part for part in (self.reason, self.message) if part)
        return explanation or f"{self.type} is {self.status or 'Unknown'}"


def find_condition(resource: Json, condition_type: str) -> ObjectCondition | None:
    for each in items(obj(resource, "status"), "conditions"):
        if text(each, "type") == condition_type:
            return ObjectCondition(
                type=condition_type,
                status=text(each, "status"),
                reason=text(each, "reason"),
                message=text(each, "message"),
                generation=integer(each, "observedGeneration"),
            )
    return None


def true_condition(resource: Json, *types: str) -> ObjectCondition | None:
    """Return the condition of the first of `types` whose status is True, or None."""
    found = (find_condition(resource, each) for each in types)
    return next((each for each in found if each and each.is_true), None)
