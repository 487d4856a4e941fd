"""A person's helm that has read an earlier history takes the number of a revision that was deleted since.

What it applies is in force, although its revision is not the newest one.
"""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import (
    begin_rollback_by_hand,
    delete_record,
    finish_by_hand,
    roll_back_by_hand,
    upgrade_by_hand,
    write_record,
)
from tests.support.fakes.helm_records import record_target
from tests.support.fakes.histories import STORED_CHART, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.unit.histories.test_retries import REFUSED
from xapp_operator.config.settings import Settings

SOON_SECONDS = 10.0
ARCHIVE = Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, STORED_CHART["metadata"]["name"])
TOUCHED = {"metadata": {"annotations": {"backup": "done"}}}


async def deploy_three(history: History, **spec: object) -> None:
    """Deploy revisions 1 to 3; the number of the second is free then."""
    history.create(tag="one", **spec)
    for tag in ("two", "three"):
        await history.cluster.wait(SOON_SECONDS)
        history.set_tag(tag)
    await history.cluster.wait(SOON_SECONDS)


@pytest.mark.parametrize("late", ["deployed", "failed"])
def test_it_is_undone_once_the_source_is_back(settings: Settings, late: str) -> None:
    async def play(history: History) -> None:
        await deploy_three(history)
        history.cluster.server.delete(ARCHIVE, {})
        await history.cluster.wait(SOON_SECONDS)
        delete_record(history, 2)
        upgrade_by_hand(history, "mine", number=2, status=late)
        await history.cluster.wait(TIMEOUT_SECONDS)
        history.cluster.create(STORED_CHART)
        await history.cluster.wait(TIMEOUT_SECONDS + SOON_SECONDS)
        assert max(history.cluster.revisions) == 4
        assert history.live_tags == {"three"}

    run_history(settings, play)


def test_it_is_undone_once_the_held_revision_can_be_restored(settings: Settings) -> None:
    async def play(history: History) -> None:
        await deploy_three(history)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SOON_SECONDS)
        history.cluster.helm.refusals["1"] = Fault(REFUSED, writes=0)
        delete_record(history, 2)
        upgrade_by_hand(history, "mine", number=2)
        await history.cluster.wait(300.0)
        assert "Stalled" in history.outcome
        history.cluster.helm.refusals.clear()
        history.annotate("retry-at")
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"one"}

    run_history(settings, play)


@pytest.mark.parametrize("keep", [2, 10])
@pytest.mark.parametrize("late", ["deployed", "failed"])
def test_a_revision_with_the_number_of_the_held_one_is_not_restored(settings: Settings, late: str, keep: int) -> None:
    async def play(history: History) -> None:
        await deploy_three(history, maxHistory=keep)
        history.annotate("rollback-to", "2")
        await history.cluster.wait(SOON_SECONDS)
        if 2 in history.cluster.revisions:
            delete_record(history, 2)
        await history.cluster.wait(SOON_SECONDS)
        upgrade_by_hand(history, "mine", number=2, status=late)
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"two"}

    run_history(settings, play)


@pytest.mark.parametrize("late", ["deployed", "failed"])
def test_a_release_that_it_has_changed_is_not_adopted_as_it_is(settings: Settings, late: str) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        for tag in ("two", "three"):
            await history.cluster.wait(2.0)
            upgrade_by_hand(history, tag)
        await history.cluster.wait(2.0)
        delete_record(history, 2)
        upgrade_by_hand(history, "mine", number=2, status="pending-upgrade")
        finish_by_hand(history, 2, status=late)
        history.create(tag="three", adopt=True)
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"three"}

    assert [each.command for each in run_history(settings, play).helm_steps] == ["upgrade"]


@pytest.mark.parametrize("held", [False, True])
def test_a_later_write_of_the_newest_record_does_not_hide_it(settings: Settings, held: bool) -> None:
    """`helm test` and backups write records, too."""

    async def play(history: History) -> None:
        await deploy_three(history)
        if held:
            history.annotate("rollback-to", "1")
            await history.cluster.wait(SOON_SECONDS)
        delete_record(history, 2)
        await history.cluster.wait(SOON_SECONDS)
        upgrade_by_hand(history, "mine", number=2)
        write_record(history, max(history.cluster.revisions), TOUCHED)
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"one" if held else "three"}

    run_history(settings, play)


