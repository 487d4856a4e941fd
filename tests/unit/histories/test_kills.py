"""The operator killed before and after every write, its own and helm's, ends where it ends without a kill.

`End` is what must be the same. A kill may honestly cause these differences, and no others (`check_history`):

- A try of helm that was killed leaves one more revision, which is failed, or superseded if helm had already marked it;
  it never counts as healthy. The numbers of later revisions are then one higher.
- Where helm fails once by itself, the helm that is killed is the one that would have failed: one failed revision less.
- Revisions beyond maxHistory stay until the next step of helm, if the kill came before they were deleted.
- Nobody is told of drift that was corrected right before the kill, and no event is written about what was just done.
- An XApp that is deleted before it has become an owner of its ChartArchive leaves that behind for an hour.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import MAX_HISTORY, STORED_CHART, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE, Kill
from tests.support.helm_tests import ENABLED, FAILS, deploy
from xapp_operator.config.settings import Settings

REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
UNAVAILABLE = "Internal error occurred: etcdserver: request timed out"
TIMEOUT_IS_OVER = 200.0
CONFIGMAP = Target("", "v1", "configmaps", NAMESPACE, "hello")
ARCHIVE = STORED_CHART["metadata"]["name"]


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


@dataclass(frozen=True)
class End:
    """What decides for users how it ended."""

    outcome: str
    phase: str | None
    conditions: list[tuple[str, str, str]]
    """Type, status and reason of each."""
    why: str
    """The message of Ready, which may name a later revision than without a kill."""
    attempt: Json
    release: Json
    newest: Json
    """Of the newest revision in the history that did not fail: one that did is listed if its record could be read."""
    held: int | None
    handled: Any
    step: str | None
    """Where the deployment is, or where it stopped."""
    deployed: list[str]
    objects: list[Any]
    """All that the chart made, with labels and content."""

    @classmethod
    def of(cls, history: History) -> End:
        server, status = history.cluster.server, (history.cluster.xapp() or {}).get("status", {})
        conditions = status.get("conditions", ())
        newest: Json = next((each for each in status.get("history", ()) if each["status"] != "failed"), {})
        why = next((each["message"] for each in conditions if each["type"] == "Ready"), "")
        return cls(
            outcome=history.outcome,
            phase=status.get("phase"),
            conditions=[
                (each["type"], each["status"], each["reason"])
                for each in conditions
                if (each["type"], each["status"]) != ("Drifted", "False")
            ],
            why=re.sub(r"^revision \d+", "revision N", why),
            attempt=_pick(
                status.get("lastAttempt", {}), "action", "outcome", "permanent", "reason", "message", "generation"
            ),
            release=_pick(
                status.get("release", {}), "chart", "chartVersion", "appVersion", "chartDigest", "valuesDigest"
            ),
            newest=_pick(
                newest, "status", "action", "description", "chart", "chartVersion", "appVersion", "wasHealthy"
            ),
            held=status.get("heldRevision"),
            handled=status.get("handled"),
            step=status.get("progress", {}).get("step"),
            deployed=history.deployed_tags,
            objects=[
                (plural, each["metadata"]["name"], each["metadata"].get("labels"), each.get("data"), each.get("spec"))
                for plural in ("configmaps", "deployments", "pods", "jobs")
                for each in server.all(plural)
            ],
        )


def _pick(part: Json, *fields: str) -> Json:
    return {field: part.get(field) for field in fields}


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


def refuse_to(tag: str, act: Callable[[History], None]) -> Callable[[History], None]:
    def refused(history: History) -> None:
        history.cluster.helm.refusals[f'{{"tag": "{tag}"}}'] = Fault(REFUSED, writes=1)
        act(history)

    return refused


def install_with_short_history(history: History) -> None:
    history.create(tag="one", maxHistory=1)


def install_with_tests(history: History) -> None:
    deploy(history, test={**ENABLED, "onFailure": "rollback"})


def upgrade_to_failing_tests(history: History) -> None:
    history.edit(values={"tag": "two", **FAILS})


def install_to_correct_drift(history: History) -> None:
    history.create(tag="one", driftDetection={"mode": "enabled"})


def change_an_object(history: History) -> None:
    history.cluster.server.patch(CONFIGMAP, {"data": {"tag": "theirs"}}, manager="kubectl")


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


def install_and_upgrade_with_three_revisions(history: History) -> None:
    history.create(tag="zero", maxHistory=3)
    later(6.0, lambda history: history.set_tag("one"), history)


def fill_history_of_three(history: History) -> None:
    install_and_upgrade_with_three_revisions(history)
    later(12.0, lambda history: history.set_tag("five"), history)


def fill_history_with_a_failed_upgrade(history: History) -> None:
    history.create(tag="one", maxHistory=2, upgrade={"onFailure": "none"})
    later(8.0, refuse_to("two", upgrade), history)


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


def rescue_after_the_uninstall_has_begun(history: History) -> None:
    history.cluster.helm.faults = [Fault("failed pre-delete: it failed", writes=1)] * 20
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
    "upgrade that is refused, without a rollback": Situation(
        install_without_rollback, refuse_to("two", upgrade), "Stalled UpgradeFailed", "one", 5
    ),
    "upgrade that is never healthy, with a short history": Situation(
        install_with_short_history, lambda history: history.set_tag(BROKEN), "Stalled HealthCheckFailed", "one", 17
    ),
    "upgrade to the last revision that is kept": Situation(
        install_and_upgrade_with_three_revisions, upgrade, "Ready UpgradeSucceeded", "two", 8
    ),
    "upgrade with a full history": Situation(fill_history_of_three, upgrade, "Ready UpgradeSucceeded", "two", 9),
    "upgrade that is never healthy, with a full history": Situation(
        fill_history_of_three, lambda history: history.set_tag(BROKEN), "Stalled HealthCheckFailed", "five", 17
    ),
    "upgrade whose tests fail": Situation(
        install_with_tests, upgrade_to_failing_tests, "Stalled TestFailed", "one", 20
    ),
    "drift that is corrected": Situation(
        install_to_correct_drift, change_an_object, "Ready InstallSucceeded", "one", 2
    ),
    "upgrade that fails once": Situation(install, fail_upgrade(UNAVAILABLE), "Ready UpgradeSucceeded", "two", 12),
    "upgrade whose helm is killed": Situation(install, fail_upgrade(""), "Ready UpgradeSucceeded", "two", 12),
    "uninstall": Situation(install, History.delete, "gone", None, 6),
    "deletion that leaves the release": Situation(install_to_leave, History.delete, "gone", "one", 1),
    "deletion while helm installs": Situation(nothing, delete_during_the_install, "gone", None, 8),
    "deletion that is changed to leave the release": Situation(install, rescue_during_the_uninstall, "gone", "one", 4),
    "deletion that is changed to leave the release, whose uninstall has begun": Situation(
        install, rescue_after_the_uninstall_has_begun, "gone", "one", 9
    ),
    "other values while helm upgrades": Situation(
        install, change_during_the_upgrade, "Ready UpgradeSucceeded", "three", 12
    ),
    "requested rollback": Situation(
        install_and_upgrade, lambda history: history.annotate("rollback-to", "1"), "Ready RollbackSucceeded", "one", 9
    ),
    "requested rollback to the oldest revision of a full history": Situation(
        fill_history, lambda history: history.annotate("rollback-to", "1"), "Ready RollbackSucceeded", "one", 10
    ),
    "requested rollback to before a failed upgrade, with a full history": Situation(
        fill_history_with_a_failed_upgrade,
        lambda history: history.annotate("rollback-to", "1"),
        "Ready RollbackSucceeded",
        "one",
        10,
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


@dataclass
class Played:
    """A situation that was played."""

    history: History
    writes: int = 0
    """That it took."""
    old: frozenset[str] = frozenset()
    """The revisions that were there before, by the uid of their Secret."""

    @property
    def where(self) -> str:
        return next((each for each in self.history.cluster.writes if each.startswith("killed")), "not killed")

    @property
    def max_history(self) -> int:
        return int((self.history.cluster.xapp() or {"spec": {}})["spec"].get("maxHistory", MAX_HISTORY))

    @property
    def revisions(self) -> Counter[tuple[str, str | None, bool | None, int | None]]:
        """Return status, tag and health of each revision, and the number of those that were there before."""
        status = (self.history.cluster.xapp() or {}).get("status", {})
        health = {each["revision"]: each.get("wasHealthy") for each in status.get("history", ())}
        tags, states = self.history.tags, self.history.cluster.revisions
        return Counter(
            (states[number], tags.get(number), health.get(number), number if uid in self.old else None)
            for uid, number in self.history.numbers.items()
        )


def play(settings: Settings, situation: Situation, kill: Kill | None) -> Played:
    played: list[Played] = []

    async def happen(history: History) -> None:
        situation.before(history)
        await history.cluster.wait(20.0)
        history.cluster.kill = kill
        before = len(history.cluster.writes)
        old = frozenset(history.numbers)
        situation.then(history)
        await history.cluster.wait(100.0)
        played.append(Played(history, len(history.cluster.writes) - before, old))

    run_history(settings, happen)
    return played[0]


def check_history(killed: Played, undisturbed: Played) -> None:
    """Check that a kill has lost no revision and added at most the try that it ended."""
    lost, added = undisturbed.revisions - killed.revisions, killed.revisions - undisturbed.revisions
    assert all(state == "failed" for state, *_ in lost), (killed.where, lost, added)
    surplus = max(killed.revisions.total() - killed.max_history, 0)
    assert added.total() <= 1 + surplus, (killed.where, added)
    for state, _, was_healthy, old in added:
        assert state in ("failed", "superseded"), (killed.where, added)
        assert old is not None or not was_healthy, (killed.where, added)
    assert len(killed.history.helm_steps) <= len(undisturbed.history.helm_steps) + 1, killed.where


def archives(played: Played) -> set[tuple[str, bool]]:
    """Return the name of each ChartArchive, and whether an XApp owns it."""
    found = (each["metadata"] for each in played.history.cluster.server.all("chartarchives"))
    return {(each["name"], bool(each.get("ownerReferences"))) for each in found}


@pytest.mark.parametrize("name", SITUATIONS)
def test_operator_is_killed_at_any_write(name: str, settings: Settings) -> None:
    situation = SITUATIONS[name]
    undisturbed = play(settings, situation, None)
    assert undisturbed.writes >= situation.writes, undisturbed.history.cluster.writes
    left = set() if situation.tag is None else {situation.tag}
    end = End.of(undisturbed.history)
    assert (end.outcome, undisturbed.history.live_tags, set(end.deployed)) == (situation.outcome, left, left)

    # Only what is stored survives, so a kill before a write is one after the write before it.
    for kill in (Kill(0, after=False), *(Kill(write, after=True) for write in range(undisturbed.writes))):
        killed = play(settings, situation, kill)
        assert killed.history.cluster.lives == 2, killed.where
        assert End.of(killed.history) == end, killed.where
        check_history(killed, undisturbed)
        assert archives(killed) - archives(undisturbed) <= {(ARCHIVE, False)}, killed.where


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
    assert (history.outcome, history.deployed_tags) == ("Stalled HealthCheckFailed", ["one"])


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


def test_objects_have_their_whole_timeout_after_a_kill_at_the_end_of_a_long_step(settings: Settings) -> None:
    async def happen(history: History) -> None:
        cluster = history.cluster

        def end(*_: object) -> None:
            if cluster.lives == 1 and cluster.revisions.get(2) == "deployed":
                cluster.restart()

        history.create(tag="one")
        await cluster.wait(20.0)
        cluster.helm.pause = 5.0
        cluster.server.on_stored.append(end)
        history.set_tag(BROKEN)
        assert await cluster.wait_for(lambda: cluster.lives == 2, seconds=60.0)
        await cluster.wait(20.0)
        cluster.heal()

    history = run_history(settings, happen)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", [BROKEN])
