"""An XApp that is deleted, suspended and resumed, or changed ten times within a second, in each of its states."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fakes.histories import GOOD_TAGS, History, run_history
from tests.support.fakes.operator import BROKEN
from tests.unit.histories.states import AT, STATES
from tests.unit.histories.states.scene import BY_RELEASE, At, Scene, State, watch_plans
from tests.unit.histories.test_generated_histories import HISTORIES
from xapp_operator.config.settings import Settings
from xapp_operator.domain.planning import actions
from xapp_operator.domain.planning import plan as planning
from xapp_operator.domain.planning.actions import RejectRequest, RejectRollback
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    PENDING,
    SUPERSEDED,
    UNINSTALLED,
    UNINSTALLING,
    AttemptOutcome,
    TestOutcome,
)

MOMENTARY = {RejectRequest, RejectRollback}
"""Actions during which nothing else can happen."""
CHANGES = 10
CHANGES_SECONDS = 1.0
CHANGED_TAGS = ["two", "three", BROKEN, "two", "one", "three", "two", BROKEN, "one", "three"]
END_SECONDS = 150.0
SUSPENDED_SECONDS = 60.0
HELM_RUNS_MAX = 3
"""After the changes: the step that they end, perhaps one for a spec between them, and the one for the last spec."""
KINDS = ("configmaps", "deployments", "pods", "jobs", "clusterroles", "secrets")

Act = Callable[[Scene, State], Coroutine[Any, Any, None]]


def good_revisions(history: History) -> set[str]:
    """Return the uids of the revisions that were in force and healthy."""
    status = (history.cluster.xapp() or {}).get("status", {})
    healthy = {each["revision"] for each in status.get("history", ()) if each.get("wasHealthy")}
    kept = {number for number, each in history.cluster.revisions.items() if each in ("deployed", "superseded")}
    return {uid for uid, number in history.numbers.items() if number in healthy & kept}


def left(history: History) -> set[str]:
    """Return the names of all that the release consisted of, and of its records."""
    names = {each["metadata"]["name"] for kind in KINDS for each in history.cluster.server.all(kind)}
    return {each for each in names if "other" not in each}


async def remove_others(scene: Scene) -> None:
    """Remove the XApp beside this one, which is not checked, and what it deployed."""
    history = scene.history
    if history.cluster.xapp("other") is not None:
        history.cluster.edit({"spec": {"dependsOn": None}})
        history.cluster.delete("other")
        assert await history.cluster.wait_for(lambda: history.cluster.xapp("other") is None, seconds=END_SECONDS)
        await history.cluster.wait(END_SECONDS)
        history.removed.clear()


def run(name: str, settings: Settings, act: Act) -> None:
    """Bring an XApp into a state, do something to it, and check what must be true whatever was done."""
    state = STATES[name]

    async def play(history: History) -> None:
        scene = Scene(history)
        watch_plans(scene, patch)
        await state.reach(scene)
        assert At.of(scene) == AT[name]
        good = set() if state.uninstalled else good_revisions(history)
        await act(scene, state)
        if history.cluster.xapp() is not None:
            assert good <= history.numbers.keys()
        elif state.foreign:
            history.removed.clear()
        else:
            assert left(history) == state.stays
        if not state.foreign:
            await remove_others(scene)

    with pytest.MonkeyPatch.context() as patch:
        run_history(settings, play)


async def delete(scene: Scene, state: State) -> None:
    scene.history.delete()
    state.recover(scene)
    await scene.history.cluster.wait(END_SECONDS)
    assert scene.history.outcome == "gone"


async def suspend_and_resume(scene: Scene, state: State) -> None:
    history = scene.history
    history.edit(suspend=True)
    if not state.deleting:
        await history.cluster.wait(SUSPENDED_SECONDS)
        before = history.numbers, len(history.helm_steps)
        await history.cluster.wait(SUSPENDED_SECONDS)
        assert (history.cluster.xapp() or {})["status"]["phase"] == "Suspended"
        assert (history.numbers, len(history.helm_steps)) == before
    state.recover(scene)
    history.edit(suspend=False)
    await history.cluster.wait(END_SECONDS)
    assert history.outcome == ("gone" if state.deleting else state.end)


def change(*tags: str, pauses: Sequence[float] = (CHANGES_SECONDS / CHANGES,) * CHANGES) -> Act:
    """Return an act that changes the spec to these tags, one after the other."""

    async def act(scene: Scene, state: State) -> None:
        history, before = scene.history, len(scene.history.helm_steps)
        for tag, pause in zip(tags, pauses, strict=True):
            history.set_tag(tag)
            await history.cluster.wait(pause)
        history.edit(**state.change)
        state.recover(scene)
        await history.cluster.wait(END_SECONDS)
        assert history.outcome.startswith("gone" if state.deleting else state.changed_end)
        assert len(history.helm_steps) - before <= HELM_RUNS_MAX

    return act


@pytest.mark.parametrize("name", STATES)
def test_an_xapp_that_is_deleted_in_any_state_goes_away_with_all_that_it_had(name: str, settings: Settings) -> None:
    run(name, settings, delete)


@pytest.mark.parametrize("name", STATES)
def test_an_xapp_that_is_suspended_in_any_state_rests_and_goes_on_when_it_is_resumed(
    name: str, settings: Settings
) -> None:
    run(name, settings, suspend_and_resume)


@pytest.mark.parametrize("name", STATES)
def test_an_xapp_that_is_changed_ten_times_in_any_state_ends_with_the_last_spec(name: str, settings: Settings) -> None:
    run(name, settings, change(*CHANGED_TAGS))


@HISTORIES
@given(
    name=st.sampled_from(sorted(STATES)),
    tags=st.lists(st.sampled_from([*GOOD_TAGS, BROKEN]), min_size=CHANGES - 1, max_size=CHANGES - 1),
    pauses=st.lists(st.sampled_from([0.0, 0.02, 0.1, 0.3]), min_size=CHANGES, max_size=CHANGES).filter(
        lambda pauses: sum(pauses) <= CHANGES_SECONDS
    ),
)
def test_any_ten_changes_within_a_second_end_with_the_last_spec(
    settings: Settings, name: str, tags: list[str], pauses: list[float]
) -> None:
    run(name, settings, change(*tags, "three", pauses=pauses))


def test_each_state_of_the_plan_has_a_history() -> None:
    """Whoever adds an action, a rule or an outcome adds a state to `STATES`."""
    known = {each for each in vars(actions).values() if isinstance(each, type) and each.__module__ == actions.__name__}
    assert {at.action for at in AT.values()} == (known - MOMENTARY) | {None}
    assert {at.rule for at in AT.values()} == {rule.__name__ for rule in planning._PLAN_RULES} | {BY_RELEASE}
    statuses = {DEPLOYED, SUPERSEDED, FAILED, UNINSTALLING, UNINSTALLED, *PENDING}
    assert {at.release for at in AT.values()} == statuses | {None}
    assert {at.attempt for at in AT.values()} == {*AttemptOutcome, None}
    assert {at.test for at in AT.values()} == {*TestOutcome, None}
