"""The history tells of each revision whether it was ever healthy."""

from __future__ import annotations

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import roll_back_by_hand, upgrade_by_hand
from tests.support.fakes.histories import RESYNC_SECONDS, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from tests.unit.histories.test_retries import REFUSED
from xapp_operator.config.settings import Settings


def known_health(history: History) -> dict[int, bool | None]:
    status = (history.cluster.xapp() or {})["status"]
    return {each["revision"]: each.get("wasHealthy") for each in status["history"]}


@pytest.mark.parametrize("killed", [False, True])
def test_revision_that_never_was_healthy_is_known_after_its_rollback(settings: Settings, killed: bool) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(10.0)
        assert known_health(history) == {2: False, 1: True}
        if killed:
            history.cluster.kill = Kill(0, after=True)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        history.cluster.kill = None
        assert known_health(history) == {3: True, 2: False, 1: True}
        history.set_tag("three")
        await history.cluster.wait(10.0)

    history = run_history(settings, play)
    assert known_health(history) == {4: True, 3: True, 2: False, 1: True}


def test_revision_that_became_unhealthy_later_was_healthy(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.set_outage(on=True)
        await history.cluster.wait(100.0)
        assert known_health(history) == {1: True}
        history.cluster.set_outage(on=False)

    run_history(settings, play)


def test_revision_that_becomes_healthy_after_its_timeout_was_healthy(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag=BROKEN)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert known_health(history) == {1: False}
        history.cluster.heal()

    history = run_history(settings, play)
    assert known_health(history) == {1: True}


@pytest.mark.parametrize("killed", [False, True])
def test_without_a_revision_that_ever_was_healthy_there_is_no_rollback(settings: Settings, killed: bool) -> None:
    async def play(history: History) -> None:
        history.create(tag=f"{BROKEN}-one")
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        history.set_tag(f"{BROKEN}-two")
        if killed:
            history.cluster.kill = Kill(1, after=True)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.outcome == "Stalled HealthCheckFailed"
        ready = history.cluster.condition("Ready")
        assert ready is not None
        assert ready["message"].endswith("not rolled back: none of the earlier revisions was ever healthy")
        # Who asks for it gets it.
        history.annotate("rollback-to", "1")
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.deployed_tags == [f"{BROKEN}-one"]
        history.set_tag("three")

    history = run_history(settings, play)
    assert [step.command for step in history.helm_steps if step.done].count("rollback") == 1
    assert history.outcome.startswith("Ready")


@pytest.mark.parametrize("killed", [False, True])
def test_revision_that_never_was_healthy_is_not_kept_beyond_the_history(settings: Settings, killed: bool) -> None:
    async def play(history: History) -> None:
        history.create(tag=f"{BROKEN}-one", maxHistory=1)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        history.set_tag(f"{BROKEN}-two")
        if killed:
            history.cluster.kill = Kill(1, after=True)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert list(history.tags.values()) == [f"{BROKEN}-two"]
        assert history.outcome == "Stalled HealthCheckFailed"
        ready = history.cluster.condition("Ready")
        assert ready is not None
        assert ready["message"].endswith("not rolled back: no earlier revision is kept that ever was healthy")
        history.set_tag("three")

    history = run_history(settings, play)
    assert "rollback" not in [step.command for step in history.helm_steps]
    assert history.outcome.startswith("Ready")


def test_rollback_passes_over_revisions_that_never_were_healthy(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        for tag in (f"{BROKEN}-two", f"{BROKEN}-three"):
            history.set_tag(tag)
            await history.cluster.wait(TIMEOUT_SECONDS / 2.0)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.outcome.startswith("Stalled")

    history = run_history(settings, play)
    assert history.deployed_tags == ["one"]
    assert known_health(history) == {4: True, 3: False, 2: False, 1: True}


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_last_revision_that_was_healthy_is_kept_however_many_tries_follow(settings: Settings, most: int) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=most)
        await history.cluster.wait(10.0)
        for number in range(6):
            history.set_tag(f"{BROKEN}-{number}")
            await history.cluster.wait(10.0)
        assert len(history.tags) == max(most, 2)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.outcome.startswith("Stalled")
        history.edit(maxHistory=10)

    history = run_history(settings, play)
    assert history.deployed_tags == ["one"]


def test_revisions_of_which_nothing_is_known_are_returned_to(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag=f"{BROKEN}-one")
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        forget_health(history)
        history.set_tag(f"{BROKEN}-two")
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)

    history = run_history(settings, play)
    assert history.deployed_tags == [f"{BROKEN}-one"]


