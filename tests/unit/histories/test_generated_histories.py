"""Generated histories: users and faults do anything, in any order, and the operator is killed at any write.

What must be true of each is in `tests.support.fakes.histories.History.check`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import Phase, given
from hypothesis import settings as property_settings
from hypothesis import strategies as st

from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import roll_back_by_hand, upgrade_by_hand
from tests.support.fakes.histories import GOOD_TAGS, History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from tests.support.properties import must_occur, occurred
from xapp_operator.config import Settings

PASSING = "Internal error occurred: etcdserver: request timed out"
PERMANENT = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
SIGKILL = ""
HISTORIES = property_settings(
    max_examples=property_settings().max_examples // 2, phases=[Phase.explicit, Phase.generate]
)
"""A history takes as long as a hundred plans. What fails is shown as it was found, because shrinking takes minutes."""
LEFT_BEHIND = [
    "pending-install",
    "pending-upgrade",
    "pending-rollback",
    "uninstalling",
    "failed",
    "superseded",
    "uninstalled",
]


@dataclass(frozen=True)
class Event:
    """Something that happens, and the seconds until the next one."""

    name: str
    act: Callable[[History], None]
    pause: float

    def __repr__(self) -> str:
        return f"{self.name}, {self.pause:g} s"


def events(
    name: str,
    make: Callable[[Any], Callable[[History], None]],
    values: st.SearchStrategy[Any],
    *,
    pauses: Sequence[float] = (0.0, 0.3, 1.0, 3.0, 12.0, 45.0),
) -> st.SearchStrategy[Event]:
    return st.builds(lambda value, pause: Event(f"{name} {value}", make(value), pause), values, st.sampled_from(pauses))


def _disturb(disturbance: Fault | Kill) -> Callable[[History], None]:
    def act(history: History) -> None:
        if isinstance(disturbance, Kill):
            history.cluster.kill = disturbance
        else:
            history.cluster.helm.faults.append(disturbance)

    return act


def _disturb_change(disturbance: Fault | Kill, tag: str) -> Callable[[History], None]:
    def act(history: History) -> None:
        _disturb(disturbance)(history)
        history.set_tag(tag)

    return act


def _call(act: Callable[[History], None]) -> Callable[[Any], Callable[[History], None]]:
    return lambda _: act


tags = events("tag", lambda tag: lambda history: history.set_tag(tag), st.sampled_from(GOOD_TAGS))
quick_tags = events(
    "tag", lambda tag: lambda history: history.set_tag(tag), st.sampled_from(GOOD_TAGS), pauses=[0.0, 0.1, 0.3]
)
broken_tags = events("tag", lambda tag: lambda history: history.set_tag(tag), st.sampled_from([BROKEN, "broken-2"]))
all_kills = st.builds(Kill, write=st.integers(0, 8), after=st.booleans())
all_faults = st.builds(Fault, error=st.sampled_from([PASSING, PERMANENT, SIGKILL]), writes=st.integers(0, 4))
passing_faults = st.builds(Fault, error=st.sampled_from([PASSING, SIGKILL]), writes=st.integers(0, 4))
kills = events("kill", _disturb, all_kills)
faults = events("fault", _disturb, all_faults)
changes = events(
    "tag under",
    lambda both: _disturb_change(*both),
    st.tuples(all_kills | all_faults, st.sampled_from([*GOOD_TAGS, BROKEN])),
)
"""A new tag, and what disturbs the step that deploys it."""
remedies = events(
    "onFailure",
    lambda remedy: lambda history: history.edit(upgrade={"onFailure": remedy}),
    st.sampled_from(["rollback", "none"]),
)
suspensions = events("suspend", lambda on: lambda history: history.edit(suspend=on), st.booleans())
requests = events(
    "request",
    lambda name: lambda history: history.annotate(name),
    st.sampled_from(["reconcile-at", "retry-at", "force-at"]),
)
rollbacks = events(
    "rollback-to", lambda number: lambda history: history.annotate("rollback-to", str(number)), st.integers(1, 3)
)
deletions = events("delete", _call(History.delete), st.just(""))
orphanings = events(
    "deletionPolicy",
    lambda policy: lambda history: history.edit(deletionPolicy=policy),
    st.sampled_from(["Orphan", "Uninstall"]),
)
creations = events("create", lambda tag: lambda history: history.create(tag=tag), st.sampled_from(GOOD_TAGS))
removals = events("uninstall by hand", _call(History.uninstall_by_hand), st.just(""))
leftovers = events("left", lambda status: lambda history: history.leave_behind(status), st.sampled_from(LEFT_BEHIND))
upgrades_by_hand = events(
    "upgrade by hand",
    lambda given: lambda history: upgrade_by_hand(history, given[0], status=given[1]),
    st.tuples(st.sampled_from([*GOOD_TAGS, BROKEN]), st.sampled_from(["deployed", "deployed", "failed"])),
)
rollbacks_by_hand = events(
    "rollback by hand", lambda number: lambda history: roll_back_by_hand(history, number), st.integers(1, 5)
)
heals = events("heal", _call(lambda history: history.cluster.heal()), st.just(""))

first = st.sampled_from([*GOOD_TAGS, GOOD_TAGS[0], BROKEN])
remedy = st.sampled_from(["rollback", "rollback", "none"])


def play(settings: Settings, tag: str, on_failure: str, happened: list[Event]) -> History:
    async def happen(history: History) -> None:
        history.create(tag=tag, upgrade={"onFailure": on_failure})
        await history.cluster.wait(5.0)
        for event in happened:
            event.act(history)
            await history.cluster.wait(event.pause)

    history = run_history(settings, happen)
    _count(history)
    return history


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


@must_occur(killed=10, failed_step=5, ready=15)
@HISTORIES
@given(
    tag=first,
    on_failure=remedy,
    happened=st.lists(st.one_of(tags, kills, changes, changes, broken_tags), min_size=1, max_size=5),
)
def test_upgrades_under_kills_and_faults(settings: Settings, tag: str, on_failure: str, happened: list[Event]) -> None:
    play(settings, tag, on_failure, happened)


@must_occur(killed=10, removed=10, gone=10)
@HISTORIES
@given(
    tag=first,
    on_failure=remedy,
    happened=st.lists(st.one_of(changes, kills, deletions, deletions, orphanings, creations), min_size=1, max_size=7),
)
def test_deletions_under_kills_and_faults(settings: Settings, tag: str, on_failure: str, happened: list[Event]) -> None:
    play(settings, tag, on_failure, happened)


@must_occur(killed=5, failed_step=3, ready=20)
@HISTORIES
@given(
    tag=first,
    on_failure=remedy,
    happened=st.lists(
        tags
        | changes
        | changes
        | kills
        | remedies
        | suspensions
        | requests
        | rollbacks
        | removals
        | leftovers
        | heals
        | upgrades_by_hand
        | rollbacks_by_hand,
        max_size=8,
    ),
)
def test_anything_users_and_other_helms_do(
    settings: Settings, tag: str, on_failure: str, happened: list[Event]
) -> None:
    play(settings, tag, on_failure, happened)


@must_occur(held=10, killed=5)
@HISTORIES
@given(
    happened=st.lists(
        st.one_of(upgrades_by_hand, rollbacks_by_hand, leftovers, rollbacks, kills, requests, changes),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_held_stays_in_force_until_the_spec_changes(settings: Settings, happened: list[Event]) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(12.0)
        history.set_tag("two")
        await history.cluster.wait(12.0)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(12.0)
        assert history.hold is not None
        for event in happened:
            event.act(history)
            await history.cluster.wait(event.pause)

    def check(history: History) -> None:
        if history.outcome == "Ready RollbackSucceeded":
            occurred("held")

    _count(run_history(settings, happen, check))


@must_occur(rolled_back=25)
@HISTORIES
@given(happened=st.lists(kills | faults, min_size=1, max_size=4), tag=st.sampled_from(GOOD_TAGS))
def test_release_that_was_good_is_back_after_an_upgrade_that_is_never_healthy(
    settings: Settings, happened: list[Event], tag: str
) -> None:
    async def happen(history: History) -> None:
        history.create(tag=tag)
        await history.cluster.wait(10.0)
        history.set_tag(BROKEN)
        for event in happened:
            event.act(history)
            await history.cluster.wait(event.pause)

    def check(history: History) -> None:
        assert history.outcome.startswith("Stalled")
        assert history.deployed_tags == [tag]
        assert history.live_tags == {tag}

    _count(run_history(settings, happen, check))


@must_occur(failed_step=5, killed=5)
@HISTORIES
@given(
    disturbances=st.lists(all_kills | passing_faults, min_size=1, max_size=3),
    tag=st.sampled_from(GOOD_TAGS),
    pauses=st.lists(st.sampled_from([0.0, 1.0, 12.0]), min_size=3, max_size=3),
)
def test_passing_failures_end_with_the_release_that_is_wanted(
    settings: Settings, disturbances: list[Fault | Kill], tag: str, pauses: list[float]
) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        for disturbance, pause in zip(disturbances, pauses, strict=False):
            _disturb(disturbance)(history)
            await history.cluster.wait(pause)
        history.set_tag(tag)

    def check(history: History) -> None:
        assert history.outcome.startswith("Ready")
        assert history.deployed_tags == [tag]
        assert not any(step.command == "rollback" for step in history.helm_steps)

    _count(run_history(settings, happen, check))


@must_occur(ready=30, killed=5)
@HISTORIES
@given(
    happened=st.lists(st.one_of(tags, quick_tags, quick_tags, changes, kills), min_size=1, max_size=4),
    tag=st.sampled_from(GOOD_TAGS),
    restart=st.booleans(),
)
def test_release_that_became_healthy_is_left_alone_when_it_degrades(
    settings: Settings, happened: list[Event], tag: str, restart: bool
) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        for event in happened:
            event.act(history)
            await history.cluster.wait(event.pause)
        history.set_tag(tag)
        await history.settle()
        if history.outcome.startswith("Ready"):
            occurred("ready")
            before = len(history.helm_steps)
            history.cluster.set_outage(on=True)
            if restart:
                history.cluster.kill = Kill(0, after=True)
            await history.cluster.wait(200.0)
            assert len(history.helm_steps) == before, history.describe()
            assert history.outcome == "NotReady HealthCheckFailed"
            history.cluster.set_outage(on=False)
        if history.cluster.lives > 1:
            occurred("killed")

    run_history(settings, happen)
