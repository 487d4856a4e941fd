"""What annotations ask for that cannot be done, or would have no effect now: said once, and never done later."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import History, run_history, xapp_body
from xapp_operator.config.settings import Settings

SECONDS = 20.0
REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
CYCLE = [{"name": "hello"}]


def events(history: History, reason: str) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["reason"] == reason]


def handled(history: History) -> dict[str, str]:
    found: dict[str, str] = (history.cluster.xapp() or {})["status"].get("handled", {})
    return found


def condition(history: History, kind: str) -> tuple[str, str, str]:
    found: dict[str, Any] = history.cluster.condition(kind) or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def hold_first_revision(history: History, **spec: Any) -> None:
    history.create(tag="one", **spec)
    await history.cluster.wait(SECONDS)
    history.set_tag("two")
    await history.cluster.wait(SECONDS)
    history.annotate("rollback-to", "1")
    await history.cluster.wait(SECONDS)
    assert history.outcome == "Ready RollbackSucceeded"


@pytest.mark.parametrize("revision", ["1", ""])
def test_a_rollback_with_a_very_long_token_goes_to_its_revision(settings: Settings, revision: str) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        token = f"{revision}@{'t' * 5000}"
        history.cluster.edit({"metadata": {"annotations": {"xapp-operator.io/rollback-to": token}}})

    def check(history: History) -> None:
        assert history.deployed_tags == (["one"] if revision else ["two"])
        assert len([each for each in history.helm_steps if each.command == "rollback"]) == (1 if revision else 0)
        assert handled(history)["rollbackTo"].startswith(f"{revision}@sha256:")

    run_history(settings, play, check)


def test_a_requested_rollback_is_an_event(settings: Settings) -> None:
    history = run_history(settings, hold_first_revision)
    assert events(history, "RollbackSucceeded") == ["rolled back to revision 1, as rollback-to asked"]


@pytest.mark.parametrize("name", ["retry-at", "force-at", "reconcile-at"])
def test_a_held_revision_stays_rolled_back(settings: Settings, name: str) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.annotate(name)

    def check(history: History) -> None:
        assert history.outcome == "Ready RollbackSucceeded"
        assert condition(history, "Released")[:2] == ("True", "RollbackSucceeded")
        assert history.deployed_tags == ["one"]
        assert len(handled(history)) == 2

    run_history(settings, play, check)


def test_a_suspended_xapp_keeps_the_revision_that_is_held_until_it_is_resumed(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.edit(suspend=True)
        await history.cluster.wait(SECONDS)
        status = (history.cluster.xapp() or {})["status"]
        assert (status["phase"], status["heldRevision"], history.deployed_tags) == ("Suspended", 1, ["one"])
        history.edit(suspend=False)

    def check(history: History) -> None:
        assert "heldRevision" not in (history.cluster.xapp() or {})["status"]
        assert history.deployed_tags == ["two"]

    run_history(settings, play, check)


def test_a_forced_upgrade_of_a_held_revision_does_not_happen_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.annotate("force-at")
        await history.cluster.wait(SECONDS)
        (said,) = events(history, "NoEffect")
        assert "force-at has no effect now: rolled back to revision 1, which is held until" in said
        history.set_tag("three")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback", "upgrade"]


def test_a_forced_upgrade_in_a_cycle_does_not_happen_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        history.edit(dependsOn=CYCLE)
        await history.cluster.wait(SECONDS)
        history.annotate("force-at")
        await history.cluster.wait(SECONDS)
        (said,) = events(history, "NoEffect")
        assert "dependsOn forms a cycle: hello → hello" in said
        assert "forceAt" in handled(history)
        history.edit(dependsOn=None)

    def check(history: History) -> None:
        assert history.outcome == "Ready InstallSucceeded"
        assert condition(history, "Released") == ("True", "InstallSucceeded", "revision 1 of hello 0.1.0")

    history = run_history(settings, play, check)
    assert [each.command for each in history.helm_steps] == ["install"]


@pytest.mark.parametrize("name", ["force-at", "test-at"])
def test_what_is_asked_of_a_suspended_xapp_does_not_happen_later(settings: Settings, name: str) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", suspend=True)
        await history.cluster.wait(SECONDS)
        history.annotate(name)
        await history.cluster.wait(SECONDS)
        (said,) = events(history, "NoEffect")
        assert said == f"{name} has no effect now: suspended by spec.suspend: nothing is changed"
        history.edit(suspend=False)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install"]
    assert condition(history, "TestSuccess") == ("", "", "")


def test_a_rollback_that_is_asked_of_a_suspended_xapp_does_not_happen_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.edit(suspend=True)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        (said,) = events(history, "NoEffect")
        assert said == "rollback-to has no effect now: suspended by spec.suspend: nothing is changed"
        assert handled(history)["rollbackTo"].startswith("1@")
        history.edit(suspend=False)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]
    assert history.deployed_tags == ["two"]


def test_a_rollback_of_a_release_that_is_not_the_xapps_own_does_not_happen_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        (said,) = events(history, "NoEffect")
        assert said.startswith("rollback-to has no effect now: ")
        history.edit(adopt=True)

    history = run_history(settings, play)
    assert "rollback" not in [each.command for each in history.helm_steps]


def test_tests_of_what_is_not_deployed_are_no_longer_asked_for(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.refusals['{"tag": "one"}'] = Fault(REFUSED, writes=1)
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Stalled InstallFailed"
        history.annotate("test-at")
        await history.cluster.wait(SECONDS)
        (said,) = events(history, "NoEffect")
        assert "test-at has no effect now" in said
        assert "must be three" in said
        history.set_tag("two")

    def check(history: History) -> None:
        assert history.outcome == "Ready InstallSucceeded"
        assert condition(history, "TestSuccess") == ("", "", "")

    run_history(settings, play, check)


@pytest.mark.parametrize("value", ["latest", "", "-1", "1.0", "99999999999", "²", "1 2"])
def test_rollback_to_that_is_no_revision_is_rejected_once(settings: Settings, value: str) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        history.cluster.edit({"metadata": {"annotations": {"xapp-operator.io/rollback-to": value}}})

    history = run_history(settings, play)
    assert events(history, "RollbackFailed") == [
        "rollback-to names no revision. Set it to one of 1, or to REVISION@TEXT."
    ]
    assert handled(history) == {"rollbackTo": value}


@pytest.mark.parametrize("from_the_start", [True, False])
def test_rollback_to_the_revision_in_force_does_nothing(settings: Settings, from_the_start: bool) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        if not from_the_start:
            await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert "rollbackTo" in handled(history)
        history.set_tag("two")

    history = run_history(settings, play)
    assert events(history, "RollbackFailed") == [
        "rollback-to names revision 1, which is in force. There is nothing to do."
    ]
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]


def test_a_rollback_that_was_asked_for_stays_done_when_a_later_one_by_itself_fails(settings: Settings) -> None:
    async def play(history: History) -> None:
        await hold_first_revision(history)
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        for values in ("4", '{"tag": "four"}'):
            history.cluster.helm.refusals[values] = Fault(REFUSED, writes=2)
        history.set_tag("four")
        await history.cluster.wait(3 * SECONDS)
        assert history.outcome == "Stalled RollbackFailed"
        assert handled(history) == {"rollbackTo": "1@1"}
        history.cluster.helm.refusals.clear()
        history.set_tag("five")

    history = run_history(settings, play)
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", ["five"])


def test_every_member_of_a_cycle_is_stalled_for_it(settings: Settings) -> None:
    """Also one whose revision is held, or whose chart is away."""

    async def play(history: History) -> None:
        other = xapp_body(tag="one")
        other["metadata"]["name"] = "other"
        history.create(tag="one", dependsOn=[{"name": "other"}])
        history.cluster.create(other)
        await history.cluster.wait(SECONDS)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Ready RollbackSucceeded"
        gone = {"archive": {"chartArchiveRef": {"name": "gone"}, "digest": None}}
        history.cluster.edit({"spec": {"dependsOn": [{"name": "hello"}], **gone}}, "other")
        await history.cluster.wait(SECONDS)
        assert condition(history, "Stalled")[1] == "DependencyNotReady"
        stalled = history.cluster.condition("Stalled", "other") or {}
        assert stalled["message"].startswith("dependsOn forms a cycle: other → hello → other")

    run_history(settings, play)


async def ask_twice(history: History, name: str, first: str = "", second: str = "") -> None:
    """Set an annotation, and set it again while helm does what it asked for."""
    for tag in ("one", "two", "three"):
        history.create(tag=tag)
        history.set_tag(tag)
        await history.cluster.wait(SECONDS)
    history.cluster.helm.pause = 3.0
    history.annotate(name, first)
    assert await history.cluster.wait_for(lambda: bool(history.cluster.helm.running), seconds=SECONDS)
    history.annotate(name, second)
    await history.cluster.wait(3 * SECONDS)


def test_a_rollback_to_another_revision_that_is_asked_for_during_one_follows_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        await ask_twice(history, "rollback-to", "1", "2")

    history = run_history(settings, play)
    assert history.outcome == "Ready RollbackSucceeded"
    assert history.deployed_tags == ["two"]
    assert [each.what for each in history.helm_steps if each.command == "rollback"] == ["1", "2"]
    assert handled(history) == {"rollbackTo": "2@2"}
    assert "rolled back to revision 2, which is held" in condition(history, "Ready")[2]


def test_an_upgrade_that_is_asked_for_during_one_follows_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        await ask_twice(history, "force-at")

    history = run_history(settings, play)
    assert [each.what for each in history.helm_steps][-2:] == ['{"tag": "three"}', '{"tag": "three"}']
    assert len(history.helm_steps) == 5
    assert handled(history) == {"forceAt": "2"}
