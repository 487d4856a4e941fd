"""Properties of the plan that hold for every input, sensible or not.

A property of one action counts the examples in which the plan chose it, and fails when they are too few: see
`tests.support.properties`.
"""

from dataclasses import replace
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import examples, must_occur, occurred
from tests.unit.domain.planning.plan_inputs import GENERATION, NAME, NOW, OLD, OTHER, TIMEOUT, WANTED, spec
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.planning.actions import (
    Adopt,
    DeleteOrphans,
    Install,
    MarkSuperseded,
    Nothing,
    RejectRequest,
    RejectRollback,
    Restore,
    Rollback,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    PENDING,
    ROLLBACK,
    SUPERSEDED,
    UNINSTALLED,
    UNINSTALLING,
    AnnotationRequests,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    ObservedState,
    PastRevision,
    PlanInput,
)
from xapp_operator.errors import ChartNotFound, SourceUnavailable, ValuesInvalid, XAppError

STATUSES = [DEPLOYED, SUPERSEDED, FAILED, UNINSTALLING, UNINSTALLED, "unknown", "", *sorted(PENDING)]
FAILURE_REMEDIES: list[Literal["rollback", "none"]] = ["rollback", "none"]
STEPS = ["Install", "Upgrade", "Upgrade", ROLLBACK]
OTHERS = ["acme-ran-other", None]
ERRORS: list[XAppError] = [ChartNotFound("gone"), SourceUnavailable("away"), ValuesInvalid("bad"), XAppError("other")]

statuses = st.sampled_from([*STATUSES, DEPLOYED, SUPERSEDED])
digests = st.sampled_from([WANTED, WANTED, WANTED, OLD, OTHER])
seldom = st.sampled_from([False, False, False, False, False, True])
times = st.sampled_from(
    [NOW, NOW - 0.5, NOW - 2.0, NOW - 2.0, NOW - TIMEOUT, NOW - TIMEOUT + 1.0, NOW - 100 * TIMEOUT, NOW + 1.0]
)
numbers = st.integers(1, 6)
known_health = st.sampled_from([None, None, None, None, True, False])
earlier = st.builds(
    PastRevision, revision=numbers, status=statuses, digests=st.none() | digests, was_healthy=known_health
)
specs = st.sampled_from(
    [
        spec(adopt=adopt, suspend=suspend, orphan=orphan, on_failure=on_failure)
        for adopt in (False, True)
        for suspend in (False, False, False, True)
        for orphan in (False, True)
        for on_failure in FAILURE_REMEDIES
    ]
)
owners = st.sampled_from([NAME, NAME, NAME, *OTHERS])
maybe_digests = st.none() | digests
any_outcome = st.sampled_from(AttemptOutcome)


def make_releases(
    *,
    status: st.SearchStrategy[str] = statuses,
    owner: st.SearchStrategy[str | None] = owners,
    digest: st.SearchStrategy[Digests | None] = maybe_digests,
) -> st.SearchStrategy[ObservedRelease]:
    return st.builds(
        ObservedRelease,
        revision=numbers,
        status=status,
        owner=owner,
        digests=digest,
        has_own_attempt=st.booleans(),
        modified_at=times,
        past_revisions=st.lists(earlier, max_size=4).map(tuple),
    )


releases = make_releases()


def attempts(
    wanted: st.SearchStrategy[Digests | None],
    actions: list[str],
    *,
    outcomes: st.SearchStrategy[AttemptOutcome] = any_outcome,
) -> st.SearchStrategy[Attempt]:
    made = st.builds(
        Attempt,
        action=st.sampled_from(actions),
        outcome=outcomes,
        digests=wanted,
        first_at=times,
        last_at=times,
        generation=st.sampled_from([GENERATION, GENERATION - 1, -1]),
        count=st.sampled_from([-1, 0, 1, 2, 5, 10_000]),
        permanent=seldom,
        message=st.just("helm's own error"),
    )
    unended = (AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED)
    return made.map(lambda each: replace(each, message="") if each.outcome in unended else each)


