"""The store of all xApps, with indexes of the values that lists filter by and of the ChartArchives that XApps use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final, NamedTuple, TypeAlias

from cachetools import LRUCache
from sortedcontainers import SortedSet

from xapp_operator.gateway.catalog.facet_index import FacetIndex, smallest_union
from xapp_operator.gateway.catalog.object_store import SCAN_CACHE_SIZE, Filters, ObjectStore
from xapp_operator.gateway.catalog.records import XAPP_SORTS, XAppEntry
from xapp_operator.gateway.catalog.xapp_filters import FACETS, XAppFilters

FACET_VALUES_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet, and how many xApps have it."""

    value: str
    count: int


class _FacetRequest(NamedTuple):
    facet: str
    prefix: str
    filters: XAppFilters
    within: frozenset[str] | None


FacetValues: TypeAlias = tuple[FacetValue, ...]


class XAppRecordStore(ObjectStore[XAppEntry]):
    def __init__(self) -> None:
        super().__init__(sorts=XAPP_SORTS)
        self._facets = FacetIndex(len(FACETS))
        self._facet_values: LRUCache[_FacetRequest, FacetValues] = LRUCache(SCAN_CACHE_SIZE)
        self._by_archive = _References()
        self._by_repository = _References()
        self._by_dependency = _References()
        self.subscribe(self._update_indexes)

    def users_of_archive(self, namespace: str, name: str) -> list[str]:
        """Return the names of the XApps that use a ChartArchive, sorted."""
        return list(self._by_archive.users(namespace, name))

    def users_of_repository(self, namespace: str, name: str) -> Sequence[str]:
        """Return the names of the XApps that use a ChartRepository, sorted; valid until the next change."""
        return self._by_repository.users(namespace, name)

    def is_repository_configured(self, namespace: str, name: str) -> bool:
        """Return whether an XApp that uses a ChartRepository says that it has, or had, more than a url."""
        users = (self.get(namespace, user) for user in self.users_of_repository(namespace, name))
        return any(user is not None and user.repository_configured for user in users)

    def dependents(self, namespace: str, name: str) -> list[str]:
        """Return the names of the XApps that depend on an xApp, sorted."""
        return list(self._by_dependency.users(namespace, name))

    def count_by(self, facet: str) -> dict[str, int]:
        """Return how many xApps have each value of one of FACETS."""
        return self._facets.counts(FACETS.index(facet), namespaces=None)

    def facet_values(
        self, facet: str, filters: XAppFilters, *, prefix: str = "", within: frozenset[str] | None = None
    ) -> FacetValues:
        """Return the values of one of FACETS that xApps have, most frequent first, at most FACET_VALUES_MAX.

        Args:
            facet: the facet.
            filters: only xApps that pass them are counted.
            prefix: how the values begin; case does not matter.
            within: the namespaces that the caller may see; None for all.
        """
        request = _FacetRequest(facet, prefix.casefold(), filters, within)
        found = self._facet_values.get(request)
        if found is None:
            counts = self._count_facet(FACETS.index(facet), filters, within)
            matching = (
                FacetValue(value, count)
                for value, count in counts.items()
                if value and value.casefold().startswith(request.prefix)
            )
            found = tuple(nsmallest(FACET_VALUES_MAX, matching, key=lambda each: (-each.count, each.value)))
            self._facet_values[request] = found
        return found

    def _count_facet(self, at: int, filters: XAppFilters, within: frozenset[str] | None) -> dict[str, int]:
        if filters.predicate() is None:
            return self._facets.counts(at, namespaces=self._visible_namespaces(filters, within))
        matching = self.select(filters, sort=XAPP_SORTS[0], within=within)
        return dict(Counter(entry.filter_fields.facets[at] for entry in matching[:]))

    def _candidates(self, filters: Filters[XAppEntry]) -> set[str] | None:
        if not isinstance(filters, XAppFilters):
            return None
        filtered = ((at, values) for at, values in enumerate(filters[: len(FACETS)]) if at and values)
        return smallest_union(self._facets.members(at, values) for at, values in filtered)

    def _update_indexes(self, change: str, entry: XAppEntry, before: XAppEntry | None) -> None:
        after = None if change == "deleted" else entry
        if before is not None and after is not None:
            self._facets.replace(after.uid, after.namespace, before.filter_fields.facets, after.filter_fields.facets)
        elif after is not None:
            self._facets.add(after.uid, after.namespace, after.filter_fields.facets)
        elif before is not None:
            self._facets.remove(before.uid, before.namespace, before.filter_fields.facets)
        if self._facet_values:
            self._facet_values.clear()
        for user, references in ((before, _References.discard), (after, _References.add)):
            if user is not None:
                references(self._by_archive, user, (user.archive,) if user.archive else ())
                references(self._by_repository, user, (user.repository,) if user.repository else ())
                references(self._by_dependency, user, user.depends_on)


class _References:
    """Which XApps name an object of their namespace."""

    def __init__(self) -> None:
        self._users: dict[tuple[str, str], SortedSet[str]] = {}

    def users(self, namespace: str, name: str) -> Sequence[str]:
        return self._users.get((namespace, name), ())

    def add(self, user: XAppEntry, names: Iterable[str]) -> None:
        for name in names:
            self._users.setdefault((user.namespace, name), SortedSet()).add(user.name)

    def discard(self, user: XAppEntry, names: Iterable[str]) -> None:
        for name in names:
            users = self._users.get((user.namespace, name))
            if users is not None:
                users.discard(user.name)
                if not users:
                    del self._users[user.namespace, name]
