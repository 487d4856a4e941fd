"""The operator killed before and after every write, its own and helm's, ends where it ends without a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from xapp_operator.config import Settings

REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
UNAVAILABLE = "Internal error occurred: etcdserver: request timed out"
TIMEOUT_IS_OVER = 200.0


@dataclass(frozen=True)
class Situation:
    """What was there before, what happens then, and how it must end."""

    before: Callable[[History], None]
    then: Callable[[History], None]
    outcome: str
    tag: str | None
    """Of all objects, and of the deployed revision; None when nothing is left."""
    writes: int
    """That operator and helm need at least."""


def nothing(_: History) -> None:
    pass


def install(history: History) -> None:
    history.create(tag="one")


def upgrade(history: History) -> None:
    history.set_tag("two")


def fail_upgrade(error: str) -> Callable[[History], None]:
    def act(history: History) -> None:
        history.cluster.helm.faults = [Fault(error, writes=2)]
        history.set_tag("two")

    return act


def refused_upgrade(history: History) -> None:
    history.cluster.helm.refusals['{"tag": "two"}'] = Fault(REFUSED, writes=2)
    history.set_tag("two")


def install_without_rollback(history: History) -> None:
    history.create(tag="one", upgrade={"onFailure": "none"})


def install_to_leave(history: History) -> None:
    history.create(tag="one", deletionPolicy="Orphan")


def install_and_upgrade(history: History) -> None:
    history.create(tag="one")
    later(8.0, upgrade, history)


def fill_history(history: History) -> None:
    history.create(tag="one", maxHistory=2)
    later(8.0, upgrade, history)


def later(seconds: float, act: Callable[[History], None], history: History) -> None:
    asyncio.get_running_loop().call_later(seconds, act, history)


def delete_during_the_install(history: History) -> None:
    history.create(tag="one")
    later(4.5, History.delete, history)


def change_during_the_upgrade(history: History) -> None:
    history.set_tag("two")
    later(0.6, lambda history: history.set_tag("three"), history)


def rescue_during_the_uninstall(history: History) -> None:
    history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=0)] * 20
    history.delete()
    later(20.0, lambda history: history.edit(deletionPolicy="Orphan"), history)


def adopt(tag: str) -> Callable[[History], None]:
    return lambda history: history.create(tag=tag, adopt=True)


def install_by_hand(history: History) -> None:
    history.install_by_hand("one")


SITUATIONS = {
    "install": Situation(nothing, install, "Ready InstallSucceeded", "one", 10),
    "install of a chart that never works": Situation(
        nothing, lambda history: history.create(tag=BROKEN), "NotReady HealthCheckFailed", BROKEN, 10
    ),
    "upgrade": Situation(install, upgrade, "Ready UpgradeSucceeded", "two", 9),
    "upgrade that is never healthy": Situation(
        install, lambda history: history.set_tag(BROKEN), "Stalled HealthCheckFailed", "one", 16
    ),
    "upgrade that is never healthy, without a rollback": Situation(
        install_without_rollback, lambda history: history.set_tag(BROKEN), "Stalled HealthCheckFailed", BROKEN, 8
    ),
    "upgrade that is refused": Situation(install, refused_upgrade, "Stalled UpgradeFailed", "one", 12),
    "upgrade that fails once": Situation(install, fail_upgrade(UNAVAILABLE), "Ready UpgradeSucceeded", "two", 12),
    "upgrade whose helm is killed": Situation(install, fail_upgrade(""), "Ready UpgradeSucceeded", "two", 12),
    "uninstall": Situation(install, History.delete, "gone", None, 6),
    "deletion that leaves the release": Situation(install_to_leave, History.delete, "gone", "one", 1),
    "deletion while helm installs": Situation(nothing, delete_during_the_install, "gone", None, 8),
    "deletion that is changed to leave the release": Situation(install, rescue_during_the_uninstall, "gone", "one", 4),
    "other values while helm upgrades": Situation(
        install, change_during_the_upgrade, "Ready UpgradeSucceeded", "three", 12
    ),
    "requested rollback": Situation(
        install_and_upgrade, lambda history: history.annotate("rollback-to", "1"), "Ready RollbackSucceeded", "one", 9
    ),
    "requested rollback to the oldest revision of a full history": Situation(
        fill_history, lambda history: history.annotate("rollback-to", "1"), "Ready RollbackSucceeded", "one", 10
    ),
    "forced upgrade": Situation(
        install, lambda history: history.annotate("force-at"), "Ready UpgradeSucceeded", "one", 8
    ),
    "release removed by hand": Situation(install, History.uninstall_by_hand, "Ready InstallSucceeded", "one", 8),
    "uninstall left behind": Situation(
        install, lambda history: history.leave_behind("uninstalling"), "Ready InstallSucceeded", "one", 14
    ),
    "upgrade left behind": Situation(
        install, lambda history: history.leave_behind("pending-upgrade"), "Ready InstallSucceeded", "one", 9
    ),
    "adopt of an equal release": Situation(install_by_hand, adopt("one"), "Ready InstallSucceeded", "one", 6),
    "adopt of a different release": Situation(install_by_hand, adopt("two"), "Ready UpgradeSucceeded", "two", 9),
    "adopt of a release that a person left pending": Situation(
        lambda history: history.install_by_hand("one", status="pending-install"),
        adopt("two"),
        "Ready InstallSucceeded",
        "two",
        10,
    ),
}


def play(settings: Settings, situation: Situation, kill: Kill | None) -> tuple[History, int]:
    """Play a situation, and return it with the number of writes that it took."""
    writes = 0

    async def happen(history: History) -> None:
        nonlocal writes
        situation.before(history)
        await history.cluster.wait(20.0)
        history.cluster.kill = kill
        before = len(history.cluster.writes)
        situation.then(history)
        await history.cluster.wait(100.0)
        writes = len(history.cluster.writes) - before

    return run_history(settings, happen), writes


@pytest.mark.parametrize("name", SITUATIONS)
def test_operator_is_killed_at_any_write(name: str, settings: Settings) -> None:
    situation = SITUATIONS[name]
    undisturbed, writes = play(settings, situation, None)
    assert writes >= situation.writes, undisturbed.cluster.writes
    left = set() if situation.tag is None else {situation.tag}

    # Only what is stored survives, so a kill before a write is one after the write before it.
    for kill in (Kill(0, after=False), *(Kill(write, after=True) for write in range(writes))):
        history, _ = play(settings, situation, kill)
        where = next((each for each in history.cluster.writes if each.startswith("killed")), "not killed")
        assert history.cluster.lives == 2, where
        assert history.live_tags | set(history.deployed_tags) == left, where
        assert history.outcome.split()[0] == situation.outcome.split()[0], (where, history.outcome)
    assert undisturbed.outcome == situation.outcome
    assert undisturbed.live_tags == left


@pytest.mark.parametrize("second", range(8))
def test_upgrade_that_is_never_healthy_is_rolled_back_after_two_kills(settings: Settings, second: int) -> None:
    """Helm marks the try that was killed as superseded, but it never was good."""

    async def happen(history: History) -> None:
        install(history)
        await history.cluster.wait(20.0)
        history.cluster.kill = Kill(4, after=False)
        history.set_tag(BROKEN)
        assert await history.cluster.wait_for(lambda: history.cluster.lives == 2, seconds=20.0)
        history.cluster.kill = Kill(second, after=True)
        await history.cluster.wait(100.0)

    history = run_history(settings, happen)
    assert "killed before upgrade: update record deployed" in history.cluster.writes
    assert history.cluster.lives == 3
    assert (history.outcome.split()[0], history.deployed_tags) == ("Stalled", ["one"])


@pytest.mark.parametrize("write", range(6))
def test_a_change_of_the_spec_after_a_kill_in_a_rollback_repeats_the_upgrade(settings: Settings, write: int) -> None:
    async def happen(history: History) -> None:
        install(history)
        await history.cluster.wait(20.0)
        history.set_tag(BROKEN)
        assert await history.cluster.wait_for(lambda: history.helm_steps[-1].command == "rollback", seconds=100.0)
        history.cluster.kill = Kill(write, after=True)
        await history.cluster.wait(60.0)
        assert history.cluster.lives == 2
        history.cluster.heal()
        history.edit(timeout="60s")
        await history.cluster.wait(60.0)

    history = run_history(settings, happen)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", [BROKEN])


@pytest.mark.parametrize("write", range(7))
def test_an_upgrade_long_after_another_one_has_the_whole_timeout_after_a_kill(settings: Settings, write: int) -> None:
    """Helm dates the record of an upgrade like the record before it."""

    async def happen(history: History) -> None:
        install_and_upgrade(history)
        await history.cluster.wait(TIMEOUT_IS_OVER)
        history.cluster.kill = Kill(write, after=True)
        history.set_tag(BROKEN)
        later(15.0, lambda history: history.cluster.heal(), history)
        await history.cluster.wait(100.0)

    history = run_history(settings, happen)
    assert history.cluster.lives == 2
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", [BROKEN])
