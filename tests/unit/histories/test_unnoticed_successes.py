"""helm's last write is stored, but helm fails then: its connection was cut, or it was killed before it could tell.

What is recorded decides, not the error. So it ends as if helm had not failed, and no step is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes.helm import FakeHelm, Fault
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import BROKEN
from tests.support.helm_tests import ENABLED, deploy
from tests.unit.histories.generation import refuse
from tests.unit.histories.test_kills import SITUATIONS, End
from xapp_operator.common.bounded_process import Command, ProcessResult
from xapp_operator.config.settings import Settings

LOST = "http2: client connection lost"
SIGKILL = ""
AWAY_SECONDS = 3.0
"""From the beginning of a step, for so long the API server does not list release records."""
STEPS_MAX = 9
WITH_FAULTS = ("upgrade that fails once", "upgrade whose helm is killed", "deletion that is changed")
"""Situations with other faults of helm."""


def lose_answers(history: History, error: str, *, away: bool) -> None:
    history.cluster.helm.faults = [Fault(error, writes=None)] * STEPS_MAX
    if away:
        history.cluster.helm.on_step.append(lambda _: refuse(history, "GET", "/secrets", AWAY_SECONDS))


def play(settings: Settings, name: str, disturb: Callable[[History], None]) -> tuple[End, list[str]]:
    """Return how a situation ends, and the steps of helm in it."""

    async def happen(history: History) -> None:
        SITUATIONS[name].before(history)
        await history.cluster.wait(20.0)
        disturb(history)
        SITUATIONS[name].then(history)
        await history.cluster.wait(100.0)

    history = run_history(settings, happen)
    return End.of(history), [f"{each.command} {each.what}" for each in history.helm_steps]


@pytest.mark.parametrize(("error", "away"), [(LOST, False), (SIGKILL, True)])
@pytest.mark.parametrize("name", [name for name in SITUATIONS if not name.startswith(WITH_FAULTS)])
def test_it_ends_as_if_helm_had_not_failed(settings: Settings, name: str, error: str, *, away: bool) -> None:
    undisturbed = play(settings, name, lambda _: None)
    assert play(settings, name, lambda history: lose_answers(history, error, away=away)) == undisturbed


@pytest.mark.parametrize("error", [LOST, SIGKILL])
def test_a_restart_before_the_records_can_be_read_changes_nothing(settings: Settings, error: str) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        lose_answers(history, error, away=True)
        history.set_tag(BROKEN)
        assert await history.cluster.wait_for(lambda: history.cluster.revisions.get(2) == "deployed", seconds=20.0)
        await history.cluster.wait(1.0)
        history.cluster.restart()
        await history.cluster.wait(100.0)

    history = run_history(settings, happen)
    assert (history.outcome, history.deployed_tags) == ("Stalled HealthCheckFailed", ["one"])
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]


def test_nobody_is_told_of_a_failure_and_the_tests_run(settings: Settings) -> None:
    async def happen(history: History) -> None:
        deploy(history, test=ENABLED)
        await history.cluster.wait(20.0)
        lose_answers(history, LOST, away=False)
        history.set_tag("two")
        await history.cluster.wait(20.0)

    history = run_history(settings, happen)
    assert (history.cluster.xapp() or {})["status"]["lastTest"]["revision"] == 2
    told = [(each["reason"], each["message"]) for each in history.cluster.server.all("events")]
    assert ("UpgradeSucceeded", "revision 2 of hello 0.1.0") in told
    assert not any(reason == "UpgradeFailed" for reason, _ in told)


def test_an_upgrade_that_prints_too_much_is_rolled_back_although_nothing_else_can_be_read(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = FakeHelm.__call__

    async def print_much(helm: FakeHelm, command: Command, **options: Any) -> ProcessResult:
        if "get" in command.arguments:
            return replace(await run(helm, command, **options), exit_code=1, stderr=f"Error: {LOST}\n")
        return replace(await run(helm, command, **options), stdout=b"{", stdout_truncated=True)

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        monkeypatch.setattr(FakeHelm, "__call__", print_much)
        history.set_tag(BROKEN)
        await history.cluster.wait(100.0)

    history = run_history(settings, happen)
    assert (history.outcome, history.deployed_tags) == ("Stalled HealthCheckFailed", ["one"])
