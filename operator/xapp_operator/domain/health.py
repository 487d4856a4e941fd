"""Is it healthy: one verdict for any live object, and one for all objects of an xApp.

The rules are those of kstatus (sigs.k8s.io/cli-utils/pkg/kstatus: Current, InProgress, Failed, Terminating), in the
four words of our status, with what kstatus leaves out and a person needs: why. Kinds with replicas and Jobs are in
`workloads`, pods in `podhealth`. Lives in `domain` because operator and gateway must judge alike; there is no clock, so
nothing here becomes unhealthy by waiting (the reconciler's timeout does that).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain import podhealth, workloads
from xapp_operator.domain.verdict import HEALTHY, Verdict, condition, degraded, healthy, progressing, shorten

MESSAGE_MAX: Final = 1000
"""Characters of the message for a whole xApp."""

CULPRITS_NAMED: Final = 5

_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_RESIZING: Final = (
    *("ControllerResizeError", "NodeResizeError", "ModifyVolumeError"),
    *("FileSystemResizePending", "Resizing", "ModifyingVolume"),
)

_WORST_FIRST: Final = (HealthStatus.DEGRADED, HealthStatus.PROGRESSING, HealthStatus.UNKNOWN, HealthStatus.HEALTHY)


@dataclass(frozen=True, slots=True)
class ResourceHealth:
    """The verdict on one object; `message` says why, without naming the object, and is empty when all is said.

    A healthy object may have one too: that it is suspended, scaled to zero, not scaling.
    """

    kind: str
    name: str
    namespace: str
    status: HealthStatus
    message: str


@dataclass(frozen=True, slots=True)
class Health:
    """The verdict on a whole xApp; `message` names the culprits, and is empty when it is healthy."""

    status: HealthStatus
    message: str


def judge(resource: JsonObject) -> ResourceHealth:
    """Return the verdict on a live object, as the API server shows it (apiVersion, kind, metadata, spec, status)."""
    metadata = obj(resource, "metadata")
    kind = text(resource, "kind")
    group, _, _ = text(resource, "apiVersion").rpartition("/")
    rule = _RULES.get((group, kind), _by_conditions)
    if text(metadata, "deletionTimestamp"):
        verdict = progressing("is being deleted")
    elif rule is not podhealth.verdict_on and workloads.outdated(resource):  # what ails a pod is told at once
        verdict = workloads.UNSEEN
    else:
        verdict = rule(resource)
    return ResourceHealth(
        kind=kind,
        name=text(metadata, "name"),
        namespace=text(metadata, "namespace"),
        status=verdict.status,
        message=shorten(verdict.message),
    )


def missing(*, kind: str, name: str, namespace: str) -> ResourceHealth:
    """Return the verdict on an object that should be there and is not."""
    return ResourceHealth(kind=kind, name=name, namespace=namespace, status=HealthStatus.DEGRADED, message="is missing")


def overall(resources: Iterable[ResourceHealth]) -> Health:
    """Return the verdict on an xApp: the worst of its objects decides, the message names the worst first.

    An xApp without objects is healthy. The message has at most MESSAGE_MAX characters.
    """
    ailing = sorted(
        (each for each in resources if each.status is not HealthStatus.HEALTHY),
        key=lambda each: (_WORST_FIRST.index(each.status), each.kind, each.namespace, each.name),
    )
    if not ailing:
        return Health(status=HealthStatus.HEALTHY, message="")
    named = [f"{each.kind} {each.name}: {each.message or each.status.value}" for each in ailing[:CULPRITS_NAMED]]
    more = len(ailing) - len(named)
    message = "; ".join(named) + (f"; and {more} more" if more else "")
    return Health(status=ailing[0].status, message=shorten(message, MESSAGE_MAX))


def _by_conditions(resource: JsonObject) -> Verdict:
    """Judge any kind by the conditions that kstatus and Kubernetes' API conventions define.

    No status, or none of these conditions: healthy, since most such kinds (ConfigMap, Role, …) never have any.
    """
    generation = integer(obj(resource, "metadata"), "generation")
    for kind in ("Stalled", "Failed", "Degraded"):
        if (found := condition(resource, kind)) and found.true:
            return degraded(found.why)
    for kind in ("Reconciling", "InProgress"):
        if (found := condition(resource, kind)) and found.true:
            return progressing(found.why)
    for kind in ("Ready", "Available"):
        if found := condition(resource, kind):
            if not found.true:
                return progressing(found.why)
            return progressing("its condition is of an older spec") if 0 < found.generation < generation else HEALTHY
    found = condition(resource, "Progressing")
    return progressing(found.why) if found and found.true else HEALTHY


def _claim(resource: JsonObject) -> Verdict:
    """Judge a claim: it must be bound, also one that waits for its first consumer, as kstatus and helm have it."""
    phase = text(obj(resource, "status"), "phase")
    if phase == "Lost":
        return degraded("its volume is lost")
    if phase == "Bound":
        return _growing(resource)
    node = text(obj(obj(resource, "metadata"), "annotations"), _SELECTED_NODE)
    return progressing("no volume is bound to it yet" + (f", one is being made for node {node}" if node else ""))


def _growing(resource: JsonObject) -> Verdict:
    """Judge a bound claim: it can be used, whatever becomes of a change of its size, which is told only."""
    for kind in _RESIZING:
        if (found := condition(resource, kind)) and found.true:
            return healthy(f"{kind}: {found.message or found.reason}".rstrip(": "))
    return HEALTHY


def _service(resource: JsonObject) -> Verdict:
    """Judge as helm does: a load balancer must have given an address, unless external IPs are set by hand."""
    spec = obj(resource, "spec")
    if text(spec, "type") != "LoadBalancer" or spec.get("externalIPs"):
        return HEALTHY
    if items(obj(obj(resource, "status"), "loadBalancer"), "ingress"):
        return HEALTHY
    return progressing("no load balancer has given it an address yet")


def _ingress(resource: JsonObject) -> Verdict:
    """Many controllers never publish an address, so a missing one is told and not held against it."""
    published = items(obj(obj(resource, "status"), "loadBalancer"), "ingress")
    return HEALTHY if published else healthy("its controller has published no address")


def _autoscaler(resource: JsonObject) -> Verdict:
    """Without metrics an autoscaler leaves the replicas as they are: told, and not held against it."""
    able = condition(resource, "AbleToScale")
    if able and able.false:
        return degraded(able.why)
    active = condition(resource, "ScalingActive")
    if active and active.false and active.reason != "ScalingDisabled":
        return healthy(f"does not scale: {active.why}")
    return HEALTHY


def _disruption_budget(resource: JsonObject) -> Verdict:
    if not workloads.observed(resource):
        return progressing("the allowed disruptions are not computed yet")
    allowed = condition(resource, "DisruptionAllowed")
    failed = allowed is not None and allowed.false and allowed.reason == "SyncFailed"
    return healthy(allowed.why) if allowed and failed else HEALTHY


def _custom_resource_definition(resource: JsonObject) -> Verdict:
    names = condition(resource, "NamesAccepted")
    if names and names.false:
        return degraded(names.why)
    established = condition(resource, "Established")
    if established and established.true:
        return HEALTHY
    if established and established.false and established.reason != "Installing":
        return degraded(established.why)
    return progressing("is not established yet")


def _api_service(resource: JsonObject) -> Verdict:
    available = condition(resource, "Available")
    if available and available.true:
        return HEALTHY
    return progressing(available.why if available else "its server has not been asked yet")


def _namespace(resource: JsonObject) -> Verdict:
    return progressing("is being deleted") if text(obj(resource, "status"), "phase") == "Terminating" else HEALTHY


_Rule: TypeAlias = Callable[[JsonObject], Verdict]

_RULES: Final[dict[tuple[str, str], _Rule]] = {
    ("", "Pod"): podhealth.verdict_on,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("", "Namespace"): _namespace,
    ("", "ReplicationController"): workloads.replica_set,
    ("apps", "Deployment"): workloads.deployment,
    ("apps", "StatefulSet"): workloads.stateful_set,
    ("apps", "DaemonSet"): workloads.daemon_set,
    ("apps", "ReplicaSet"): workloads.replica_set,
    ("batch", "Job"): workloads.job,
    ("batch", "CronJob"): workloads.cron_job,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("policy", "PodDisruptionBudget"): _disruption_budget,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): _api_service,
}
