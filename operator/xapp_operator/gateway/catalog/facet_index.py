"""Which objects have which value of a facet, kept up to date with every change.

Counts are kept for each namespace, so that those of any set of namespaces are sums. The members of a value are kept for
all namespaces: a filter that few objects pass costs no look at the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain


class FacetIndex:
    """Counts and members of the values of `facets` facets; an object has one value of each, empty for none."""

    def __init__(self, facets: int) -> None:
        self._facets = facets
        self._members: tuple[dict[str, set[str]], ...] = tuple({} for _ in range(facets))
        self._counts: dict[str, tuple[Counter[str], ...]] = {}

    def add(self, uid: str, namespace: str, values: tuple[str, ...]) -> None:
        if namespace not in self._counts:
            self._counts[namespace] = tuple(Counter() for _ in range(self._facets))
        for at, value in enumerate(values):
            self._add_value(at, uid, namespace, value)

    def remove(self, uid: str, namespace: str, values: tuple[str, ...]) -> None:
        for at, value in enumerate(values):
            self._remove_value(at, uid, namespace, value)
        if not self._counts[namespace][0]:
            del self._counts[namespace]

    def replace(self, uid: str, namespace: str, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        """Note that an object, which stays in its namespace, has other values."""
        for at, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                self._add_value(at, uid, namespace, new)
                self._remove_value(at, uid, namespace, old)

    def _add_value(self, at: int, uid: str, namespace: str, value: str) -> None:
        self._members[at].setdefault(value, set()).add(uid)
        self._counts[namespace][at][value] += 1

    def _remove_value(self, at: int, uid: str, namespace: str, value: str) -> None:
        members, counts = self._members[at], self._counts[namespace][at]
        members[value].discard(uid)
        if not members[value]:
            del members[value]
        counts[value] -= 1
        if not counts[value]:
            del counts[value]

    def members(self, at: int, values: Iterable[str]) -> list[set[str]]:
        """Return the uids of the objects with each of the values of the facet at index `at`."""
        return [found for value in values if (found := self._members[at].get(value)) is not None]

    def counts(self, at: int, *, namespaces: Collection[str] | None) -> dict[str, int]:
        """Return how many objects of the namespaces (None: of all) have each value of the facet at index `at`."""
        if namespaces is None:
            return {value: len(uids) for value, uids in self._members[at].items()}
        total: Counter[str] = Counter()
        for namespace in namespaces:
            if namespace in self._counts:
                total.update(self._counts[namespace][at])
        return dict(total)


def smallest_union(choices: Iterable[list[set[str]]]) -> set[str] | None:
    """Return the union with the fewest members; None without a choice."""
    best = min(choices, key=lambda sets: sum(map(len, sets)), default=None)
    return None if best is None else set(chain.from_iterable(best))
