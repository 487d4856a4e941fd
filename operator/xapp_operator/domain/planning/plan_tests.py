"""The rules of `plan` for the tests of a chart (`helm test`). Pure.

Tests run beside everything else: Ready does not wait for them. They end before an action that changes the release.
"""

from __future__ import annotations

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.planning.actions import (
    Action,
    Adopt,
    DeleteOrphans,
    EndTests,
    Install,
    Nothing,
    Restore,
    Rollback,
    StartTests,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    INSTALL,
    ROLLBACK,
    UPGRADE,
    AttemptOutcome,
    ObservedRelease,
    PlanInput,
    TestOutcome,
)


def end_tests_before(action: Action, inputs: PlanInput) -> Action:
    """Return `action`, or EndTests if it changes the release while tests run, or were left running by a kill."""
    changes = isinstance(action, Install | Upgrade | Rollback | Uninstall | Adopt | Unlock | Restore | DeleteOrphans)
    return EndTests() if changes and (inputs.observed.tests_running or _are_lost(inputs)) else action


def plan_tests(inputs: PlanInput, settled: Wait | Nothing) -> Action | None:
    """Start the tests that are due, or end those that may not go on; `settled` is what the plan has decided so far."""
    release, lost = _testable_release(inputs), _are_lost(inputs)
    if inputs.deleting or inputs.spec.suspend or (lost and not _are_repeated(inputs, release)):
        return EndTests() if inputs.observed.tests_running or lost else None
    if release is None or inputs.observed.tests_running:
        return None
    last, in_progress = inputs.test, isinstance(settled, Wait) and settled.reason == Reason.PROGRESSING
    tested = last is not None and last.revision == release.revision and (last.ended or last.requested)
    due = not tested and _is_due_after_deployment(inputs, release, settled)
    # Requested tests of a revision whose own are due are both: one run is enough, and it may undo the upgrade.
    requested = None if in_progress else StartTests(settled, requested=not due)
    if inputs.requests.test:
        return requested
    unfinished = None if last is None or last.ended else last
    if unfinished is not None and inputs.now < unfinished.last_at + inputs.backoff.delay(unfinished.count):
        return None
    if unfinished is not None and unfinished.requested:
        return requested
    return StartTests(settled) if due else None


def _are_lost(inputs: PlanInput) -> bool:
    """Return whether the status tells of tests that run, but none do: the operator was killed."""
    last, observed = inputs.test, inputs.observed
    running = last is not None and last.outcome is TestOutcome.RUNNING
    return running and not observed.tests_running and observed.releases_unavailable is None


def _are_repeated(inputs: PlanInput, release: ObservedRelease | None) -> bool:
    """Return whether tests that are lost run again, though perhaps only when the release is healthy again."""
    if release is None or inputs.test is None:
        return False
    return inputs.requests.test or inputs.test.requested or _follow_deployment(inputs, release)


def plan_after_failed_tests(inputs: PlanInput) -> Action | None:
    """Roll an upgrade back whose tests failed, if spec.test.onFailure says so; a requested run never does that."""
    last, release, attempt = inputs.test, inputs.release, inputs.attempt
    if last is None or release is None or last.requested or last.outcome is not TestOutcome.FAILED:
        return None
    if inputs.spec.test.on_failure != "rollback" or last.revision != release.revision:
        return None
    before = next(iter(release.rollback_candidates), None)
    if before is None or before.digests == release.digests:
        return None
    if attempt is not None and attempt.action == ROLLBACK and attempt.outcome is AttemptOutcome.FAILED:
        if attempt.permanent or inputs.timed_out(attempt):
            return Wait(attempt.reason, attempt.message, stalled=True)
        due = inputs.next_attempt_at(attempt)
        if inputs.now < due:
            return Wait(Reason.ROLLBACK_FAILED, attempt.message, until=due)
    return Rollback(before.revision)


def _testable_release(inputs: PlanInput) -> ObservedRelease | None:
    release = inputs.release
    deployed = release is not None and release.status == DEPLOYED and inputs.owned
    return release if deployed else None


def _is_due_after_deployment(inputs: PlanInput, release: ObservedRelease, settled: Wait | Nothing) -> bool:
    """Return whether an install or upgrade made the revision, which has become healthy, and tests are to follow."""
    healthy = settled.at_rest and inputs.health is HealthStatus.HEALTHY
    return healthy and _follow_deployment(inputs, release)


def _follow_deployment(inputs: PlanInput, release: ObservedRelease) -> bool:
    attempt = inputs.attempt
    if not inputs.spec.test.enabled or attempt is None or attempt.action not in (INSTALL, UPGRADE):
        return False
    deployed_it = attempt.outcome is not AttemptOutcome.FAILED and attempt.digests == release.digests
    return deployed_it and inputs.held_revision is None
