"""Every saved ChartRepository in memory, as the list shows it, kept in order change by change.

Lives in the gateway, above the watch that feeds it; the sister of `store`, for objects that have two orders and two
filters only.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeAlias

import orjson
from sortedcontainers import SortedList

from xapp_operator.api.conditions import READY
from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.repository import ChartRepositorySpec
from xapp_operator.charts.model import OCI
from xapp_operator.config import Settings
from xapp_operator.errors import NotReady
from xapp_operator.gateway.paging import PageBounds
from xapp_operator.kube.cache import ChangeType, Key, WatchCache
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES

SORTS: Final = ("created", "name")
"""What the list sorts by, in the order of `SavedRepository.keys`; the first is the default."""

VIEWS_KEPT: Final = 64

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


class RepositoryStore:
    """All saved repositories; `version` grows with every change."""

    def __init__(self) -> None:
        self.version = 0
        self._by_uid: dict[str, SavedRepository] = {}
        self._by_key: dict[tuple[str, str], SavedRepository] = {}
        self._lists: tuple[SortedList[SortKey], ...] = tuple(SortedList() for _ in SORTS)
        self._counts: Counter[str] = Counter()
        self._named: frozenset[str] = frozenset()
        self._views: OrderedDict[tuple[Filters, str], tuple[int, list[SortKey]]] = OrderedDict()

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold a repository: the very same set until one comes or goes."""
        return self._named

    def get(self, namespace: str, name: str) -> SavedRepository | None:
        """Return one repository."""
        return self._by_key.get((namespace, name))

    def put(self, saved: SavedRepository) -> None:
        """Add a repository, or replace what is known of it."""
        if self._by_key.get((saved.namespace, saved.name)) == saved:
            return
        self.remove(saved.namespace, saved.name)
        self._by_uid[saved.uid] = self._by_key[saved.namespace, saved.name] = saved
        for ordered, key in zip(self._lists, saved.keys, strict=True):
            ordered.add(key)
        self._counted(saved.namespace, 1)

    def remove(self, namespace: str, name: str) -> None:
        """Forget a repository; one that is not there is no error."""
        saved = self._by_key.pop((namespace, name), None)
        if saved is None:
            return
        del self._by_uid[saved.uid]
        for ordered, key in zip(self._lists, saved.keys, strict=True):
            ordered.remove(key)
        self._counted(namespace, -1)

    def found(self, filters: Filters, *, sort: str) -> Sequence[SortKey]:
        """Return the sort keys of what `filters` let through, ascending; valid until the store changes."""
        ordered = self._lists[SORTS.index(sort)]
        if filters == _EVERYTHING:
            return ordered
        known = self._views.get((filters, sort))
        if known is not None and known[0] == self.version:
            self._views.move_to_end((filters, sort))
            return known[1]
        matches = _matcher(filters)
        found = [key for key in ordered if matches(self._by_uid[key[1]])]
        self._views[filters, sort] = self.version, found
        self._views.move_to_end((filters, sort))
        if len(self._views) > VIEWS_KEPT:
            self._views.popitem(last=False)
        return found

    def page(self, found: Sequence[SortKey], at: PageBounds, *, descending: bool) -> list[bytes]:
        """Return the records of one page of what `found` returned."""
        start, stop = (len(found) - at.stop, len(found) - at.start) if descending else (at.start, at.stop)
        records = [self._by_uid[uid].record for _, uid in found[start:stop]]
        return records[::-1] if descending else records

    def _counted(self, namespace: str, change: int) -> None:
        self.version += 1
        self._counts[namespace] += change
        if not self._counts[namespace]:
            del self._counts[namespace]
        if len(self._named) != len(self._counts):
            self._named = frozenset(self._counts)


def _matcher(filters: Filters) -> Callable[[SavedRepository], bool]:
    needle = (filters.search or "").casefold()

    def matches(saved: SavedRepository) -> bool:
        if filters.namespace is not None and saved.namespace != filters.namespace:
            return False
        if filters.within is not None and saved.namespace not in filters.within:
            return False
        return needle in saved.haystack

    return matches


class SavedRepositories:
    """The ChartRepositories of the cluster, watched while the `async with` block lasts."""

    def __init__(self, kube: KubeClient, settings: Settings) -> None:
        self.store = RepositoryStore()
        self._cache = WatchCache(kube, CHART_REPOSITORIES, keep=saved_of, namespaces=settings.namespaces)
        self._cache.on_event(self._changed)
        self.synced = self._cache.synced

    async def __aenter__(self) -> Self:
        self._cache.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """End the watch; what is known stays readable."""
        await self._cache.stop()

    def put(self, raw: JsonObject) -> None:
        """Take in a ChartRepository that was just written, without waiting for its watch event."""
        self._cache.put(raw)

    def require_synced(self) -> None:
        """Refuse to speak of repositories before all of them are known.

        Raises:
            NotReady: until the first list of the cluster is there.
        """
        if not self.synced.is_set():
            raise NotReady("the chart repositories of the cluster have not been read yet: ask again in a second")

    def _changed(self, change: ChangeType, key: Key, saved: SavedRepository) -> None:
        if change == "DELETED":
            self.store.remove(key.namespace, key.name)
        else:
            self.store.put(saved)