def test_nothing_is_written_about_revisions_of_earlier_versions(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        forget_health(history)
        writes = len(history.cluster.writes)
        history.annotate("unknown")  # brings it back
        await history.cluster.wait(2.0 * RESYNC_SECONDS)
        assert len(history.cluster.writes) == writes
        assert known_health(history) == {1: None}
        history.set_tag("two")
        await history.cluster.wait(10.0)

    history = run_history(settings, play)
    assert known_health(history) == {2: True, 1: None}


def test_revision_that_crashes_soon_after_it_was_ready_never_was_healthy(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(90.0)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        assert known_health(history) == {2: True, 1: True}
        history.cluster.crash()
        await history.cluster.wait(10.0)
        assert known_health(history) == {2: False, 1: True}
        history.set_tag("three")
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        history.cluster.set_outage(on=False)

    history = run_history(settings, play)
    assert history.deployed_tags == ["one"], "rolled back to a revision that crashes"
    assert known_health(history) == {4: True, 3: False, 2: False, 1: True}


def test_revision_that_recovers_after_a_crash_was_healthy(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.crash()
        await history.cluster.wait(10.0)
        assert known_health(history) == {1: False}
        history.cluster.set_outage(on=False)

    history = run_history(settings, play)
    assert known_health(history) == {1: True}


def test_revision_that_crashes_long_after_it_was_ready_was_healthy(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(90.0)
        history.cluster.crash()
        await history.cluster.wait(10.0)
        assert known_health(history) == {1: True}
        history.cluster.set_outage(on=False)

    run_history(settings, play)


def test_a_longer_timeout_gives_an_unhealthy_revision_more_time(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", upgrade={"onFailure": "none"})
        await history.cluster.wait(10.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.outcome == "Stalled HealthCheckFailed"
        history.edit(timeout=f"{4 * TIMEOUT_SECONDS}s")
        await history.cluster.wait(TIMEOUT_SECONDS)
        assert history.outcome == "NotReady Progressing"
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.outcome == "Stalled HealthCheckFailed"

    run_history(settings, play)


def forget_health(history: History) -> None:
    status = (history.cluster.xapp() or {})["status"]
    for each in status["history"]:
        del each["wasHealthy"]
    history.cluster.edit({"status": {"history": status["history"]}})


@pytest.mark.parametrize("seconds", [0.8, 0.9, 1.0, 1.1, 1.2])
def test_revision_is_not_called_healthy_for_the_objects_before_it(settings: Settings, seconds: float) -> None:
    """The spec changes when helm has all but ended, so its step counts as interrupted; the watches lag behind."""

    async def play(history: History) -> None:
        history.create(tag="one", upgrade={"onFailure": "none"}, timeout="5s")
        await history.cluster.wait(70.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(seconds)
        history.edit(maxHistory=4)
        await history.cluster.wait(3.0)
        history.set_tag("three")

    run_history(settings, play)


def test_a_failed_upgrade_of_an_adopted_release_keeps_the_last_good_revision(settings: Settings) -> None:
    """A rollback of a person has failed before, so that no revision is deployed."""

    async def play(history: History) -> None:
        history.install_by_hand("one")
        upgrade_by_hand(history, "two")
        history.leave_behind("superseded")
        upgrade_by_hand(history, "one", status="failed")
        history.cluster.helm.refusals['{"tag": "three"}'] = Fault(REFUSED, writes=1)
        history.create(tag="three", adopt=True, maxHistory=1, upgrade={"onFailure": "none"})
        await history.cluster.wait(10.0)
        assert history.cluster.revisions == {2: "superseded", 4: "failed"}
        history.cluster.helm.refusals.clear()
        history.annotate("retry-at")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["upgrade", "upgrade"]


def test_a_failed_rollback_keeps_the_last_good_revision(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="two", maxHistory=1)
        await history.cluster.wait(10.0)
        history.set_tag("three")
        await history.cluster.wait(10.0)
        history.cluster.helm.refusals["1"] = Fault(REFUSED, writes=2)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(1.0)
        upgrade_by_hand(history, "two")
        await history.cluster.wait(10.0)
        assert "superseded" in history.cluster.revisions.values()
        history.annotate("retry-at")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps][1:].count("install") == 0


def test_health_is_not_of_a_revision_that_a_person_made_while_helm_upgraded(settings: Settings) -> None:
    """helm is killed after it has changed the objects, and so after those of the person's rollback."""

    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(5.0)
        upgrade_by_hand(history, BROKEN)
        history.cluster.helm.faults.append(Fault(writes=3))
        history.set_tag("three")
        await history.cluster.wait(1.0)
        roll_back_by_hand(history, 2)

    history = run_history(settings, play)
    assert known_health(history)[4] is False


@pytest.mark.parametrize("write", [None, *range(10)])
def test_rollback_passes_over_revisions_that_never_were_healthy_in_a_full_history(
    settings: Settings, write: int | None
) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=3)
        await history.cluster.wait(10.0)
        for tag in ("two", f"{BROKEN}-three"):
            history.set_tag(tag)
            await history.cluster.wait(10.0)
        if write is not None:
            history.cluster.kill = Kill(write, after=True)
        history.set_tag(f"{BROKEN}-four")
        await history.cluster.wait(3.0 * TIMEOUT_SECONDS)
        assert history.outcome == "Stalled HealthCheckFailed"

    history = run_history(settings, play)
    assert history.deployed_tags == ["two"]
    healthy = {number for number, was_healthy in known_health(history).items() if was_healthy}
    assert {history.tags[number] for number in healthy} == {"one", "two"}