any_input = st.builds(
    PlanInput,
    name=st.just(NAME),
    spec=specs,
    generation=st.just(GENERATION),
    deleting=seldom,
    generation_observed=st.booleans(),
    held_revision=st.sampled_from([None, None, None, 1]),
    observed=st.builds(
        ObservedState,
        release=st.none() | releases,
        helm_running=seldom,
        namespace_terminating=st.booleans(),
        unready_dependencies=st.sampled_from([(), (), (), ("b", "c")]),
    ),
    desired=st.none() | digests | st.sampled_from(ERRORS),
    health=st.sampled_from(HealthStatus),
    root_cause=st.sampled_from(["", "pod a-0: OOMKilled"]),
    attempt=st.none() | attempts(st.none() | digests, [*STEPS, "Uninstall", ""]),
    requests=st.builds(
        AnnotationRequests,
        retry=seldom,
        force=seldom,
        rollback_to=st.sampled_from([None, None, None, None, 1, 2]),
    ),
    now=st.just(NOW),
)
after_attempt = st.builds(
    PlanInput,
    name=st.just(NAME),
    spec=specs.filter(lambda each: not each.suspend),
    generation=st.just(GENERATION),
    observed=st.builds(
        ObservedState,
        release=st.builds(
            ObservedRelease,
            revision=st.just(7),
            status=st.sampled_from([DEPLOYED, FAILED]),
            owner=st.just(NAME),
            digests=digests,
            has_own_attempt=st.just(True),
            modified_at=times,
            past_revisions=st.lists(earlier, min_size=1, max_size=4).map(tuple),
        ),
    ),
    desired=st.sampled_from([WANTED, WANTED, WANTED, WANTED, WANTED, *ERRORS]),
    health=st.sampled_from(HealthStatus),
    attempt=attempts(st.just(WANTED), STEPS),
    now=st.just(NOW),
)
"""An install, upgrade or rollback was made, and now its outcome is looked at."""

plan_inputs = st.one_of(any_input, after_attempt, after_attempt)
not_deleting = plan_inputs.map(lambda each: replace(each, deleting=False))


def with_release(
    inputs: st.SearchStrategy[PlanInput], release: st.SearchStrategy[ObservedRelease], *, deleting: bool = False
) -> st.SearchStrategy[PlanInput]:
    """Put such a release into inputs without a running helm, which are deleted or not suspended."""

    def change(inputs: PlanInput, release: ObservedRelease) -> PlanInput:
        spec = inputs.spec.model_copy(update={"suspend": deleting and inputs.spec.suspend})
        observed = replace(inputs.observed, release=release, helm_running=False)
        return replace(inputs, spec=spec, observed=observed, deleting=deleting)

    return st.builds(change, inputs, release)


deletions = with_release(plan_inputs, releases, deleting=True)
pending_releases = with_release(plan_inputs, make_releases(status=st.sampled_from([*sorted(PENDING), FAILED])))
own_pending_releases = with_release(
    not_deleting, make_releases(status=st.sampled_from(sorted(PENDING)), owner=st.just(NAME))
)


def ready_to_install(inputs: PlanInput, release: ObservedRelease | None) -> PlanInput:
    spec = inputs.spec.model_copy(update={"suspend": False})
    observed = replace(inputs.observed, release=release, helm_running=False, unready_dependencies=())
    changed = replace(inputs, spec=spec, observed=observed, deleting=False, desired=WANTED, attempt=None)
    return replace(changed, requests=AnnotationRequests(), held_revision=None)


never_deployed = make_releases(status=st.sampled_from([FAILED, UNINSTALLED]), owner=st.just(NAME)).map(
    lambda each: replace(each, past_revisions=())
)
installs = st.builds(ready_to_install, any_input, st.none() | never_deployed)
adoptions = with_release(
    any_input.map(lambda each: replace(each, desired=WANTED, requests=AnnotationRequests(), held_revision=None)),
    make_releases(
        status=st.sampled_from([DEPLOYED, DEPLOYED, DEPLOYED, FAILED, SUPERSEDED]),
        owner=st.sampled_from([None, None, *OTHERS]),
        digest=st.sampled_from([WANTED, WANTED, OLD, None]),
    ),
)
left_uninstalling = make_releases(status=st.sampled_from([UNINSTALLING, UNINSTALLING, FAILED])).map(
    lambda each: replace(each, modified_at=0.0)
)
interrupted_uninstalls = with_release(plan_inputs, left_uninstalling)


def after_failure(*outcomes: AttemptOutcome) -> st.SearchStrategy[PlanInput]:
    """Return inputs after a step that ended in one of the outcomes, with objects that are not healthy."""

    def change(inputs: PlanInput, last: Attempt, permanent: bool) -> PlanInput:
        attempt = replace(last, permanent=permanent)
        return replace(inputs, desired=WANTED, health=HealthStatus.DEGRADED, attempt=attempt)

    last = attempts(st.just(WANTED), STEPS, outcomes=st.sampled_from(outcomes))
    return st.builds(change, after_attempt, last, st.booleans())


