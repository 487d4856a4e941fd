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

from xapp_operator.api.conditions import READY
from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.repository import ChartRepositorySpec
from xapp_operator.charts.model import OCI
from xapp_operator.config import Settings
from xapp_operator.gateway.paging import PageBounds
from xapp_operator.gateway.watched import VIEWS_KEPT, NamespacedStore, Views, WatchedList
from xapp_operator.kube.cache import Key
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES

SORTS: Final = ("created", "name")
"""What the list sorts by, in the order of `SavedRepository.keys`; the first is the default."""

SortKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SavedRepository:
    """One ChartRepository as the gateway keeps it; `record` is the JSON of its record."""

    namespace: str
    name: str
    uid: str
    spec: ChartRepositorySpec
    record: bytes
    keys: tuple[SortKey, ...]
    haystack: str

    @property
    def key(self) -> Key:
        """Return namespace and name."""
        return Key(self.namespace, self.name)

    @property
    def is_oci(self) -> bool:
        """Tell whether it is a registry, which has no index."""
        return self.spec.url.startswith(f"{OCI}://")


def saved_of(raw: JsonObject) -> SavedRepository:
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
    return SavedRepository(
        namespace=namespace,
        name=name,
        uid=uid,
        spec=spec,
        record=orjson.dumps(record),
        keys=((text(metadata, "creationTimestamp"), uid), (name, uid)),
        haystack=f"{name}\n{spec.url}".casefold(),
    )


class Filters(NamedTuple):
    """What the list is narrowed down to; `within` are the namespaces that the caller may see. None is no filter."""

    namespace: str | None = None
    search: str | None = None
    within: frozenset[str] | None = None


_EVERYTHING: Final = Filters()


class RepositoryStore(NamespacedStore[SavedRepository]):
    """All saved repositories, in each order of SORTS."""

    def __init__(self) -> None:
        super().__init__()
        self._by_uid: dict[str, SavedRepository] = {}
        self._lists: tuple[SortedList[SortKey], ...] = tuple(SortedList() for _ in SORTS)
        self._views: Views[list[SortKey]] = Views(VIEWS_KEPT)

    def found(self, filters: Filters, *, sort: str) -> Sequence[SortKey]:
        """Return the sort keys of what `filters` let through, ascending; valid until the store changes."""
        ordered = self._lists[SORTS.index(sort)]
        if filters == _EVERYTHING:
            return ordered
        return self._views.get((filters, sort), version=self.version, find=lambda: self._look_through(ordered, filters))

    def page(self, found: Sequence[SortKey], at: PageBounds, *, descending: bool) -> list[bytes]:
        """Return the records of one page of what `found` returned."""
        start, stop = (len(found) - at.stop, len(found) - at.start) if descending else (at.start, at.stop)
        records = [self._by_uid[uid].record for _, uid in found[start:stop]]
        return records[::-1] if descending else records

    def _look_through(self, ordered: Sequence[SortKey], filters: Filters) -> list[SortKey]:
        matches = _matcher(filters)
        return [key for key in ordered if matches(self._by_uid[key[1]])]

    def _reorder(self, before: SavedRepository | None, after: SavedRepository | None) -> None:
        if before is not None:
            del self._by_uid[before.uid]
            for ordered, key in zip(self._lists, before.keys, strict=True):
                ordered.remove(key)
        if after is not None:
            self._by_uid[after.uid] = after
            for ordered, key in zip(self._lists, after.keys, strict=True):
                ordered.add(key)


def _matcher(filters: Filters) -> Callable[[SavedRepository], bool]:
    needle = (filters.search or "").casefold()

    def matches(saved: SavedRepository) -> bool:
        if filters.namespace is not None and saved.namespace != filters.namespace:
            return False
        if filters.within is not None and saved.namespace not in filters.within:
            return False
        return needle in saved.haystack

    return matches


class SavedRepositories(WatchedList[SavedRepository]):
    """The ChartRepositories of the monitored namespaces."""

    def __init__(self, kube: KubeClient, settings: Settings) -> None:
        self.store = RepositoryStore()
        super().__init__(kube, settings, CHART_REPOSITORIES, store=self.store, keep=saved_of, what="chart repositories")
