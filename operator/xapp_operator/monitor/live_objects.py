"""What the monitor stores of a live object: its health, its labels, and its addresses. Pure.

Tens of thousands of objects are stored, so each takes a few hundred bytes: ports are packed, equal texts are shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from sys import intern
from typing import Final, TypeAlias

import orjson

from xapp_operator.api.json import Json, JsonObject, integer, items, obj, pack_json, text
from xapp_operator.api.models import PORTS_MAX, HealthStatus, ServiceStatus
from xapp_operator.api.names import HELM_RELEASE_NAME, HELM_RELEASE_NAMESPACE, LABEL_XAPP
from xapp_operator.common.text import quote_input
from xapp_operator.domain.health.resource_health import ResourceHealth, assess
from xapp_operator.domain.health.revisions import newest_revision
from xapp_operator.domain.managed_fields import SHARED_BYTES_MAX, has_other_managers, pack_helm_fields
from xapp_operator.kube import resources
from xapp_operator.kube.resources import Resource
from xapp_operator.monitor.object_labels import (
    OPERATOR_LABEL_SET,
    ObjectLabels,
    annotation_text,
    has_controller,
    read_labels,
)

OwnerKey: TypeAlias = tuple[str, str]  # (namespace, name) of the XApp; in the registry, of the release
LiveObjectKey: TypeAlias = tuple[str, str, str]  # kind, namespace, name

WATCHED_RESOURCES: Final = (
    resources.DEPLOYMENTS,
    resources.STATEFULSETS,
    resources.DAEMONSETS,
    resources.REPLICASETS,
    resources.JOBS,
    resources.CRONJOBS,
    resources.PODS,
    resources.SERVICES,
    resources.CONFIGMAPS,
    resources.PVCS,
    resources.INGRESSES,
    resources.HPAS,
    resources.PDBS,
)
ADDRESSES_MAX: Final = 500
"""Rules of an Ingress, or addresses of a load balancer, that are stored: a Service shows no more addresses."""
INGRESS_PATH_MAX: Final = 2048
"""Characters of the path of a rule of an Ingress; a rule with a longer one is not shown."""
SELECTOR_MAX: Final = 4096
"""Characters of the label selector of a workload; the pods of one with a longer selector are not listed."""

METADATA_ONLY: Final = frozenset({resources.CONFIGMAPS})
"""Kinds that are healthy when they exist; their data is never downloaded."""

_CHANGING_METADATA: Final = frozenset({"managedFields", "resourceVersion"})

WORKLOAD_KINDS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod"})
REVISION_KINDS: Final = frozenset({"Deployment", "StatefulSet"})
"""Workloads whose status names their newest revision."""

_BUILT_IN_GROUPS: Final = frozenset(
    f"{name}.k8s.io"
    for name in (
        *("admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization"),
        *("certificates", "coordination", "discovery", "events", "flowcontrol.apiserver", "internal.apiserver"),
        *("networking", "node", "rbac.authorization", "resource", "scheduling", "storage", "storagemigration"),
    )
)


@dataclass(frozen=True, slots=True)
class LiveService:
    """One Service; `status_json` is its ServiceStatus, `addresses` are those that its load balancer gave it."""

    status_json: bytes
    headless: bool
    external_name: str | None
    addresses: tuple[str, ...]

    @property
    def status(self) -> ServiceStatus:
        """Return name, type, cluster IP and ports; parsed at each call."""
        return ServiceStatus.model_validate_json(self.status_json)


@dataclass(frozen=True, slots=True)
class IngressBackend:
    """One rule of an Ingress: the Service for requests to `host` (empty: any host) and `path`."""

    host: str
    path: str
    service: str
    port: str  # name or number
    tls: bool


@dataclass(frozen=True, slots=True)
class LiveIngress:
    """One Ingress: its rules, and the addresses that its controller has published."""

    backends: tuple[IngressBackend, ...]
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object of an xApp with its health. Times are RFC 3339; `changed_at` ignores changes of the status."""

    owner: OwnerKey
    health: ResourceHealth
    labels: ObjectLabels
    service: LiveService | None = None
    ingress: LiveIngress | None = None
    selector: str | None = None  # of the pods of a workload
    revision: str = ""  # the newest one of a workload, if it tells
    deleted_at: int = 0  # when its deletion was asked for, in seconds since the epoch; 0: it is not being deleted
    helm_fields: bytes = b""  # the fields that Helm manages, packed; of the operator's monitor only
    content: int = 0  # a hash of everything but the status, if others than Helm and the operator manage fields
    created_at: str = ""
    changed_at: str = field(default="", compare=False)

    @property
    def deleting(self) -> bool:
        return self.deleted_at != 0

    @property
    def key(self) -> LiveObjectKey:
        return self.health.kind, self.health.namespace or "", self.health.name