failed_steps = after_failure(AttemptOutcome.FAILED, AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY)
rollback_requests = with_release(
    st.builds(lambda each, to: replace(each, requests=replace(each.requests, rollback_to=to)), plan_inputs, numbers),
    releases,
)


@examples(6)
@given(plan_inputs)
def test_every_plan_input_has_an_action(now: PlanInput) -> None:
    helm = Install | Upgrade | Adopt | Rollback | RejectRollback | RejectRequest | Uninstall
    others = DeleteOrphans | Unlock | Restore | MarkSuperseded | Wait | Nothing

    assert isinstance(plan(now), helm | others)


@must_occur(deletion=15, interrupted_uninstall=8)
@examples(3)
@given(plan_inputs | deletions | interrupted_uninstalls)
def test_uninstall_needs_a_deletion_or_an_interrupted_uninstall(now: PlanInput) -> None:
    if isinstance(plan(now), Uninstall):
        occurred("deletion" if now.deleting else "interrupted_uninstall")
        assert now.release is not None
        assert now.deleting or now.release.status == UNINSTALLING


@must_occur(uninstall=30, foreign_release=30, orphaned_release=30)
@examples(3)
@given(deletions)
def test_uninstall_for_a_deletion_affects_only_the_operators_own_release(now: PlanInput) -> None:
    if isinstance(plan(now), Uninstall):
        occurred("uninstall")
        assert now.owned
        assert now.spec.deletion_policy == "Uninstall"
    elif not now.owned:
        occurred("foreign_release")
    elif now.spec.deletion_policy == "Orphan":
        occurred("orphaned_release")


@given(plan_inputs, releases, st.sampled_from(OTHERS))
def test_foreign_release_without_adopt_is_never_touched(
    now: PlanInput, found: ObservedRelease, owner: str | None
) -> None:
    theirs = replace(
        now,
        spec=now.spec.model_copy(update={"adopt": False}),
        observed=replace(now.observed, release=replace(found, owner=owner)),
    )

    assert isinstance(plan(theirs), Wait | Nothing | RejectRequest)


@given(plan_inputs, releases)
def test_release_of_another_xapp_is_never_touched_even_with_adopt(now: PlanInput, found: ObservedRelease) -> None:
    theirs = replace(now, observed=replace(now.observed, release=replace(found, owner="acme-ran-other")))

    assert isinstance(plan(theirs), Wait | Nothing | RejectRequest)


@given(not_deleting, releases, digests)
def test_unchanged_deployed_release_needs_nothing(now: PlanInput, found: ObservedRelease, wanted: Digests) -> None:
    """This does not depend on its health, its dependencies, or the number of reconciles.

    Only older revisions that are still called deployed are marked.
    """
    superseded = tuple(each for each in found.past_revisions if each.status != DEPLOYED)
    attempt = Attempt("Upgrade", AttemptOutcome.SUCCEEDED, wanted, NOW - 10.0, NOW - 10.0, generation=GENERATION)
    settled = replace(
        now,
        spec=now.spec.model_copy(update={"suspend": False}),
        observed=replace(
            now.observed,
            release=replace(found, status=DEPLOYED, owner=NAME, digests=wanted),
            helm_running=False,
        ),
        desired=wanted,
        attempt=attempt,
        held_revision=None,
        requests=AnnotationRequests(),
    )

    if superseded != found.past_revisions:
        assert isinstance(plan(settled), MarkSuperseded)
    release = replace(found, status=DEPLOYED, owner=NAME, digests=wanted, past_revisions=superseded)
    settled = replace(settled, observed=replace(settled.observed, release=release))
    assert plan(settled) == Nothing()
    assert plan(replace(settled, attempt=None)) == Nothing()
    assert plan(replace(settled, desired=SourceUnavailable("away"))) == Nothing()


@given(not_deleting)
def test_suspended_xapp_is_never_changed(now: PlanInput) -> None:
    assert isinstance(plan(replace(now, spec=now.spec.model_copy(update={"suspend": True}))), Wait | RejectRequest)


@given(plan_inputs)
def test_no_action_starts_while_helm_runs(now: PlanInput) -> None:
    """Deleting without a release of its own, an XApp does not wait for the helm of another."""
    action = plan(replace(now, observed=replace(now.observed, helm_running=True)))

    assert isinstance(action, Wait | Nothing | DeleteOrphans if now.deleting else Wait)