@pytest.mark.parametrize("keep", [1, 10])
@pytest.mark.parametrize("end", ["deployed", "failed", None])
def test_one_that_begins_while_the_operator_upgrades_is_waited_for(
    settings: Settings, end: str | None, keep: int
) -> None:
    async def play(history: History) -> None:
        await deploy_three(history)
        delete_record(history, 2)
        await history.cluster.wait(SOON_SECONDS)
        history.edit(values={"tag": "four"}, maxHistory=keep)
        assert await history.cluster.wait_for(lambda: 4 in history.cluster.revisions, seconds=SOON_SECONDS)
        upgrade_by_hand(history, "mine", number=2, status="pending-upgrade")
        await history.cluster.wait(SOON_SECONDS)
        assert history.cluster.revisions[2] == "pending-upgrade"
        steps = len(history.helm_steps)
        history.set_tag("one")
        await history.cluster.wait(SOON_SECONDS)
        assert len(history.helm_steps) == steps, "two helms work at the same time"
        if end is not None:
            finish_by_hand(history, 2, status=end)
        await history.cluster.wait(TIMEOUT_SECONDS + SOON_SECONDS)
        assert history.live_tags == {"one"}

    run_history(settings, play)


def test_one_that_is_pending_with_a_damaged_record_does_not_stop_upgrades(settings: Settings) -> None:
    async def play(history: History) -> None:
        await deploy_three(history)
        delete_record(history, 2)
        upgrade_by_hand(history, "mine", number=2, status="pending-upgrade")
        write_record(history, 2, {"data": {"release": "AAAA"}})
        await history.cluster.wait(TIMEOUT_SECONDS + SOON_SECONDS)
        history.set_tag("one")
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"one"}

    run_history(settings, play)


def test_the_health_of_its_objects_is_not_that_of_the_newest_revision(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", upgrade={"onFailure": "none"})
        for tag in ("two", BROKEN):
            await history.cluster.wait(SOON_SECONDS)
            history.set_tag(tag)
        await history.cluster.wait(TIMEOUT_SECONDS + SOON_SECONDS)
        delete_record(history, 2)
        upgrade_by_hand(history, "mine", number=2)
        await history.cluster.wait(SOON_SECONDS)
        xapp = history.cluster.xapp()
        assert xapp is not None
        found = {each["revision"]: each.get("wasHealthy") for each in xapp["status"]["history"]}
        assert found[3] is False

    run_history(settings, play)


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_a_rollback_that_deletes_its_own_target_is_waited_for(settings: Settings, seconds: float) -> None:
    """Its labels are those of the operator's first revision, which is gone."""

    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=10)
        for number in range(9):
            await history.cluster.wait(SOON_SECONDS)
            history.set_tag(("two", "three", "one")[number % 3])
        await history.cluster.wait(SOON_SECONDS)
        steps = len(history.helm_steps)
        newest = begin_rollback_by_hand(history, 1, keep=10)
        assert sorted(history.cluster.revisions) == list(range(2, 12))
        await history.cluster.wait(seconds)
        assert history.cluster.revisions[newest] == "pending-rollback"
        assert len(history.helm_steps) == steps, "two helms work at the same time"
        finish_by_hand(history, newest)
        await history.cluster.wait(SOON_SECONDS)

    run_history(settings, play)


@pytest.mark.parametrize("seconds", [0.0, 1.0, 5.0])
def test_a_rollback_to_what_a_person_had_deployed_is_undone_if_it_deletes_its_target(
    settings: Settings, seconds: float
) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=3)
        await history.cluster.wait(SOON_SECONDS)
        upgrade_by_hand(history, "mine")
        await history.cluster.wait(SOON_SECONDS)
        newest = begin_rollback_by_hand(history, 2, keep=2)
        await history.cluster.wait(seconds)
        finish_by_hand(history, newest)
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"one"}

    run_history(settings, play)


@pytest.mark.parametrize("suspended", [False, True])
@pytest.mark.parametrize("how", ["helm rollback", "rollback-to"])
def test_a_rollback_to_a_persons_revision_that_was_never_seen_is_undone_after_a_restart(
    settings: Settings, how: str, suspended: bool
) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=6)
        await history.cluster.wait(SOON_SECONDS)
        history.edit(suspend=suspended)
        await history.cluster.wait(SOON_SECONDS)
        upgrade_by_hand(history, "mine")
        upgrade_by_hand(history, "yours")
        await history.cluster.wait(SOON_SECONDS)
        for change in [{"suspend": False}] if suspended else [{"values": {"tag": each}} for each in ("two", "one")]:
            history.edit(**change)
            await history.cluster.wait(SOON_SECONDS)
        history.cluster.server.delete(record_target(NAMESPACE, "hello", 1), {})
        history.cluster.restart()
        await history.cluster.wait(SOON_SECONDS)
        if how == "helm rollback":
            roll_back_by_hand(history, 2)
        else:
            history.annotate("rollback-to", "2")
            await history.cluster.wait(SOON_SECONDS)
            history.edit(timeout="40s")  # ends the hold
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"one"}

    run_history(settings, play)
