"""The kinds of objects that this package uses, and their paths at the API server.

The layers above use a `Resource` and never build a path. `discovery.Discovery` finds the kinds that a chart contains.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from xapp_operator.api.names import (
    ARCHIVE_KIND,
    ARCHIVE_PLURAL,
    GROUP,
    REPOSITORY_KIND,
    REPOSITORY_PLURAL,
    VERSION,
    XAPP_KIND,
    XAPP_PLURAL,
)
from xapp_operator.common.text import quote_input
from xapp_operator.errors import Invalid


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as the API server serves it; `group` is empty for the core API.

    `has_status` is only known for kinds that discovery found: whether they have the subresource `status`.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = field(default=False, compare=False)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """Return `<plural>.<group>`, the name that RBAC messages and `kubectl` use."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the path of the collection, or of one object.

        Args:
            namespace: of the object; None lists all namespaces, and is the only value for a cluster-scoped kind.
            name: of the object; required with `subresource`.
            subresource: such as `status` or `log`.

        Raises:
            Invalid: for a name or namespace that is not a single path segment.
        """
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", _path_segment(namespace)]
        parts.append(self.plural)
        if name is not None:
            if self.namespaced and namespace is None:
                raise ValueError(f"{self.group_resource} is namespaced: pass a namespace")
            parts.append(_path_segment(name))
        if subresource is not None:
            if name is None:
                raise ValueError("a subresource needs the name of its object")
            parts.append(subresource)
        return "/".join(parts)


def _path_segment(text: str) -> str:
    # The rule of Kubernetes for path segments (apimachinery, path.IsValidPathSegmentName).
    if text in {"", ".", ".."} or "/" in text or "%" in text:
        raise Invalid(
            f"{quote_input(text)} is not a valid name of a Kubernetes object: it must not be empty, '.' or '..', and "
            "must not contain '/' or '%'"
        )
    return quote(text, safe="")


XAPPS: Final = Resource(GROUP, VERSION, XAPP_PLURAL, XAPP_KIND)
CHART_REPOSITORIES: Final = Resource(GROUP, VERSION, REPOSITORY_PLURAL, REPOSITORY_KIND)
CHART_ARCHIVES: Final = Resource(GROUP, VERSION, ARCHIVE_PLURAL, ARCHIVE_KIND)

CONFIGMAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS: Final = Resource("", "v1", "events", "Event")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS: Final = Resource("", "v1", "pods", "Pod")
PVCS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
SECRETS: Final = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")
SERVICES: Final = Resource("", "v1", "services", "Service")

DAEMONSETS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet")
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
REPLICASETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFULSETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")
CRONJOBS: Final = Resource("batch", "v1", "cronjobs", "CronJob")
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
HPAS: Final = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
PDBS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
SERVICE_CIDRS: Final = Resource("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", namespaced=False)
INGRESSES: Final = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
ROLE_BINDINGS: Final = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")

SELF_SUBJECT_ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
SELF_SUBJECT_REVIEWS: Final = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
