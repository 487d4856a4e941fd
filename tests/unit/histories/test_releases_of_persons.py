"""A release that a person made: what is done as soon as it changes, although no XApp owns it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import (
    delete_record,
    finish_by_hand,
    install_again_by_hand,
    roll_back_by_hand,
    upgrade_by_hand,
)
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, STORED_CHART, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN
from tests.unit.histories.situations.actions import store
from tests.unit.histories.test_adoption import COMMON, assert_uninstalled, condition, create_other, delete_hello
from tests.unit.histories.test_retries import REFUSED, UNAVAILABLE
from xapp_operator.config.settings import Settings

SOON_SECONDS = 10.0
"""Much less than the resync, which would notice it too."""


async def wait_for_step(history: History, command: str) -> None:
    def has_run() -> bool:
        return command in [each.command for each in history.helm_steps]

    assert await history.cluster.wait_for(has_run, seconds=SOON_SECONDS)


@pytest.mark.parametrize("name", ["hello", "other"])
def test_a_release_that_goes_away_makes_room_at_once(settings: Settings, name: str) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        if name == "hello":
            history.create(tag="one")
        else:
            history.cluster.create(STORED_CHART)
            create_other(history, name, tag="one", releaseName="hello")
        await history.cluster.wait(2 * SOON_SECONDS)
        assert condition(history, "Stalled", name)[1] == "AccessDenied"
        history.uninstall_by_hand()
        await wait_for_step(history, "install")

    run_history(settings, play, lambda _: None)


def test_a_step_of_a_person_that_ends_is_followed_at_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one", status="pending-install")
        history.create(tag="two", adopt=True, timeout="1h")
        await history.cluster.wait(SOON_SECONDS)
        history.leave_behind("deployed")
        await wait_for_step(history, "upgrade")

    run_history(settings, play)


@pytest.mark.parametrize("suspend", [True, False])
@pytest.mark.parametrize("made_by", ["a person", "an earlier XApp"])
def test_a_release_that_was_adopted_stays_the_xapps_own_after_a_persons_rollback(
    settings: Settings, made_by: str, suspend: bool
) -> None:
    async def play(history: History) -> None:
        if made_by == "a person":
            history.install_by_hand("one")
        else:
            history.cluster.create(STORED_CHART)
            create_other(history, "other", tag="one", releaseName="hello", deletionPolicy="Orphan")
            await history.cluster.wait(SOON_SECONDS)
            history.cluster.delete("other")
        history.create(tag="two", adopt=True)
        await wait_for_step(history, "upgrade")
        history.edit(adopt=False, suspend=suspend)
        await history.cluster.wait(SOON_SECONDS)
        roll_back_by_hand(history, 1)
        await history.cluster.wait(SOON_SECONDS)
        assert history.deployed_tags == (["one"] if suspend else ["two"])
        await delete_hello(history)

    assert_uninstalled(run_history(settings, play))


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_rollback_that_comes_with_an_adoption_is_made_once(settings: Settings, is_deleted: bool) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        upgrade_by_hand(history, "two")
        history.create(tag="two", adopt=True, maxHistory=30)
        history.annotate("rollback-to", "1")
        await wait_for_step(history, "rollback")
        await history.cluster.wait(0 if is_deleted else SOON_SECONDS)
        if is_deleted:
            await delete_hello(history)

    history = run_history(settings, play)
    assert history.outcome == ("gone" if is_deleted else "Ready RollbackSucceeded")
    assert [each.command for each in history.helm_steps] == ["rollback", "uninstall"][: 1 + is_deleted]


def test_a_release_that_was_rolled_back_in_its_adoption_goes_with_the_xapp(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        upgrade_by_hand(history, "two")
        history.cluster.helm.refusals['{"tag": "three"}'] = Fault(REFUSED, writes=1)
        history.create(tag="three", adopt=True, maxHistory=3, upgrade={"onFailure": "none"})
        await history.cluster.wait(SOON_SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SOON_SECONDS)
        assert history.outcome == "Ready RollbackSucceeded"
        await delete_hello(history)

    assert_uninstalled(run_history(settings, play))


@pytest.mark.parametrize("adopted", [False, True])
def test_a_release_that_a_person_installs_over_one_that_was_uninstalled_is_theirs(
    settings: Settings, adopted: bool
) -> None:
    async def play(history: History) -> None:
        if adopted:
            history.install_by_hand("one")
        history.create(tag="two", adopt=adopted)
        await history.cluster.wait(SOON_SECONDS)
        history.edit(adopt=False, suspend=True)
        await history.cluster.wait(SOON_SECONDS)
        history.leave_behind("uninstalled")  # --keep-history
        install_again_by_hand(history, "mine")
        await history.cluster.wait(SOON_SECONDS)
        history.delete()
        await history.cluster.wait(SOON_SECONDS)
        history.removed.clear()

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags, history.live_tags) == ("gone", ["mine"], {"mine"})


@pytest.mark.parametrize("policy", ["Uninstall", "Orphan"])
def test_an_event_tells_that_a_deletion_leaves_a_release_that_no_record_shows_to_be_the_xapps(
    settings: Settings, policy: str
) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        history.create(tag="two", adopt=True, deletionPolicy=policy)
        await wait_for_step(history, "upgrade")
        history.edit(adopt=False, suspend=True)
        await history.cluster.wait(SOON_SECONDS)
        roll_back_by_hand(history, 1)
        delete_record(history, 2)
        await history.cluster.wait(SOON_SECONDS)
        history.delete()
        await history.cluster.wait(SOON_SECONDS)
        history.removed.clear()

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("gone", ["one"])
    told = [each["message"] for each in history.cluster.server.all("events") if each["reason"] == "LeftBehind"]
    expected = (
        "the release is not uninstalled: no record of it that Helm keeps has the label xapp-operator.io/xapp of this "
        "XApp, as after a rollback to before its adoption. If you do not need it, run helm uninstall hello"
    )
    assert told == ([expected] if policy == "Uninstall" else [])


def test_a_release_that_an_xapp_left_and_a_person_rolled_back_is_not_that_of_a_new_xapp(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        history.create(tag="two", adopt=True, deletionPolicy="Orphan")
        await wait_for_step(history, "upgrade")
        await history.cluster.wait(SOON_SECONDS)
        history.delete()
        await history.cluster.wait(SOON_SECONDS)
        roll_back_by_hand(history, 1)
        history.create(tag="three")
        await history.cluster.wait(SOON_SECONDS)
        assert condition(history, "Stalled")[1] == "AccessDenied"
        history.delete()
        await history.cluster.wait(SOON_SECONDS)
        history.removed.clear()  # the release is not that of the XApp, so it stays

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("gone", ["one"])
    assert [each.command for each in history.helm_steps] == ["upgrade"]
    assert "LeftBehind" not in [each["reason"] for each in history.cluster.server.all("events")]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("keep", [1, 2, 3, 4])
def test_a_spec_that_returns_to_what_was_rolled_back_to_runs_no_helm(
    settings: Settings, killed: bool, keep: int
) -> None:
    """The history is full, so that the failed revision between the target and its copy is deleted."""
    kept = [(1, "superseded"), (2, "superseded"), (3, "superseded"), (5, "deployed")]

    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=keep)
        for tag in ("two", "three"):
            await history.cluster.wait(SOON_SECONDS)
            history.set_tag(tag)
        await history.cluster.wait(SOON_SECONDS)
        history.cluster.helm.refusals['{"tag": "bad"}'] = Fault(REFUSED, writes=1)
        history.set_tag("bad")
        await wait_for_step(history, "rollback")
        await history.cluster.wait(SOON_SECONDS)
        assert history.cluster.revisions == dict(kept[-max(keep, 2) :])
        if killed:
            history.cluster.restart()
        history.set_tag("three")

    history = run_history(settings, play)
    assert history.outcome == "Ready RollbackSucceeded"
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "upgrade", "upgrade", "rollback"]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("end", ["deployed", "failed", None])
def test_an_old_helm_that_takes_its_time_is_waited_for(settings: Settings, end: str | None, held: bool) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        for tag in ("two", "three"):
            await history.cluster.wait(SOON_SECONDS)
            history.set_tag(tag)
        await history.cluster.wait(SOON_SECONDS)
        if held:
            history.annotate("rollback-to", "1")
            await history.cluster.wait(SOON_SECONDS)
        delete_record(history, 2)
        before = len(history.helm_steps)
        upgrade_by_hand(history, "mine", status="pending-upgrade", number=2)
        await history.cluster.wait(SOON_SECONDS)
        assert len(history.helm_steps) == before
        assert condition(history, "Ready")[1] == "Progressing"
        if end is not None:
            finish_by_hand(history, 2, status=end)
        await history.cluster.wait(SOON_SECONDS if end else TIMEOUT_SECONDS + SOON_SECONDS)
        assert len(history.helm_steps) == before + 1
        assert history.live_tags == {"one" if held else "three"}

    run_history(settings, play)


@pytest.mark.parametrize("keep", [3, 5])
@pytest.mark.parametrize("how", ["helm rollback", "rollback-to", "the only record"])
def test_a_copy_of_what_a_person_deployed_is_not_what_the_spec_says(settings: Settings, how: str, keep: int) -> None:
    """It has the labels of what the operator deployed before."""

    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=keep)
        await history.cluster.wait(SOON_SECONDS)
        upgrade_by_hand(history, "three")
        if how == "the only record":
            delete_record(history, 1)
        await history.cluster.wait(SOON_SECONDS)
        assert history.deployed_tags == ["one"]
        if how == "helm rollback":
            roll_back_by_hand(history, 2)
        elif how == "rollback-to":
            history.annotate("rollback-to", "2")
            await history.cluster.wait(SOON_SECONDS)
            assert history.deployed_tags == ["three"]
            history.edit(timeout="40s")  # ends the hold
        await history.cluster.wait(SOON_SECONDS)

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", ["one"])


def test_an_automatic_rollback_to_what_a_late_helm_made_is_not_what_the_spec_says(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="three", maxHistory=1)
        await history.cluster.wait(SOON_SECONDS)
        history.cluster.helm.faults.append(Fault(UNAVAILABLE, writes=2))
        history.set_tag(BROKEN)
        await history.cluster.wait(SOON_SECONDS)
        upgrade_by_hand(history, "mine", number=2)
        await history.cluster.wait(TIMEOUT_SECONDS + SOON_SECONDS)
        history.set_tag("three")

    history = run_history(settings, play)
    assert history.deployed_tags == ["three"]


@pytest.mark.parametrize("deleted", [None, 1, 2])
def test_what_persons_deploy_while_an_xapp_is_suspended_ends_when_it_resumes(
    settings: Settings, deleted: int | None
) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SOON_SECONDS)
        history.edit(suspend=True)
        await history.cluster.wait(SOON_SECONDS)
        for tag in ("two", "three"):
            upgrade_by_hand(history, tag)
        if deleted is not None:
            delete_record(history, deleted)
        await history.cluster.wait(SOON_SECONDS)
        assert history.live_tags == {"three"}
        history.edit(suspend=False)

    history = run_history(settings, play)
    assert (history.outcome, history.live_tags) == ("Ready UpgradeSucceeded", {"one"})


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("status", ["deployed", "failed"])
def test_an_old_helm_that_takes_the_number_of_a_deleted_revision_changes_nothing_for_long(
    settings: Settings, status: str, held: bool
) -> None:
    """A person's helm read the history before the operator upgraded, and pruned what was between."""

    async def play(history: History) -> None:
        history.create(tag="one")
        for tag in ("two", "three"):
            await history.cluster.wait(SOON_SECONDS)
            history.set_tag(tag)
        await history.cluster.wait(SOON_SECONDS)
        if held:
            history.annotate("rollback-to", "1")
            await history.cluster.wait(SOON_SECONDS)
        delete_record(history, 2)
        newest = max(history.cluster.revisions)
        upgrade_by_hand(history, "mine", status=status, number=2)
        await history.cluster.wait(SOON_SECONDS)
        assert max(history.cluster.revisions) == newest + 1
        assert history.live_tags == {"one" if held else "three"}

    run_history(settings, play)


def test_a_release_is_rendered_once_while_what_is_to_adopt_it_waits(settings: Settings) -> None:
    """Otherwise, whoever annotates its XApp would have it rendered each time, which holds a worker."""
    rendered: list[None] = []
    templates = {"configmap": CONFIGMAP, "deployment": DEPLOYMENT, "more": COMMON}

    async def play(history: History) -> None:
        template = history.cluster.helm._template

        async def render(run: Any) -> str:
            rendered.append(None)
            return await template(run)

        history.cluster.helm._template = render  # type: ignore[method-assign]
        history.install_by_hand("one")
        history.create(tag="one", adopt=True, archive=store(history, **templates), dependsOn=[{"name": "other"}])
        for _ in range(3):
            await history.cluster.wait(SOON_SECONDS)
            history.annotate("reconcile-at")
        await history.cluster.wait(SOON_SECONDS)
        assert len(rendered) == 1
        upgrade_by_hand(history, "one", status="deployed")
        await history.cluster.wait(SOON_SECONDS)
        assert len(rendered) == 2
        assert history.outcome == "NotReady DependencyNotReady"
        history.edit(dependsOn=None)

    assert run_history(settings, play).outcome == "Ready UpgradeSucceeded"
