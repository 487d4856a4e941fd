"""The health of one live object of any kind, and of an xApp from all its objects. Pure.

The rules are those of kstatus (sigs.k8s.io/cli-utils/pkg/kstatus), mapped from Current, InProgress, Failed and
Terminating to HealthStatus, and with a message that says why. There is no clock, so nothing becomes unhealthy by
waiting: the reconciler's timeout does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.models import HealthStatus
from xapp_operator.common.text import shorten_line
from xapp_operator.domain.health import pod_health, workload_health
from xapp_operator.domain.health.health_result import (
    HEALTHY,
    RESOURCE_MESSAGE_MAX,
    HealthResult,
    degraded,
    find_condition,
    healthy,
    progressing,
    true_condition,
)

HEALTH_MESSAGE_MAX: Final = 2000
"""Characters: room for a whole message on one object, and its name."""
_MORE_MAX: Final = len("; and 1000000 more")

UNHEALTHY_NAMED_MAX: Final = 5

_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_RESIZE_CONDITIONS: Final = (
    *("ControllerResizeError", "NodeResizeError", "ModifyVolumeError"),
    *("FileSystemResizePending", "Resizing", "ModifyingVolume"),
)

_WORST_FIRST: Final = (HealthStatus.DEGRADED, HealthStatus.PROGRESSING, HealthStatus.UNKNOWN, HealthStatus.HEALTHY)


@dataclass(frozen=True, slots=True)
class ResourceHealth:
    """The health of one object; `message` says why, without the object's name.

    A healthy object may have a message too, for example that it is suspended or scaled to zero.
    """

    kind: str
    name: str
    namespace: str
    status: HealthStatus
    message: str


def assess(resource: JsonObject) -> ResourceHealth:
    """Return the health of an object as the API server returns it."""
    metadata = obj(resource, "metadata")
    kind = text(resource, "kind")
    group, _, _ = text(resource, "apiVersion").rpartition("/")
    rule = _HEALTH_RULES.get((group, kind), _assess_by_conditions)
    if text(metadata, "deletionTimestamp"):
        result = progressing("is being deleted")
    elif rule is not pod_health.assess_pod and workload_health.observed_older_spec(resource):
        result = workload_health.SPEC_NOT_OBSERVED
    else:
        result = rule(resource)
    return ResourceHealth(
        kind=kind,
        name=text(metadata, "name"),
        namespace=text(metadata, "namespace"),
        status=result.status,
        message=shorten_line(result.message, RESOURCE_MESSAGE_MAX),
    )


def missing_resource(*, kind: str, name: str, namespace: str) -> ResourceHealth:
    """Return the health of an object that should exist and does not."""
    return ResourceHealth(kind=kind, name=name, namespace=namespace, status=HealthStatus.DEGRADED, message="is missing")


def overall_health(resources: Iterable[ResourceHealth]) -> HealthResult:
    """Return the health of an xApp, which is the health of its worst object. The message names the worst objects first.

    An xApp without objects is healthy. The message has at most HEALTH_MESSAGE_MAX characters: it tells what is wrong
    with each object that it names, and counts those that would make it too long.
    """
    unhealthy = sorted(
        (each for each in resources if each.status is not HealthStatus.HEALTHY),
        key=lambda each: (_WORST_FIRST.index(each.status), each.kind, each.namespace, each.name),
    )
    if not unhealthy:
        return HEALTHY
    message, named = "", 0
    for each in unhealthy[:UNHEALTHY_NAMED_MAX]:
        longer = f"{message}{'; ' if named else ''}{each.kind} {each.name}: {each.message or each.status.value}"
        if named and len(longer) > HEALTH_MESSAGE_MAX - _MORE_MAX:
            break
        message, named = longer, named + 1
    if named < len(unhealthy):
        message = f"{shorten_line(message, HEALTH_MESSAGE_MAX - _MORE_MAX)}; and {len(unhealthy) - named} more"
    return HealthResult(status=unhealthy[0].status, message=shorten_line(message, HEALTH_MESSAGE_MAX))


def _assess_by_conditions(resource: JsonObject) -> HealthResult:
    """Assess any kind by the conditions that kstatus and the Kubernetes API conventions define.

    An object without any of these conditions is healthy: most such kinds (ConfigMap, Role, …) have no status.
    """
    if found := true_condition(resource, "Stalled", "Failed", "Degraded"):
        return degraded(found.explanation)
    if found := true_condition(resource, "Reconciling", "InProgress"):
        return progressing(found.explanation)
    if found := find_condition(resource, "Ready") or find_condition(resource, "Available"):
        if not found.is_true:
            return progressing(found.explanation)
        is_stale = 0 < found.generation < integer(obj(resource, "metadata"), "generation")
        return progressing("its condition describes an older spec") if is_stale else HEALTHY
    found = true_condition(resource, "Progressing")
    return progressing(found.explanation) if found else HEALTHY


def _assess_volume_claim(resource: JsonObject) -> HealthResult:
    """Assess a claim: it must be bound, also if it waits for its first consumer (as in kstatus and helm)."""
    phase = text(obj(resource, "status"), "phase")
    if phase == "Lost":
        return degraded("its volume is lost")
    if phase == "Bound":  # a claim that is being resized can be used
        found = true_condition(resource, *_RESIZE_CONDITIONS)
        return healthy(f"{found.type}: {found.message or found.reason}".rstrip(": ")) if found else HEALTHY
    node = text(obj(obj(resource, "metadata"), "annotations"), _SELECTED_NODE)
    return progressing("no volume is bound to it yet" + (f", one is being created for node {node}" if node else ""))


def _assess_service(resource: JsonObject) -> HealthResult:
    """Assess as helm does: a load balancer must have assigned an address, unless external IPs are set by hand."""
    spec = obj(resource, "spec")
    if text(spec, "type") != "LoadBalancer" or spec.get("externalIPs"):
        return HEALTHY
    if items(obj(obj(resource, "status"), "loadBalancer"), "ingress"):
        return HEALTHY
    return progressing("no load balancer has assigned an address to it yet")


def _assess_ingress(resource: JsonObject) -> HealthResult:
    """Mention a missing address, but accept it: many controllers never publish one."""
    published = items(obj(obj(resource, "status"), "loadBalancer"), "ingress")
    return HEALTHY if published else healthy("its controller has published no address")


def _assess_autoscaler(resource: JsonObject) -> HealthResult:
    """Mention missing metrics, but accept them: the autoscaler leaves the replicas as they are."""
    able_to_scale = find_condition(resource, "AbleToScale")
    if able_to_scale and able_to_scale.is_false:
        return degraded(able_to_scale.explanation)
    scaling_active = find_condition(resource, "ScalingActive")
    if scaling_active and scaling_active.is_false and scaling_active.reason != "ScalingDisabled":
        return healthy(f"does not scale: {scaling_active.explanation}")
    return HEALTHY


def _assess_disruption_budget(resource: JsonObject) -> HealthResult:
    if not workload_health.observed_newest_spec(resource):
        return progressing("the allowed disruptions are not computed yet")
    allowed = find_condition(resource, "DisruptionAllowed")
    return healthy(allowed.explanation) if allowed and allowed.reason == "SyncFailed" else HEALTHY


def _assess_custom_resource_definition(resource: JsonObject) -> HealthResult:
    names = find_condition(resource, "NamesAccepted")
    if names and names.is_false:
        return degraded(names.explanation)
    established = find_condition(resource, "Established")
    if established and established.is_true:
        return HEALTHY
    if established and established.reason != "Installing":
        return degraded(established.explanation)
    return progressing("is not established yet")


def _assess_api_service(resource: JsonObject) -> HealthResult:
    available = find_condition(resource, "Available")
    if available and available.is_true:
        return HEALTHY
    return progressing(available.explanation if available else "its availability has not been checked yet")


def _assess_namespace(resource: JsonObject) -> HealthResult:
    return progressing("is being deleted") if text(obj(resource, "status"), "phase") == "Terminating" else HEALTHY


_HEALTH_RULES: Final[dict[tuple[str, str], Callable[[JsonObject], HealthResult]]] = {
    ("", "Pod"): pod_health.assess_pod,
    ("", "PersistentVolumeClaim"): _assess_volume_claim,
    ("", "Service"): _assess_service,
    ("", "Namespace"): _assess_namespace,
    ("", "ReplicationController"): workload_health.assess_replica_set,
    ("apps", "Deployment"): workload_health.assess_deployment,
    ("apps", "StatefulSet"): workload_health.assess_stateful_set,
    ("apps", "DaemonSet"): workload_health.assess_daemon_set,
    ("apps", "ReplicaSet"): workload_health.assess_replica_set,
    ("batch", "Job"): workload_health.assess_job,
    ("batch", "CronJob"): workload_health.assess_cron_job,
    ("networking.k8s.io", "Ingress"): _assess_ingress,
    ("autoscaling", "HorizontalPodAutoscaler"): _assess_autoscaler,
    ("policy", "PodDisruptionBudget"): _assess_disruption_budget,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _assess_custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): _assess_api_service,
}
