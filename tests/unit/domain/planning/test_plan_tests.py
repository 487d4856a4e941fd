"""When the tests of a chart start and end, and what a failed one causes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import examples, must_occur, occurred
from tests.unit.domain.planning.plan_inputs import (
    DEPLOYED_BEFORE,
    INSTALLED,
    NEVER_HEALTHY_BEFORE,
    NOW,
    OLD,
    OTHER,
    TIMEOUT,
    WANTED,
    attempt,
    plan_input,
    release,
    spec,
    without_message,
)
from tests.unit.domain.planning.test_plan_properties import plan_inputs
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.api.spec_parts import HelmTestPolicy, UpgradePolicy
from xapp_operator.api.status_parts import RollbackCause
from xapp_operator.domain.planning.actions import (
    Adopt,
    DeleteOrphans,
    EndTests,
    Install,
    Nothing,
    RejectRequest,
    RejectRollback,
    Restore,
    Rollback,
    StartTests,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.domain.planning.plan import plan
from xapp_operator.domain.planning.plan_input import (
    FAILED,
    INSTALL,
    ROLLBACK,
    SUPERSEDED,
    UPGRADE,
    AnnotationRequests,
    AttemptOutcome,
    ObservedRelease,
    PastRevision,
    PlanInput,
    TestOutcome,
    TestRun,
)
from xapp_operator.errors import ApiUnavailable, ChartNotFound

REQUESTED = AnnotationRequests(test=True)
UPGRADED = attempt(AttemptOutcome.SUCCEEDED, action=UPGRADE)


def with_tests(on_failure: Literal["rollback", "none"] = "none", *, enabled: bool = True) -> XAppSpec:
    return spec().model_copy(update={"test": HelmTestPolicy(enabled=enabled, on_failure=on_failure)})


def run(outcome: TestOutcome, *, revision: int = 2, last_at: float = NOW - 100.0, **other: Any) -> TestRun:
    return TestRun(revision=revision, outcome=outcome, first_at=last_at, last_at=last_at, **other)


def settled(**options: Any) -> PlanInput:
    """Return an XApp with tests, whose upgrade to revision 2 has become healthy."""
    test = options.pop("test", None)
    given = {"wanted": with_tests(), "last": UPGRADED, **options}
    return replace(plan_input(given.pop("there", release()), **given), test=test)


def test_tests_start_once_the_revision_is_healthy() -> None:
    assert plan(settled()) == StartTests(Nothing())
    assert plan(settled(last=INSTALLED)) == StartTests(Nothing())
    assert isinstance(plan(settled(health=HealthStatus.PROGRESSING, last=attempt(AttemptOutcome.RELEASED))), Wait)
    assert plan(settled(health=HealthStatus.DEGRADED)) == Nothing()


@pytest.mark.parametrize("outcome", [TestOutcome.SUCCEEDED, TestOutcome.FAILED])
def test_a_revision_is_tested_once(outcome: TestOutcome) -> None:
    assert plan(settled(test=run(outcome))) == Nothing()
    assert plan(settled(test=run(outcome, requested=True))) == Nothing()
    assert plan(settled(test=run(outcome, revision=1))) == StartTests(Nothing())
    assert plan(settled(test=run(outcome, revision=1, last_at=NOW))) == StartTests(Nothing())


@pytest.mark.parametrize(
    "options",
    [
        {"wanted": with_tests(enabled=False)},
        {"last": attempt(AttemptOutcome.FAILED, action=INSTALL)},
        {"last": attempt(AttemptOutcome.UNHEALTHY), "there": release(digests=OLD)},  # rolled back
        {"last": attempt(AttemptOutcome.SUCCEEDED, action=ROLLBACK)},
        {"held": 1},
        {"last": attempt(AttemptOutcome.SUCCEEDED, digests=OTHER)},
        {"last": None},
        {"there": release(FAILED, earlier=DEPLOYED_BEFORE)},
        {"helm_running": True},
        {"observed": {"tests_running": True}},
    ],
)
def test_tests_do_not_start_by_themselves(options: dict[str, Any]) -> None:
    assert not isinstance(plan(settled(**options)), StartTests)


def test_failed_tests_roll_back_to_the_revision_before_only() -> None:
    earlier = (PastRevision(2, SUPERSEDED, WANTED), PastRevision(1, SUPERSEDED, OLD))
    there = release(revision=3, earlier=earlier)
    failed = run(TestOutcome.FAILED, revision=3)
    assert plan(settled(there=there, test=failed, wanted=with_tests("rollback"))) == Nothing()


def test_failed_tests_roll_back_whatever_became_of_an_upgrade_that_is_not_wanted_any_more() -> None:
    withdrawn = attempt(AttemptOutcome.FAILED, digests=OTHER, permanent=True)
    inputs = settled(there=release(earlier=DEPLOYED_BEFORE), test=run(TestOutcome.FAILED), last=withdrawn)
    assert plan(replace(inputs, spec=with_tests("rollback"))) == Rollback(1)
    assert plan(inputs) == Nothing()


@pytest.mark.parametrize("outcome", [TestOutcome.RUNNING, TestOutcome.INTERRUPTED])
def test_a_run_that_was_lost_starts_again_after_the_back_off(outcome: TestOutcome) -> None:
    assert plan(settled(test=run(outcome))) == StartTests(Nothing())
    assert plan(settled(test=run(outcome, last_at=NOW))) == Nothing()
    assert plan(settled(test=run(TestOutcome.INTERRUPTED), wanted=with_tests(enabled=False))) == Nothing()
    request = run(outcome, requested=True, revision=1)
    assert plan(settled(test=request, wanted=with_tests(enabled=False))) == StartTests(Nothing(), requested=True)


def test_requested_tests_run_on_whatever_is_deployed() -> None:
    rolled_back = attempt(AttemptOutcome.UNHEALTHY)
    for options in (
        {"wanted": with_tests(enabled=False)},
        {"test": run(TestOutcome.SUCCEEDED)},
        {"health": HealthStatus.DEGRADED},
        {"last": rolled_back, "there": release(digests=OLD)},
        {"desired": ChartNotFound("gone"), "last": None},
    ):
        action = plan(settled(requests=REQUESTED, **options))
        assert isinstance(action, StartTests), options
        assert action.requested


def test_requested_tests_of_a_new_revision_are_those_that_follow_its_upgrade() -> None:
    assert plan(settled(requests=REQUESTED)) == StartTests(Nothing())
    interrupted = run(TestOutcome.INTERRUPTED, revision=1, requested=True)
    assert plan(settled(test=interrupted)) == StartTests(Nothing())
    of_this_one = run(TestOutcome.INTERRUPTED, requested=True)
    assert plan(settled(test=of_this_one)) == StartTests(Nothing(), requested=True)


def test_requested_tests_wait_for_a_step_in_progress() -> None:
    released = attempt(AttemptOutcome.RELEASED)
    waiting = plan(settled(requests=REQUESTED, health=HealthStatus.PROGRESSING, last=released))
    assert without_message(waiting) == Wait(Reason.PROGRESSING, "", until=released.last_at + TIMEOUT)
    assert isinstance(plan(settled(requests=REQUESTED, desired=OLD)), Upgrade)


@pytest.mark.parametrize("options", [{"deleting": True}, {"wanted": spec(suspend=True)}, {"desired": OLD}])
def test_tests_end_before_the_release_changes_and_when_it_is_left_alone(options: dict[str, Any]) -> None:
    running = {"observed": {"tests_running": True}}
    assert plan(settled(**options, **running)) == EndTests()
    assert not isinstance(plan(settled(**options, requests=REQUESTED)), EndTests | StartTests)


@pytest.mark.parametrize(
    ("options", "ended"),
    [
        ({}, False),
        ({"health": HealthStatus.PROGRESSING}, False),
        ({"health": HealthStatus.DEGRADED}, False),
        ({"wanted": with_tests(enabled=False)}, True),
        ({"wanted": with_tests(enabled=False), "requests": REQUESTED}, False),
        ({"wanted": with_tests().model_copy(update={"suspend": True})}, True),
        ({"deleting": True}, True),
        ({"desired": OLD}, True),
        ({"there": None}, True),
        ({"there": release(owner="other")}, True),
        ({"there": release(digests=OLD), "last": attempt(AttemptOutcome.UNHEALTHY)}, True),
        ({"held": 2, "last": attempt(AttemptOutcome.RELEASED, action=ROLLBACK)}, True),
        ({"observed": {"releases_unavailable": ApiUnavailable("down")}}, False),
        ({"there": None, "observed": {"releases_unavailable": ApiUnavailable("down")}}, False),
    ],
)
@pytest.mark.parametrize("revision", [1, 2])
def test_tests_that_were_lost_are_ended_if_they_are_not_repeated(
    options: dict[str, Any], revision: int, *, ended: bool
) -> None:
    inputs = settled(test=run(TestOutcome.RUNNING, revision=revision, last_at=NOW), **options)
    assert (plan(inputs) == EndTests()) is ended
    over = replace(inputs, test=run(TestOutcome.INTERRUPTED, revision=revision, last_at=NOW))
    assert plan(over) != EndTests()


@pytest.mark.parametrize("there", [release(), release(FAILED, earlier=DEPLOYED_BEFORE)])
def test_requested_tests_that_were_lost_are_repeated_on_what_is_deployed(there: ObservedRelease) -> None:
    lost = run(TestOutcome.RUNNING, requested=True, last_at=NOW)
    action = plan(settled(there=there, test=lost, wanted=with_tests(enabled=False)))
    assert (action == EndTests()) is (there.status == FAILED)


def test_failed_tests_roll_back_only_if_the_spec_says_so() -> None:
    there = release(earlier=DEPLOYED_BEFORE)
    failed = run(TestOutcome.FAILED)
    assert plan(settled(there=there, test=failed)) == Nothing()
    assert plan(settled(there=there, test=failed, wanted=with_tests("rollback"))) == Rollback(1)


@pytest.mark.parametrize(
    ("test", "earlier"),
    [
        (run(TestOutcome.FAILED, requested=True), DEPLOYED_BEFORE),
        (run(TestOutcome.SUCCEEDED), DEPLOYED_BEFORE),
        (run(TestOutcome.FAILED, revision=1), DEPLOYED_BEFORE),
        (run(TestOutcome.FAILED), ()),  # a first install
        (run(TestOutcome.FAILED), NEVER_HEALTHY_BEFORE),
        (run(TestOutcome.FAILED), tuple(replace(each, digests=WANTED) for each in DEPLOYED_BEFORE)),
    ],
)
def test_there_is_no_rollback_without_reason_or_aim(test: TestRun, earlier: tuple[Any, ...]) -> None:
    action = plan(settled(there=release(earlier=earlier), test=test, wanted=with_tests("rollback")))
    assert not isinstance(action, Rollback)


def test_a_rollback_after_failed_tests_is_tried_again_until_the_timeout() -> None:
    options = {
        "there": release(earlier=DEPLOYED_BEFORE),
        "test": run(TestOutcome.FAILED),
        "wanted": with_tests("rollback"),
    }

    def after(**changes: Any) -> object:
        return plan(settled(last=attempt(AttemptOutcome.FAILED, action=ROLLBACK, **changes), **options))

    assert after() == Rollback(1)
    assert isinstance(after(last_at=NOW), Wait)
    for changes in ({"permanent": True}, {"first_at": NOW - TIMEOUT - 1.0}):
        stalled = after(**changes)
        assert isinstance(stalled, Wait)
        assert stalled.stalled


@pytest.mark.parametrize("outcome", [AttemptOutcome.FAILED, AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED])
@pytest.mark.parametrize("reason", [Reason.TEST_FAILED, Reason.HEALTH_CHECK_FAILED])
@pytest.mark.parametrize(("after_tests", "after_upgrade"), [("rollback", "none"), ("none", "rollback")])
def test_a_rollback_after_failed_tests_is_repeated_as_the_setting_of_tests_says(
    outcome: AttemptOutcome,
    reason: Reason,
    after_tests: Literal["rollback", "none"],
    after_upgrade: Literal["rollback", "none"],
) -> None:
    cause = RollbackCause(revision=1, reason=reason, message="why")
    inputs = settled(
        last=replace(attempt(outcome, action=ROLLBACK), rollback_cause=cause),
        there=release(
            FAILED, revision=3, digests=None, earlier=(*DEPLOYED_BEFORE, PastRevision(2, SUPERSEDED, WANTED))
        ),
        test=run(TestOutcome.FAILED),
        wanted=with_tests(after_tests).model_copy(update={"upgrade": UpgradePolicy(on_failure=after_upgrade)}),
    )
    repeated = (after_tests if reason is Reason.TEST_FAILED else after_upgrade) == "rollback"
    assert (plan(inputs) == Rollback(1)) is repeated
    undone = replace(attempt(AttemptOutcome.UNHEALTHY), permanent=True, reason=reason)
    assert (plan(replace(inputs, attempt=undone)) == Rollback(1)) is repeated


@must_occur(ended=20)
@examples(3)
@given(plan_inputs, st.sampled_from([None, *(run(each) for each in TestOutcome)]), st.booleans(), st.booleans())
def test_nothing_changes_the_release_while_tests_run(
    inputs: PlanInput, test: TestRun | None, requested: bool, enabled: bool
) -> None:
    now = replace(
        inputs,
        spec=inputs.spec.model_copy(update={"test": HelmTestPolicy(enabled=enabled, on_failure="rollback")}),
        observed=replace(inputs.observed, tests_running=True),
        requests=replace(inputs.requests, test=requested),
        test=test,
    )
    action = plan(now)
    if isinstance(action, EndTests):
        occurred("ended")
    assert not isinstance(
        action, Install | Upgrade | Adopt | Rollback | Uninstall | DeleteOrphans | Unlock | Restore | StartTests
    )


def test_a_failed_rollback_after_failed_tests_is_tried_again_when_its_back_off_ends() -> None:
    failed = attempt(AttemptOutcome.FAILED, action=ROLLBACK, last_at=NOW)
    inputs = settled(
        last=failed,
        there=release(earlier=DEPLOYED_BEFORE),
        test=run(TestOutcome.FAILED),
        wanted=with_tests("rollback"),
    )
    waiting = plan(inputs)
    assert isinstance(waiting, Wait)
    assert waiting.until is not None
    assert plan(replace(inputs, now=waiting.until)) == Rollback(1)


def test_only_a_failed_rollback_keeps_failed_tests_from_rolling_back() -> None:
    options = {
        "there": release(earlier=DEPLOYED_BEFORE),
        "test": run(TestOutcome.FAILED),
        "wanted": with_tests("rollback"),
    }
    done = attempt(AttemptOutcome.SUCCEEDED, action=ROLLBACK, last_at=NOW, permanent=True)
    assert plan(settled(last=done, **options)) == Rollback(1)
    assert plan(settled(last=None, **options)) == Rollback(1)


def test_a_run_that_was_lost_starts_again_when_its_back_off_ends() -> None:
    assert plan(settled(test=run(TestOutcome.INTERRUPTED, last_at=NOW - 1.0))) == StartTests(Nothing())
    assert plan(settled(test=run(TestOutcome.INTERRUPTED, last_at=NOW - 0.5))) == Nothing()


def test_failed_tests_of_a_release_that_is_gone_roll_nothing_back() -> None:
    failed = run(TestOutcome.FAILED)
    assert not isinstance(plan(settled(there=None, test=failed, wanted=with_tests("rollback"))), Rollback)


def test_tests_of_a_release_of_another_xapp_are_refused() -> None:
    found = plan(settled(there=release(owner="other"), requests=REQUESTED))
    assert isinstance(found, RejectRequest)
    assert found.annotation == "test-at"


def test_requested_tests_go_on_although_the_spec_asks_for_none() -> None:
    running = run(TestOutcome.RUNNING, last_at=NOW)
    options = {"wanted": with_tests(enabled=False), "observed": {"tests_running": True}}
    assert plan(settled(test=running, **options)) == Nothing()


def test_tests_go_on_while_a_request_is_refused() -> None:
    running = run(TestOutcome.RUNNING, last_at=NOW)
    requests = AnnotationRequests(rollback_to=9)
    assert isinstance(plan(settled(test=running, requests=requests, observed={"tests_running": True})), RejectRollback)
