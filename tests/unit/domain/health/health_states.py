"""Live objects in real states of an API server, with the expected health of each."""

from __future__ import annotations

from typing import Any, TypeAlias

from xapp_operator.api.models import HealthStatus

Object: TypeAlias = dict[str, Any]

HEALTHY, PROGRESSING, DEGRADED, UNKNOWN = (
    HealthStatus.HEALTHY,
    HealthStatus.PROGRESSING,
    HealthStatus.DEGRADED,
    HealthStatus.UNKNOWN,
)


def condition(kind: str, status: str, reason: str = "", message: str = "", **more: Any) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, **more}


def resource(
    api_version: str, kind: str, spec: Object | None = None, status: Object | None = None, **metadata: Any
) -> Object:
    built: Object = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "it", "namespace": "ns", "generation": 2, **metadata},
    }
    if spec is not None:
        built["spec"] = spec
    if status is not None:
        built["status"] = status
    return built


def deployment(wanted: int | None, *conditions: Object, seen: int = 2, paused: bool = False, **counts: int) -> Object:
    spec: Object = {"paused": True} if paused else {}
    if wanted is not None:
        spec["replicas"] = wanted
    status = {"observedGeneration": seen, "conditions": list(conditions), **counts}
    return resource("apps/v1", "Deployment", spec, status)


def replicas(there: int, updated: int, ready: int, available: int | None = None) -> dict[str, Any]:
    counts: dict[str, Any] = {"replicas": there, "updatedReplicas": updated, "readyReplicas": ready}
    return counts | {"availableReplicas": ready if available is None else available}


AVAILABLE = condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
UNAVAILABLE = condition(
    "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
)
ROLLED_OUT = condition("Progressing", "True", "NewReplicaSetAvailable")
ROLLING = condition("Progressing", "True", "ReplicaSetUpdated")
LATE = condition("Progressing", "False", "ProgressDeadlineExceeded", 'ReplicaSet "it-1" has timed out progressing.')
NO_QUOTA = condition("ReplicaFailure", "True", "FailedCreate", "pods is forbidden: exceeded quota: q")

DEPLOYMENTS: list[tuple[str, Object, HealthStatus, str]] = [
    ("new", resource("apps/v1", "Deployment", {"replicas": 1}), PROGRESSING, "not seen the newest spec"),
    ("no status", resource("apps/v1", "Deployment", {"replicas": 0}, {}), PROGRESSING, "not seen the newest spec"),
    ("older spec", deployment(1, AVAILABLE, ROLLED_OUT, seen=1, **replicas(1, 1, 1)), PROGRESSING, "not seen"),
    ("ready", deployment(3, AVAILABLE, ROLLED_OUT, **replicas(3, 3, 3)), HEALTHY, ""),
    ("default of one, ready", deployment(None, AVAILABLE, ROLLED_OUT, **replicas(1, 1, 1)), HEALTHY, ""),
    ("default of one, none", deployment(None, UNAVAILABLE, ROLLING), PROGRESSING, "0 of 1 replicas updated"),
    ("none wanted", deployment(0, AVAILABLE, ROLLED_OUT), HEALTHY, "scaled to zero"),
    ("none wanted, still there", deployment(0, AVAILABLE, ROLLED_OUT, **replicas(2, 2, 2)), PROGRESSING, "2 surplus"),
    ("not yet updated", deployment(3, AVAILABLE, ROLLING, **replicas(3, 1, 3)), PROGRESSING, "1 of 3 replicas updated"),
    ("old ones left", deployment(3, AVAILABLE, ROLLING, **replicas(4, 3, 4)), PROGRESSING, "1 old replicas"),
    ("rolled out, available or not", deployment(1, ROLLED_OUT, **replicas(1, 1, 0)), PROGRESSING, "0 of 1 replicas"),
    ("scaled down", deployment(1, AVAILABLE, ROLLED_OUT, **replicas(3, 3, 3)), PROGRESSING, "2 surplus replicas"),
    ("not ready", deployment(3, UNAVAILABLE, ROLLING, **replicas(3, 3, 1)), PROGRESSING, "1 of 3 replicas ready"),
    (
        "not available",
        deployment(3, AVAILABLE, ROLLING, **replicas(3, 3, 3, 2)),
        PROGRESSING,
        "2 of 3 replicas available",
    ),
    (
        "not available as a whole",
        deployment(1, UNAVAILABLE, ROLLING, **replicas(1, 1, 1)),
        PROGRESSING,
        "MinimumReplicas",
    ),
    (
        "too late",
        deployment(2, UNAVAILABLE, LATE, **replicas(2, 2, 0)),
        DEGRADED,
        "0 of 2 replicas ready: ProgressDeadline",
    ),
    ("too late, all there", deployment(1, AVAILABLE, LATE, **replicas(1, 1, 1)), DEGRADED, "ProgressDeadlineExceeded"),
    (
        "no quota",
        deployment(1, UNAVAILABLE, NO_QUOTA, **replicas(0, 0, 0)),
        DEGRADED,
        "FailedCreate: pods is forbidden",
    ),
    ("paused, ready", deployment(1, AVAILABLE, ROLLED_OUT, paused=True, **replicas(1, 1, 1)), HEALTHY, "is paused"),
    ("paused, old", deployment(1, AVAILABLE, paused=True, **replicas(1, 0, 1)), PROGRESSING, "the rollout is paused"),
    ("lost all, still available", deployment(2, AVAILABLE, ROLLED_OUT, **replicas(2, 2, 0)), PROGRESSING, "0 of 2"),
    ("lost all", deployment(2, UNAVAILABLE, ROLLED_OUT, **replicas(2, 2, 0)), DEGRADED, "0 of 2 replicas ready"),
    ("lost one", deployment(2, UNAVAILABLE, ROLLED_OUT, **replicas(2, 2, 1)), PROGRESSING, "1 of 2 replicas ready"),
    ("no conditions", deployment(1, **replicas(1, 1, 1)), HEALTHY, ""),
    ("other group", resource("example.com/v1", "Deployment", {"replicas": 3}, {}), HEALTHY, ""),
]


