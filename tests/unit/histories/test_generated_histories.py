"""Generated histories: users and faults do anything, in any order, and the operator is killed at any write.

What must be true of each is in `tests.support.fakes.histories.History.check`. Each is played once as it is generated,
and goes on after kills at some of its writes, or at all of them: see `tests.support.fakes.kill_points`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

from hypothesis import Phase, given
from hypothesis import settings as property_settings
from hypothesis import strategies as st

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import GOOD_TAGS, History, Play, run_history
from tests.support.fakes.kill_points import everywhere, run_with_kills
from tests.support.fakes.operator import BROKEN, Kill
from tests.support.properties import must_occur, occurred
from tests.unit.histories.generation import (
    ALL_KILLS,
    PASSING,
    PASSING_FAULTS,
    PAUSES,
    SIGKILL,
    InitialState,
    ScriptedEvent,
    SomeKills,
    any_initial_state,
    broken_tags,
    changes,
    changes_of_objects,
    creations,
    deletions,
    deployed,
    disturb,
    heals,
    held,
    initial_states,
    kills,
    lags,
    left,
    leftovers,
    orphanings,
    passing_faults,
    quick_tags,
    refusals,
    remedies,
    removals,
    requests,
    restarts,
    rollbacks,
    rollbacks_by_hand,
    scripts,
    some_kills,
    suspensions,
    tags,
    upgrades_by_hand,
)
from xapp_operator.config.settings import Settings

HISTORIES = property_settings(
    phases=[Phase.explicit, Phase.generate], max_examples=property_settings().max_examples // 2
)
"""What fails is shown as it was found, because shrinking takes minutes."""
FEW_HISTORIES = property_settings(HISTORIES, max_examples=property_settings().max_examples // 4)
"""Of those that wait for pods that never become ready."""
FEWEST_HISTORIES = property_settings(HISTORIES, max_examples=property_settings().max_examples // 8)
"""Of those in which helm runs again and again, or is killed at every write."""
OUTAGE_SECONDS = 75.0
"""Longer than spec.timeout, and than the deadline after which a Deployment is said to have failed."""


async def _happen(history: History, happened: list[ScriptedEvent]) -> None:
    for event in happened:
        event.act(history)
        await history.cluster.wait(event.pause)


def play(
    settings: Settings,
    initial: InitialState,
    happened: list[ScriptedEvent],
    where: Callable[[Kill], bool],
    check: Callable[[History], None] = lambda _: None,
) -> None:
    async def happen(history: History) -> None:
        await initial.begin(history)
        await _happen(history, happened)

    play_with_kills(settings, happen, check, after=initial.before(settings), where=where)


def play_with_kills(
    settings: Settings,
    happen: Play,
    check: Callable[[History], None] = lambda _: None,
    *,
    after: History | None,
    where: Callable[[Kill], bool],
) -> None:
    found = run_with_kills(settings, happen, check, after=after, where=where)
    for history in (found.history, *found.killed):
        _count(history)
    for _ in found.killed:
        occurred("killed")


def _count(history: History) -> None:
    steps = history.helm_steps
    if history.cluster.lives > 1:
        occurred("killed")
    if any(step.command == "rollback" and step.done for step in steps):
        occurred("rolled_back")
    if any(not step.done for step in steps):
        occurred("failed_step")
    if history.removed:
        occurred("removed")
    for name in ("Ready", "Stalled", "gone"):
        if history.outcome.startswith(name):
            occurred(name.lower())


@must_occur(killed=5, failed_step=3, ready=15, stalled=5, left=2)
@HISTORIES
@given(
    where=some_kills, initial=any_initial_state, happened=scripts(tags, kills, changes, changes, broken_tags, many=5)
)
def test_upgrades_under_kills_and_faults(
    settings: Settings, where: SomeKills, initial: InitialState, happened: list[ScriptedEvent]
) -> None:
    def check(history: History) -> None:
        if initial.on_failure == "none" and history.outcome.startswith("Stalled"):
            occurred("left")
            assert not any(step.command == "rollback" for step in history.helm_steps)

    play(settings, initial, happened, where, check)


@must_occur(killed=100, ready=50)
@FEWEST_HISTORIES
@given(initial=any_initial_state, happened=scripts(tags, passing_faults, deletions, creations, rollbacks, many=3))
def test_kills_before_and_after_every_write(
    settings: Settings, initial: InitialState, happened: list[ScriptedEvent]
) -> None:
    play(settings, initial, happened, everywhere)


@must_occur(failed_step=2, ready=20, stalled=3)
@HISTORIES
@given(
    where=some_kills,
    initial=any_initial_state,
    happened=scripts(refusals, refusals, refusals, tags, broken_tags, changes, requests, rollbacks, lags, many=6),
)
def test_requests_are_refused_while_watches_are_late(
    settings: Settings, where: SomeKills, initial: InitialState, happened: list[ScriptedEvent]
) -> None:
    play(settings, initial, happened, where)


@must_occur(killed=5, removed=10, gone=10)
@HISTORIES
@given(
    where=some_kills,
    initial=any_initial_state,
    happened=scripts(changes, kills, deletions, deletions, orphanings, creations, many=7),
)
def test_deletions_under_kills_and_faults(
    settings: Settings, where: SomeKills, initial: InitialState, happened: list[ScriptedEvent]
) -> None:
    play(settings, initial, happened, where)


@must_occur(killed=2, failed_step=2, ready=20)
@HISTORIES
@given(
    where=some_kills,
    initial=any_initial_state,
    happened=scripts(
        tags,
        changes,
        changes,
        kills,
        remedies,
        suspensions,
        requests,
        rollbacks,
        removals,
        leftovers,
        heals,
        upgrades_by_hand,
        rollbacks_by_hand,
    ),
)
def test_anything_users_and_other_helms_do(
    settings: Settings, where: SomeKills, initial: InitialState, happened: list[ScriptedEvent]
) -> None:
    play(settings, initial, happened, where)


@must_occur(held=10, killed=2)
@HISTORIES
@given(
    where=some_kills,
    happened=scripts(upgrades_by_hand, rollbacks_by_hand, leftovers, rollbacks, kills, requests, changes, many=5),
    pause=st.sampled_from([0.0, 1.0, 5.0]),
)
def test_what_is_held_stays_in_force_until_the_spec_changes(
    settings: Settings, where: SomeKills, happened: list[ScriptedEvent], pause: float
) -> None:
    async def happen(history: History) -> None:
        await history.cluster.wait(pause)
        await _happen(history, happened)

    def check(history: History) -> None:
        if history.outcome == "Ready RollbackSucceeded":
            occurred("held")

    play_with_kills(settings, happen, check, after=held(settings), where=where)


@must_occur(rolled_back=20)
@FEW_HISTORIES
@given(where=some_kills, initial=initial_states(GOOD_TAGS), happened=scripts(kills, passing_faults, many=4))
def test_release_that_was_good_is_back_after_an_upgrade_that_is_never_healthy(
    settings: Settings, where: SomeKills, initial: InitialState, happened: list[ScriptedEvent]
) -> None:
    async def happen(history: History) -> None:
        await initial.begin(history)
        await history.cluster.wait(5.0)
        history.set_tag(BROKEN)
        await _happen(history, happened)

    def check(history: History) -> None:
        assert history.outcome.startswith("Stalled")
        assert history.deployed_tags == [initial.tag]
        assert history.live_tags == {initial.tag}

    play_with_kills(settings, happen, check, after=initial.before(settings), where=where)


@must_occur(failed_step=2, killed=2)
@HISTORIES
@given(
    where=some_kills,
    disturbances=st.lists(st.sampled_from([*ALL_KILLS, *PASSING_FAULTS]), min_size=1, max_size=3),
    tag=st.sampled_from(GOOD_TAGS),
    pauses=st.sampled_from(list(itertools.product([0.0, 1.0, 12.0], repeat=3))),
    is_new=st.booleans(),
)
def test_passing_failures_end_with_the_release_that_is_wanted(
    settings: Settings,
    *,
    where: SomeKills,
    disturbances: list[Fault | Kill],
    tag: str,
    pauses: tuple[float, ...],
    is_new: bool,
) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        for disturbance, pause in zip(disturbances, pauses, strict=False):
            disturb(disturbance)(history)
            await history.cluster.wait(pause)
        history.set_tag(tag)

    def check(history: History) -> None:
        assert history.outcome.startswith("Ready")
        assert history.deployed_tags == [tag]
        assert not any(step.command == "rollback" for step in history.helm_steps)

    play_with_kills(settings, happen, check, after=None if is_new else deployed(settings, "one"), where=where)


@must_occur(ready=20, killed=2)
@FEW_HISTORIES
@given(
    initial=initial_states(["one"]),
    happened=scripts(tags, quick_tags, quick_tags, changes, kills, many=4),
    tag=st.sampled_from(GOOD_TAGS),
    restart=st.booleans(),
)
def test_release_that_became_healthy_is_left_alone_when_it_degrades(
    settings: Settings, initial: InitialState, happened: list[ScriptedEvent], tag: str, restart: bool
) -> None:
    async def happen(history: History) -> None:
        await initial.begin(history)
        await history.cluster.wait(5.0)
        await _happen(history, happened)
        history.set_tag(tag)
        await history.settle()
        if history.outcome.startswith("Ready"):
            occurred("ready")
            before = len(history.helm_steps)
            history.cluster.set_outage(on=True)
            if restart:
                history.cluster.kill = Kill(0, after=True)
            await history.cluster.wait(OUTAGE_SECONDS)
            assert len(history.helm_steps) == before, history.describe()
            assert history.outcome == "NotReady HealthCheckFailed"
            history.cluster.set_outage(on=False)
        if history.cluster.lives > 1:
            occurred("killed")

    run_history(settings, happen, after=initial.before(settings))


@must_occur(killed=2, given_up=10, back=3)
@FEWEST_HISTORIES
@given(
    where=some_kills,
    remedy=st.sampled_from(["rollback", "none"]),
    writes=st.integers(0, 4),
    error=st.sampled_from([PASSING, SIGKILL]),
    happened=scripts(kills, requests, many=3),
)
def test_upgrade_that_fails_again_and_again_is_given_up(
    settings: Settings, *, where: SomeKills, remedy: str, writes: int, error: str, happened: list[ScriptedEvent]
) -> None:
    async def happen(history: History) -> None:
        history.edit(upgrade={"onFailure": remedy})
        history.cluster.helm.refusals[json.dumps({"tag": "two"})] = Fault(error, writes)
        history.set_tag("two")
        await _happen(history, happened)

    def check(history: History) -> None:
        assert history.outcome.startswith("Stalled")
        occurred("given_up")
        if remedy == "rollback":
            occurred("back")
            assert history.deployed_tags == ["one"]
            assert history.live_tags == {"one"}
        else:
            assert not any(step.command == "rollback" for step in history.helm_steps)

    play_with_kills(settings, happen, check, after=deployed(settings, "one"), where=where)


@must_occur(killed=5, failed_step=30, gone=90)
@HISTORIES
@given(
    where=some_kills,
    failures=st.lists(st.sampled_from(PASSING_FAULTS), min_size=1, max_size=4),
    happened=scripts(kills, tags, requests, many=4),
    pause=st.sampled_from(PAUSES),
)
def test_deletion_ends_after_the_uninstall_that_succeeds(
    settings: Settings, where: SomeKills, failures: list[Fault], happened: list[ScriptedEvent], pause: float
) -> None:
    async def happen(history: History) -> None:
        await history.cluster.wait(pause)
        history.cluster.helm.faults.extend(failures)
        history.delete()
        await _happen(history, happened)
        await history.cluster.wait(10.0)

    play_with_kills(settings, happen, after=deployed(settings, "one"), where=where)


@must_occur(killed=5, waiting=40)
@HISTORIES
@given(happened=scripts(tags, restarts, requests, remedies, many=5), is_deleted=st.sampled_from([True, True, False]))
def test_nothing_is_installed_before_its_dependencies_are_ready(
    settings: Settings, happened: list[ScriptedEvent], is_deleted: bool
) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one", dependsOn=[{"name": "other"}])
        await history.cluster.wait(5.0)
        await _happen(history, happened)
        await history.cluster.wait(10.0)
        if history.outcome == "NotReady DependencyNotReady":
            occurred("waiting")
        assert history.helm_steps == []
        history.delete() if is_deleted else history.edit(dependsOn=None)

    _count(run_history(settings, happen))


@must_occur(killed=2, suspended=45)
@HISTORIES
@given(
    where=some_kills,
    initial=initial_states(["one", BROKEN]),
    happened=scripts(tags, broken_tags, requests, rollbacks, restarts, removals, leftovers, upgrades_by_hand, many=5),
)
def test_suspended_xapp_is_left_alone(
    settings: Settings, where: SomeKills, initial: InitialState, happened: list[ScriptedEvent]
) -> None:
    async def happen(history: History) -> None:
        await initial.begin(history)
        history.edit(suspend=True)
        await history.cluster.wait(5.0)
        before = len(history.helm_steps)
        await _happen(history, happened)
        await history.cluster.wait(10.0)
        assert len(history.helm_steps) == before
        occurred("suspended")

    play_with_kills(settings, happen, after=initial.before(settings), where=where)


@must_occur(killed=1, corrected=20)
@HISTORIES
@given(
    where=some_kills, happened=scripts(kills, changes_of_objects, changes_of_objects, changes_of_objects, tags, many=4)
)
def test_what_somebody_changes_by_hand_is_put_back(
    settings: Settings, where: SomeKills, happened: list[ScriptedEvent]
) -> None:
    async def happen(history: History) -> None:
        history.edit(driftDetection={"mode": "enabled"})
        await history.cluster.wait(3.0)
        await _happen(history, happened)

    def check(history: History) -> None:
        assert history.outcome.startswith("Ready")  # and what is live is what is deployed
        drifted = history.cluster.condition("Drifted")
        if drifted is not None and drifted["reason"] == "DriftCorrected":
            occurred("corrected")

    play_with_kills(settings, happen, check, after=deployed(settings, "one"), where=where)


@must_occur(ready=60)
@HISTORIES
@given(
    where=some_kills,
    tag=st.sampled_from(GOOD_TAGS),
    pause=st.sampled_from([0.0, 1.0, 1.7, 2.0, 2.3, 2.6, 3.0, 5.0]),
    happened=scripts(orphanings, remedies, tags, kills, many=4),
)
def test_xapp_over_a_release_that_was_left(
    settings: Settings, where: SomeKills, tag: str, pause: float, happened: list[ScriptedEvent]
) -> None:
    async def happen(history: History) -> None:
        history.create(tag=tag)
        await history.cluster.wait(pause)
        await _happen(history, happened)

    play_with_kills(settings, happen, after=left(settings), where=where)
