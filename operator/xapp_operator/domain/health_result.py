"""The vocabulary of health: a verdict on one object, and how a condition is read. Shared by the modules that judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import Json, integer, items, obj, text
from xapp_operator.api.models import HealthStatus

RESOURCE_MESSAGE_MAX: Final = 400
"""Characters of the message on one object."""


@dataclass(frozen=True, slots=True)
class HealthResult:
    """How one object fares, and why; the message does not name the object."""

    status: HealthStatus
    message: str = ""


HEALTHY: Final = HealthResult(HealthStatus.HEALTHY)


def healthy(note: str) -> HealthResult:
    """Return the verdict that it is well, and what is to be known of it nevertheless."""
    return HealthResult(HealthStatus.HEALTHY, note)


def progressing(message: str) -> HealthResult:
    """Return the verdict that it is not there yet."""
    return HealthResult(HealthStatus.PROGRESSING, message)


def degraded(message: str) -> HealthResult:
    """Return the verdict that it is broken."""
    return HealthResult(HealthStatus.DEGRADED, message)


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """One condition of an object; `generation` is 0 where the condition does not tell."""

    kind: str
    status: str
    reason: str
    message: str
    generation: int

    @property
    def is_true(self) -> bool:
        """Tell whether its status is True."""
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        """Tell whether its status is False."""
        return self.status == "False"

    @property
    def explanation(self) -> str:
        """Return its reason and message, or its type and status where it has neither."""
        explanation = ": ".join(part for part in (self.reason, self.message) if part)
        return explanation or f"{self.kind} is {self.status or 'Unknown'}"


def find_condition(resource: Json, kind: str) -> ObjectCondition | None:
    """Return the condition of type `kind`, if the object has it."""
    for each in items(obj(resource, "status"), "conditions"):
        if text(each, "type") == kind:
            return ObjectCondition(
                kind=kind,
                status=text(each, "status"),
                reason=text(each, "reason"),
                message=text(each, "message"),
                generation=integer(each, "observedGeneration"),
            )
    return None
