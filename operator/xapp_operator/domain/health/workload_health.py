"""The health of the kinds that run pods: Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob. Pure.

The rules and their order come from kstatus: whether the controller has seen the spec, whether it has failed, whether
enough replicas are updated, ready and available, and whether the old ones are gone. Three things are added: replica
failures (quota, admission), paused rollouts, and Jobs whose pods do not start.
"""

from __future__ import annotations

from typing import Final

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.domain.health.health_result import (
    HEALTHY,
    HealthResult,
    degraded,
    find_condition,
    healthy,
    progressing,
    true_condition,
)

SPEC_NOT_OBSERVED: Final = progressing("its controller has not seen the newest spec yet")

_ROLLED_OUT: Final = "NewReplicaSetAvailable"
_READY: Final = ("readyReplicas", "ready")
_AVAILABLE: Final = ("availableReplicas", "available")
_SCALED_TO_ZERO: Final = healthy("is scaled to zero")
_PAUSED: Final = healthy("its rollout is paused")
_SUSPENDED: Final = healthy("is suspended")


def observed_older_spec(resource: JsonObject) -> bool:
    """Return whether the controller, of any kind, reports that it has only seen an older spec."""
    status = obj(resource, "status")
    newest = integer(obj(resource, "metadata"), "generation")
    return "observedGeneration" in status and integer(status, "observedGeneration") < newest


def observed_newest_spec(resource: JsonObject) -> bool:
    """Return whether the controller of a built-in kind has seen the newest spec."""
    seen = integer(obj(resource, "status"), "observedGeneration", default=-1)
    return seen >= integer(obj(resource, "metadata"), "generation")


def assess_deployment(resource: JsonObject) -> HealthResult:
    """Assess a Deployment.

    Unlike in kstatus, a Deployment that was rolled out and has lost all its ready replicas is degraded.
    """
    if early_result := _replica_failure(resource) if observed_newest_spec(resource) else SPEC_NOT_OBSERVED:
        return early_result
    rollout = find_condition(resource, "Progressing")
    wanted = integer(obj(resource, "spec"), "replicas", default=1)
    available = find_condition(resource, "Available")
    paused = obj(resource, "spec").get("paused") is True
    shortfall = _rollout_shortfall(resource, wanted)
    if rollout and rollout.reason == "ProgressDeadlineExceeded":
        return degraded(f"{shortfall}: {rollout.explanation}" if shortfall else rollout.explanation)
    if shortfall:
        was_rolled_out = rollout is not None and rollout.reason == _ROLLED_OUT
        none_ready = not integer(obj(resource, "status"), "readyReplicas")
        if was_rolled_out and available and available.is_false and none_ready:
            return degraded(shortfall)
        return progressing(f"{shortfall}, and the rollout is paused" if paused else shortfall)
    if available and not available.is_true:
        return progressing(available.explanation)
    return _PAUSED if paused else HEALTHY if wanted else _SCALED_TO_ZERO


def _rollout_shortfall(resource: JsonObject, wanted: int) -> str | None:
    status = obj(resource, "status")
    total, updated = integer(status, "replicas"), integer(status, "updatedReplicas")
    if updated < wanted:
        return f"{updated} of {wanted} replicas updated"
    if total > updated:
        return f"{total - updated} old replicas are still there"
    if total > wanted:
        return f"{total - wanted} surplus replicas are still there"
    return _first_shortfall(status, wanted, "replicas", _READY, _AVAILABLE)


def _first_shortfall(status: JsonObject, wanted: int, noun: str, *counts: tuple[str, str]) -> str | None:
    """Return the first of `counts` (field of the status, adjective) that is less than `wanted`."""
    short = ((integer(status, key), word) for key, word in counts if integer(status, key) < wanted)
    return next((f"{count} of {wanted} {noun} {word}" for count, word in short), None)


def assess_replica_set(resource: JsonObject) -> HealthResult:
    """Assess a ReplicaSet or a ReplicationController."""
    if not observed_newest_spec(resource):
        return SPEC_NOT_OBSERVED
    if failure := _replica_failure(resource):
        return failure
    status = obj(resource, "status")
    wanted = integer(obj(resource, "spec"), "replicas", default=1)
    total = integer(status, "replicas")
    if total > wanted:
        return progressing(f"{total - wanted} surplus replicas are still there")
    shortfall = _first_shortfall(status, wanted, "replicas", ("replicas", "created"), _READY, _AVAILABLE)
    return progressing(shortfall) if shortfall else HEALTHY


