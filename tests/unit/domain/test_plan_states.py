"""The plan for releases that are there and ours: held ones, every state of Helm's, dependencies."""

import pytest

from tests.unit.domain.situations import (
    GOOD_ONE,
    INSTALLED,
    OLD,
    STILL_THERE,
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
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.actions import (
    Action,
    CorrectDrift,
    Install,
    Nothing,
    Rollback,
    Test,
    Uninstall,
    Unlock,
    Upgrade,
)
from xapp_operator.domain.plan import plan
from xapp_operator.domain.situation import Earlier, Outcome, Requests, Situation
from xapp_operator.errors import ChartNotFound, SourceUnavailable

DEPLOYED_ALREADY = release(earlier=GOOD_ONE)
HELD_OLD = release(revision=3, digests=OLD, earlier=GOOD_ONE)

ROLLBACK_AND_HOLD = [
    case("known", situation(DEPLOYED_ALREADY, requests=Requests(rollback_to=1)), Rollback(1, hold=True)),
    case("unknown", situation(DEPLOYED_ALREADY, requests=Requests(rollback_to=9)), Nothing()),
    case("no-release", situation(requests=Requests(rollback_to=1)), Install()),
    case(
        "unknown-while-held",
        situation(HELD_OLD, held=1, requests=Requests(rollback_to=2)),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case("again-while-held", situation(HELD_OLD, held=1, requests=Requests(rollback_to=1)), Rollback(1, hold=True)),
    case(
        "before-the-source",
        situation(DEPLOYED_ALREADY, desired=ChartNotFound("gone"), requests=Requests(rollback_to=1)),
        Rollback(1, hold=True),
    ),
    case(
        "before-a-stalled-attempt",
        situation(
            release("failed", earlier=STILL_THERE),
            last=attempt(Outcome.FAILED, permanent=True),
            requests=Requests(rollback_to=1),
        ),
        Rollback(1, hold=True),
    ),
    case(
        "held",
        situation(HELD_OLD, held=1),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case(
        "held-and-degraded",
        situation(HELD_OLD, held=1, health=HealthStatus.DEGRADED),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case(
        "held-while-the-source-is-away",
        situation(HELD_OLD, held=1, desired=SourceUnavailable("away")),
        Nothing("revision 1 is held by rollback-to until the spec changes"),
    ),
    case("hold-ends-with-the-generation", situation(HELD_OLD, held=1, current=False), Upgrade()),
    case("hold-ends-when-removed-by-hand", situation(held=1), Install()),
    case("hold-ends-when-broken-by-hand", situation(release("failed", earlier=GOOD_ONE), held=1), Upgrade()),
]

STATES = [
    case("no-release", situation(), Install()),
    case("no-release-adopt", situation(wanted=spec(adopt=True)), Install(take_ownership=True)),
    case("removed-by-hand", situation(last=INSTALLED), Install()),
    case("deployed-same-digests", situation(release(), last=INSTALLED), Nothing()),
    case("deployed-same-digests-status-lost", situation(release()), Nothing()),
    case("deployed-other-chart", situation(release(digests=OLD), last=INSTALLED), Upgrade()),
    case("deployed-digests-unknown", situation(release(digests=None)), Upgrade()),
    case("upgrade-adopts", situation(release(digests=OLD), wanted=spec(adopt=True)), Upgrade(take_ownership=True)),
    case("failed-never-deployed", situation(release("failed")), Install(replace=True)),
    case(
        "failed-several-times-never-deployed",
        situation(release("failed", earlier=(Earlier(1, "failed", WANTED),))),
        Install(replace=True),
    ),
    case("failed-after-superseded", situation(release("failed", earlier=GOOD_ONE)), Upgrade()),
    case("failed-after-deployed", situation(release("failed", earlier=STILL_THERE)), Upgrade()),
    case("uninstalled-history-kept", situation(release("uninstalled")), Install(replace=True)),
    case(
        "uninstalled-history-kept-after-good",
        situation(release("uninstalled", earlier=GOOD_ONE), wanted=spec(adopt=True)),
        Install(replace=True, take_ownership=True),
    ),
    case("superseded-newest-record-lost", situation(release("superseded", earlier=GOOD_ONE)), Upgrade()),
    case("unknown-status", situation(release("unknown", earlier=GOOD_ONE)), Upgrade()),
    case("force", situation(release(), last=INSTALLED, requests=Requests(force=True)), Upgrade()),
    case("test", situation(release(), last=INSTALLED, requests=Requests(test=True)), Test()),
    case("test-after-the-upgrade", situation(release(digests=OLD), requests=Requests(test=True)), Upgrade()),
    case("chart-and-values-not-asked-for", situation(release(), desired=None), wait(Reason.PROGRESSING)),
    case("degraded-later", situation(release(), last=INSTALLED, health=HealthStatus.DEGRADED), Nothing()),
    case("drift-corrected", situation(release(), drifted=True, wanted=spec(drift="enabled")), CorrectDrift()),
    case("drift-warned-of", situation(release(), drifted=True, wanted=spec(drift="warn")), Nothing()),
    case("drift-disabled", situation(release(), drifted=True, wanted=spec(drift="disabled")), Nothing()),
    case("no-drift", situation(release(), drifted=False, wanted=spec(drift="enabled")), Nothing()),
    case(
        "drift-after-upgrade",
        situation(release(digests=OLD), drifted=True, wanted=spec(drift="enabled")),
        Upgrade(),
    ),
]

DEPENDENCIES = [
    case("install", situation(waiting_for=("b",)), wait(Reason.DEPENDENCY_NOT_READY)),
    case("replace", situation(release("failed"), waiting_for=("b",)), wait(Reason.DEPENDENCY_NOT_READY)),
    case("upgrade", situation(release(digests=OLD), waiting_for=("b",)), wait(Reason.DEPENDENCY_NOT_READY)),
    case(
        "force",
        situation(release(), requests=Requests(force=True), waiting_for=("b",)),
        wait(Reason.DEPENDENCY_NOT_READY),
    ),
    case("not-nothing", situation(release(), waiting_for=("b",)), Nothing()),
    case("not-unlock", situation(release("pending-upgrade"), waiting_for=("b",)), Unlock(2)),
    case("not-uninstall", situation(release(), deleting=True, waiting_for=("b",)), Uninstall()),
    case(
        "not-rollback",
        situation(DEPLOYED_ALREADY, requests=Requests(rollback_to=1), waiting_for=("b",)),
        Rollback(1, hold=True),
    ),
    case("not-test", situation(release(), requests=Requests(test=True), waiting_for=("b",)), Test()),
    case(
        "not-drift",
        situation(release(), drifted=True, wanted=spec(drift="enabled"), waiting_for=("b",)),
        CorrectDrift(),
    ),
]


@pytest.mark.parametrize(("situated", "expected"), ROLLBACK_AND_HOLD)
def test_rollback_to_is_done_and_held_until_the_generation_changes(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), STATES)
def test_every_state_of_a_release_has_its_answer(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected


@pytest.mark.parametrize(("situated", "expected"), DEPENDENCIES)
def test_dependencies_hold_back_install_and_upgrade_only(situated: Situation, expected: Action) -> None:
    assert gist(plan(situated)) == expected
