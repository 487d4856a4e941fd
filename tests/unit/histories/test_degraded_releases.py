"""A good release that degrades, whatever happened to it just before, is neither rolled back nor touched."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import NAMESPACE, Kill
from xapp_operator.config.settings import Settings


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("killed", [False, True])
def test_upgrade_that_was_taken_back_is_no_reason_for_a_rollback(
    settings: Settings, seconds: float, killed: bool
) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.set_tag("two")
        await history.cluster.wait(10.0)
        history.set_tag("three")
        await history.cluster.wait(seconds)
        history.set_tag("two")
        history.cluster.set_outage(on=True)
        if killed:
            history.cluster.kill = Kill(0, after=True)
        await history.cluster.wait(100.0)
        assert not any(step.command == "rollback" for step in history.helm_steps), history.describe()
        history.cluster.set_outage(on=False)

    def check(history: History) -> None:
        assert history.outcome.startswith("Ready")
        assert history.deployed_tags == ["two"]

    run_history(settings, happen, check)


@pytest.mark.parametrize(
    ("restarted", "message"),
    [(False, "ConfigMap hello: is missing; Deployment hello: is missing"), (True, "the release is uninstalled")],
)
def test_a_release_that_a_person_uninstalled_but_kept_is_not_healthy(
    settings: Settings, restarted: bool, message: str
) -> None:
    """After a restart, nothing tells of which objects it consisted."""

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.edit(suspend=True)
        await history.cluster.wait(10.0)
        uninstall_by_hand_and_keep_history(history)
        await history.cluster.wait(10.0)
        if restarted:
            history.cluster.restart()
            await history.cluster.wait(10.0)

    def check(history: History) -> None:
        assert (history.cluster.xapp() or {})["status"]["health"] == {"status": "Degraded", "message": message}

    run_history(settings, happen, check)


def uninstall_by_hand_and_keep_history(history: History) -> None:
    history.leave_behind("uninstalled")
    for group, plural in (("apps", "deployments"), ("", "configmaps")):
        history.cluster.server.delete(Target(group, "v1", plural, NAMESPACE, "hello"), {})


def test_no_action_follows_when_a_release_degrades_and_recovers(settings: Settings) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.set_tag("two")
        await history.cluster.wait(10.0)
        steps = len(history.cluster.helm.steps)
        for _ in range(3):
            history.cluster.set_outage(on=True)
            await asyncio.sleep(70.0)
            assert history.outcome == "NotReady HealthCheckFailed"
            history.cluster.set_outage(on=False)
            await asyncio.sleep(10.0)
            assert history.outcome == "Ready UpgradeSucceeded"
        assert len(history.cluster.helm.steps) == steps

    run_history(settings, happen)