def stateful_set(spec: Object, *, seen: int = 2, **status: Any) -> Object:
    return resource("apps/v1", "StatefulSet", spec, {"observedGeneration": seen, **status})


def sts_counts(there: int, ready: int, updated: int, *, revisions: str = "aa", available: int = 0) -> Object:
    return {
        "replicas": there,
        "readyReplicas": ready,
        "updatedReplicas": updated,
        "currentRevision": revisions[0],
        "updateRevision": revisions[1],
        "availableReplicas": available or ready,
    }


ON_DELETE: Object = {"updateStrategy": {"type": "OnDelete"}}


def partition(at: int) -> Object:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": at}}}


STATEFUL_SETS: list[tuple[str, Object, HealthStatus, str]] = [
    ("new", resource("apps/v1", "StatefulSet", {"replicas": 1}), PROGRESSING, "not seen"),
    ("older spec", stateful_set({"replicas": 1}, seen=1, **sts_counts(1, 1, 1)), PROGRESSING, "not seen"),
    ("ready", stateful_set({"replicas": 3}, **sts_counts(3, 3, 3)), HEALTHY, ""),
    ("default of one", stateful_set({}, **sts_counts(1, 1, 1)), HEALTHY, ""),
    ("none wanted", stateful_set({"replicas": 0}, **sts_counts(0, 0, 0)), HEALTHY, "scaled to zero"),
    (
        "none wanted, still there",
        stateful_set({"replicas": 0}, **sts_counts(2, 2, 2)),
        PROGRESSING,
        "2 surplus replicas",
    ),
    (
        "none wanted, of a new revision",
        stateful_set({"replicas": 0}, **sts_counts(0, 0, 0, revisions="ab")),
        HEALTHY,
        "scaled to zero",
    ),
    ("created one", stateful_set({"replicas": 3}, **sts_counts(1, 1, 1)), PROGRESSING, "1 of 3 replicas created"),
    ("not ready", stateful_set({"replicas": 3}, **sts_counts(3, 2, 3)), PROGRESSING, "2 of 3 replicas ready"),
    ("surplus", stateful_set({"replicas": 1}, **sts_counts(3, 3, 3)), PROGRESSING, "2 surplus replicas"),
    (
        "updating",
        stateful_set({"replicas": 3}, **sts_counts(3, 3, 1, revisions="ab")),
        PROGRESSING,
        "1 of 3 replicas updated",
    ),
    (
        "updated, not settled",
        stateful_set({"replicas": 3}, **sts_counts(3, 3, 3, revisions="ab")),
        PROGRESSING,
        "3 of 3 replicas updated",
    ),
    ("on delete, old", stateful_set({"replicas": 2, **ON_DELETE}, **sts_counts(2, 2, 0, revisions="ab")), HEALTHY, ""),
    (
        "on delete, not ready",
        stateful_set({"replicas": 2, **ON_DELETE}, **sts_counts(2, 1, 0, revisions="ab")),
        PROGRESSING,
        "1 of 2 replicas ready",
    ),
    (
        "partition, done",
        stateful_set({"replicas": 3, **partition(2)}, **sts_counts(3, 3, 1, revisions="ab")),
        HEALTHY,
        "",
    ),
    (
        "partition, not done",
        stateful_set({"replicas": 3, **partition(1)}, **sts_counts(3, 3, 1, revisions="ab")),
        PROGRESSING,
        "1 of 2 replicas updated",
    ),
    (
        "partition above the replicas",
        stateful_set({"replicas": 2, **partition(5)}, **sts_counts(2, 2, 0, revisions="ab")),
        HEALTHY,
        "",
    ),
    (
        "not long enough ready",
        stateful_set({"replicas": 2, "minReadySeconds": 30}, **sts_counts(2, 2, 2, available=1)),
        PROGRESSING,
        "1 of 2 replicas available",
    ),
]


