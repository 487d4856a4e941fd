"""Every Service of the monitored namespaces in memory, of an xApp or not, as the list shows it, kept in order.

Lives in the gateway, above the watch that feeds it; a sister of `repository_store`, for objects that have one order. It
has a watch of its own, because the registry's holds only what some label set picks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

import orjson
from sortedcontainers import SortedList

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.config import Settings
from xapp_operator.errors import NotReady
from xapp_operator.gateway.paging import PageBounds
from xapp_operator.gateway.selector import Selector
from xapp_operator.kube.cache import ChangeType, Key, WatchCache
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SERVICES
from xapp_operator.monitor.live import service_status
from xapp_operator.monitor.marks import OURS, ReleaseKey, mark_of, release_of

VIEWS_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class KnownService:
    """One Service as the gateway keeps it.

    `record` is the JSON of its record without the xApp, `ports` the names and numbers of its ports; `release` and
    `by_helm` are what `XAppOf` takes.
    """

    key: Key
    record: bytes
    labels: Mapping[str, str]
    ports: frozenset[str]
    release: ReleaseKey | None
    by_helm: bool

    def with_xapp(self, xapp: Key | None) -> bytes:
        """Return the JSON of the whole record."""
        told = None if xapp is None else {"namespace": xapp.namespace, "name": xapp.name}
        return self.record[:-1] + b',"xApp":' + orjson.dumps(told) + b"}"


class XAppOf(Protocol):
    """Returns the xApp that the objects of a release belong to, or None."""

    def __call__(self, release: ReleaseKey, *, by_helm: bool) -> Key | None:
        """Return it; without `by_helm` the release is a name in labels."""


class Filters(NamedTuple):
    """What the list is narrowed down to; `within` are the namespaces that the caller may see. None is no filter."""

    namespace: str | None = None
    label: Selector | None = None
    port: str | None = None
    search: str | None = None
    within: frozenset[str] | None = None


_EVERYTHING: Final = Filters()


class ServiceStore:
    """All Services by namespace and name; `version` grows with every change."""

    def __init__(self) -> None:
        self.version = 0
        self._services: dict[Key, KnownService] = {}
        self._ordered: SortedList[Key] = SortedList()
        self._counts: Counter[str] = Counter()
        self._named: frozenset[str] = frozenset()
        # What was found in an earlier version is asked for no more, and so falls out first.
        self._remembered = lru_cache(maxsize=VIEWS_KEPT)(self._look_through)

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces that hold a Service: the very same set until one comes or goes."""
        return self._named

    def put(self, service: KnownService) -> None:
        """Add a Service, or replace what is known of it."""
        known = self._services.get(service.key)
        if known == service:
            return
        self.version += 1
        self._services[service.key] = service
        if known is None:
            self._ordered.add(service.key)
            self._count(service.key.namespace, 1)

    def remove(self, key: Key) -> None:
        """Forget a Service; one that is not there is no error."""
        if self._services.pop(key, None) is not None:
            self.version += 1
            self._ordered.remove(key)
            self._count(key.namespace, -1)

    def found(self, filters: Filters) -> Sequence[Key]:
        """Return what `filters` let through, in order; valid until the store changes."""
        return self._ordered if filters == _EVERYTHING else self._remembered(self.version, filters)

    def page(self, found: Sequence[Key], at: PageBounds) -> list[KnownService]:
        """Return one page of what `found` returned."""
        return [self._services[key] for key in found[at.start : at.stop]]

    def _look_through(self, _version: int, filters: Filters) -> Sequence[Key]:
        needle, port = (filters.search or "").casefold(), filters.port
        left = [self._services[key] for key in self._placed(filters) if needle in key.name]
        if port is not None:
            left = [service for service in left if port in service.ports]
        for requirement in filters.label or ():
            left = [service for service in left if requirement.matches(service.labels)]
        return [service.key for service in left]

    def _placed(self, filters: Filters) -> Iterator[Key]:
        among = self._named if filters.within is None else self._named & filters.within
        named = filters.namespace
        places = sorted(among) if named is None else [named] * (named in among)
        for place in places:
            # No name has the character that follows.
            yield from self._ordered.irange(Key(place, ""), Key(f"{place}\0", ""))

    def _count(self, namespace: str, change: int) -> None:
        self._counts[namespace] += change
        if not self._counts[namespace]:
            del self._counts[namespace]
        if len(self._named) != len(self._counts):
            self._named = frozenset(self._counts)


class Services:
    """The Services of the monitored namespaces, watched while the `async with` block lasts."""

    def __init__(self, kube: KubeClient, settings: Settings, *, xapp_of: XAppOf) -> None:
        self.store = ServiceStore()
        self._xapp_of = xapp_of
        self._sets = (OURS, *settings.label_sets)
        self._cache = WatchCache(kube, SERVICES, keep=self._known, namespaces=settings.namespaces)
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

    def require_synced(self) -> None:
        """Refuse to speak of Services before all of them are known.

        Raises:
            NotReady: until the first list of the cluster is there.
        """
        if not self.synced.is_set():
            raise NotReady("the Services of the cluster have not been read yet: ask again in a second")

    def xapp_of(self, service: KnownService) -> Key | None:
        """Return the xApp that a Service belongs to at this moment, or None."""
        return None if service.release is None else self._xapp_of(service.release, by_helm=service.by_helm)

    def _known(self, body: JsonObject) -> KnownService:
        metadata, status = obj(body, "metadata"), service_status(body)
        mark = mark_of(metadata, self._sets)
        key = Key(intern(text(metadata, "namespace")), text(metadata, "name"))
        labels = {intern(label): intern(str(value)) for label, value in obj(metadata, "labels").items()}
        record: JsonObject = {"name": key.name, "namespace": key.namespace, **status, "labels": {**labels}}
        ports = (str(port.get(member) or "") for port in items(status, "ports") for member in ("name", "port"))
        return KnownService(
            key=key,
            record=bytes(memoryview(orjson.dumps(record))),  # what orjson returns keeps a whole buffer alive
            labels=labels,
            ports=frozenset(intern(port) for port in ports if port),
            release=release_of(metadata, mark),
            by_helm=bool(mark.release),
        )

    def _changed(self, change: ChangeType, key: Key, service: KnownService) -> None:
        if change == "DELETED":
            self.store.remove(key)
        else:
            self.store.put(service)
