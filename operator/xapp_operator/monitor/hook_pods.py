"""Finds the pod of a hook of a chart, and tells the objects of its tests from others with the same name."""

from __future__ import annotations

from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import HELM_HOOK
from xapp_operator.kube.reader import KubeReader, first_page
from xapp_operator.kube.resources import PODS

JOB_LABEL: Final = "batch.kubernetes.io/job-name"
JOB_PODS_MAX: Final = 50

_TEST_EVENTS: Final = frozenset({"test", "test-success"})  # the latter is of Helm 2 (manifest_sorter.go)


def is_hook_object(found: JsonObject) -> bool:
    """Return whether an object was created as a hook of a chart."""
    return HELM_HOOK in obj(obj(found, "metadata"), "annotations")


def is_test_object(found: JsonObject) -> bool:
    """Return whether an object was created as a test of a chart."""
    events = text(obj(obj(found, "metadata"), "annotations"), HELM_HOOK).split(",")
    return any(each.strip().lower() in _TEST_EVENTS for each in events)


async def find_hook_pod(kube: KubeReader, *, kind: str, name: str, namespace: str) -> JsonObject | None:
    """Return the pod of a hook, or the newest pod if the hook is a Job; None if it has none, or is of another kind.

    Raises:
        KubeError: when the pods cannot be listed.
    """
    if kind == "Job":
        pods = await first_page(kube, PODS, namespace, limit=JOB_PODS_MAX, label_selector=f"{JOB_LABEL}={name}")
        return max(pods, key=lambda pod: text(obj(pod, "metadata"), "creationTimestamp"), default=None)
    if kind != "Pod":
        return None
    # Another pod may have that name by now.
    pods = await first_page(kube, PODS, namespace, limit=JOB_PODS_MAX, field_selector=f"metadata.name={name}")
    return next((pod for pod in pods if is_hook_object(pod)), None)
