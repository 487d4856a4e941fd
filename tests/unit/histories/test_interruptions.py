"""A change of the spec ends the helm step in progress; that is no failure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fakes.histories import History, run_history
from xapp_operator.config import Settings


def change_values(history: History) -> None:
    history.set_tag("three")


def change_nothing_that_helm_sees(history: History) -> None:
    history.edit(maxHistory=7)


@pytest.mark.parametrize(
    ("change", "tag"),
    [(change_values, "three"), (change_nothing_that_helm_sees, "two")],
    ids=["other values", "the same values"],
)
@pytest.mark.parametrize("command", ["install", "upgrade"])
def test_an_interrupted_step_is_done_again_for_the_new_generation(
    settings: Settings, command: str, change: Callable[[History], None], tag: str
) -> None:
    async def play(history: History) -> None:
        if command == "upgrade":
            history.create(tag="one")
            await history.cluster.wait(20.0)
        history.cluster.helm.pause = 3.0
        begun = len(history.helm_steps)
        history.create(tag="two") if command == "install" else history.set_tag("two")
        assert await history.cluster.wait_for(lambda: len(history.helm_steps) > begun, seconds=20.0)
        # The watch is late (LAG_SECONDS): a write of the status during the step reads the change earlier.
        change(history)
        assert await history.cluster.wait_for(lambda: len(history.helm_steps) > begun + 1, seconds=20.0)
        assert not history.helm_steps[begun].done

    def check(history: History) -> None:
        assert history.outcome.startswith("Ready")
        assert history.deployed_tags == [tag]
        warnings = [each["reason"] for each in history.cluster.server.all("events") if each["type"] == "Warning"]
        assert warnings == []

    run_history(settings, play, check)


def test_a_step_that_a_suspension_ends_is_called_interrupted_and_not_failed(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.cluster.helm.pause = 3.0
        history.set_tag("two")
        assert await history.cluster.wait_for(lambda: len(history.helm_steps) > 1, seconds=20.0)
        history.edit(suspend=True)
        await history.cluster.wait(30.0)
        status = (history.cluster.xapp() or {})["status"]
        assert (status["phase"], status["lastAttempt"]["outcome"]) == ("Suspended", "Interrupted")
        assert "reason" not in status["lastAttempt"]
        history.edit(suspend=False)

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert history.deployed_tags == ["two"]