@must_occur(install=8, upgrade=8)
@examples(3)
@given(plan_inputs)
def test_install_and_upgrade_have_something_to_deploy(now: PlanInput) -> None:
    action = plan(now)
    if isinstance(action, Install | Upgrade):
        occurred("install" if isinstance(action, Install) else "upgrade")
        assert isinstance(now.desired, Digests)
        assert not now.observed.unready_dependencies


@must_occur(install_anew=10, install=10)
@examples(3)
@given(plan_inputs | installs)
def test_install_needs_a_release_that_is_not_deployed(now: PlanInput) -> None:
    action = plan(now)
    if isinstance(action, Install) and now.release is not None:
        occurred("install_anew")
        assert action.replace
        assert now.release.status == UNINSTALLED or (now.release.status == FAILED and not now.release.deployed_before)
    elif isinstance(action, Install):
        occurred("install")
        assert not action.replace


@must_occur(adoption=15, adoption_not_requested=50)
@examples(3)
@given(adoptions)
def test_adoption_needs_the_request_and_an_equal_release_without_an_owner(now: PlanInput) -> None:
    action = plan(now)
    if not now.spec.adopt:
        occurred("adoption_not_requested")
    if isinstance(action, Adopt):
        occurred("adoption")
        assert now.release is not None
        assert now.spec.adopt
        assert (now.release.owner, now.release.status) == (None, DEPLOYED)
        assert action == Adopt(now.release.revision, now.release.digests)  # type: ignore[arg-type]


@must_occur(unlock=15)
@given(pending_releases | own_pending_releases)
def test_unlock_affects_only_a_pending_newest_revision(now: PlanInput) -> None:
    action = plan(now)
    if isinstance(action, Unlock):
        occurred("unlock")
        assert now.release is not None
        assert (now.release.status in PENDING, action.revision) == (True, now.release.revision)


@must_occur(rollback=15)
@examples(8)
@given(plan_inputs | failed_steps)
def test_remediation_rolls_back_to_a_deployed_revision_only_when_enabled(now: PlanInput) -> None:
    action = plan(now)
    if isinstance(action, Rollback) and not action.hold:
        occurred("rollback")
        assert now.release is not None
        assert now.attempt is not None
        assert now.spec.upgrade.on_failure == "rollback"
        target = [each for each in now.release.rollback_candidates if each.revision == action.revision]
        assert target
        assert all(each.was_healthy is not False for each in target)
        if now.release.status == DEPLOYED:
            assert any(each.digests != now.attempt.digests for each in target)


@must_occur(requested_rollback=8, remediation=4)
@examples(3)
@given(failed_steps | rollback_requests)
def test_rollback_is_to_a_stored_revision(now: PlanInput) -> None:
    action = plan(now)
    if isinstance(action, Rollback):
        occurred("requested_rollback" if action.hold else "remediation")
        assert now.release is not None
        assert action.revision in now.release.revisions


@must_occur(deployed_after_attempt=100, rollback_of_a_degraded_release=4)
@examples(6)
@given(
    plan_inputs | after_failure(AttemptOutcome.UNHEALTHY), st.sampled_from(["Install", "Upgrade", "Upgrade", ROLLBACK])
)
def test_unknown_health_never_rolls_back_a_release(now: PlanInput, action: str) -> None:
    if isinstance(now.desired, Digests) and now.attempt is not None and now.release is not None:
        unknown = replace(
            now,
            health=HealthStatus.UNKNOWN,
            requests=AnnotationRequests(),
            attempt=replace(now.attempt, action=action, digests=now.desired),
            observed=replace(now.observed, release=replace(now.release, status=DEPLOYED, digests=now.desired)),
        )

        occurred("deployed_after_attempt")
        assert not isinstance(plan(unknown), Rollback)
        if isinstance(plan(replace(unknown, health=HealthStatus.DEGRADED)), Rollback):
            occurred("rollback_of_a_degraded_release")


@must_occur(wait=100, wait_until=20)
@examples(6)
@given(plan_inputs)
def test_wait_ends_in_the_future_or_with_a_change(now: PlanInput) -> None:
    action = plan(now)
    if isinstance(action, Wait):
        occurred("wait" if action.until is None else "wait_until")
        assert action.reason
        assert action.message
        assert action.until is None or (action.until > now.now and not action.stalled)
