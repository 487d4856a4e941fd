"""The states of an XApp, and one history for each that leads there.

`AT` is the table of `domain.planning.plan`, as histories meet it: what was planned last in each state.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.unit.histories.states import at_rest, deploying, removals, rollbacks, tests_and_drift
from tests.unit.histories.states.scene import At, State
from xapp_operator.domain.planning.actions import (
    Adopt,
    CorrectDrift,
    DeleteLeftovers,
    DeleteOrphans,
    EndTests,
    Install,
    MarkSuperseded,
    Nothing,
    Recreate,
    RepairLabels,
    Restore,
    Rollback,
    SaveRepository,
    StartTests,
    Uninstall,
    Unlock,
    UpdateArchiveOwners,
    Upgrade,
    Wait,
)
from xapp_operator.domain.planning.plan_input import AttemptOutcome as Outcome
from xapp_operator.domain.planning.plan_input import TestOutcome

STATES: Mapping[str, State] = {
    **deploying.STATES,
    **rollbacks.STATES,
    **at_rest.STATES,
    **removals.STATES,
    **tests_and_drift.STATES,
}
AT: Mapping[str, At] = {
    "new": At(None),
    "reading the chart": At(Wait, "_plan_unavailable_source"),
    "chart is missing": At(Wait, "_plan_unavailable_source"),
    "saving the repository": At(SaveRepository, "_plan_unavailable_source"),
    "waiting for a dependency": At(Wait),
    "in a cycle of dependencies": At(Wait, "_plan_dependency_cycle"),
    "installing": At(Install),
    "waiting for a hook": At(Install),
    "killed in an install": At(Install),
    "unlocking after an install": At(Unlock, "_plan_pending", release="pending-install", attempt=Outcome.RUNNING),
    "becoming an owner of the chart": At(UpdateArchiveOwners, release="deployed", attempt=Outcome.RELEASED),
    "installed, not healthy yet": At(Wait, release="deployed", attempt=Outcome.RELEASED),
    "installed, never healthy": At(Wait, release="deployed", attempt=Outcome.RELEASED),
    "failed install": At(Wait, "plan_after_failed_attempt", release="failed", attempt=Outcome.FAILED),
    "install that is tried again": At(Wait, "plan_after_failed_attempt", release="failed", attempt=Outcome.FAILED),
    "upgrading": At(Upgrade, release="deployed", attempt=Outcome.SUCCEEDED),
    "killed in an upgrade": At(Upgrade, release="deployed", attempt=Outcome.SUCCEEDED),
    "unlocking after an upgrade": At(Unlock, "_plan_pending", release="pending-upgrade", attempt=Outcome.RUNNING),
    "upgrade that is tried again": At(Wait, "plan_after_failed_attempt", release="failed", attempt=Outcome.FAILED),
    "failed upgrade": At(Wait, "plan_after_failed_attempt", release="failed", attempt=Outcome.FAILED),
    "upgraded, not healthy yet": At(Wait, release="deployed", attempt=Outcome.RELEASED),
    "upgraded, never healthy": At(Wait, release="deployed", attempt=Outcome.RELEASED),
    "rolling back": At(Rollback, release="deployed", attempt=Outcome.RELEASED),
    "rolled back": At(Wait, "plan_after_failed_attempt", release="deployed", attempt=Outcome.UNHEALTHY),
    "killed in a rollback": At(Rollback, release="deployed", attempt=Outcome.RELEASED),
    "unlocking after a rollback": At(Unlock, "_plan_pending", release="pending-rollback", attempt=Outcome.RUNNING),
    "rollback that is tried again": At(Wait, "plan_after_failed_attempt", release="failed", attempt=Outcome.FAILED),
    "rolling back by request": At(Rollback, "plan_requested_rollback", release="deployed", attempt=Outcome.SUCCEEDED),
    "holding a revision": At(Nothing, "plan_held_revision", release="deployed", attempt=Outcome.RELEASED),
    "bringing a held revision back": At(Rollback, "plan_held_revision", release="failed", attempt=Outcome.SUCCEEDED),
    "held revision that is tried again": At(Wait, "plan_held_revision", release="failed", attempt=Outcome.FAILED),
    "a held revision is gone": At(Wait, "plan_held_revision", release="superseded", attempt=Outcome.SUCCEEDED),
    "requested rollback that is tried again": At(
        Wait, "plan_requested_rollback", release="failed", attempt=Outcome.FAILED
    ),
    "ready": At(Nothing, release="deployed", attempt=Outcome.RELEASED),
    "degraded": At(Nothing, release="deployed", attempt=Outcome.SUCCEEDED),
    "suspended": At(Wait, "_plan_suspended", release="deployed", attempt=Outcome.SUCCEEDED),
    "suspended in an upgrade": At(Wait, "_plan_suspended", release="deployed", attempt=Outcome.INTERRUPTED),
    "labels are missing": At(RepairLabels, release="deployed", attempt=Outcome.SUCCEEDED),
    "looking for what a failed upgrade has left": At(DeleteLeftovers, release="deployed", attempt=Outcome.SUCCEEDED),
    "two revisions are called deployed": At(MarkSuperseded, release="deployed", attempt=Outcome.SUCCEEDED),
    "the record is damaged": At(Wait, "_plan_damaged_record", release="deployed", attempt=Outcome.SUCCEEDED),
    "the releases are not known": At(Wait, "_plan_unavailable_releases", attempt=Outcome.SUCCEEDED),
    "the release of a person": At(Wait, "_plan_foreign_release", release="deployed"),
    "the release of another XApp": At(Wait, "_plan_foreign_release", release="deployed"),
    "another XApp installs the release": At(Wait, "_plan_while_helm_runs"),
    "a person installs the release": At(Wait, "_plan_pending", release="pending-install"),
    "adopting an equal release": At(Adopt, release="deployed"),
    "adopting another release": At(Upgrade, release="deployed"),
    "the release was removed by hand": At(Install, attempt=Outcome.SUCCEEDED),
    "the release was uninstalled and kept": At(Install, release="uninstalled", attempt=Outcome.SUCCEEDED),
    "no revision is in force": At(Upgrade, release="superseded", attempt=Outcome.SUCCEEDED),
    "uninstalling": At(Uninstall, "_plan_deletion", release="deployed", attempt=Outcome.SUCCEEDED),
    "leaving a release whose uninstall has begun": At(
        Restore, "_plan_deletion", release="uninstalling", attempt=Outcome.INTERRUPTED
    ),
    "deletion waits for dependents": At(Wait, "_plan_deletion", release="deployed", attempt=Outcome.SUCCEEDED),
    "uninstall that is tried again": At(Wait, "_plan_deletion", release="deployed", attempt=Outcome.FAILED),
    "deletion with the namespace": At(DeleteOrphans, "_plan_deletion", attempt=Outcome.SUCCEEDED),
    "another helm uninstalls the release": At(
        Wait, "_plan_uninstalling", release="uninstalling", attempt=Outcome.SUCCEEDED
    ),
    "finishing an uninstall": At(Uninstall, "_plan_uninstalling", release="uninstalling", attempt=Outcome.SUCCEEDED),
    "starting tests": At(StartTests, release="deployed", attempt=Outcome.RELEASED),
    "testing": At(Nothing, release="deployed", attempt=Outcome.SUCCEEDED, test=TestOutcome.RUNNING),
    "tested": At(Nothing, release="deployed", attempt=Outcome.SUCCEEDED, test=TestOutcome.SUCCEEDED),
    "suspended in tests": At(
        Wait, "_plan_suspended", release="deployed", attempt=Outcome.SUCCEEDED, test=TestOutcome.INTERRUPTED
    ),
    "ending tests": At(EndTests, release="deployed", attempt=Outcome.SUCCEEDED, test=TestOutcome.RUNNING),
    "failed tests": At(Nothing, release="deployed", attempt=Outcome.SUCCEEDED, test=TestOutcome.FAILED),
    "rolled back after failed tests": At(
        Wait, "plan_after_failed_attempt", release="deployed", attempt=Outcome.UNHEALTHY, test=TestOutcome.FAILED
    ),
    "drifted": At(Nothing, release="deployed", attempt=Outcome.SUCCEEDED),
    "correcting drift": At(CorrectDrift, release="deployed", attempt=Outcome.SUCCEEDED),
    "creating objects again": At(Recreate, release="deployed", attempt=Outcome.RELEASED),
}
