"""Every saved ChartRepository in memory, as the list shows it, kept in order change by change.

Lives in the gateway, above what all lists from memory share (`watched`): what is kept of a ChartRepository, its two
orders and its filters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import orjson
from sortedcontainers import SortedList

from xapp_operator.api.chart_repository import ChartRepositorySpec
from xapp_operator.api.conditions import READY
from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.charts.chart_request import OCI
from xapp_operator.config import Settings
from xapp_operator.gateway.catalog.object_store import VIEW_CACHE_SIZE, ObjectStore, ViewCache, WatchedStore
from xapp_operator.gateway.http.pagination import PageBounds
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES
from xapp_operator.kube.watch_cache import ObjectKey

REPOSITORY_SORTS: Final = ("created", "name")
"""What the list sorts by, in the order of `SavedRepository.keys`; the first is the default."""

RepositorySortKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RepositoryEntry:
    """One ChartRepository as the gateway keeps it; `record` is the JSON of its record."""

    namespace: str
    name: str
    uid: str
    spec: ChartRepositorySpec
    record_json: bytes
    sort_keys: tuple[RepositorySortKey, ...]
    search_text: str

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def is_oci(self) -> bool:
        """Tell whether it is a registry, which has no index."""
        return self.spec.url.startswith(f"{OCI}://")


def build_repository_entry(raw: JsonObject) -> RepositoryEntry:
    """Return what the gateway keeps of a ChartRepository."""
    spec = ChartRepositorySpec.model_validate(obj(raw, "spec"))
    metadata, status = obj(raw, "metadata"), obj(raw, "status")
    name, namespace, uid = (text(metadata, field) for field in ("name", "namespace", "uid"))
    condition = next((each for each in items(status, "conditions") if text(each, "type") == READY), None)
    observed = integer(status, "observedGeneration", -1) >= integer(metadata, "generation")
    record: JsonObject = {
        "name": name,
        "namespace": namespace,
        "url": spec.url,
        "type": OCI if spec.url.startswith(f"{OCI}://") else "http",
        "charts": status.get("charts"),
        "lastFetched": status.get("lastFetched"),
        "ready": observed and text(condition, "status") == "True" and "deletionTimestamp" not in metadata,
        "message": (text(condition, "message") or None) if observed else None,
    }
    return RepositoryEntry(
        namespace=namespace,
        name=name,
        uid=uid,
        spec=spec,
        record_json=orjson.dumps(record),
        sort_keys=((text(metadata, "creationTimestamp"), uid), (name, uid)),
        search_text=f"{name}\n{spec.url}".casefold(),
    )


class RepositoryFilters(NamedTuple):
    """What the list is narrowed down to; `within` are the namespaces that the caller may see. None is no filter."""

    namespace: str | None = None
    search: str | None = None
    within: frozenset[str] | None = None


_NO_REPOSITORY_FILTERS: Final = RepositoryFilters()


class RepositoryStore(ObjectStore[RepositoryEntry]):
    """All saved repositories, in each order of SORTS."""

    def __init__(self) -> None:
        super().__init__()
        self._by_uid: dict[str, RepositoryEntry] = {}
        self._sorted_keys: tuple[SortedList[RepositorySortKey], ...] = tuple(SortedList() for _ in REPOSITORY_SORTS)
        self._views: ViewCache[list[RepositorySortKey]] = ViewCache(VIEW_CACHE_SIZE)

    def select(self, filters: RepositoryFilters, *, sort: str) -> Sequence[RepositorySortKey]:
        """Return the sort keys of what `filters` let through, ascending; valid until the store changes."""
        ordered = self._sorted_keys[REPOSITORY_SORTS.index(sort)]
        if filters == _NO_REPOSITORY_FILTERS:
            return ordered
        return self._views.get((filters, sort), version=self.version, compute=lambda: self._scan(ordered, filters))

    def page(self, found: Sequence[RepositorySortKey], at: PageBounds, *, descending: bool) -> list[bytes]:
        """Return the records of one page of what `found` returned."""
        start, stop = (len(found) - at.stop, len(found) - at.start) if descending else (at.start, at.stop)
        records = [self._by_uid[uid].record_json for _, uid in found[start:stop]]
        return records[::-1] if descending else records

    def _scan(self, ordered: Sequence[RepositorySortKey], filters: RepositoryFilters) -> list[RepositorySortKey]:
        matches = _filter_predicate(filters)
        return [key for key in ordered if matches(self._by_uid[key[1]])]

    def _update_indexes(self, before: RepositoryEntry | None, after: RepositoryEntry | None) -> None:
        if before is not None:
            del self._by_uid[before.uid]
            for ordered, key in zip(self._sorted_keys, before.sort_keys, strict=True):
                ordered.remove(key)
        if after is not None:
            self._by_uid[after.uid] = after
            for ordered, key in zip(self._sorted_keys, after.sort_keys, strict=True):
                ordered.add(key)


def _filter_predicate(filters: RepositoryFilters) -> Callable[[RepositoryEntry], bool]:
    search = (filters.search or "").casefold()

    def matches(saved: RepositoryEntry) -> bool:
        if filters.namespace is not None and saved.namespace != filters.namespace:
            return False
        if filters.within is not None and saved.namespace not in filters.within:
            return False
        return search in saved.search_text

    return matches


class WatchedRepositories(WatchedStore[RepositoryEntry]):
    """The ChartRepositories of the monitored namespaces."""

    def __init__(self, kube: KubeClient, settings: Settings) -> None:
        self.store = RepositoryStore()
        super().__init__(
            kube,
            settings,
            CHART_REPOSITORIES,
            store=self.store,
            build_entry=build_repository_entry,
            plural_name="chart repositories",
        )