STATEFUL_SETS += [
    ("long enough ready", stateful_set({"minReadySeconds": 30}, **sts_counts(1, 1, 1)), HEALTHY, ""),
    ("availability not reported", stateful_set({}, **{**sts_counts(1, 1, 1), "availableReplicas": 0}), HEALTHY, ""),
]


def daemon_set(
    wanted: int, scheduled: int, updated: int, ready: int, *, spec: Object | None = None, available: int | None = None
) -> Object:
    status = {
        "observedGeneration": 2,
        "desiredNumberScheduled": wanted,
        "currentNumberScheduled": scheduled,
        "updatedNumberScheduled": updated,
        "numberReady": ready,
        "numberAvailable": ready if available is None else available,
    }
    return resource("apps/v1", "DaemonSet", spec or {}, status)


DAEMON_SETS: list[tuple[str, Object, HealthStatus, str]] = [
    ("new", resource("apps/v1", "DaemonSet", {}), PROGRESSING, "not seen"),
    ("nothing counted", resource("apps/v1", "DaemonSet", {}, {"observedGeneration": 2}), PROGRESSING, "not seen"),
    ("ready", daemon_set(2, 2, 2, 2), HEALTHY, ""),
    ("no node", daemon_set(0, 0, 0, 0), HEALTHY, "no node matches it"),
    ("not scheduled", daemon_set(2, 1, 1, 1), PROGRESSING, "1 of 2 pods scheduled"),
    ("not updated", daemon_set(2, 2, 1, 2), PROGRESSING, "1 of 2 pods updated"),
    ("not updated, on delete", daemon_set(2, 2, 1, 2, spec=ON_DELETE), HEALTHY, ""),
    ("not ready, on delete", daemon_set(2, 2, 0, 1, spec=ON_DELETE), PROGRESSING, "1 of 2 pods ready"),
    ("not ready", daemon_set(2, 2, 2, 0), PROGRESSING, "0 of 2 pods ready"),
    ("not available", daemon_set(2, 2, 2, 2, available=1), PROGRESSING, "1 of 2 pods available"),
]


def replica_set(wanted: int, there: int, ready: int, *conditions: Object) -> Object:
    status = {
        "observedGeneration": 2,
        "replicas": there,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "conditions": list(conditions),
    }
    return resource("apps/v1", "ReplicaSet", {"replicas": wanted}, status)


REPLICA_SETS: list[tuple[str, Object, HealthStatus, str]] = [
    ("ready", replica_set(2, 2, 2), HEALTHY, ""),
    ("none wanted", replica_set(0, 0, 0), HEALTHY, ""),
    ("not created", replica_set(2, 1, 1), PROGRESSING, "1 of 2 replicas created"),
    ("not ready", replica_set(2, 2, 1), PROGRESSING, "1 of 2 replicas ready"),
    ("surplus", replica_set(1, 3, 3), PROGRESSING, "2 surplus"),
    (
        "default of one",
        resource("apps/v1", "ReplicaSet", {}, {"observedGeneration": 2, **replicas(1, 1, 1)}),
        HEALTHY,
        "",
    ),
    ("no quota", replica_set(1, 0, 0, NO_QUOTA), DEGRADED, "FailedCreate"),
    ("not seen", resource("apps/v1", "ReplicaSet", {"replicas": 0}), PROGRESSING, "not seen"),
]


