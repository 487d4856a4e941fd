"""Which pods are of the newest revision of their workload, and which ones a rollout is about to replace. Pure.

No request is made for that: the status of a workload names its newest revision, and pods name theirs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.domain.health.health_result import find_condition

_REVISION_LABEL: Final = "controller-revision-hash"
"""The revision of a pod of a StatefulSet or DaemonSet."""
_TEMPLATE_LABEL: Final = "pod-template-hash"
"""The end of the name of a pod's ReplicaSet, if a Deployment made that."""
_PROGRESS_OF_REPLICASET: Final = re.compile(r'(?:ReplicaSet|replica set) "([^"]+)"')


def newest_revision(workload: JsonObject) -> str:
    """Return the newest ReplicaSet of a Deployment, or the revision that a StatefulSet updates to; empty if unknown.

    The Deployment controller names its newest ReplicaSet in the message of the condition Progressing, and nowhere
    else. A DaemonSet does not tell, nor does a Deployment that is paused or has no deadline.
    """
    if revision := text(obj(workload, "status"), "updateRevision"):
        return revision
    progress = find_condition(workload, "Progressing")
    named = _PROGRESS_OF_REPLICASET.search(progress.message) if progress else None
    return named[1] if named else ""


def replaced_pods(pods: Iterable[JsonObject], newest_revisions: Collection[str]) -> frozenset[str]:
    """Return the names of the pods that are of an older revision than another pod of the same workload.

    Where `newest_revisions` has none of a workload's revisions, the one whose first pod is the youngest is the newest.
    """
    workloads: dict[tuple[str, str], dict[str, list[JsonObject]]] = {}
    for pod in pods:
        workload, revision = _origin(pod)
        if revision:
            workloads.setdefault(workload, {}).setdefault(revision, []).append(pod)
    replaced: set[str] = set()
    for revisions in workloads.values():
        known = [revision for revision in revisions if revision in newest_revisions]
        newest = known[0] if known else max(revisions, key=lambda each: min(map(_created_at, revisions[each])))
        replaced.update(pod_name(pod) for revision in revisions if revision != newest for pod in revisions[revision])
    return frozenset(replaced)


def pod_name(pod: JsonObject) -> str:
    return text(obj(pod, "metadata"), "name")


def _origin(pod: JsonObject) -> tuple[tuple[str, str], str]:
    """Return the workload of a pod, as kind and name, and its revision; that is empty if it has none."""
    metadata = obj(pod, "metadata")
    owner = next((each for each in items(metadata, "ownerReferences") if each.get("controller") is True), {})
    kind, name = text(owner, "kind"), text(owner, "name")
    labels = obj(metadata, "labels")
    if kind == "ReplicaSet" and (template := text(labels, _TEMPLATE_LABEL)):
        return ("Deployment", name.removesuffix(f"-{template}")), name
    return (kind, name), text(labels, _REVISION_LABEL) if kind in {"StatefulSet", "DaemonSet"} else ""


def _created_at(pod: JsonObject) -> str:
    return text(obj(pod, "metadata"), "creationTimestamp")
