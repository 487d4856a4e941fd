"""The plan before it looks at a release of its own: deletion, suspend, steps left behind, ownership, and the order."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.domain.situations import (
    GOOD_ONE,
    NOW,
    OLD,
    TIMEOUT,
    WANTED,
    attempt,
    case,
    gist,
    release,
    situation,
    spec,
    wait,
)
from xapp_operator.api.conditions import Reason
from xapp_operator.domain.actions import (
    Action,
    Adopt,
    CorrectDrift,
    Install,
    Nothing,
    Rollback,
    Test,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.domain.plan import plan
from xapp_operator.domain.situation import UNINSTALL, Observed, Outcome, Requests, Situation
from xapp_operator.errors import ChartNotFound, SourceUnavailable

FOREIGN = "acme-ran-other"
PENDING = ["pending-install", "pending-upgrade", "pending-rollback"]
ALL_STATES = [*PENDING, "deployed", "superseded", "failed", "uninstalling", "uninstalled", "unknown"]

HELD_OLD = release(revision=3, digests=OLD, earlier=GOOD_ONE)

DELETION = [
    case("no-release", situation(deleting=True, desired=None), Nothing()),
    case("ours", situation(release(), deleting=True, desired=None), Uninstall()),
    case("orphan", situation(release(), deleting=True, wanted=spec(orphan=True)), Nothing()),
    case("of-another-xapp", situation(release(owner=FOREIGN), deleting=True), Nothing()),
    case("of-a-person", situation(release(owner=None), deleting=True), Nothing()),
    case(
        "of-a-person-not-yet-taken-over",
        situation(release(owner=None), deleting=True, wanted=spec(adopt=True)),
        Nothing(),
    ),
    case("helm-running", situation(release(), deleting=True, helm_running=True), wait(Reason.PROGRESSING)),
    case(
        "helm-running-before-its-record-is-there",
        situation(deleting=True, helm_running=True),
        wait(Reason.PROGRESSING),
    ),
    case(
        "orphan-helm-running",
        situation(release("pending-upgrade"), deleting=True, helm_running=True, wanted=spec(orphan=True)),
        wait(Reason.PROGRESSING),
    ),
    case("uninstalling", situation(release("uninstalling"), deleting=True), Uninstall(hooks=False)),
    case("namespace-terminating", situation(release(), deleting=True, terminating=True), Uninstall(hooks=False)),
    case("suspended", situation(release(), deleting=True, wanted=spec(suspend=True)), Uninstall()),
    case("source-gone", situation(release(), deleting=True, desired=ChartNotFound("no such chart")), Uninstall()),
    case("held", situation(HELD_OLD, deleting=True, held=1), Uninstall()),
    case(
        "uninstall-failed-just-now",
        situation(
            release(),
            deleting=True,
            last=attempt(Outcome.FAILED, action=UNINSTALL, digests=None, count=4, last_at=NOW - 7.0),
        ),
        wait(Reason.UNINSTALL_FAILED, until=NOW + 1.0),
    ),
    case(
        "uninstall-failed-and-due",
        situation(
            release(),
            deleting=True,
            last=attempt(Outcome.FAILED, action=UNINSTALL, digests=None, count=4, last_at=NOW - 8.0),
        ),
        Uninstall(),
    ),
    case(
        "uninstall-failed-retry-at",
        situation(
            release(),
            deleting=True,
            last=attempt(Outcome.FAILED, action=UNINSTALL, digests=None, last_at=NOW),
            requests=Requests(retry=True),
        ),
        Uninstall(),
    ),
    case(
        "uninstall-failed-then-orphan",
        situation(
            release(),
            deleting=True,
            wanted=spec(orphan=True),
            last=attempt(Outcome.FAILED, action=UNINSTALL, digests=None, last_at=NOW),
        ),
        Nothing(),
    ),
    case(
        "an-upgrade-failed-just-now",
        situation(release("failed"), deleting=True, last=attempt(Outcome.FAILED, last_at=NOW)),
        Uninstall(),
    ),
]

SUSPENDED = [
    case("no-release", situation(wanted=spec(suspend=True), desired=None), wait(Reason.SUSPENDED)),
    case("other-digests", situation(release(digests=OLD), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case("pending", situation(release("pending-upgrade"), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case("uninstalling", situation(release("uninstalling"), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case("of-another-xapp", situation(release(owner=FOREIGN), wanted=spec(suspend=True)), wait(Reason.SUSPENDED)),
    case(
        "rollback-to",
        situation(release(earlier=GOOD_ONE), wanted=spec(suspend=True), requests=Requests(rollback_to=1)),
        wait(Reason.SUSPENDED),
    ),
]

LEFT_BEHIND = [
    *(case(f"{status}-ours", situation(release(status, revision=3)), Unlock(3)) for status in PENDING),
    case("helm-running", situation(release("pending-upgrade"), helm_running=True), wait(Reason.PROGRESSING)),
    case("helm-running-no-record-yet", situation(helm_running=True), wait(Reason.PROGRESSING)),
    case("helm-running-deployed", situation(release(digests=OLD), helm_running=True), wait(Reason.PROGRESSING)),
    case("helm-running-uninstalling", situation(release("uninstalling"), helm_running=True), wait(Reason.PROGRESSING)),
    case(
        "another-helm-just-now",
        situation(release("pending-upgrade", attempt_is_ours=False, modified_at=NOW - 1.0)),
        wait(Reason.PROGRESSING, until=NOW - 1.0 + TIMEOUT),
    ),
    case(
        "another-helm-timeout-over",
        situation(release("pending-upgrade", attempt_is_ours=False, modified_at=NOW - TIMEOUT)),
        Unlock(2),
    ),
    case(
        "a-person's-without-adopt",
        situation(release("pending-install", owner=None, attempt_is_ours=False)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case(
        "a-person's-with-adopt-just-now",
        situation(
            release("pending-install", owner=None, attempt_is_ours=False, modified_at=NOW), wanted=spec(adopt=True)
        ),
        wait(Reason.PROGRESSING, until=NOW + TIMEOUT),
    ),
    case(
        "a-person's-with-adopt-timeout-over",
        situation(release("pending-install", owner=None, attempt_is_ours=False), wanted=spec(adopt=True)),
        Unlock(2),
    ),
    case(
        "of-another-xapp",
        situation(release("pending-install", owner=FOREIGN), wanted=spec(adopt=True)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case(
        "pending-before-rollback-to",
        situation(release("pending-upgrade", earlier=GOOD_ONE), requests=Requests(rollback_to=1)),
        Unlock(2),
    ),
    case("uninstalling-ours", situation(release("uninstalling")), Uninstall(hooks=False)),
    case(
        "uninstalling-failed-just-now",
        situation(
            release("uninstalling"), last=attempt(Outcome.FAILED, action=UNINSTALL, digests=None, last_at=NOW - 0.5)
        ),
        wait(Reason.UNINSTALL_FAILED, until=NOW + 0.5),
    ),
    case(
        "uninstalling-failed-and-due",
        situation(
            release("uninstalling"), last=attempt(Outcome.FAILED, action=UNINSTALL, digests=None, last_at=NOW - 1.0)
        ),
        Uninstall(hooks=False),
    ),
    case(
        "uninstalling-a-person's-without-adopt",
        situation(release("uninstalling", owner=None)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
    case(
        "uninstalling-a-person's-with-adopt-just-now",
        situation(release("uninstalling", owner=None, modified_at=NOW), wanted=spec(adopt=True)),
        wait(Reason.PROGRESSING, until=NOW + TIMEOUT),
    ),
    case(
        "uninstalling-a-person's-with-adopt-timeout-over",
        situation(release("uninstalling", owner=None), wanted=spec(adopt=True)),
        Uninstall(hooks=False),
    ),
    case(
        "uninstalling-of-another-xapp",
        situation(release("uninstalling", owner=FOREIGN)),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
]

OWNERSHIP = [
    *(
        case(
            f"{status}-of-another-xapp",
            situation(release(status, owner=FOREIGN), wanted=spec(adopt=True)),
            wait(Reason.ACCESS_DENIED, stalled=True),
        )
        for status in ALL_STATES
    ),
    *(
        case(
            f"{status}-of-a-person",
            situation(release(status, owner=None, digests=None)),
            wait(Reason.ACCESS_DENIED, stalled=True),
        )
        for status in ALL_STATES
    ),
    case(
        "adopt-takes-over-without-reinstalling",
        situation(release(owner=None, digests=None), wanted=spec(adopt=True)),
        Upgrade(take_ownership=True),
    ),
    case(
        "adopt-leaves-what-agrees-as-it-is",
        situation(release(owner=None, digests=WANTED, revision=4), wanted=spec(adopt=True)),
        Adopt(4, WANTED),
    ),
    case(
        "adopt-and-force-upgrade",
        situation(release(owner=None, digests=WANTED), wanted=spec(adopt=True), requests=Requests(force=True)),
        Upgrade(take_ownership=True),
    ),
    case(
        "adopt-a-failed-first-install",
        situation(release("failed", owner=None, digests=None), wanted=spec(adopt=True)),
        Install(replace=True, take_ownership=True),
    ),
    case(
        "foreign-before-rollback-to-force-and-source",
        situation(
            release(owner=FOREIGN, earlier=GOOD_ONE),
            requests=Requests(rollback_to=1, force=True, test=True, retry=True),
            desired=SourceUnavailable("away"),
        ),
        wait(Reason.ACCESS_DENIED, stalled=True),
    ),
]


@pytest.mark.parametrize(("situated", "expected"), DELETION)
def test_deletion_removes_what_is_ours_and_waits_for_nothing_else(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), SUSPENDED)
def test_suspended_xapp_is_left_as_it_is(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), LEFT_BEHIND)
def test_step_left_behind_is_healed_once_nobody_works_on_it(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), OWNERSHIP)
def test_release_of_others_is_untouched_unless_adopted(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


def test_rules_answer_in_their_order() -> None:
    """Everything at once; then what answered is taken away, and the next rule answers."""
    now = situation(
        release("pending-upgrade", owner=None, earlier=GOOD_ONE),
        deleting=True,
        helm_running=True,
        wanted=spec(suspend=True),
        held=1,
        desired=ChartNotFound("no such version"),
        last=attempt(Outcome.FAILED, permanent=True),
        requests=Requests(rollback_to=1, test=True),
        drifted=True,
        waiting_for=("b",),
    )
    ours = release("deployed", digests=OLD, earlier=GOOD_ONE)
    changes: list[tuple[dict[str, Any], Action]] = [
        ({}, wait(Reason.PROGRESSING)),
        ({"deleting": False}, wait(Reason.SUSPENDED)),
        ({"spec": spec(drift="enabled")}, wait(Reason.PROGRESSING)),
        ({"observed": Observed(release("pending-upgrade"), waiting_for=("b",))}, Unlock(2)),
        ({"observed": Observed(release("uninstalling"), waiting_for=("b",))}, Uninstall(hooks=False)),
        (
            {"observed": Observed(replace(ours, owner=None), waiting_for=("b",))},
            wait(Reason.ACCESS_DENIED, stalled=True),
        ),
        ({"observed": Observed(ours, waiting_for=("b",))}, Rollback(1, hold=True)),
        (
            {"requests": Requests(test=True)},
            Nothing("revision 1 is held by rollback-to until the spec changes"),
        ),
        ({"held_revision": None, "attempt": None}, wait(Reason.CHART_PULL_FAILED, stalled=True)),
        ({"desired": WANTED, "attempt": attempt(Outcome.FAILED, permanent=True)}, _upgrade_failed()),
        ({"attempt": None}, wait(Reason.DEPENDENCY_NOT_READY)),
        ({"observed": Observed(ours)}, Upgrade()),
        ({"observed": Observed(release(earlier=GOOD_ONE))}, Test()),
        ({"requests": Requests()}, CorrectDrift()),
        ({"drifted": False}, Nothing()),
    ]
    for change, expected in changes:
        now = replace(now, **change)
        assert gist(plan(now)) == expected, change


def _upgrade_failed() -> Action:
    return wait(Reason.UPGRADE_FAILED, stalled=True)


@pytest.mark.parametrize(
    ("situated", "part"),
    [
        (situation(waiting_for=("kpi-store", "e2-adapter")), "kpi-store, e2-adapter"),
        (situation(release(owner=FOREIGN)), FOREIGN),
        (situation(release(owner=None)), "adopt: true"),
        (situation(release("pending-install", attempt_is_ours=False, modified_at=NOW)), "spec.timeout (5m)"),
        (situation(desired=ChartNotFound("hello-world 9.9.9 is not in the repository")), "9.9.9"),
        (situation(wanted=spec(suspend=True)), "spec.suspend"),
    ],
)
def test_message_names_the_cause_and_the_mend(situated: Situation, part: str) -> None:
    answer = plan(situated)
    assert isinstance(answer, Wait)
    assert part in answer.message
