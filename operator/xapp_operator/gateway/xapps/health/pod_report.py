"""Pods in the shape of the API: their owner, their containers, and how those ended before. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from xapp_operator.api.json import Json, JsonObject, integer, items, obj, text
from xapp_operator.common.text import shorten_line
from xapp_operator.domain.health.containers import (
    CRASH_LOOP,
    INIT_CONTAINER,
    UNINFORMATIVE_REASONS,
    Container,
    containers_of,
)
from xapp_operator.domain.health.health_result import RESOURCE_MESSAGE_MAX, find_condition
from xapp_operator.gateway.xapps.health.crash_logs import CrashLogs
from xapp_operator.gateway.xapps.pods import pod_name

_POD_TEMPLATE_HASH: Final = "pod-template-hash"


def pod_json(pod: JsonObject, crash_logs: CrashLogs, *, deployments: Collection[str]) -> JsonObject:
    """Return one pod; `deployments` are the names of the xApp's Deployments, which stand for their ReplicaSets."""
    name, ready = pod_name(pod), find_condition(pod, "Ready")
    containers = list(containers_of(pod))
    return {
        "name": name,
        "phase": text(obj(pod, "status"), "phase") or None,
        "ready": ready is not None and ready.is_true,
        "restarts": sum(container.restarts for container in containers),
        "node": text(obj(pod, "spec"), "nodeName") or None,
        "owner": _owner_json(obj(pod, "metadata"), deployments),
        "containers": [_container_json(each, crash_logs.get((name, each.name), "")) for each in containers],
    }


def _owner_json(metadata: JsonObject, deployments: Collection[str]) -> Json:
    owner = next((each for each in items(metadata, "ownerReferences") if each.get("controller") is True), None)
    if owner is None:
        return None
    kind, name = text(owner, "kind"), text(owner, "name")
    # A Deployment names its ReplicaSets after itself and the hash of their pods.
    deployment = name.removesuffix(f"-{text(obj(metadata, 'labels'), _POD_TEMPLATE_HASH)}")
    if kind == "ReplicaSet" and deployment in deployments:
        return {"kind": "Deployment", "name": deployment}
    return {"kind": kind, "name": name}


def _container_json(container: Container, crash_log: str) -> Json:
    unexplained = container.crash_loops and container.reason in UNINFORMATIVE_REASONS
    termination = container.termination_summary if container.crash_loops else ""
    return {
        "name": container.name,
        "init": container.role == INIT_CONTAINER,
        "image": container.image or None,
        "ready": container.ready,
        "state": container.state,
        "reason": CRASH_LOOP if unexplained else container.reason or None,
        "exitCode": container.exit_code,
        "message": crash_log or shorten_line(container.kubelet_message, RESOURCE_MESSAGE_MAX) or termination or None,
        "restarts": container.restarts,
        "lastState": _termination_json(container.previous_termination),
        "resources": {
            which: {name: str(amount) for name, amount in obj(container.resources, which).items()}
            for which in ("requests", "limits")
        },
    }


def _termination_json(termination: JsonObject) -> Json:
    if not termination:
        return None
    return {
        "reason": text(termination, "reason") or None,
        "exitCode": integer(termination, "exitCode"),
        "signal": integer(termination, "signal") or None,
        "startedAt": termination.get("startedAt"),
        "finishedAt": termination.get("finishedAt"),
    }