def xapp_live_object(body: JsonObject, *, kind: str) -> LiveObject | None:
    """Return the object as one of an XApp by the operator's label, or None when it has none."""
    metadata = obj(body, "metadata")
    name = text(obj(metadata, "labels"), LABEL_XAPP)
    # A chart may have objects in other namespaces than its release, and cluster-scoped ones.
    namespace = annotation_text(obj(metadata, "annotations"), HELM_RELEASE_NAMESPACE) or text(metadata, "namespace")
    if not name or not namespace:
        return None
    return owned_live_object(body, kind=kind, owner=(intern(namespace), intern(name)))


def owned_live_object(body: JsonObject, *, kind: str, owner: OwnerKey) -> LiveObject:
    """Return an object of an XApp, with what tells whether somebody changed it since Helm applied it."""
    metadata = obj(body, "metadata")
    helm_fields = pack_helm_fields(body)
    return replace(
        to_live_object(body, kind=kind, owner=owner, labels=read_labels(metadata, (OPERATOR_LABEL_SET,))),
        helm_fields=_shared(helm_fields) if len(helm_fields) <= SHARED_BYTES_MAX else helm_fields,
        content=_hash_content(body) if not helm_fields or has_other_managers(metadata) else 0,
    )


def taken_live_object(body: JsonObject, *, kind: str, owner: OwnerKey, release: str) -> LiveObject:
    """Return an object of `release`, of `owner`, that another one has taken over: without anything but its health."""
    live = owned_live_object(body, kind=kind, owner=owner)
    health = replace(assess_in_release(body, release=release), kind=live.health.kind, namespace=live.health.namespace)
    return replace(live, health=health, service=None, ingress=None, selector=None, helm_fields=b"")


def assess_in_release(body: JsonObject, *, release: str) -> ResourceHealth:
    """Return the health of an object of `release`: Degraded if another release has taken it over."""
    health = assess(body)
    if belongs_to_release(body, release):
        return health
    return _taken_health(health, text(obj(obj(body, "metadata"), "annotations"), HELM_RELEASE_NAME))


def health_in_release(live: LiveObject, release: str) -> ResourceHealth:
    """Return the same of an object that is stored; one of any release, if `release` is empty."""
    taker = live.labels.release
    return live.health if not release or taker in ("", release) else _taken_health(live.health, taker)


def _taken_health(health: ResourceHealth, taker: str) -> ResourceHealth:
    return replace(health, status=HealthStatus.DEGRADED, message=f"belongs to the release {quote_input(taker)} now")


def belongs_to_release(body: JsonObject, release: str) -> bool:
    """Return whether an object is one of `release`, which it is if Helm's annotation names no other one."""
    return text(obj(obj(body, "metadata"), "annotations"), HELM_RELEASE_NAME, release) == release


@lru_cache(maxsize=4096)
def _shared(packed: bytes) -> bytes:
    """Return one object for all equal ones: the same objects of many releases have the same fields."""
    return packed


def _hash_content(body: JsonObject) -> int:
    metadata = {key: value for key, value in obj(body, "metadata").items() if key not in _CHANGING_METADATA}
    rest = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    if not rest.keys() - {"apiVersion", "kind"} and "generation" not in metadata:  # read as metadata only
        rest["resourceVersion"] = obj(body, "metadata").get("resourceVersion")
    return hash(orjson.dumps([metadata, rest], option=orjson.OPT_SORT_KEYS))


def to_live_object(body: JsonObject, *, kind: str, owner: OwnerKey, labels: ObjectLabels) -> LiveObject:
    """Return the object; `kind` is an argument because objects that are read as metadata do not have it."""
    metadata = obj(body, "metadata")
    health = assess(body)
    created = text(metadata, "creationTimestamp")
    written = (text(each, "time") for each in items(metadata, "managedFields") if not text(each, "subresource"))
    return LiveObject(
        owner=owner,
        health=replace(health, kind=intern(kind), namespace=intern(health.namespace)),
        labels=labels,
        service=_live_service(body) if kind == "Service" else None,
        ingress=_live_ingress(body) if kind == "Ingress" else None,
        selector=_pod_selector(body) if kind in WORKLOAD_KINDS else None,
        revision=newest_revision(body) if kind in REVISION_KINDS else "",
        deleted_at=_deleted_at(metadata),
        created_at=intern(created),
        changed_at=intern(max(written, default=created)),
    )


