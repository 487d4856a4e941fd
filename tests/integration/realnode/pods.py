"""Manifests of pods and a service for the real node."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.localcluster import Cluster
from tests.localcluster.realnode.node import NODE_LABELS, NODE_TAINT
from tests.localcluster.waiting import wait_until

IMAGE = "localhost/testpod:1"
PORT = 8080
WAIT_SECONDS = 60.0

Manifest = Mapping[str, object]


def pod(name: str, *arguments: str, image: str = IMAGE, memory: str | None = None, probe: bool = False) -> Manifest:
    """Return a pod on the real node, whose container runs `testpod` with the arguments."""
    container: dict[str, object] = {"name": "main", "image": image, "args": list(arguments)}
    if memory:
        container["resources"] = {"limits": {"memory": memory}}
    if probe:
        container["readinessProbe"] = {"httpGet": {"path": "/ready", "port": PORT}, "periodSeconds": 1}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeSelector": NODE_LABELS,
            "tolerations": [{"key": NODE_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [container],
            "terminationGracePeriodSeconds": 5,
        },
    }


def service(name: str) -> Manifest:
    """Return a service with a node port for the pod of the same name."""
    ports = [{"name": "http", "port": 80, "targetPort": PORT}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "NodePort", "selector": {"app": name}, "ports": ports},
    }


def create(cluster: Cluster, namespace: str, items: Sequence[Manifest]) -> None:
    """Create the objects."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    cluster.kubectl("create", "-n", namespace, "-f", "-", input=text)


def wait_ready(cluster: Cluster, namespace: str, *names: str) -> None:
    """Wait until pods are ready."""
    pods = [f"pod/{name}" for name in names]
    cluster.kubectl("wait", "-n", namespace, "--for=condition=Ready", *pods, f"--timeout={WAIT_SECONDS:.0f}s")


def container_state(cluster: Cluster, namespace: str, name: str) -> dict[str, Any]:
    """Return the status of a pod's container, or an empty dict if there is none yet."""
    status = json.loads(cluster.kubectl("get", "pod", name, "-n", namespace, "-o", "json"))["status"]
    states: list[dict[str, Any]] = status.get("containerStatuses") or [{}]
    return states[0]


def wait_state(
    cluster: Cluster, namespace: str, name: str, condition: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Wait until the status of a pod's container satisfies the condition, and return it."""

    def matching() -> dict[str, Any] | None:
        state = container_state(cluster, namespace, name)
        return state if condition(state) else None

    return wait_until(matching, timeout=WAIT_SECONDS, what=f"the container of {name}", interval=0.2)


def reason(state: dict[str, Any], kind: str, *, of: str = "state") -> str | None:
    """Return the reason of a waiting or terminated state, or None in another state."""
    found: str | None = (state.get(of) or {}).get(kind, {}).get("reason")
    return found
