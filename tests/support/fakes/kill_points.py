"""A history, and those in which the operator is killed before or after one of its writes.

Until its kill, such a history is the one without it. So that one is played once, and its cluster is copied before and
after each write of the operator and of helm. Then an operator starts in each copy: it finds what is stored, and knows
nothing more. What users did until then has happened, and nothing happens later. Each copy is a history of its own,
with the checks of all histories. That takes 60 % of the processor time of a history with the same kill that is played
from its beginning.

A fork of the process before each write takes more time than that: an operator in a child must start again too, and the
child copies most of the memory that it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from tests.support.fakes.clock import FakeClock
from tests.support.fakes.histories import History, Play, run_history
from tests.support.fakes.operator import FakeCluster, Kill
from xapp_operator.config.settings import Settings


@dataclass(frozen=True)
class KillPoint:
    """The cluster as an operator leaves it that is killed before or after a write."""

    kill: Kill
    what: str
    """What is written."""
    left: History

    def __str__(self) -> str:
        return f"killed {'after' if self.kill.after else 'before'} write {self.kill.write}, {self.what}"


@dataclass(frozen=True)
class HistoryWithKills:
    """A history, and how it goes on after each kill."""

    history: History
    points: list[KillPoint]
    killed: list[History]
    """One for each point."""


def everywhere(_: Kill) -> bool:
    return True


def run_with_kills(
    settings: Settings,
    play: Play,
    check: Callable[[History], None] = lambda _: None,
    *,
    after: History | None = None,
    where: Callable[[Kill], bool] = everywhere,
) -> HistoryWithKills:
    """Run a history like `run_history`, and one for each kill `where` the operator is to be killed.

    A kill that leaves the same cluster as the one before it is left out. `check` is called for the history without
    kills only: of the others, some of what it has let happen has not happened.
    """
    points: list[KillPoint] = []
    history = run_history(settings, play, check, watch=partial(_collect, points, where=where), after=after)
    return HistoryWithKills(history, points, [_go_on(settings, each) for each in points])


def _collect(points: list[KillPoint], history: History, *, where: Callable[[Kill], bool]) -> None:
    """Copy the cluster of a history at each of its writes from now on."""
    copied_at = None

    def copy(what: str, kill: Kill) -> None:
        nonlocal copied_at
        now = history.cluster.clock.monotonic(), history.cluster.server.newest_version
        if now != copied_at and where(kill):
            points.append(KillPoint(kill, what, _copy(history)))
            copied_at = now

    history.cluster.on_write.append(copy)


def _copy(history: History) -> History:
    copied = History(FakeCluster(history.cluster.settings, FakeClock(history.cluster.clock.monotonic())))
    copied.follow(history)
    copied.cluster.helm.steps = [replace(each) for each in history.cluster.helm.steps]
    _take_over(copied, history)
    return copied


def _take_over(history: History, other: History) -> None:
    """Take over what `follow` does not, as what it begins with is at rest."""
    history.removed, history.pruned_tags = list(other.removed), dict(other.pruned_tags)
    history.orphaned = other.orphaned
    history.cluster.helm.refusals = dict(other.cluster.helm.refusals)
    history.cluster.healed, history.cluster.outage = other.cluster.healed, other.cluster.outage


def _go_on(settings: Settings, point: KillPoint) -> History:
    def resume(history: History) -> None:
        _take_over(history, point.left)
        history.cluster.restart_controllers()

    async def play(_: History) -> None:
        pass

    try:
        return run_history(settings, play, watch=resume, after=point.left)
    except BaseException as error:
        error.add_note(f"{point}; it is played alone with where=[{point.kill!r}].__contains__")
        raise
