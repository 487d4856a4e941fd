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
from xapp_operator.gateway.catalog.label_selector import LabelSelector
from xapp_operator.gateway.catalog.object_store import VIEW_CACHE_SIZE, ObjectStore, ViewCache, WatchedStore
from xapp_operator.gateway.http.pagination import PageBounds
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SERVICES
from xapp_operator.kube.watch_cache import ObjectKey
from xapp_operator.monitor.live_objects import service_status
from xapp_operator.monitor.object_labels import OPERATOR_LABEL_SET, ReleaseKey, read_labels, release_key_of


@dataclass(frozen=True, slots=True)
class ServiceEntry:
    """One Service as the gateway keeps it.

    `record` is the JSON of its record without the xApp, `ports` the names and numbers of its ports; `release` and
    `by_helm` are what `XAppOf` takes.
    """

    key: ObjectKey
    record_json: bytes
    labels: Mapping[str, str]
    ports: frozenset[str]
    release: ReleaseKey | None
    by_helm: bool

    def record_json_with_xapp(self, xapp: ObjectKey | None) -> bytes:
        """Return the JSON of the whole record."""
        reference = None if xapp is None else {"namespace": xapp.namespace, "name": xapp.name}
        return self.record_json[:-1] + b',"xApp":' + orjson.dumps(reference) + b"}"


class XAppLookup(Protocol):
    """Returns the xApp that the objects of a release belong to, or None."""

    def __call__(self, release: ReleaseKey, *, by_helm: bool) -> ObjectKey | None:
        """Return it; without `by_helm` the release is a name in labels."""


class ServiceFilters(NamedTuple):
    """What the list is narrowed down to; `within` are the namespaces that the caller may see. None is no filter."""

    namespace: str | None = None
    label: LabelSelector | None = None
    port: str | None = None
    search: str | None = None
    within: frozenset[str] | None = None


_NO_SERVICE_FILTERS: Final = ServiceFilters()


class ServiceStore(ObjectStore[ServiceEntry]):
    """All Services, by namespace and name."""

    def __init__(self) -> None:
        super().__init__()
        self._ordered: SortedList[ObjectKey] = SortedList()
        self._views: ViewCache[Sequence[ObjectKey]] = ViewCache(VIEW_CACHE_SIZE)

    def select(self, filters: ServiceFilters) -> Sequence[ObjectKey]:
        """Return what `filters` let through, in order; valid until the store changes."""
        if filters == _NO_SERVICE_FILTERS:
            return self._ordered
        return self._views.get(filters, version=self.version, compute=lambda: self._scan(filters))

    def page(self, found: Sequence[ObjectKey], at: PageBounds) -> list[ServiceEntry]:
        """Return one page of what `found` returned."""
        return [self._objects[key] for key in found[at.start : at.stop]]

    def _scan(self, filters: ServiceFilters) -> Sequence[ObjectKey]:
        search, port = (filters.search or "").casefold(), filters.port
        matching = [self._objects[key] for key in self._keys_in_namespaces(filters) if search in key.name]
        if port is not None:
            matching = [service for service in matching if port in service.ports]
        for requirement in filters.label or ():
            matching = [service for service in matching if requirement.matches(service.labels)]
        return [service.key for service in matching]

    def _keys_in_namespaces(self, filters: ServiceFilters) -> Iterator[ObjectKey]:
        among = self.namespaces if filters.within is None else self.namespaces & filters.within
        named = filters.namespace
        namespaces = sorted(among) if named is None else [named] * (named in among)
        for namespace in namespaces:
            # No name has the character that follows.
            yield from self._ordered.irange(ObjectKey(namespace, ""), ObjectKey(f"{namespace}\0", ""))

    def _update_indexes(self, before: ServiceEntry | None, after: ServiceEntry | None) -> None:
        if before is None and after is not None:
            self._ordered.add(after.key)
        elif after is None and before is not None:
            self._ordered.remove(before.key)


class WatchedServices(WatchedStore[ServiceEntry]):
    """The Services of the monitored namespaces."""

    def __init__(self, kube: KubeClient, settings: Settings, *, find_xapp: XAppLookup) -> None:
        self.store = ServiceStore()
        self._find_xapp = find_xapp
        self._label_sets = (OPERATOR_LABEL_SET, *settings.label_sets)
        super().__init__(
            kube, settings, SERVICES, store=self.store, build_entry=self._build_entry, plural_name="Services"
        )

    def find_xapp(self, service: ServiceEntry) -> ObjectKey | None:
        """Return the xApp that a Service belongs to at this moment, or None."""
        return None if service.release is None else self._find_xapp(service.release, by_helm=service.by_helm)

    def _build_entry(self, body: JsonObject) -> ServiceEntry:
        metadata, status = obj(body, "metadata"), service_status(body)
        mark = read_labels(metadata, self._label_sets)
        key = ObjectKey(intern(text(metadata, "namespace")), text(metadata, "name"))
        labels = {intern(label): intern(str(value)) for label, value in obj(metadata, "labels").items()}
        record: JsonObject = {"name": key.name, "namespace": key.namespace, **status, "labels": {**labels}}
        ports = (str(port.get(member) or "") for port in items(status, "ports") for member in ("name", "port"))
        return ServiceEntry(
            key=key,
            record_json=bytes(memoryview(orjson.dumps(record))),  # what orjson returns keeps a whole buffer alive
            labels=labels,
            ports=frozenset(intern(port) for port in ports if port),
            release=release_key_of(metadata, mark),
            by_helm=bool(mark.release),
        )
