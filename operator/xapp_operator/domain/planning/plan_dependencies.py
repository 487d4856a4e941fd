"""The rules of `plan` for `dependsOn`. Pure."""

from __future__ import annotations

from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.common.text import format_list
from xapp_operator.domain.planning.actions import Wait
from xapp_operator.domain.planning.plan_input import UNINSTALLING, PlanInput

NAMES_MAX: Final = 10
"""Names of a cycle in a message."""


def plan_dependency_cycle(inputs: PlanInput) -> Wait | None:
    """Stall every member of a cycle, also a deployed one: the spec asks for what cannot be."""
    cycle = inputs.observed.dependency_cycle
    if not cycle:
        return None
    names = [*cycle[:NAMES_MAX], "…", cycle[-1]] if len(cycle) > NAMES_MAX + 1 else cycle
    message = f"dependsOn forms a cycle: {' → '.join(names)}. Remove one of these dependencies"
    return Wait(Reason.DEPENDENCY_NOT_READY, message, stalled=True)


def plan_unready_dependencies(inputs: PlanInput) -> Wait | None:
    """Wait with an install or upgrade; the XApps that become Ready bring this one back."""
    unready = inputs.observed.unready_dependencies
    if not unready:
        return None
    message = f"waiting until the XApps in dependsOn are Ready: {format_list(unready, total=len(unready))}"
    if missing := inputs.observed.missing_dependencies:
        message += f". The namespace has no XApp named {format_list(missing, total=len(missing))}"
    return Wait(Reason.DEPENDENCY_NOT_READY, message)


def plan_dependents(inputs: PlanInput) -> Wait | None:
    """Wait with a deletion for the XApps that depend on this one, at most spec.timeout, so that nobody can block it."""
    dependents, release = inputs.observed.dependents, inputs.release
    begun = release is not None and release.status == UNINSTALLING
    due = min(inputs.deleted_at, inputs.now) + inputs.spec.timeout_seconds
    if not dependents or begun or inputs.observed.namespace_terminating or inputs.now >= due:
        return None
    names = format_list(dependents, total=len(dependents))
    message = (
        f"waiting until the XApps that depend on this one are deleted: {names}. After spec.timeout "
        f"({inputs.spec.timeout}), the release is uninstalled all the same"
    )
    return Wait(Reason.DEPENDENCY_NOT_READY, message, until=due)
