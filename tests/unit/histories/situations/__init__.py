"""The situations whose histories are kept as text: what happens to an XApp, in the order in which it happens."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.fakes.histories import History
from tests.support.fakes.operator import Kill
from tests.unit.histories.situations import drift, hooks, inputs, releases, removals, waiting
from tests.unit.histories.situations.actions import Play
from tests.unit.histories.test_kills import SITUATIONS, Situation


def _played(situation: Situation, kill: Kill | None = None) -> Play:
    async def play(history: History) -> None:
        situation.before(history)
        await history.cluster.wait(20.0)
        history.cluster.kill = kill
        situation.then(history)
        await history.cluster.wait(100.0)

    return play


def _name(play: Play) -> str:
    return str(getattr(play, "__name__", "")).replace("_", " ")


TRACED: Mapping[str, Play] = {
    **{name: _played(situation) for name, situation in SITUATIONS.items()},
    "install, killed": _played(SITUATIONS["install"], Kill(4, after=True)),
    "upgrade, killed": _played(SITUATIONS["upgrade"], Kill(4, after=True)),
    "uninstall, killed": _played(SITUATIONS["uninstall"], Kill(2, after=True)),
    "requested rollback, killed": _played(SITUATIONS["requested rollback"], Kill(4, after=True)),
    **{_name(play): play for module in (drift, hooks, inputs, releases, removals, waiting) for play in module.PLAYS},
}
"""By the name of the file that keeps the trace."""
