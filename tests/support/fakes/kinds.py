"""The kinds that the fake API server serves."""

from __future__ import annotations

from typing import Any

from tests.support.fakes.json_patch import Json

KINDS: dict[tuple[str, str], dict[str, tuple[str, bool]]] = {
    ("", "v1"): {
        "configmaps": ("ConfigMap", True),
        "events": ("Event", True),
        "namespaces": ("Namespace", False),
        "nodes": ("Node", False),
        "persistentvolumeclaims": ("PersistentVolumeClaim", True),
        "persistentvolumes": ("PersistentVolume", False),
        "pods": ("Pod", True),
        "secrets": ("Secret", True),
        "serviceaccounts": ("ServiceAccount", True),
        "services": ("Service", True),
    },
    ("apps", "v1"): {
        "daemonsets": ("DaemonSet", True),
        "deployments": ("Deployment", True),
        "replicasets": ("ReplicaSet", True),
        "statefulsets": ("StatefulSet", True),
    },
    ("autoscaling", "v2"): {"horizontalpodautoscalers": ("HorizontalPodAutoscaler", True)},
    ("batch", "v1"): {"cronjobs": ("CronJob", True), "jobs": ("Job", True)},
    ("networking.k8s.io", "v1"): {"ingresses": ("Ingress", True)},
    ("policy", "v1"): {"poddisruptionbudgets": ("PodDisruptionBudget", True)},
    ("rbac.authorization.k8s.io", "v1"): {"clusterroles": ("ClusterRole", False)},
    ("xapp-operator.io", "v1alpha1"): {
        "chartarchives": ("ChartArchive", True),
        "chartrepositories": ("ChartRepository", True),
        "xapps": ("XApp", True),
    },
}
WITH_STATUS = {"xapps", "chartrepositories", "deployments"}
WITH_GENERATION = {"xapps", "chartrepositories", "chartarchives", "deployments"}


def discovery_of_kinds(*, core: bool) -> Json:
    """Return what discovery tells of the kinds of the core group, or of the others."""
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    groups: dict[str, list[Any]] = {}
    for (group, version), kinds in KINDS.items():
        if (not group) == core:
            resources = [
                {
                    "resource": plural,
                    "responseKind": {"group": group, "version": version, "kind": kind},
                    "scope": "Namespaced" if namespaced else "Cluster",
                    "verbs": verbs,
                    "subresources": [{"subresource": "status"}] if plural in WITH_STATUS else [],
                }
                for plural, (kind, namespaced) in kinds.items()
            ]
            groups.setdefault(group, []).append({"version": version, "resources": resources})
    items = [{"metadata": {"name": group}, "versions": versions} for group, versions in groups.items()]
    return {"kind": "APIGroupDiscoveryList", "items": items}


DISCOVERY = {"/api": discovery_of_kinds(core=True), "/apis": discovery_of_kinds(core=False)}
