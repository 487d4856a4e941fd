"""What the monitor keeps of one live object: its verdict and its ports, never the object itself. Pure.

Lives in `monitor`; thousands of objects are kept, so a few hundred bytes each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.models import ServiceStatus
from xapp_operator.api.names import HELM_RELEASE_NAMESPACE, LABEL_XAPP
from xapp_operator.domain.health import ResourceHealth, judge

Key: TypeAlias = tuple[str, str]  # (namespace, name) of the XApp
ObjectKey: TypeAlias = tuple[str, str, str]  # kind, namespace, name

WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet"})


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object of an xApp, judged."""

    owner: Key
    health: ResourceHealth
    service: ServiceStatus | None
    selector: str | None  # of the pods of a workload

    @property
    def key(self) -> ObjectKey:
        """Return what names the object among all kinds."""
        return self.health.kind, self.health.namespace or "", self.health.name


def keep(body: JsonObject) -> LiveObject | None:
    """Return what is kept of `body`, or None where it belongs to no XApp."""
    metadata = obj(body, "metadata")
    name = text(obj(metadata, "labels"), LABEL_XAPP)
    # A chart may put objects into other namespaces than its release's, or into none.
    namespace = text(obj(metadata, "annotations"), HELM_RELEASE_NAMESPACE) or text(metadata, "namespace")
    if not name or not namespace:
        return None
    kind = text(body, "kind")
    return LiveObject(
        owner=(namespace, name),
        health=judge(body),
        service=_service(body) if kind == "Service" else None,
        selector=_selector(body) if kind in WORKLOADS else None,
    )


def _service(body: JsonObject) -> ServiceStatus:
    spec = obj(body, "spec")
    return ServiceStatus.model_validate(
        {
            "name": text(obj(body, "metadata"), "name"),
            "type": text(spec, "type") or None,
            "clusterIP": text(spec, "clusterIP") or None,
            "ports": items(spec, "ports"),
        }
    )


def _selector(body: JsonObject) -> str | None:
    labels = obj(obj(obj(body, "spec"), "selector"), "matchLabels")
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or None
