"""The graph of `dependsOn` in one namespace: what is reached from an XApp, and the cycles through it. Pure.

Every search is bounded, because a namespace can have any number of XApps. What a bounded search does not find only
waits, as for any dependency that is not Ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

VISITED_MAX: Final = 1000
"""XApps that one search looks at."""

Edges = Callable[[str], Iterable[str]]


def find_cycle(name: str, depends_on: Edges) -> tuple[str, ...]:
    """Return the shortest cycle through `name`, which it begins and ends with, or nothing without one."""
    before: dict[str, str] = {}
    queue = deque([name])
    while queue:
        current = queue.popleft()
        for other in depends_on(current):
            if other == name:
                return _path_to(current, before, start=name)
            if other not in before and len(before) < VISITED_MAX:
                before[other] = current
                queue.append(other)
    return ()


def reachable(name: str, edges: Edges) -> set[str]:
    """Return the names that edges lead to from `name`; `name` itself only if it is in a cycle."""
    found: set[str] = set()
    queue = deque([name])
    while queue:
        for other in edges(queue.popleft()):
            if other not in found and len(found) < VISITED_MAX:
                found.add(other)
                queue.append(other)
    return found


def cycle_members(name: str, depends_on: Edges, dependents: Edges) -> set[str]:
    """Return the members of all cycles through `name`."""
    return reachable(name, depends_on) & reachable(name, dependents)


def _path_to(last: str, before: dict[str, str], *, start: str) -> tuple[str, ...]:
    backwards = [start]
    while last != start:
        backwards.append(last)
        last = before[last]
    return (start, *reversed(backwards))