def job(spec: Object | None = None, *conditions: Object, **status: Any) -> Object:
    return resource("batch/v1", "Job", spec or {}, {"conditions": list(conditions), **status})


STARTED: Object = {"startTime": "2026-01-01T00:00:00Z"}

JOBS: list[tuple[str, Object, HealthStatus, str]] = [
    ("new", job(), PROGRESSING, "has not started yet"),
    ("suspended by its controller", job({}, condition("Suspended", "True")), HEALTHY, "is suspended"),
    ("complete", job({}, condition("Complete", "True"), **STARTED, succeeded=1), HEALTHY, ""),
    (
        "failed",
        job({}, condition("Failed", "True", "BackoffLimitExceeded", "Job has reached the limit"), **STARTED, failed=7),
        DEGRADED,
        "BackoffLimitExceeded: Job has reached the limit",
    ),
    ("about to fail", job({}, condition("FailureTarget", "True", "DeadlineExceeded"), **STARTED), DEGRADED, "Deadline"),
    ("suspended", job({"suspend": True}, condition("Suspended", "True"), **STARTED), HEALTHY, "is suspended"),
    ("suspended, complete before", job({"suspend": True}, condition("Complete", "True"), **STARTED), HEALTHY, ""),
    ("suspended from the start", job({"suspend": True}), HEALTHY, "is suspended"),
    ("resumed", job({}, condition("Suspended", "False"), **STARTED, active=1, ready=1), HEALTHY, ""),
    ("running", job({}, **STARTED, active=1, ready=1), HEALTHY, ""),
    ("its pod does not start", job({}, **STARTED, active=1, ready=0), PROGRESSING, "0 of 1 pods up"),
    ("tried again", job({}, **STARTED, active=1, ready=0, failed=2), PROGRESSING, "0 of 1 pods up, 2 failed"),
    ("running without a count", job({}, **STARTED, active=1), HEALTHY, ""),
    ("the last of five", job({"parallelism": 3, "completions": 5}, **STARTED, succeeded=4, ready=1), HEALTHY, ""),
    ("two of three", job({"parallelism": 3, "completions": 9}, **STARTED, ready=2), PROGRESSING, "2 of 3 pods up"),
    ("all done, not yet complete", job({}, **STARTED, succeeded=1, ready=0), PROGRESSING, "all its pods have finished"),
    ("new", resource("batch/v1", "CronJob", {"schedule": "0 0 31 2 *"}), HEALTHY, ""),
    ("suspended", resource("batch/v1", "CronJob", {"suspend": True}, {}), HEALTHY, "is suspended"),
    ("not suspended", resource("batch/v1", "CronJob", {"suspend": False}, {"active": [{"name": "it-1"}]}), HEALTHY, ""),
]


def core(kind: str, spec: Object | None = None, status: Object | None = None, **metadata: Any) -> Object:
    return resource("v1", kind, spec, status, **metadata)


BALANCER: Object = {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}
ADDRESS: Object = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}

