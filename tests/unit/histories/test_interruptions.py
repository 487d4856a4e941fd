"""A change of the spec ends the helm step in progress; that is no failure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fakes.helm_by_hand import upgrade_by_hand
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, Kill
from tests.support.helm_tests import runs_by_outcome
from tests.unit.histories.situations.actions import create_other, take_the_place
from xapp_operator.config.settings import Settings


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


@pytest.mark.parametrize("delay", [0.0, 1.0, 1.5, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.5, 20.0])
def test_a_forced_upgrade_that_a_change_of_the_spec_interrupts_is_made_once(settings: Settings, delay: float) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.annotate("force-at")
        await history.cluster.wait(delay)
        history.edit(maxHistory=7)

    def check(history: History) -> None:
        revisions = history.cluster.revisions
        assert revisions[max(revisions)] == "deployed"
        assert [number for number, status in revisions.items() if status == "superseded"] == [1]
        assert history.cluster.runtime is not None
        metrics = history.cluster.runtime._context.metrics.render().decode()
        assert runs_by_outcome(metrics, action="upgrade").keys() <= {"succeeded", "interrupted"}

    history = run_history(settings, play, check)
    assert 2 <= len(history.helm_steps) <= 3


@pytest.mark.parametrize("write", range(9))
def test_a_forced_upgrade_during_which_the_operator_is_killed_is_made_once(settings: Settings, write: int) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.cluster.kill = Kill(write, after=True)
        history.annotate("force-at")
        await history.cluster.wait(60.0)
        assert history.cluster.lives == 2

    history = run_history(settings, play)
    assert max(history.cluster.revisions) >= 2
    assert history.cluster.writes.count("upgrade: update record deployed") == 1


def test_a_forced_upgrade_that_is_interrupted_before_helm_wrote_is_made_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.cluster.helm.pause = 20.0
        history.annotate("force-at")
        assert await history.cluster.wait_for(lambda: len(history.helm_steps) == 2, seconds=20.0)
        history.edit(maxHistory=7)
        await history.cluster.wait(100.0)

    history = run_history(settings, play)
    assert not history.helm_steps[1].done
    assert history.cluster.revisions == {1: "superseded", 2: "deployed"}
    assert (history.cluster.xapp() or {})["status"]["handled"] == {"forceAt": "1"}


def test_a_spec_that_changes_while_no_operator_runs_after_a_rollback_is_deployed(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster

        def end_after_rollback(*_: object) -> None:
            if cluster.lives == 1 and cluster.revisions.get(3) == "deployed":
                cluster.restart()

        history.create(tag="one")
        await cluster.wait(20.0)
        cluster.downtime = 20.0
        cluster.server.on_stored.append(end_after_rollback)
        history.set_tag(BROKEN)
        assert await cluster.wait_for(lambda: cluster.revisions.get(3) == "deployed", seconds=100.0)
        cluster.heal()
        history.edit(timeout="60s")

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", [BROKEN])


def test_a_step_that_follows_an_unlock_is_called_by_its_own_name(settings: Settings) -> None:
    reasons: set[str] = set()

    async def play(history: History) -> None:
        def note(plural: str, body: Json) -> None:
            released = history.cluster.condition("Released") if plural == "xapps" else None
            if released is not None and history.cluster.revisions.get(3) == "deployed":
                reasons.add(released["reason"])

        history.create(tag="one", upgrade={"onFailure": "none"})
        await history.cluster.wait(20.0)
        history.cluster.server.on_stored.append(note)
        history.cluster.kill = Kill(1, after=True)
        history.set_tag(BROKEN)
        assert await history.cluster.wait_for(lambda: history.cluster.lives > 1, seconds=20.0)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "superseded", 2: "failed", 3: "deployed"}
    assert reasons == {"UpgradeSucceeded"}


def test_a_change_that_a_write_has_returned_does_not_wait_for_the_watch(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.cluster.helm.pause = 3.0
        history.set_tag("two")
        assert await history.cluster.wait_for(lambda: len(history.helm_steps) == 2, seconds=20.0)
        history.cluster.server.lag = 100.0
        history.set_tag("three")
        assert await history.cluster.wait_for(lambda: len(history.helm_steps) == 3, seconds=50.0)

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert history.deployed_tags == ["three"]


def test_a_step_that_waited_for_its_place_is_not_made_for_an_older_spec(settings: Settings) -> None:
    """The status that tells of the wait has returned the newer one, and no event has ended the step yet."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await take_the_place(history)
        history.create(tag="one")
        await cluster.wait(4.0)
        cluster.server.lag = 100.0
        history.set_tag("two")
        assert await cluster.wait_for(lambda: len(history.helm_steps) == 1, seconds=100.0)
        history.note("delete other")
        cluster.delete("other")
        await cluster.wait(250.0)
        history.removed.clear()

    history = run_history(settings.model_copy(update={"helm_concurrency": 1}), play)
    assert [each.what for each in history.helm_steps] == ['{"tag": "two"}']


def test_a_rollback_that_waited_for_its_place_keeps_its_target_while_helm_runs(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        history.create(tag="one", maxHistory=2)
        await cluster.wait(20.0)
        history.set_tag("two")
        await cluster.wait(20.0)
        cluster.helm.pause = 8.0
        create_other(history)
        assert await cluster.wait_for(lambda: bool(cluster.helm.running), seconds=20.0)
        history.annotate("rollback-to", "1")
        await cluster.wait(4.0)
        upgrade_by_hand(history, "three")
        assert await cluster.wait_for(lambda: history.records[-1]["version"] == 4, seconds=60.0)
        assert [each["version"] for each in history.records] == [1, 2, 3, 4]
        await cluster.wait(60.0)
        history.note("delete other")
        cluster.delete("other")
        await cluster.wait(60.0)
        history.removed.clear()

    history = run_history(settings.model_copy(update={"helm_concurrency": 1}), play)
    assert (history.outcome, history.deployed_tags) == ("Ready RollbackSucceeded", ["one"])


@pytest.mark.parametrize("later", [0.0, 0.5])
def test_helm_marks_its_revision_whatever_changes_while_it_ends(settings: Settings, later: float) -> None:
    """Nothing else marks it, because the deletion leaves the release."""

    async def play(history: History) -> None:
        cluster = history.cluster
        history.create(tag="one")
        await cluster.wait(20.0)
        cluster.helm.pause, cluster.helm.last_breath = 60.0, 1.0
        history.set_tag("two")
        assert await cluster.wait_for(lambda: cluster.revisions.get(2) == "pending-upgrade", seconds=100.0)
        cluster.server.lag = 0.0
        history.edit(deletionPolicy="Orphan")
        await cluster.wait(later)
        history.annotate("reconcile-at")
        history.delete()
        assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=60.0)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "deployed", 2: "failed"}
