"""What the plan of a helm step rests on, besides the spec.

A step may wait for a place for hours. When it has one, the plan must still be right: helm itself checks neither to whom
a release belongs, nor whether it is healthy, nor dependsOn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import assert_never

from xapp_operator.api.models import HealthStatus, XApp
from xapp_operator.domain.planning.actions import HelmAction, Install, Rollback, Uninstall, Upgrade
from xapp_operator.reconcile.reconcile_context import ObserverContext, without_values
from xapp_operator.reconcile.work.xapp_tasks import StepInterrupted


class PlanBasis:
    """What one plan rests on. It makes no API call."""

    def __init__(self, action: HelmAction, xapp: XApp, context: ObserverContext) -> None:
        self._action = action
        self._xapp = without_values(xapp)  # it is kept while the step waits
        self._context = context
        self._planned = self._find()

    def guard(self, on_start: Callable[[], None]) -> Callable[[], None]:
        """Return a function that calls `on_start`, but raises StepInterrupted if the plan is not right any more."""

        def start() -> None:
            if self._find() != self._planned:
                raise StepInterrupted
            on_start()

        return start

    def _find(self) -> Hashable:
        action, context, key = self._action, self._context, self._xapp.key
        newest = context.release_watch.revisions(key[0], self._xapp.release_name)[-1:]
        match action:
            case Install() | Upgrade():
                return newest, unready_dependencies(self._xapp, context), context.xapps.dependency_cycle(key)
            case Rollback():
                return newest, not action.hold and context.monitor.report(key).status is HealthStatus.HEALTHY
            case Uninstall():
                return newest, not action.dependents and context.xapps.dependents(key) != ()
            case _:
                assert_never(action)


def unready_dependencies(xapp: XApp, context: ObserverContext) -> tuple[str, ...]:
    """Return the names in dependsOn whose XApps are not Ready."""
    names = dict.fromkeys(dependency.name for dependency in xapp.spec.depends_on or ())
    return tuple(name for name in names if not context.xapps.is_ready((xapp.metadata.namespace, name)))
