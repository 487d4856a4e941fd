"""A spec that changes while an upgrade is rolled back: the upgrade is made again, as after the rollback."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.helm import Step
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from xapp_operator.config.settings import Settings

CHANGES: list[dict[str, Any]] = [{"timeout": "90s"}, {"maxHistory": 7}, {"upgrade": {"onFailure": "none"}}]


async def wait_rolling_back(history: History) -> None:
    """Break an upgrade, and wait until helm rolls it back."""

    def begun() -> bool:
        return any(each.command == "rollback" for each in history.helm_steps)

    history.create(tag="one")
    await history.cluster.wait(20.0)
    history.set_tag(BROKEN)
    while not begun():
        await history.cluster.wait(0.01)


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("later", [0.0, 0.3, 0.7, 1.0, 2.0, 20.0])
def test_a_changed_spec_repeats_the_upgrade(settings: Settings, later: float, change: dict[str, Any]) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag = 0.05
        await wait_rolling_back(history)
        await history.cluster.wait(later)
        history.cluster.heal()
        history.edit(**change)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", [BROKEN])


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("later", [0.0, 0.7])
def test_an_upgrade_that_is_repeated_can_be_rolled_back_again(
    settings: Settings, later: float, change: dict[str, Any]
) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag = 0.05
        await wait_rolling_back(history)
        await history.cluster.wait(later)
        history.edit(**change)

    history = run_history(settings, play)
    assert history.outcome == "Stalled HealthCheckFailed"
    message = (history.cluster.condition("Ready") or {})["message"]
    undone = "upgrade" not in change
    assert history.deployed_tags == ["one" if undone else BROKEN]
    assert message.startswith(f"not healthy after {change.get('timeout', f'{TIMEOUT_SECONDS}s')} (spec.timeout)")
    assert ("rolled back to revision 1" in message) is undone


@pytest.mark.parametrize("heals", [True, False])
@pytest.mark.parametrize("write", range(7))
def test_a_spec_that_changes_after_a_kill_during_the_rollback_repeats_the_upgrade_at_once(
    settings: Settings, write: int, *, heals: bool
) -> None:
    """The operator knows the pending revision for its own: it does not wait for another helm."""

    async def play(history: History) -> None:
        cluster = history.cluster

        def end_operator(step: Step) -> None:
            if step.command == "rollback" and cluster.lives == 1:
                cluster.kill = Kill(write, after=True)

        history.create(tag="one")
        await cluster.wait(20.0)
        cluster.downtime = 20.0
        cluster.helm.on_step.append(end_operator)
        history.set_tag(BROKEN)
        assert await cluster.wait_for(
            lambda: cluster.kill is None and cluster.writes[-1].startswith("kill"), seconds=60.0
        )
        if heals:
            cluster.heal()
        history.edit(timeout="10m")
        assert await cluster.wait_for(lambda: cluster.lives == 2, seconds=60.0)
        if heals:
            assert await cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        else:
            await cluster.wait(700.0)

    history = run_history(settings, play)
    expected = ("Ready UpgradeSucceeded", [BROKEN]) if heals else ("Stalled HealthCheckFailed", ["one"])
    assert (history.outcome, history.deployed_tags) == expected
