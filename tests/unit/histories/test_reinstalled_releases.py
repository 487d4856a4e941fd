"""A release that a person has removed and installed again: the revisions of both have the same numbers."""

from __future__ import annotations

import pytest

from tests.support.fakes.helm_by_hand import roll_back_by_hand
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from tests.support.helm_tests import ENABLED, FAILS, deploy, events, last_test, outcome_of, wait_tested
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

ROLLBACK = {**ENABLED, "onFailure": "rollback"}
KILLS = [None, *range(10)]
"""The operator is killed after this write, from the change of the spec on."""


async def install_again(history: History, *, suspended: bool) -> None:
    """Remove the release by hand and install it again, while the XApp is suspended, or the operator does not run."""
    if suspended:
        history.edit(suspend=True)
        await history.cluster.wait(20.0)
    else:
        history.cluster.downtime = 5.0
        history.cluster.restart()
        await history.cluster.wait(1.0)
    history.uninstall_by_hand()
    history.install_by_hand("one")  # at once: the operator never sees that there was no release
    if suspended:
        await history.cluster.wait(5.0)


def kill_after(history: History, write: int | None) -> None:
    history.cluster.kill = None if write is None else Kill(write, after=True)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("suspended", [True, False])
@pytest.mark.parametrize("write", KILLS)
def test_the_tests_of_a_release_tell_nothing_of_the_next_one(
    settings: Settings, write: int | None, *, suspended: bool, fails: bool
) -> None:
    async def play(history: History) -> None:
        deploy(history, test={"enabled": True, "onFailure": "none"}, adopt=True)
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two", **(FAILS if fails else {})})
        await wait_tested(history, "Failed" if fails else "Succeeded", revision=2)
        await install_again(history, suspended=suspended)
        if suspended:
            assert last_test(history) == {}
            assert outcome_of(history) == ("", "", "")
        before = len(events(history))
        kill_after(history, write)
        history.edit(suspend=False, test=ROLLBACK, values={"tag": "three", "labels": None})
        await history.cluster.wait(60.0)
        newest = max(history.cluster.revisions)  # after a kill, perhaps one more
        assert events(history)[before:] == [("Normal", "TestSucceeded", f"1 test of revision {newest} passed")]

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", ["three"])
    assert outcome_of(history)[:2] == ("True", "TestSucceeded")


@pytest.mark.parametrize("suspended", [True, False])
@pytest.mark.parametrize("write", KILLS)
@pytest.mark.parametrize("upgrades", [0, 1, 4])
def test_the_health_of_a_release_tells_nothing_of_the_next_one(
    settings: Settings, upgrades: int, write: int | None, *, suspended: bool
) -> None:
    """The first revision was never healthy, and the one that a person has installed is."""

    async def play(history: History) -> None:
        history.create(tag=BROKEN, adopt=True)
        await history.cluster.wait(60.0)
        for number in range(upgrades):
            history.set_tag(f"good-{number}")
            await history.cluster.wait(20.0)
        await install_again(history, suspended=suspended)
        kill_after(history, write)
        history.edit(suspend=False, values={"tag": f"{BROKEN}-again"})

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Stalled HealthCheckFailed", ["one"])
    assert history.cluster.revisions == {1: "superseded", 2: "superseded", 3: "deployed"}
    assert "rolled back to revision 1" in (history.cluster.condition("Ready") or {})["message"]


def test_a_release_that_the_operator_installs_again_is_tested_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        history.uninstall_by_hand()
        await history.cluster.wait(30.0)
        assert last_test(history)["outcome"] == "Succeeded"

    history = run_history(settings, play)
    assert events(history) == [("Normal", "TestSucceeded", "1 test of revision 1 passed")] * 2


@pytest.mark.parametrize("healed", [True, False])
def test_a_first_install_that_was_never_healthy_is_made_again_when_it_is_removed(
    settings: Settings, *, healed: bool
) -> None:
    never_healthy = "NotReady HealthCheckFailed"

    async def play(history: History) -> None:
        history.create(tag=BROKEN)
        assert await history.cluster.wait_for(lambda: history.outcome == never_healthy, seconds=100.0)
        if healed:
            history.cluster.healed = True  # of images of new pods
        history.uninstall_by_hand()

    history = run_history(settings, play)
    assert history.outcome == ("Ready InstallSucceeded" if healed else never_healthy)
    assert [each.command for each in history.helm_steps] == ["install", "install"]


@pytest.mark.parametrize("later", [0.1, 0.5, 1.5])
def test_a_release_that_goes_away_while_it_is_looked_at_is_gone(settings: Settings, later: float) -> None:
    def read_slowly(request: ApiRequest) -> float:
        return 1.0 if request.method == "GET" and "/secrets/" in request.path else 0.0

    async def play(history: History) -> None:
        history.cluster.server.lag = 0.0
        history.install_by_hand("one")
        history.create(tag="two", adopt=True)
        await history.cluster.wait(60.0)
        history.cluster.latency = read_slowly
        roll_back_by_hand(history, 1)
        await history.cluster.wait(later)
        history.uninstall_by_hand()

    history = run_history(settings, play)
    assert (history.outcome, history.cluster.revisions) == ("Ready InstallSucceeded", {1: "deployed"})


def test_what_is_known_of_a_release_that_is_gone_is_not_told_any_more(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        history.edit(suspend=True)
        await history.cluster.wait(20.0)
        history.uninstall_by_hand()
        await history.cluster.wait(20.0)
        status = (history.cluster.xapp() or {})["status"]
        assert not status.keys() & {"release", "history", "lastTest"}
        assert {each["type"] for each in status["conditions"]}.isdisjoint({"TestSuccess"})

    run_history(settings, play)
