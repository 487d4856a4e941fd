"""Every Service of the monitored namespaces in memory, of an xApp or not, as the list shows it, kept in order.

Lives in the gateway, above what all lists from memory share (`watched`): what is kept of a Service, and its filters. It
has a watch of its own, because the registry's holds only what some label set picks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Final, NamedTuple, Protocol

import orjson
from sortedcontainers import SortedList

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.config import Settings
from xapp_operator.gateway.paging import PageBounds
from xapp_operator.gateway.selector import Selector
from xapp_operator.gateway.watched import VIEWS_KEPT, NamespacedStore, Views, WatchedList
from xapp_operator.kube.cache import Key
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SERVICES
from xapp_operator.monitor.live import service_status
from xapp_operator.monitor.marks import OURS, ReleaseKey, mark_of, release_of


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


class ServiceStore(NamespacedStore[KnownService]):
    """All Services, by namespace and name."""

    def __init__(self) -> None:
        super().__init__()
        self._ordered: SortedList[Key] = SortedList()
        self._views: Views[Sequence[Key]] = Views(VIEWS_KEPT)

    def found(self, filters: Filters) -> Sequence[Key]:
        """Return what `filters` let through, in order; valid until the store changes."""
        if filters == _EVERYTHING:
            return self._ordered
        return self._views.get(filters, version=self.version, find=lambda: self._look_through(filters))

    def page(self, found: Sequence[Key], at: PageBounds) -> list[KnownService]:
        """Return one page of what `found` returned."""
        return [self._objects[key] for key in found[at.start : at.stop]]

    def _look_through(self, filters: Filters) -> Sequence[Key]:
        needle, port = (filters.search or "").casefold(), filters.port
        left = [self._objects[key] for key in self._placed(filters) if needle in key.name]
        if port is not None:
            left = [service for service in left if port in service.ports]
        for requirement in filters.label or ():
            left = [service for service in left if requirement.matches(service.labels)]
        return [service.key for service in left]

    def _placed(self, filters: Filters) -> Iterator[Key]:
        among = self.namespaces if filters.within is None else self.namespaces & filters.within
        named = filters.namespace
        places = sorted(among) if named is None else [named] * (named in among)
        for place in places:
            # No name has the character that follows.
            yield from self._ordered.irange(Key(place, ""), Key(f"{place}\0", ""))

    def _reorder(self, before: KnownService | None, after: KnownService | None) -> None:
        if before is None and after is not None:
            self._ordered.add(after.key)
        elif after is None and before is not None:
            self._ordered.remove(before.key)


class Services(WatchedList[KnownService]):
    """The Services of the monitored namespaces."""

    def __init__(self, kube: KubeClient, settings: Settings, *, xapp_of: XAppOf) -> None:
        self.store = ServiceStore()
        self._xapp_of = xapp_of
        self._sets = (OURS, *settings.label_sets)
        super().__init__(kube, settings, SERVICES, store=self.store, keep=self._known, what="Services")

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
