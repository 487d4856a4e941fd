"""The decision: what to do about one XApp, given its desired and its actual state. Pure: no I/O, no clock.

`plan` tries its rules in order, and the first that answers wins. Every state of a Helm release has an answer, and no
remedy ever uninstalls a release that once was deployed. The reconciler writes nothing but what an action asks for:

    situation                                                   action
    deleting, the release is the XApp's own                     Uninstall (without hooks in a terminating namespace)
    the same, and other XApps depend on this one                Wait, at most spec.timeout
    deleting, the release record is gone, its objects are not   DeleteOrphans, once no other XApps depend on this one
    deleting with Orphan, the operator had begun to uninstall   Wait until helm has ended for sure; then Restore, if all
                                                                objects are still there, else Nothing
    spec.suspend                                                Wait
    the releases of the namespace are not known                 Wait, stalled without permission; deleting: also Wait,
                                                                but not with Orphan or with the namespace
    helm works on the release for another XApp                  Wait, unless the release belongs to another XApp or to a
                                                                person; deleting: only where it is its own
    pending-*, also of an older revision that was made since,   Wait, at most spec.timeout
    and another helm works on it
    pending-*, no helm process works on it any more             Unlock
    the newest record has another status than its label         Unlock, which corrects the label
    uninstalling by another helm                                Wait, at most 30 s (not owned: spec.timeout)
    uninstalling, left behind                                   Uninstall without hooks
    the release belongs to another XApp, or to a person         Wait, stalled (a person's, with adopt: goes on)
    the newest record of the release cannot be read             Wait, stalled
    rollback-to                                                 Rollback and hold; RejectRollback without that revision,
                                                                when it is in force, or when the rollback failed until
                                                                spec.timeout had passed
    dependsOn forms a cycle                                     Wait, stalled; after an upgrade that failed for good,
                                                                and to a revision that is held, Rollback first
    a revision is held                                          Nothing, until the generation changes; if it is not in
                                                                force, Rollback to it or a copy of it, with back-off;
                                                                without either, or when that failed for good or until
                                                                spec.timeout had passed, Wait, stalled
    the ChartRepository of spec.repoName does not exist         SaveRepository (fails if it had more than a url)
    chart or values are not valid any more, and the upgrade     Rollback, or Wait until it is due: as below
    to those of before, of this generation, failed
    chart or values are not available                           Wait
    an attempt at the same digests failed                       Wait with back-off; then Rollback, or Wait, stalled
    no release; failed and never deployed; uninstalled          Install, once all of dependsOn are Ready; also after a
                                                                first install that was never healthy
    deployed from other digests, failed after a good revision,  Upgrade, likewise
    an older revision was made since, by another helm
    deployed by a person from the same digests, with adopt      Adopt
    deployed from the same digests                              Wait until healthy, then Nothing
    the same, its tests failed, test.onFailure: rollback        Rollback, unless the tests were requested
    Wait stalled or suspended, or Nothing, and force-at or      RejectRequest
    rollback-to; or test-at, which nothing deployed can answer
    Nothing, and it is not known which objects the release      Wait, stalled
    consists of, because its manifest cannot be read
    the same, and the cluster refuses labels on its objects     Wait, stalled; RepairLabels follows, with back-off
    any action that changes the release, and tests run;         EndTests
    deleting or suspended, and tests run
    Wait or Nothing, and objects that were being deleted when   Recreate, with back-off
    helm applied them are gone
    Wait or Nothing, and objects of the deployed release        RepairLabels, with back-off
    lack labels
    the same, and objects differ from the manifest, with        CorrectDrift, with back-off
    driftDetection.mode: enabled
    Wait or Nothing, and the XApp does not own exactly the      UpdateArchiveOwners
    ChartArchive that it uses
    Wait or Nothing, and revisions before the deployed one are  MarkSuperseded
    still called deployed
    Wait or Nothing, the release is deployed and not            StartTests
    tested (spec.test.enabled), or test-at asks for tests
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.api.status_parts import Step
from xapp_operator.domain.planning.actions import (
    Action,
    Adopt,
    DeleteOrphans,
    Install,
    Nothing,
    Restore,
    Rollback,
    SaveRepository,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.domain.planning.plan_at_rest import plan_at_rest, plan_problem_at_rest
from xapp_operator.domain.planning.plan_dependencies import (
    plan_dependency_cycle,
    plan_dependents,
    plan_unready_dependencies,
)
from xapp_operator.domain.planning.plan_failures import (
    backoff_wait,
    describe_error,
    may_be_rolled_back,
    plan_after_failed_attempt,
    plan_health_timeout,
    plan_until_timeout,
)
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    HEALTH_PENDING,
    PENDING,
    UNINSTALL,
    UNINSTALLED,
    UNINSTALLING,
    ObservedRelease,
    PendingRevision,
    PlanInput,
    find_known_digests,
)
from xapp_operator.domain.planning.plan_requests import (
    plan_held_revision,
    plan_request_without_effect,
    plan_requested_rollback,
)
from xapp_operator.domain.planning.plan_tests import end_tests_before, plan_after_failed_tests, plan_tests
from xapp_operator.errors import InputError, SourcePending, XAppError

LAST_WRITES_SECONDS: Final = 2.0
"""For so long after a helm has ended, what it wrote last may still be on its way."""
OTHER_UNINSTALL_SECONDS: Final = 30.0
"""How long another helm that uninstalls a release of the operator is waited for."""
BEFORE_THAT: Final = " Before that: "
"""Between why chart or values are refused, and what has gone wrong before."""
_SUSPENDED: Final = Wait(Reason.SUSPENDED, "suspended by spec.suspend: nothing is changed")


def plan(inputs: PlanInput) -> Action:
    """Return what to do next about one XApp."""
    attempt = inputs.requests.clear_attempt(inputs.attempt)
    effective = inputs if attempt is inputs.attempt else replace(inputs, attempt=attempt)
    action = _plan_with_last_known_digests(effective) or _first_match(effective)
    if not isinstance(action, Wait | Nothing):
        return end_tests_before(action, inputs)
    if isinstance(action, Nothing):
        action = plan_problem_at_rest(inputs) or action
    rejected = plan_request_without_effect(effective, settled=action)
    return rejected or plan_at_rest(effective) or plan_tests(effective, settled=action) or action


def plan_after_error(error: XAppError, spec: XAppSpec, *, deleting: bool, again: bool) -> Wait | None:
    """Return what the status tells of an error while observing or acting; None: nothing yet.

    An error that may pass is told when it comes `again` and again.
    """
    if spec.suspend and not deleting:
        return _SUSPENDED
    if error.permanent:
        reason = error.reason or (Reason.UNINSTALL_FAILED if deleting else Reason.UPGRADE_FAILED)
        return Wait(reason, describe_error(error), stalled=True)
    return Wait(Reason.PROGRESSING, error.message) if again else None


def _plan_with_last_known_digests(inputs: PlanInput) -> Action | None:
    """Return the action while the source is unavailable; Install and Upgrade need the source."""
    known = None if isinstance(inputs.desired, InputError) else _with_last_known_digests(inputs)
    if known is None:
        return None
    action = _first_match(known)
    if action == Nothing() and isinstance(inputs.desired, XAppError) and inputs.desired.permanent:
        return Nothing(f"the next upgrade will need its source: {inputs.desired.message}")
    return None if isinstance(action, Install | Upgrade) else action


def _first_match(inputs: PlanInput) -> Action:
    for rule in _PLAN_RULES:
        action = rule(inputs)
        if action is not None:
            return action
    return _plan_release(inputs)


def _with_last_known_digests(inputs: PlanInput) -> PlanInput | None:
    """Return the input with the digests that this generation had while its chart and values could be read."""
    last_known = find_known_digests(inputs.desired, inputs.attempt, generation=inputs.generation)
    if last_known is None or not isinstance(inputs.desired, XAppError):
        return None
    is_away = not isinstance(inputs.desired, SourcePending)  # a source that is being read may answer soon
    return replace(inputs, desired=last_known, source_unavailable=is_away)


def _plan_deletion(inputs: PlanInput) -> Action | None:
    if not inputs.deleting:
        return None
    if inputs.spec.deletion_policy == "Orphan":
        return _plan_leaving(inputs)
    waiting = None if inputs.observed.namespace_terminating else _plan_unavailable_releases(inputs)
    return waiting or _plan_removal(inputs)


def _plan_leaving(inputs: PlanInput) -> Action:
    """Leave the release; but first undo an uninstall that has only begun."""
    last, release, begun = inputs.attempt, inputs.release, inputs.observed.begun_uninstall
    if release is None or last is None or not inputs.owned or not last.is_unfinished_uninstall:
        return Nothing()
    due = last.last_at + LAST_WRITES_SECONDS
    if inputs.now < due:
        return Wait(Reason.PROGRESSING, "helm was ended, and what it wrote last is waited for", until=due)
    return Nothing() if begun is None or begun.obstacle else Restore(release.revision, begun.status)


def _plan_removal(inputs: PlanInput) -> Action:
    release, observed = inputs.release, inputs.observed
    waiting = _plan_while_helm_runs(inputs) or plan_dependents(inputs)
    if release is None and not observed.orphans_deleted:
        if observed.namespace_terminating:
            return DeleteOrphans()
        if observed.objects_without_record:
            return waiting or DeleteOrphans(namespaced=True)
    if release is None or not inputs.owned:
        return Nothing()
    hooks = release.status != UNINSTALLING and not observed.namespace_terminating
    waiting = waiting or backoff_wait(inputs, UNINSTALL, Reason.UNINSTALL_FAILED)
    return waiting or Uninstall(hooks=hooks, dependents=observed.dependents)


def _plan_suspended(inputs: PlanInput) -> Action | None:
    return _SUSPENDED if inputs.spec.suspend else None


def _plan_unavailable_releases(inputs: PlanInput) -> Action | None:
    error = inputs.observed.releases_unavailable
    return None if error is None else Wait(error.reason or Reason.PROGRESSING, error.message, stalled=error.permanent)


def _plan_while_helm_runs(inputs: PlanInput) -> Action | None:
    if not inputs.observed.helm_running or (inputs.release is not None and not inputs.owned_or_adoptable):
        return None
    return Wait(Reason.PROGRESSING, "helm is working on the release for another XApp")


def _plan_pending(inputs: PlanInput) -> Action | None:
    release = inputs.release
    if release is not None and inputs.observed.label_outdated:
        return Unlock(release.revision)
    if release is None or not inputs.owned_or_adoptable:
        return None
    if (late := release.late_pending) is not None:
        return _wait_for_other_helm(inputs, late, at_most=inputs.spec.timeout_seconds) or Unlock(late.revision)
    if release.status not in PENDING:
        return None
    if inputs.owned and release.has_own_attempt:
        return Unlock(release.revision)
    return _wait_for_other_helm(inputs, release, at_most=inputs.spec.timeout_seconds) or Unlock(release.revision)


def _plan_uninstalling(inputs: PlanInput) -> Action | None:
    release = inputs.release
    if release is None or release.status != UNINSTALLING or not inputs.owned_or_adoptable:
        return None
    is_own = inputs.owned and inputs.attempt is not None and inputs.attempt.is_unfinished_uninstall
    most = OTHER_UNINSTALL_SECONDS if inputs.owned else inputs.spec.timeout_seconds
    other = None if is_own else _wait_for_other_helm(inputs, release, at_most=most)
    return other or backoff_wait(inputs, UNINSTALL, Reason.UNINSTALL_FAILED) or Uninstall(hooks=False)


def _wait_for_other_helm(
    inputs: PlanInput, release: ObservedRelease | PendingRevision, *, at_most: float
) -> Wait | None:
    due = release.modified_at + min(at_most, inputs.spec.timeout_seconds)
    if inputs.now >= due:
        return None
    limit = f"spec.timeout ({inputs.spec.timeout})" if at_most >= inputs.spec.timeout_seconds else f"{at_most:.0f}s"
    message = (
        f"another helm process has set revision {release.revision} to {release.status}. If it has not finished after "
        f"{limit}, the operator takes over."
    )
    return Wait(Reason.PROGRESSING, message, until=due)


def _plan_foreign_release(inputs: PlanInput) -> Action | None:
    release = inputs.release
    if release is None or inputs.owned_or_adoptable:
        return None
    if release.left_by:
        message = (
            f"the Helm release with this name was left by the XApp {release.left_by}, which no longer exists. Set "
            f"adopt: true to take it over, create an XApp named {release.left_by}, or use another releaseName."
        )
    elif release.owner is None:
        message = (
            "a Helm release with this name exists, and no XApp created it. Set adopt: true to take it over, or create "
            "an XApp with another releaseName."
        )
    else:
        message = (
            f"the Helm release with this name belongs to the XApp {release.owner}. Create an XApp with another "
            "releaseName."
        )
    return Wait(Reason.ACCESS_DENIED, message, stalled=True)


def _plan_damaged_record(inputs: PlanInput) -> Action | None:
    error = inputs.observed.record_damaged
    return None if error is None else Wait(Reason.UPGRADE_FAILED, error.message, stalled=True)


def _plan_dependency_cycle(inputs: PlanInput) -> Action | None:
    """Stall in a cycle whatever else is wrong; only a rollback of what should not be in force comes before."""
    cycle = plan_dependency_cycle(inputs)
    if cycle is None or isinstance(plan_held_revision(inputs), Rollback):
        return None  # the next rule restores the held revision
    after_failure = plan_after_failed_attempt(_with_last_known_digests(inputs) or inputs)
    if isinstance(after_failure, Rollback):
        return after_failure
    return replace(cycle, until=after_failure.until if isinstance(after_failure, Wait) else None)


def _plan_unavailable_source(inputs: PlanInput) -> Action | None:
    error = inputs.desired
    if inputs.observed.repository_missing:
        return SaveRepository()
    if error is None:
        return Wait(Reason.PROGRESSING, "chart and values are not known yet")
    if isinstance(error, SourcePending):
        step = Step.CHART if error.has_begun else Step.QUEUED
        return Wait(Reason.PROGRESSING, error.message, step=step)
    if isinstance(error, XAppError):
        waiting = Wait(error.reason or Reason.CHART_PULL_FAILED, describe_error(error), stalled=error.permanent)
        return _plan_invalid_source(inputs, waiting) if isinstance(error, InputError) else waiting
    return None


def _plan_invalid_source(inputs: PlanInput, invalid: Wait) -> Action:
    """Say what is not valid; but an upgrade to the chart and the values of before may still have to be undone."""
    known = _with_last_known_digests(inputs)
    if known is None:
        return invalid
    action: Action | None = plan_after_failed_attempt(known) or _plan_by_status(known)
    if isinstance(action, Nothing):
        return replace(invalid, at_rest=True)
    if isinstance(action, Upgrade) and known.attempt is not None:
        action = plan_until_timeout(known, known.attempt)  # it cannot be tried again
    if isinstance(action, Wait) and not action.stalled and may_be_rolled_back(known):
        return replace(action, message=f"{action.message}; an upgrade is not possible now: {invalid.message}")
    if isinstance(action, Wait) and action.reason != Reason.PROGRESSING:
        return replace(invalid, message=f"{invalid.message}{BEFORE_THAT}{action.message}")
    return action if isinstance(action, Rollback) else invalid


def _plan_release(inputs: PlanInput) -> Action:
    action = _plan_by_status(inputs)
    waiting = plan_unready_dependencies(inputs) if isinstance(action, Install | Upgrade) else None
    return waiting or action


def _plan_by_status(inputs: PlanInput) -> Action:
    release = inputs.release
    if release is None:
        return Install(take_ownership=inputs.spec.adopt)
    if release.status == DEPLOYED:
        return _plan_deployed(inputs)
    if release.status == UNINSTALLED or (release.status == FAILED and not release.deployed_before):
        return Install(replace=True, take_ownership=inputs.spec.adopt)
    return Upgrade(take_ownership=inputs.spec.adopt)


def _plan_deployed(inputs: PlanInput) -> Action:
    release = inputs.release
    if not inputs.desired_is_deployed or release is None or release.digests is None or inputs.requests.force:
        return Upgrade(take_ownership=inputs.spec.adopt)
    if not inputs.owned:
        return Adopt(release.revision, release.digests)
    return _plan_awaiting_health(inputs) or plan_after_failed_tests(inputs) or Nothing()


def _plan_awaiting_health(inputs: PlanInput) -> Action | None:
    """Wait for objects to become healthy, also when the operator was killed before it recorded the release."""
    last = inputs.attempt
    if last is None or last.digests != inputs.desired or last.outcome not in HEALTH_PENDING:
        return None
    if inputs.health is HealthStatus.HEALTHY:
        return None
    deadline = last.last_at + inputs.spec.timeout_seconds
    if inputs.now >= deadline:
        return plan_health_timeout(inputs, last)
    return Wait(Reason.PROGRESSING, inputs.root_cause or "waiting for the objects to become healthy", until=deadline)


_PLAN_RULES: tuple[Callable[[PlanInput], Action | None], ...] = (
    _plan_deletion,
    _plan_suspended,
    _plan_unavailable_releases,
    _plan_while_helm_runs,
    _plan_pending,
    _plan_uninstalling,
    _plan_foreign_release,
    _plan_damaged_record,
    plan_requested_rollback,
    _plan_dependency_cycle,
    plan_held_revision,
    _plan_unavailable_source,
    plan_after_failed_attempt,
)
