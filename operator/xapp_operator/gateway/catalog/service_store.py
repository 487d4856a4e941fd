"""The store of all Services of the monitored namespaces, whether they belong to an xApp or not.

It has a watch of its own: the registry's watch has only Services that a label set selects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from sys import intern
from typing import NamedTuple, Protocol

import orjson

from xapp_operator.api.json import JsonObject, items, obj, pack_json, text
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.catalog.label_selector import LabelSelector
from xapp_operator.gateway.catalog.object_store import FilterValues, WatchedStore
from xapp_operator.gateway.catalog.store_history import SortKey
from xapp_operator.gateway.http.lists.pagination import SINGLE_SORT
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SERVICES
from xapp_operator.kube.watch.watch_cache import ObjectKey
from xapp_operator.monitor.live_objects import service_status
from xapp_operator.monitor.object_labels import OPERATOR_LABEL_SET, ReleaseKey, read_labels, release_key_of


@dataclass(frozen=True, slots=True)
class ServiceEntry:
    """One Service as the gateway keeps it.

    `record_json` is its record without the xApp; `ports` holds the names and numbers of its ports; `release` and
    `by_helm` are the arguments of `XAppLookup`.
    """

    namespace: str
    name: str
    record_json: bytes
    labels: Mapping[str, str]
    ports: frozenset[str]
    release: ReleaseKey | None
    by_helm: bool

    @property
    def uid(self) -> str:
        """Identify the Service by namespace and name, which is also the order of the list."""
        return f"{self.namespace}\0{self.name}"

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        """Return the sort key of the only order."""
        return ((self.uid, self.uid),)

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory its texts take."""
        return len(self.record_json) + sum(map(len, self.labels))

    def record_json_with_xapp(self, xapp: ObjectKey | None) -> bytes:
        """Return the JSON of the whole record."""
        reference = None if xapp is None else {"namespace": xapp.namespace, "name": xapp.name}
        return self.record_json[:-1] + b',"xApp":' + orjson.dumps(reference) + b"}"


class XAppLookup(Protocol):
    """Returns the xApp that the objects of a release belong to, or None."""

    def __call__(self, release: ReleaseKey, *, by_helm: bool) -> ObjectKey | None:
        """Return the xApp; without `by_helm`, the release is a name in labels."""


class ServiceFilters(NamedTuple):
    """The filters of the list of Services."""

    namespace: FilterValues = ()
    label: tuple[LabelSelector, ...] = ()
    port: FilterValues = ()
    search: FilterValues = ()

    def predicate(self) -> Callable[[ServiceEntry], bool] | None:
        """Return the test of all filters but `namespace`; None if there are none."""
        if not any(self[1:]):
            return None
        searches = tuple(each.casefold() for each in self.search)
        ports, selectors = frozenset(self.port), self.label

        def matches(service: ServiceEntry) -> bool:
            return (
                (not searches or any(each in service.name for each in searches))
                and (not ports or not ports.isdisjoint(service.ports))
                and (not selectors or any(_selects(selector, service.labels) for selector in selectors))
            )

        return matches


def _selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    return all(requirement.matches(labels) for requirement in selector)


class WatchedServices(WatchedStore[ServiceEntry]):
    def __init__(self, kube: KubeClient, settings: Settings, *, find_xapp: XAppLookup) -> None:
        self._find_xapp = find_xapp
        self._label_sets = (OPERATOR_LABEL_SET, *settings.label_sets)
        super().__init__(
            kube, settings, SERVICES, sorts=SINGLE_SORT, build_entry=self._build_entry, plural_name="Services"
        )

    def find_xapp(self, service: ServiceEntry) -> ObjectKey | None:
        """Return the xApp that a Service belongs to now, or None."""
        return None if service.release is None else self._find_xapp(service.release, by_helm=service.by_helm)

    def _build_entry(self, body: JsonObject) -> ServiceEntry:
        metadata, status = obj(body, "metadata"), service_status(body)
        object_labels = read_labels(metadata, self._label_sets)
        namespace, name = intern(text(metadata, "namespace")), text(metadata, "name")
        labels = {intern(label): intern(str(value)) for label, value in obj(metadata, "labels").items()}
        record: JsonObject = {
            "name": name,
            "namespace": namespace,
            **status,
            "externalName": text(obj(body, "spec"), "externalName") or None,
            "labels": {**labels},
        }
        ports = (str(port.get(member) or "") for port in items(status, "ports") for member in ("name", "port"))
        return ServiceEntry(
            namespace=namespace,
            name=name,
            record_json=pack_json(record),
            labels=labels,
            ports=frozenset(intern(port) for port in ports if port),
            release=release_key_of(metadata, object_labels),
            by_helm=bool(object_labels.release),
        )
