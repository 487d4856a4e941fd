"""The actions for Argo CD, run by a Lua interpreter on XApps of an operator, which then does what they ask for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from lupa.lua51 import LuaError  # type: ignore[import-untyped]

from tests.support.argocd import Body, defined_actions, list_actions, run_action
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN
from xapp_operator.config.settings import Settings

VALUES = {"tag": "one", "ports": [1, 2], "affinity": {}, "tolerations": [], "volumes": [{"name": "a", "emptyDir": {}}]}


def current(history: History) -> Body:
    body = history.cluster.xapp()
    assert body is not None
    return body


def act(history: History, name: str) -> None:
    """Do what Argo CD does when somebody chooses the action."""
    body = current(history)
    assert list_actions(body)[name]["disabled"] is False
    changed = run_action(name, body)
    assert without_requests(changed) == without_requests(body)
    history.cluster.edit({part: changed[part] for part in ("metadata", "spec")})


def without_requests(body: Body) -> Body:
    metadata = {key: value for key, value in body["metadata"].items() if key != "annotations"}
    spec = {key: value for key, value in body["spec"].items() if key != "suspend"}
    return {**body, "metadata": metadata, "spec": spec}


def disabled(body: Body) -> set[str]:
    return {name for name, action in list_actions(body).items() if action["disabled"]}


def revision(number: int, status: str, description: str = "Upgrade complete", *, healthy: bool | None = None) -> Body:
    known = {} if healthy is None else {"wasHealthy": healthy}
    return {"revision": number, "status": status, "description": description, **known}


def with_history(*history: Body) -> Body:
    release = {"release": {"revision": history[0]["revision"]}} if history else {}
    return {"metadata": {"generation": 1}, "spec": {}, "status": {"history": list(history), **release}}


def test_each_action_that_is_offered_has_a_script() -> None:
    assert set(list_actions({"metadata": {}, "spec": {}})) == set(defined_actions())
    assert len(defined_actions()) == len(set(defined_actions()))


def test_rollback_returns_to_the_revision_that_it_names(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(values=VALUES)
        await history.cluster.wait(10.0)
        assert disabled(current(history)) == {"resume", "rollback"}
        history.set_tag("two")
        await history.cluster.wait(10.0)
        assert list_actions(current(history))["rollback"]["displayName"] == "Roll back to revision 1"
        act(history, "rollback")
        assert re.fullmatch(
            r"1@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
            current(history)["metadata"]["annotations"]["xapp-operator.io/rollback-to"],
        )
        await history.cluster.wait(10.0)
        assert current(history)["status"]["heldRevision"] == 1
        assert "rollback" in disabled(current(history))

    assert run_history(settings, play).deployed_tags == ["one"]


def test_suspended_xapp_can_only_be_resumed(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(values=VALUES)
        await history.cluster.wait(10.0)
        history.set_tag("two")
        await history.cluster.wait(10.0)
        act(history, "suspend")
        await history.cluster.wait(10.0)
        assert current(history)["status"]["phase"] == "Suspended"
        assert disabled(current(history)) == {"retry", "suspend", "rollback"}
        for name in ("retry", "rollback"):
            with pytest.raises(LuaError, match=r"suspended.*: resume it first"):
                run_action(name, current(history))
        act(history, "resume")
        await history.cluster.wait(10.0)
        assert disabled(current(history)) == {"resume"}

    assert run_history(settings, play).outcome.startswith("Ready")


def test_retry_tries_a_failed_upgrade_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag=BROKEN)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        history.set_tag(f"{BROKEN}-two")
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.outcome.startswith("Stalled")
        assert disabled(current(history)) == {"resume", "rollback"}, "no revision was ever healthy"
        with pytest.raises(LuaError, match="no other revision that worked"):
            run_action("rollback", current(history))
        act(history, "retry")
        await history.cluster.wait(10.0)
        status = current(history)["status"]
        assert status["handled"]["retryAt"] == current(history)["metadata"]["annotations"]["xapp-operator.io/retry-at"]
        history.set_tag("three")

    assert run_history(settings, play).outcome.startswith("Ready")


def test_xapp_that_is_deleted_can_only_be_retried() -> None:
    body = with_history(revision(2, "deployed"), revision(1, "superseded", healthy=True))
    assert disabled(body) == {"resume"}
    body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    for suspend in (False, True):
        body["spec"]["suspend"] = suspend
        assert disabled(body) == {"suspend", "resume", "rollback"}
        assert "xapp-operator.io/retry-at" in run_action("retry", body)["metadata"]["annotations"]
        for name in ("suspend", "resume", "rollback"):
            with pytest.raises(LuaError, match="being deleted"):
                run_action(name, body)


def test_new_xapp_has_nothing_to_roll_back_to() -> None:
    assert disabled({"metadata": {"name": "new"}, "spec": {}}) == {"resume", "rollback"}


OLD = [revision(3, "failed"), revision(2, "superseded"), revision(1, "superseded")]
UNDONE = [revision(3, "deployed", "Rollback to 1"), revision(2, "superseded")]
LATER = [revision(6, "deployed", "Rollback to 4"), revision(5, "superseded")]
BEFORE = [revision(4, "superseded", "Rollback to 2"), revision(3, "superseded"), revision(2, "superseded")]
BAD = [revision(4, "deployed"), revision(3, "superseded", healthy=False)]


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], None),
        ([revision(4, "deployed")], None),
        ([revision(4, "deployed"), *OLD], 2),
        (UNDONE, None),
        ([*UNDONE, revision(1, "superseded")], None),
        ([*LATER, *BEFORE], None),
        ([*LATER, *BEFORE, revision(1, "superseded")], 1),
        ([revision(5, "deployed"), *BEFORE], 4),
        ([*BAD, revision(2, "superseded", healthy=True), revision(1, "superseded")], 2),
        (BAD, None),
        ([revision(2, "deployed", "Rollback to 9"), revision(1, "superseded")], 1),
    ],
)
def test_rollback_goes_where_the_dashboard_would(history: list[Body], expected: int | None) -> None:
    """The cases of "the revision to go back to" in the dashboard's cause.test.ts."""
    body = with_history(*history)
    offered: dict[str, Any] = list_actions(body)["rollback"]
    if expected is None:
        assert offered["disabled"] is True
        return
    assert (offered["disabled"], offered["displayName"]) == (False, f"Roll back to revision {expected}")
    changed = run_action("rollback", {**body, "metadata": {"annotations": {"kept": "yes"}}})
    annotations = changed["metadata"]["annotations"]
    assert annotations["kept"] == "yes"
    assert annotations["xapp-operator.io/rollback-to"].startswith(f"{expected}@")
