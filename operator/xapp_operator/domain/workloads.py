"""Verdicts on the kinds that run pods: Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob.

The rules of kstatus, in its order: has the controller seen the spec, has it failed, are there enough replicas, updated,
ready and available, are the old ones gone. What kstatus leaves out is added where a person would miss it: a replica
failure (quota, admission), a paused rollout, a Job whose pods do not come up.
"""

from __future__ import annotations

from typing import Final

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.domain.verdict import HEALTHY, Verdict, condition, degraded, healthy, progressing

UNSEEN: Final = progressing("its controller has not seen the newest spec yet")

_ROLLED_OUT: Final = "NewReplicaSetAvailable"
_AT_ZERO: Final = healthy("is scaled to zero")
_PAUSED: Final = healthy("its rollout is paused")
_SUSPENDED: Final = healthy("is suspended")


def outdated(resource: JsonObject) -> bool:
    """Tell whether the controller of any kind says that it has seen an older spec only; one that is silent has not."""
    status = obj(resource, "status")
    newest = integer(obj(resource, "metadata"), "generation")
    return "observedGeneration" in status and integer(status, "observedGeneration") < newest


def observed(resource: JsonObject) -> bool:
    """Tell whether the controller of a built-in kind has seen the newest spec."""
    seen = integer(obj(resource, "status"), "observedGeneration", default=-1)
    return seen >= integer(obj(resource, "metadata"), "generation")


def deployment(resource: JsonObject) -> Verdict:
    """Judge a Deployment.

    Beyond kstatus: one that was rolled out and has lost all its ready replicas is broken, not on its way.
    """
    if told := _replica_failure(resource) if observed(resource) else UNSEEN:
        return told
    rollout = condition(resource, "Progressing")
    wanted = integer(obj(resource, "spec"), "replicas", default=1)
    short = _short(resource, wanted)
    if rollout and rollout.reason == "ProgressDeadlineExceeded":
        return degraded(f"{short}: {rollout.why}" if short else rollout.why)
    available = condition(resource, "Available")
    if short and rollout and rollout.reason == _ROLLED_OUT and available and available.false and _none_ready(resource):
        return degraded(short)
    if short:
        paused = obj(resource, "spec").get("paused") is True
        return progressing(f"{short}, and the rollout is paused" if paused else short)
    if available and not available.true:
        return progressing(available.why)
    return _well(resource, wanted)


def _well(resource: JsonObject, wanted: int) -> Verdict:
    if obj(resource, "spec").get("paused") is True:
        return _PAUSED
    return HEALTHY if wanted else _AT_ZERO


def _none_ready(resource: JsonObject) -> bool:
    return not integer(obj(resource, "status"), "readyReplicas")


def _short(resource: JsonObject, wanted: int) -> str | None:
    """Return what a Deployment still lacks."""
    status = obj(resource, "status")
    there, updated = integer(status, "replicas"), integer(status, "updatedReplicas")
    if updated < wanted:
        return f"{updated} of {wanted} replicas updated"
    if there > updated:
        return f"{there - updated} old replicas are still there"
    if there > wanted:
        return f"{there - wanted} surplus replicas are still there"
    return _unready(status, wanted)


def _unready(status: JsonObject, wanted: int) -> str | None:
    for key, word in (("readyReplicas", "ready"), ("availableReplicas", "available")):
        if integer(status, key) < wanted:
            return f"{integer(status, key)} of {wanted} replicas {word}"
    return None


def replica_set(resource: JsonObject) -> Verdict:
    """Judge a ReplicaSet or a ReplicationController."""
    if not observed(resource):
        return UNSEEN
    if failure := _replica_failure(resource):
        return failure
    status = obj(resource, "status")
    wanted = integer(obj(resource, "spec"), "replicas", default=1)
    there = integer(status, "replicas")
    if there > wanted:
        return progressing(f"{there - wanted} surplus replicas are still there")
    if there < wanted:
        return progressing(f"{there} of {wanted} replicas created")
    unready = _unready(status, wanted)
    return progressing(unready) if unready else HEALTHY


