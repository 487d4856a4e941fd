"""What happens in generated histories, and how they begin.

Most are short, and begin with an XApp that is deployed already: one change and one fault find most of what can be
wrong, and cost a fraction of a long history. Some have many events, and some begin with an empty cluster.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.support.fakes.api_server import Refused
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import change_by_hand, roll_back_by_hand, upgrade_by_hand
from tests.support.fakes.histories import GOOD_TAGS, LAG_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

PASSING = "Internal error occurred: etcdserver: request timed out"
PERMANENT = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
SIGKILL = ""
LEFT_BEHIND = [
    "pending-install",
    "pending-upgrade",
    "pending-rollback",
    "uninstalling",
    "failed",
    "superseded",
    "uninstalled",
]
PAUSES = (0.0, 0.3, 1.0, 3.0, 12.0, 45.0)
KILLS_APART = 8
REMEDIES = ("rollback", "rollback", "none")


@dataclass(frozen=True)
class ScriptedEvent:
    """Something that happens, and the seconds until the next one."""

    name: str
    act: Callable[[History], None]
    pause: float

    def __repr__(self) -> str:
        return f"{self.name}, {self.pause:g} s"


def events(
    name: str,
    make: Callable[[Any], Callable[[History], None]],
    values: Iterable[Any] = ("",),
    *,
    pauses: Iterable[float] = PAUSES,
) -> list[ScriptedEvent]:
    """Return every event of a kind."""
    return [ScriptedEvent(f"{name} {value}", make(value), pause) for value, pause in itertools.product(values, pauses)]


def scripts(*kinds: list[ScriptedEvent], many: int = 8) -> st.SearchStrategy[list[ScriptedEvent]]:
    """Return short lists of events mostly, and long ones of up to `many`; each kind is as frequent as the others."""

    def each() -> st.SearchStrategy[ScriptedEvent]:
        return st.one_of([st.sampled_from(kind) for kind in kinds])

    # Strategies that are equal count once in `one_of`; these are not, as each has its own elements.
    short = [st.lists(each(), min_size=1, max_size=2) for _ in range(7)]
    return st.one_of(*short, st.lists(each(), min_size=3, max_size=many))


def disturb(disturbance: Fault | Kill) -> Callable[[History], None]:
    def act(history: History) -> None:
        if isinstance(disturbance, Kill):
            history.cluster.kill = disturbance
        else:
            history.cluster.helm.faults.append(disturbance)

    return act


def _disturb_change(disturbance: Fault | Kill, tag: str) -> Callable[[History], None]:
    def act(history: History) -> None:
        disturb(disturbance)(history)
        history.set_tag(tag)

    return act


def refuse(history: History, method: str, suffix: str, seconds: float, *, status: int = 500) -> None:
    """Refuse requests of the operator for some seconds: with a method, if one is named, and to such a path."""
    clock = history.cluster.clock
    until, before = clock.monotonic() + seconds, history.cluster.refuse

    def check(request: ApiRequest) -> None:
        before(request)
        if clock.monotonic() < until and method in ("", request.method) and request.path.endswith(suffix):
            raise Refused(status, "InternalError", "etcdserver: request timed out")

    history.cluster.refuse = check


def _set_lag(history: History, seconds: float) -> None:
    history.cluster.server.lag = seconds


def _call(act: Callable[[History], None]) -> Callable[[Any], Callable[[History], None]]:
    return lambda _: act


@dataclass(frozen=True)
class SomeKills:
    """Every eighth of the kills before and after each write, as those beside each other often end alike."""

    first: int

    def __call__(self, kill: Kill) -> bool:
        return (2 * kill.write + kill.after) % KILLS_APART == self.first


some_kills = st.builds(SomeKills, st.integers(0, KILLS_APART - 1))

ALL_KILLS = [Kill(write, after=after) for write in range(9) for after in (False, True)]
ALL_FAULTS = [Fault(error, writes) for error in (PASSING, PERMANENT, SIGKILL) for writes in (*range(5), None)]
PASSING_FAULTS = [each for each in ALL_FAULTS if each.error != PERMANENT]

tags = events("tag", lambda tag: lambda history: history.set_tag(tag), GOOD_TAGS)
quick_tags = events("tag", lambda tag: lambda history: history.set_tag(tag), GOOD_TAGS, pauses=[0.0, 0.1, 0.3])
broken_tags = events("tag", lambda tag: lambda history: history.set_tag(tag), [BROKEN, "broken-2"])
kills = events("kill", disturb, ALL_KILLS)
passing_faults = events("fault", disturb, PASSING_FAULTS)
changes = events(
    "tag under",
    lambda both: _disturb_change(*both),
    itertools.product([*ALL_KILLS, *ALL_FAULTS], [*GOOD_TAGS, BROKEN]),
)
"""A new tag, and what disturbs the step that deploys it."""
remedies = events(
    "onFailure",
    lambda remedy: lambda history: history.edit(upgrade={"onFailure": remedy}),
    ["rollback", "none"],
)
suspensions = events("suspend", lambda on: lambda history: history.edit(suspend=on), [False, True])
requests = events(
    "request", lambda name: lambda history: history.annotate(name), ["reconcile-at", "retry-at", "force-at"]
)
rollbacks = events(
    "rollback-to", lambda number: lambda history: history.annotate("rollback-to", str(number)), range(1, 4)
)
deletions = events("delete", _call(History.delete))
orphanings = events(
    "deletionPolicy", lambda policy: lambda history: history.edit(deletionPolicy=policy), ["Orphan", "Uninstall"]
)
creations = events("create", lambda tag: lambda history: history.create(tag=tag), GOOD_TAGS)
removals = events("uninstall by hand", _call(History.uninstall_by_hand))
leftovers = events("left", lambda status: lambda history: history.leave_behind(status), LEFT_BEHIND)
upgrades_by_hand = events(
    "upgrade by hand",
    lambda given: lambda history: upgrade_by_hand(history, given[0], status=given[1]),
    itertools.product([*GOOD_TAGS, BROKEN], ["deployed", "deployed", "failed"]),
)
rollbacks_by_hand = events(
    "rollback by hand", lambda number: lambda history: roll_back_by_hand(history, number), range(1, 6)
)
changes_of_objects = events(
    "change by hand", lambda plural: lambda history: change_by_hand(history, plural), ["configmaps", "deployments"]
)
refusals = events(
    "refuse",
    lambda what: lambda history: refuse(history, *what),
    [
        *itertools.product(
            ["GET", "PATCH", "POST", ""], ["", "/secrets", "/deployments/hello", "/status"], [1.5, 4.0, 15.0]
        )
    ],
    pauses=(0.0, 0.3, 1.0, 3.0),
)
"""Requests that are refused for some seconds."""
lags = events("lag", lambda seconds: lambda history: _set_lag(history, seconds), [0.0, LAG_SECONDS, 8.0])
restarts = events("restart", _call(lambda history: history.cluster.restart()))
heals = events("heal", _call(lambda history: history.cluster.heal()))


@dataclass(frozen=True)
class InitialState:
    """An XApp that is created now, or one that is deployed already, before the first event."""

    tag: str
    on_failure: str
    deployed: bool
    pause: float = 5.0

    async def begin(self, history: History) -> None:
        history.create(tag=self.tag, upgrade={"onFailure": self.on_failure})
        await history.cluster.wait(self.pause)

    def before(self, settings: Settings) -> History | None:
        return deployed(settings, self.tag, self.on_failure) if self.deployed else None


@functools.cache
def deployed(settings: Settings, tag: str, on_failure: str = "rollback") -> History:
    """Return a history in which an XApp was created; others begin where it ended, as after a restart."""
    return run_history(settings, InitialState(tag, on_failure, deployed=False).begin)


@functools.cache
def held(settings: Settings) -> History:
    """Return a history that ended with a held revision 1 of the tag one."""

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(12.0)
        history.set_tag("two")
        await history.cluster.wait(12.0)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(12.0)
        assert history.hold is not None

    return run_history(settings, happen)


@functools.cache
def left(settings: Settings) -> History:
    """Return a history that ended with a release of the tag one, which its XApp has left."""

    async def happen(history: History) -> None:
        history.create(tag="one", deletionPolicy="Orphan")
        await history.cluster.wait(12.0)
        history.delete()

    return run_history(settings, happen)


def initial_states(tags: Iterable[str], remedies: Iterable[str] = ("rollback",)) -> st.SearchStrategy[InitialState]:
    """Return how a history begins: five of six with an XApp that is deployed already."""
    kinds = [(True, 0.0), (True, 0.3), (True, 1.0), (True, 3.0), (True, 5.0), (False, 5.0)]
    return st.sampled_from(
        [
            InitialState(tag, remedy, deployed=deployed, pause=pause)
            for tag, remedy, (deployed, pause) in itertools.product(tags, remedies, kinds)
        ]
    )


any_initial_state = initial_states([*GOOD_TAGS, GOOD_TAGS[0], BROKEN], REMEDIES)