OTHERS: list[tuple[str, Object, HealthStatus, str]] = [
    # Also with WaitForFirstConsumer, which the claim itself does not show.
    ("claim pending", core("PersistentVolumeClaim", {}, {"phase": "Pending"}), PROGRESSING, "no volume is bound"),
    ("claim new", core("PersistentVolumeClaim", {}), PROGRESSING, "no volume is bound"),
    (
        "claim for a chosen node",
        core("PersistentVolumeClaim", {}, annotations={"volume.kubernetes.io/selected-node": "n1"}),
        PROGRESSING,
        "one is being created for node n1",
    ),
    (
        "claim growing",
        core(
            "PersistentVolumeClaim",
            {},
            {"phase": "Bound", "conditions": [condition("FileSystemResizePending", "True", "", "waiting for a pod")]},
        ),
        HEALTHY,
        "FileSystemResizePending: waiting for a pod",
    ),
    ("claim bound", core("PersistentVolumeClaim", {}, {"phase": "Bound"}), HEALTHY, ""),
    ("claim lost", core("PersistentVolumeClaim", {}, {"phase": "Lost"}), DEGRADED, "its volume is lost"),
    ("service", core("Service", {"type": "ClusterIP"}, {"loadBalancer": {}}), HEALTHY, ""),
    ("headless service", core("Service", {"type": "ClusterIP", "clusterIP": "None"}), HEALTHY, ""),
    ("external name", core("Service", {"type": "ExternalName", "externalName": "ric.example.com"}), HEALTHY, ""),
    ("node port", core("Service", {"type": "NodePort"}, {"loadBalancer": {}}), HEALTHY, ""),
    ("balancer waits", core("Service", BALANCER, {"loadBalancer": {}}), PROGRESSING, "no load balancer"),
    ("balancer has an address", core("Service", BALANCER, ADDRESS), HEALTHY, ""),
    ("balancer by hand", core("Service", {**BALANCER, "externalIPs": ["192.0.2.9"]}, {}), HEALTHY, ""),
    ("namespace", core("Namespace", {}, {"phase": "Active"}), HEALTHY, ""),
    ("namespace going", core("Namespace", {}, {"phase": "Terminating"}), PROGRESSING, "being deleted"),
    ("config map", core("ConfigMap"), HEALTHY, ""),
    ("pod new", core("Pod", {}), PROGRESSING, "waiting to be started"),
    ("ingress", resource("networking.k8s.io/v1", "Ingress", {}, ADDRESS), HEALTHY, ""),
    ("ingress without address", resource("networking.k8s.io/v1", "Ingress", {}, {}), HEALTHY, "no address"),
]


def autoscaler(*conditions: Object, **status: Any) -> Object:
    return resource("autoscaling/v2", "HorizontalPodAutoscaler", {}, {"conditions": list(conditions), **status})


def definition(*conditions: Object, **status: Any) -> Object:
    group = "apiextensions.k8s.io"
    return resource(f"{group}/v1", "CustomResourceDefinition", {}, {"conditions": list(conditions), **status})


def api_service(*conditions: Object) -> Object:
    return resource("apiregistration.k8s.io/v1", "APIService", {}, {"conditions": list(conditions)})


def budget(seen: int | None, *conditions: Object) -> Object:
    status: Object = {"conditions": list(conditions)} | ({} if seen is None else {"observedGeneration": seen})
    return resource("policy/v1", "PodDisruptionBudget", {}, status)


OTHERS += [
    ("autoscaler", autoscaler(condition("AbleToScale", "True"), condition("ScalingActive", "True")), HEALTHY, ""),
    (
        "autoscaler, no target",
        autoscaler(condition("AbleToScale", "False", "FailedGetScale")),
        DEGRADED,
        "FailedGetScale",
    ),
    (
        "autoscaler, no metrics",
        autoscaler(condition("AbleToScale", "True"), condition("ScalingActive", "False", "FailedGetResourceMetric")),
        HEALTHY,
        "does not scale: FailedGetResourceMetric",
    ),
    ("autoscaler at zero", autoscaler(condition("ScalingActive", "False", "ScalingDisabled")), HEALTHY, ""),
    ("autoscaler new", autoscaler(), HEALTHY, ""),
    (
        "autoscaler, older spec",
        autoscaler(condition("AbleToScale", "False", "FailedGetScale"), observedGeneration=1),
        PROGRESSING,
        "not seen the newest spec",
    ),
    ("budget", budget(2, condition("DisruptionAllowed", "False", "InsufficientPods")), HEALTHY, ""),
    ("budget new", budget(None), PROGRESSING, "not computed yet"),
    ("budget older", budget(1), PROGRESSING, "not seen the newest spec"),
    (
        "budget not computed",
        budget(2, condition("DisruptionAllowed", "False", "SyncFailed", "no owner")),
        HEALTHY,
        "no owner",
    ),
    ("definition", definition(condition("NamesAccepted", "True"), condition("Established", "True")), HEALTHY, ""),
    ("definition new", definition(), PROGRESSING, "not established"),
    (
        "definition, older spec",
        definition(condition("Established", "True"), observedGeneration=1),
        PROGRESSING,
        "not seen the newest spec",
    ),
    (
        "definition installing",
        definition(condition("Established", "False", "Installing")),
        PROGRESSING,
        "not established",
    ),
    ("definition refused", definition(condition("Established", "False", "NotAccepted")), DEGRADED, "NotAccepted"),
    ("names taken", definition(condition("NamesAccepted", "False", "ListKindConflict")), DEGRADED, "ListKindConflict"),
    ("api service", api_service(condition("Available", "True")), HEALTHY, ""),
    (
        "api service away",
        api_service(condition("Available", "False", "MissingEndpoints")),
        PROGRESSING,
        "MissingEndpoints",
    ),
    ("api service new", api_service(), PROGRESSING, "not been checked"),
]