def _replica_failure(resource: JsonObject) -> HealthResult | None:
    failure = true_condition(resource, "ReplicaFailure")
    return degraded(failure.explanation) if failure else None


def assess_stateful_set(resource: JsonObject) -> HealthResult:
    """Assess a StatefulSet; with OnDelete or a partition, pods of the old revision may stay."""
    if not observed_newest_spec(resource):
        return SPEC_NOT_OBSERVED
    spec, status = obj(resource, "spec"), obj(resource, "status")
    wanted = integer(spec, "replicas", default=1)
    counts = [("replicas", "created"), _READY] + ([_AVAILABLE] if integer(spec, "minReadySeconds") else [])
    if shortfall := _first_shortfall(status, wanted, "replicas", *counts):
        return progressing(shortfall)
    total = integer(status, "replicas")
    if total > wanted:
        return progressing(f"{total - wanted} surplus replicas are still there")
    return _assess_update_revision(resource, wanted) if wanted else _SCALED_TO_ZERO


def _assess_update_revision(resource: JsonObject, wanted: int) -> HealthResult:
    status, strategy = obj(resource, "status"), obj(obj(resource, "spec"), "updateStrategy")
    settled = text(status, "updateRevision") == text(status, "currentRevision")
    if settled or text(strategy, "type") == "OnDelete":
        return HEALTHY
    partition = integer(obj(strategy, "rollingUpdate"), "partition")
    to_update, updated = max(wanted - partition, 0), integer(status, "updatedReplicas")
    if updated < to_update or not partition:
        return progressing(f"{updated} of {to_update} replicas updated")
    return HEALTHY


def assess_daemon_set(resource: JsonObject) -> HealthResult:
    """Assess a DaemonSet: every node that it selects needs an available pod of the newest revision."""
    status = obj(resource, "status")
    if not observed_newest_spec(resource) or "desiredNumberScheduled" not in status:
        return SPEC_NOT_OBSERVED
    wanted = integer(status, "desiredNumberScheduled")
    on_delete = text(obj(obj(resource, "spec"), "updateStrategy"), "type") == "OnDelete"
    updated = [] if on_delete else [("updatedNumberScheduled", "updated")]
    counts = [("currentNumberScheduled", "scheduled"), *updated, ("numberReady", "ready")]
    if shortfall := _first_shortfall(status, wanted, "pods", *counts, ("numberAvailable", "available")):
        return progressing(shortfall)
    return HEALTHY if wanted else healthy("no node matches it")


def assess_job(resource: JsonObject) -> HealthResult:
    """Assess a Job: a running Job is healthy while its pods are up.

    In kstatus every started Job is Current, even if its pods cannot start.
    """
    if failed := true_condition(resource, "Failed", "FailureTarget"):
        return degraded(failed.explanation)
    if true_condition(resource, "Complete", "SuccessCriteriaMet"):
        return HEALTHY
    spec, status = obj(resource, "spec"), obj(resource, "status")
    if spec.get("suspend") is True or true_condition(resource, "Suspended"):
        return _SUSPENDED
    return _assess_running_job(spec, status) if text(status, "startTime") else progressing("has not started yet")


def _assess_running_job(spec: JsonObject, status: JsonObject) -> HealthResult:
    parallelism = integer(spec, "parallelism", default=1)
    open_completions = integer(spec, "completions", default=parallelism) - integer(status, "succeeded")
    wanted = max(min(parallelism, open_completions), 0)
    if not wanted:
        return progressing("all its pods have finished, but it is not marked complete yet")
    up = integer(status, "ready", default=integer(status, "active"))
    if up >= wanted:
        return HEALTHY
    tries = integer(status, "failed")
    return progressing(f"{up} of {wanted} pods up" + (f", {tries} failed" if tries else ""))


def assess_cron_job(resource: JsonObject) -> HealthResult:
    """Assess a CronJob, which is always healthy: the Jobs that it starts count themselves."""
    return _SUSPENDED if obj(resource, "spec").get("suspend") is True else HEALTHY