def _deleted_at(metadata: JsonObject) -> int:
    deleted = text(metadata, "deletionTimestamp")  # when the time to end is over
    if not deleted:
        return 0
    return int(datetime.fromisoformat(deleted).timestamp()) - integer(metadata, "deletionGracePeriodSeconds", 0)


def is_standalone(resource: Resource, body: JsonObject) -> bool:
    """Return whether an object counts by itself, not as a part of the workload that created it."""
    return resource.kind not in WORKLOAD_KINDS or not has_controller(obj(body, "metadata"))


def service_status(body: JsonObject) -> JsonObject:
    """Return what the status of an XApp says of a Service, with at most PORTS_MAX ports."""
    spec = obj(body, "spec")
    ports: list[Json] = [
        {name: port.get(name) for name in ("name", "port", "targetPort", "nodePort", "protocol", "appProtocol")}
        for port in items(spec, "ports")[:PORTS_MAX]
    ]
    return {
        "name": text(obj(body, "metadata"), "name"),
        "type": text(spec, "type") or None,
        "clusterIP": text(spec, "clusterIP") or None,
        "ports": ports,
    }


def _live_service(body: JsonObject) -> LiveService:
    spec = obj(body, "spec")
    return LiveService(
        status_json=pack_json(service_status(body)),
        headless=text(spec, "clusterIP") == "None",
        external_name=text(spec, "externalName") or None,
        addresses=_load_balancer_addresses(body),
    )


def _live_ingress(body: JsonObject) -> LiveIngress:
    backends = (each for each in _ingress_backends(obj(body, "spec")) if len(each.path) <= INGRESS_PATH_MAX)
    return LiveIngress(tuple(islice(backends, ADDRESSES_MAX)), _load_balancer_addresses(body))


def _ingress_backends(spec: JsonObject) -> Iterator[IngressBackend]:
    secured = {host for each in items(spec, "tls") for host in _string_list(each, "hosts")}
    everywhere = any(not _string_list(each, "hosts") for each in items(spec, "tls"))
    if default := obj(obj(spec, "defaultBackend"), "service"):
        yield _ingress_backend("", "", default, tls=everywhere)
    for rule in items(spec, "rules"):
        host = text(rule, "host")
        for path in items(obj(rule, "http"), "paths"):
            if service := obj(obj(path, "backend"), "service"):
                yield _ingress_backend(host, text(path, "path"), service, tls=everywhere or host in secured)


def _ingress_backend(host: str, path: str, service: JsonObject, *, tls: bool) -> IngressBackend:
    port = obj(service, "port")
    number = port.get("number")
    named = text(port, "name") or (str(number) if number is not None else "")
    return IngressBackend(host=host, path=path, service=text(service, "name"), port=named, tls=tls)


def _load_balancer_addresses(body: JsonObject) -> tuple[str, ...]:
    given = items(obj(obj(body, "status"), "loadBalancer"), "ingress")
    addresses = (address for each in given if (address := text(each, "hostname") or text(each, "ip")))
    return tuple(islice(addresses, ADDRESSES_MAX))


def _string_list(value: JsonObject, key: str) -> list[str]:
    listed = value.get(key)
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


def _pod_selector(body: JsonObject) -> str | None:
    labels = obj(obj(obj(body, "spec"), "selector"), "matchLabels")
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return selector if 0 < len(selector) <= SELECTOR_MAX else None  # a part of it would select other pods, too


def has_only_metadata(resource: Resource) -> bool:
    """Return whether a kind of Kubernetes itself is healthy when it exists, so that its metadata is enough."""
    return resource not in WATCHED_RESOURCES and not resource.has_status and not is_custom_group(resource.group)


def is_custom_group(group: str) -> bool:
    """Return whether a group is not Kubernetes' own, so that its kinds may have conditions that decide health."""
    return "." in group and group not in _BUILT_IN_GROUPS


def cluster_scoped_key(key: LiveObjectKey) -> LiveObjectKey:
    """Return the key of a cluster-scoped object; a manifest does not show that it is one."""
    return key[0], "", key[2]