def _replica_failure(resource: JsonObject) -> Verdict | None:
    failure = condition(resource, "ReplicaFailure")
    return degraded(failure.why) if failure and failure.true else None


def stateful_set(resource: JsonObject) -> Verdict:
    """Judge a StatefulSet; with OnDelete or a partition, pods of the old revision may stay."""
    if not observed(resource):
        return UNSEEN
    spec, status = obj(resource, "spec"), obj(resource, "status")
    wanted = integer(spec, "replicas", default=1)
    there = integer(status, "replicas")
    if there < wanted:
        return progressing(f"{there} of {wanted} replicas created")
    if integer(status, "readyReplicas") < wanted:
        return progressing(f"{integer(status, 'readyReplicas')} of {wanted} replicas ready")
    if integer(spec, "minReadySeconds") and integer(status, "availableReplicas") < wanted:
        return progressing(f"{integer(status, 'availableReplicas')} of {wanted} replicas available")
    if there > wanted:
        return progressing(f"{there - wanted} surplus replicas are still there")
    return _revision(resource, wanted) if wanted else _AT_ZERO


def _revision(resource: JsonObject, wanted: int) -> Verdict:
    status, strategy = obj(resource, "status"), obj(obj(resource, "spec"), "updateStrategy")
    settled = text(status, "updateRevision") == text(status, "currentRevision")
    if settled or text(strategy, "type") == "OnDelete":
        return HEALTHY
    partition = integer(obj(strategy, "rollingUpdate"), "partition")
    to_update, updated = max(wanted - partition, 0), integer(status, "updatedReplicas")
    if updated < to_update or not partition:
        return progressing(f"{updated} of {to_update} replicas updated")
    return HEALTHY


def daemon_set(resource: JsonObject) -> Verdict:
    """Judge a DaemonSet: a pod of the newest revision, available, on every node it selects."""
    status = obj(resource, "status")
    if not observed(resource) or "desiredNumberScheduled" not in status:
        return UNSEEN
    wanted = integer(status, "desiredNumberScheduled")
    on_delete = text(obj(obj(resource, "spec"), "updateStrategy"), "type") == "OnDelete"
    counts = [("currentNumberScheduled", "scheduled"), ("updatedNumberScheduled", "updated")]
    counts += [("numberReady", "ready"), ("numberAvailable", "available")]
    for key, word in counts:
        if integer(status, key) < wanted and not (on_delete and word == "updated"):
            return progressing(f"{integer(status, key)} of {wanted} pods {word}")
    return HEALTHY if wanted else healthy("no node is to run it")


def job(resource: JsonObject) -> Verdict:
    """Judge a Job: complete or suspended is well, failed is not; a running one is well while its pods are up.

    kstatus calls every started Job current; one whose pods cannot start would pass for healthy.
    """
    for kind in ("Failed", "FailureTarget"):
        if (failed := condition(resource, kind)) and failed.true:
            return degraded(failed.why)
    for kind in ("Complete", "SuccessCriteriaMet"):
        if (ended := condition(resource, kind)) and ended.true:
            return HEALTHY
    spec, status = obj(resource, "spec"), obj(resource, "status")
    suspended = condition(resource, "Suspended")
    if spec.get("suspend") is True or (suspended and suspended.true):
        return _SUSPENDED
    return _running_job(spec, status) if text(status, "startTime") else progressing("is not started yet")


def _running_job(spec: JsonObject, status: JsonObject) -> Verdict:
    parallelism = integer(spec, "parallelism", default=1)
    open_completions = integer(spec, "completions", default=parallelism) - integer(status, "succeeded")
    wanted = max(min(parallelism, open_completions), 0)
    if not wanted:
        return progressing("all its pods have ended, it is not yet marked complete")
    up = integer(status, "ready", default=integer(status, "active"))
    if up >= wanted:
        return HEALTHY
    tries = integer(status, "failed")
    return progressing(f"{up} of {wanted} pods up" + (f", {tries} failed" if tries else ""))


def cron_job(resource: JsonObject) -> Verdict:
    """Judge a CronJob: always well, what it starts are Jobs."""
    return _SUSPENDED if obj(resource, "spec").get("suspend") is True else HEALTHY
