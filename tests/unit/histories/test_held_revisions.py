"""A revision that rollback-to holds: it is brought back whatever happens to the release, until the spec changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import delete_record, roll_back_by_hand, upgrade_by_hand
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from tests.support.fakes.value_secrets import create_values, replace_secret, secret
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET
from tests.unit.histories.test_annotations import condition, events, handled, hold_first_revision
from xapp_operator.config.settings import Settings

SECONDS = 20.0
SETTLED_SECONDS = 300.0
REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
UNAVAILABLE = "Internal error occurred: etcdserver: request timed out"


def held(history: History) -> int | None:
    found: int | None = (history.cluster.xapp() or {})["status"].get("heldRevision")
    return found


def rollbacks(history: History) -> list[str]:
    return [each.what for each in history.helm_steps if each.command == "rollback"]


CHANGES: dict[str, Callable[[History], None]] = {
    "newest revision failed": lambda history: history.leave_behind("failed"),
    "newest revision pending": lambda history: history.leave_behind("pending-upgrade"),
    "newest revision superseded": lambda history: history.leave_behind("superseded"),
    "uninstalled, history kept": lambda history: history.leave_behind("uninstalled"),
    "upgrade by hand": lambda history: upgrade_by_hand(history, "three"),
    "upgrade by hand to what is never healthy": lambda history: upgrade_by_hand(history, BROKEN),
    "upgrade by hand to the spec": lambda history: upgrade_by_hand(history, "two"),
    "failed upgrade by hand": lambda history: upgrade_by_hand(history, "three", status="failed"),
    "pending upgrade by hand": lambda history: upgrade_by_hand(history, "three", status="pending-upgrade"),
    "rollback by hand": lambda history: roll_back_by_hand(history, 2),
    "newest record deleted": lambda history: delete_record(history, 3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_held_revision_is_brought_back(settings: Settings, name: str) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        CHANGES[name](history)
        await history.cluster.wait(SETTLED_SECONDS)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready RollbackSucceeded", ["one"])
    assert (held(history), rollbacks(history)) == (1, ["1", "1"])
    assert handled(history) == {"rollbackTo": "1@1"}
    assert "rolled back to revision 1, which is held until" in condition(history, "Ready")[2]
    assert "rolled back to revision 1, which is held" in events(history, "RollbackSucceeded")


@pytest.mark.parametrize("revision", [1, 3])
def test_a_rollback_by_hand_to_what_is_held_is_left_alone(settings: Settings, revision: int) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        roll_back_by_hand(history, revision)
        await history.cluster.wait(SETTLED_SECONDS)

    history = run_history(settings, play)
    assert (history.outcome, held(history), rollbacks(history)) == ("Ready RollbackSucceeded", 1, ["1"])
    assert history.cluster.revisions[4] == "deployed"


def test_a_copy_of_a_held_revision_that_is_gone_is_brought_back(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        delete_record(history, 1)
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Ready RollbackSucceeded"
        upgrade_by_hand(history, "three")
        await history.cluster.wait(SETTLED_SECONDS)
        assert (held(history), rollbacks(history)) == (3, ["1", "3"])
        delete_record(history, 3)
        upgrade_by_hand(history, "three")
        await history.cluster.wait(SETTLED_SECONDS)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready RollbackSucceeded", ["one"])
    assert (held(history), rollbacks(history)) == (5, ["1", "3", "5"])


def test_a_held_revision_of_which_nothing_is_left_stalls_until_the_spec_changes(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        delete_record(history, 1)
        delete_record(history, 3)
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Stalled RollbackFailed"
        message = (
            "revision 1 is held, but is no longer in force, and no longer stored. Change values, version or another "
        )
        assert condition(history, "Ready")[2] == f"{message}field of the spec, or set rollback-to to one of 2."
        for name in ("retry-at", "force-at"):
            history.annotate(name)
            await history.cluster.wait(SECONDS)
            assert history.outcome == "Stalled RollbackFailed"
        history.set_tag("three")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback", "upgrade"]
    assert (history.outcome, held(history)) == ("Ready UpgradeSucceeded", None)


def test_a_rollback_to_what_is_held_that_fails_for_good_is_tried_again_only_when_asked_for(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.cluster.helm.refusals["1"] = Fault(REFUSED, writes=1)
        upgrade_by_hand(history, "three")
        await history.cluster.wait(SETTLED_SECONDS)
        assert history.outcome.startswith("Stalled")
        advice = "revision 1 is held: change the spec, or set the annotation retry-at"
        assert condition(history, "Ready")[2].endswith(f"; {advice}")
        assert rollbacks(history) == ["1", "1"]
        history.cluster.helm.refusals.clear()
        history.annotate("retry-at")

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready RollbackSucceeded", ["one"])
    assert rollbacks(history) == ["1", "1", "1"]
    assert handled(history)["rollbackTo"] == "1@1"


def test_a_rollback_to_what_is_held_that_keeps_failing_is_given_up_after_the_timeout(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=1)] * 1000
        upgrade_by_hand(history, "three")
        await history.cluster.wait(10 * TIMEOUT_SECONDS)
        assert history.outcome.startswith("Stalled")
        assert 2 < len(rollbacks(history)) < 10
        history.cluster.helm.faults = []

    history = run_history(settings, play)
    assert history.outcome.startswith("Stalled")
    assert len(rollbacks(history)) < 10


@pytest.mark.parametrize("error", [REFUSED, UNAVAILABLE])
def test_another_rollback_that_fails_leaves_what_was_held_before_in_force(settings: Settings, error: str) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.cluster.helm.refusals["2"] = Fault(error, writes=1)
        history.annotate("rollback-to", "2")
        await history.cluster.wait(SETTLED_SECONDS)
        history.annotate("retry-at")

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags, held(history)) == ("Ready RollbackSucceeded", ["one"], 1)
    assert handled(history)["rollbackTo"] == "2@2"
    assert rollbacks(history)[-2:] == ["2", "1"]


@pytest.mark.parametrize(("installed", "commands"), [("three", []), ("two", ["upgrade"])])
def test_a_new_release_that_is_adopted_is_not_held(settings: Settings, installed: str, commands: list[str]) -> None:
    async def play(history: History) -> None:
        create_values(history, "values", "tag: one")
        history.create(values={}, valuesFrom=[{"kind": "Secret", "name": "values"}], adopt=True)
        await history.cluster.wait(SECONDS)
        replace_secret(history, secret("values", values__yaml="tag: two"))
        await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert held(history) == 1
        history.cluster.downtime = SECONDS
        history.cluster.restart()
        history.uninstall_by_hand()
        history.install_by_hand(installed)
        create_values(history, "values", "tag: three")  # that is gone too
        await history.cluster.wait(SETTLED_SECONDS)

    history = run_history(settings, play)
    assert (history.outcome.split()[0], history.deployed_tags, held(history)) == ("Ready", ["three"], None)
    assert [each.command for each in history.helm_steps][3:] == commands


def test_a_held_revision_is_brought_back_in_a_cycle_of_dependencies(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", dependsOn=[{"name": "hello"}])
        await history.cluster.wait(SECONDS)
        history.edit(dependsOn=None)
        await history.cluster.wait(SECONDS)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.edit(dependsOn=[{"name": "hello"}])
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        upgrade_by_hand(history, "three")
        await history.cluster.wait(SECONDS)
        assert (history.outcome, history.deployed_tags) == ("Stalled DependencyNotReady", ["one"])

    history = run_history(settings, play)
    assert rollbacks(history) == ["1", "1"]


def test_a_suspended_xapp_leaves_what_somebody_made_of_a_held_revision(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.edit(suspend=True)
        await history.cluster.wait(SECONDS)
        upgrade_by_hand(history, "three")
        await history.cluster.wait(SECONDS)
        assert (history.deployed_tags, held(history), rollbacks(history)) == (["three"], 1, ["1"])
        history.edit(suspend=False)

    history = run_history(settings, play)
    assert (history.deployed_tags, held(history), rollbacks(history)) == (["two"], None, ["1"])


def test_drift_of_a_held_revision_is_corrected_without_a_rollback(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", driftDetection={"mode": "enabled"})
        await history.cluster.wait(SECONDS)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        history.cluster.server.patch(CONFIGMAP_TARGET, {"data": {"tag": "three"}})

    history = run_history(settings, play)
    assert (history.live_tags, rollbacks(history)) == ({"one"}, ["1"])


@pytest.mark.parametrize("most", [1, 2])
def test_a_held_revision_is_brought_back_with_a_small_history(settings: Settings, most: int) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=2)
        await history.cluster.wait(SECONDS)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.edit(maxHistory=most)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        for tag in ("three", "two", BROKEN):
            upgrade_by_hand(history, tag)
            await history.cluster.wait(SECONDS)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready RollbackSucceeded", ["one"])
    assert len(rollbacks(history)) == 4


@pytest.mark.parametrize("change", ["upgrade by hand", "newest record deleted"])
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", range(10))
def test_a_held_revision_is_brought_back_also_if_the_operator_is_killed(
    settings: Settings, change: str, pruned: bool, after: bool, write: int
) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        if pruned:
            delete_record(history, 1)
            await history.cluster.wait(SECONDS)
        history.cluster.kill = Kill(write, after=after)
        if not pruned:
            CHANGES[change](history)
        else:
            upgrade_by_hand(history, "three")
        await history.cluster.wait(SETTLED_SECONDS)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready RollbackSucceeded", ["one"])
    assert handled(history) == {"rollbackTo": "1@1"}
    assert held(history) in ((1, 3) if pruned else (1,))
    assert 2 <= len(rollbacks(history)) <= 3
    assert condition(history, "Released")[1] == "RollbackSucceeded"


@pytest.mark.parametrize("upgrades", [0, 1, 2, 3])
def test_another_release_with_the_same_name_is_not_the_one_that_is_held(settings: Settings, upgrades: int) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history, adopt=True)
        history.cluster.downtime = SECONDS
        history.cluster.restart()
        history.uninstall_by_hand()
        history.install_by_hand("mine")
        for number in range(upgrades):
            upgrade_by_hand(history, f"mine{number}")
        await history.cluster.wait(5 * SECONDS)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", ["two"])
    assert held(history) is None


def test_the_number_of_the_copy_that_is_used_again_is_not_what_is_held(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        delete_record(history, 3)
        upgrade_by_hand(history, "three")  # its number is 3 again

    history = run_history(settings, play)
    assert (history.deployed_tags, held(history)) == (["one"], 1)


def test_a_retry_of_a_held_revision_that_is_gone_writes_the_status_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.cluster.helm.refusals["1"] = Fault(REFUSED, writes=1)
        upgrade_by_hand(history, "three")
        await history.cluster.wait(SECONDS)
        for revision in (1, 3):
            delete_record(history, revision)
        history.annotate("retry-at")
        await history.cluster.wait(SECONDS)
        before = len(history.cluster.writes)
        await history.cluster.wait(60.0)
        assert history.cluster.writes[before:] == []

    run_history(settings, play)
