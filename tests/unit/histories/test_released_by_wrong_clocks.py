"""The condition Released tells of a rollback or of a failed upgrade, whichever was last, whatever any clock says."""

from __future__ import annotations

import json

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import History, Play, run_history
from xapp_operator.config.settings import Settings

HOUR = 3600.0
REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'

wrong_clocks = pytest.mark.parametrize("ahead", [-HOUR, -59.0, -20.0, 20.0, 59.0, HOUR])


def run_with_wrong_clock(settings: Settings, play: Play, ahead: float) -> History:
    def watch(history: History) -> None:
        history.cluster.machine.ahead = ahead

    return run_history(settings, play, watch=watch)


def refuse(history: History, *tags: str) -> None:
    for tag in tags:
        history.cluster.helm.refusals[json.dumps({"tag": tag})] = Fault(REFUSED, writes=2)


async def upgrade_is_rolled_back(history: History) -> None:
    history.create(tag="one")
    await history.cluster.wait(30.0)
    refuse(history, "two", "three")
    history.set_tag("two")
    await history.cluster.wait(20.0)


async def next_upgrade_is_refused(history: History) -> None:
    history.edit(values={"tag": "three"}, upgrade={"onFailure": "none"})
    await history.cluster.wait(30.0)


def released(history: History) -> tuple[str, str]:
    condition = history.cluster.condition("Released") or {}
    return condition["status"], condition["reason"]


@wrong_clocks
def test_an_upgrade_that_was_rolled_back(settings: Settings, ahead: float) -> None:
    history = run_with_wrong_clock(settings, upgrade_is_rolled_back, ahead)
    assert (history.outcome, history.deployed_tags) == ("Stalled UpgradeFailed", ["one"])
    assert released(history) == ("True", "RollbackSucceeded")


@wrong_clocks
def test_an_upgrade_that_is_refused_soon_after_a_rollback(settings: Settings, ahead: float) -> None:
    async def play(history: History) -> None:
        await upgrade_is_rolled_back(history)
        await next_upgrade_is_refused(history)

    history = run_with_wrong_clock(settings, play, ahead)
    assert (history.outcome, history.deployed_tags) == ("Stalled UpgradeFailed", ["one"])
    assert released(history) == ("False", "UpgradeFailed")


@wrong_clocks
def test_an_upgrade_that_is_refused_soon_after_a_rollback_before_it_makes_a_revision(
    settings: Settings, ahead: float
) -> None:
    async def play(history: History) -> None:
        await upgrade_is_rolled_back(history)
        history.cluster.helm.refusals[json.dumps({"tag": "three"})] = Fault(REFUSED, writes=0)
        await next_upgrade_is_refused(history)

    history = run_with_wrong_clock(settings, play, ahead)
    assert max(history.cluster.revisions) == 3
    assert released(history) == ("False", "UpgradeFailed")


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
@pytest.mark.parametrize("restarts", [False, True])
def test_clocks_that_are_set_after_a_rollback(settings: Settings, jump: float, restarts: bool) -> None:
    """The API server and the operator run on one machine."""

    async def play(history: History) -> None:
        await upgrade_is_rolled_back(history)
        history.cluster.clock.offset += jump
        if restarts:
            history.cluster.restart()
        await history.cluster.wait(5.0)
        await next_upgrade_is_refused(history)

    assert released(run_history(settings, play)) == ("False", "UpgradeFailed")


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_clocks_that_are_set_before_a_rollback(settings: Settings, jump: float) -> None:
    def is_rolling_back(history: History) -> bool:
        return [each.command for each in history.helm_steps][-1:] == ["rollback"]

    async def play(history: History) -> None:
        def set_clock(_: object) -> None:
            if is_rolling_back(history):
                history.cluster.helm.on_step.clear()
                history.cluster.clock.offset += jump

        history.cluster.helm.on_step.append(set_clock)
        await upgrade_is_rolled_back(history)
        assert is_rolling_back(history)

    assert released(run_history(settings, play)) == ("True", "RollbackSucceeded")