def custom(*conditions: Object, seen: int | None = None, **metadata: Any) -> Object:
    status: Object = {"conditions": list(conditions)} | ({} if seen is None else {"observedGeneration": seen})
    return resource("example.com/v1", "Radio", {}, status, **metadata)


CUSTOM: list[tuple[str, Object, HealthStatus, str]] = [
    ("no status", resource("example.com/v1", "Radio", {}), HEALTHY, ""),
    ("no conditions", custom(), HEALTHY, ""),
    ("conditions unknown to us", custom(condition("Synced", "False", "Nope")), HEALTHY, ""),
    ("ready", custom(condition("Ready", "True")), HEALTHY, ""),
    (
        "not ready",
        custom(condition("Ready", "False", "Starting", "two of three")),
        PROGRESSING,
        "Starting: two of three",
    ),
    ("ready not known", custom(condition("Ready", "Unknown")), PROGRESSING, "Ready is Unknown"),
    ("ready not reported", custom(condition("Ready", "")), PROGRESSING, "Ready is Unknown"),
    ("ready, older spec", custom(condition("Ready", "True"), seen=1), PROGRESSING, "not seen the newest spec"),
    ("ready, never observed", custom(condition("Ready", "True"), seen=-1), PROGRESSING, "not seen the newest spec"),
    ("ready, this spec", custom(condition("Ready", "True"), seen=2), HEALTHY, ""),
    ("condition of an older spec", custom(condition("Ready", "True", observedGeneration=1)), PROGRESSING, "older spec"),
    ("condition of this spec", custom(condition("Ready", "True", observedGeneration=2)), HEALTHY, ""),
    ("reconciling", custom(condition("Reconciling", "True", "Busy"), condition("Ready", "True")), PROGRESSING, "Busy"),
    ("reconciled", custom(condition("Reconciling", "False"), condition("Ready", "True")), HEALTHY, ""),
    ("stalled", custom(condition("Stalled", "True", "BadSpec"), condition("Ready", "False")), DEGRADED, "BadSpec"),
    (
        "stalled while busy",
        custom(condition("Reconciling", "True"), condition("Stalled", "True", "No")),
        DEGRADED,
        "No",
    ),
    ("not stalled", custom(condition("Stalled", "False"), condition("Ready", "True")), HEALTHY, ""),
    ("failed", custom(condition("Failed", "True", "Broken")), DEGRADED, "Broken"),
    ("not failed", custom(condition("Failed", "False")), HEALTHY, ""),
    (
        "degraded",
        custom(condition("Available", "True"), condition("Degraded", "True", "HalfGone")),
        DEGRADED,
        "HalfGone",
    ),
    ("in progress", custom(condition("InProgress", "True", "Working")), PROGRESSING, "Working"),
    ("available", custom(condition("Available", "True"), condition("Progressing", "True")), HEALTHY, ""),
    ("not available", custom(condition("Available", "False", "Down")), PROGRESSING, "Down"),
    ("ready beats available", custom(condition("Available", "False"), condition("Ready", "True")), HEALTHY, ""),
    ("progressing alone", custom(condition("Progressing", "True", "Rolling")), PROGRESSING, "Rolling"),
    ("not progressing", custom(condition("Progressing", "False")), HEALTHY, ""),
]

DELETED: Object = {"deletionTimestamp": "2026-01-01T00:00:00Z"}

GOING: list[tuple[str, Object, HealthStatus, str]] = [
    (kind, resource(api_version, kind, {}, {}, **DELETED), PROGRESSING, "is being deleted")
    for api_version, kind in (
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("batch/v1", "Job"),
        ("batch/v1", "CronJob"),
        ("v1", "Pod"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("networking.k8s.io/v1", "Ingress"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("policy/v1", "PodDisruptionBudget"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("example.com/v1", "Radio"),
    )
]

TABLES = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICA_SETS, JOBS, OTHERS, CUSTOM, GOING)
