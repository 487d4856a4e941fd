"""The health of a pod, and its root cause: the container at fault, its reason, and the event that explains it. Pure.

The rules are those of kstatus for pods, and the waiting reasons are the kubelet's (k8s.io/kubernetes/pkg/kubelet,
packages container and images). Messages of terminated containers are never repeated: with terminationMessagePolicy
FallbackToLogsOnError they are the application's own output.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.models import HealthStatus
from xapp_operator.common.text import shorten_line
from xapp_operator.domain.health.containers import (
    CRASH_LOOP,
    CREATING_REASONS,
    INIT_CONTAINER,
    Container,
    containers_of,
)
from xapp_operator.domain.health.health_result import (
    EVENT_MESSAGE_MAX,
    HEALTHY,
    RESOURCE_MESSAGE_MAX,
    HealthResult,
    degraded,
    find_condition,
    progressing,
)
from xapp_operator.domain.health.revisions import pod_name, replaced_pods

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)

_IMAGE_FAILURES: Final = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
    | {"RegistryUnavailable", "SignatureValidationFailed"}
)
_START_FAILURES: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError"}
    | {"PreStartHookError", "PostStartHookError"}
)

_CRASH_EVENTS: Final = ("Unhealthy", "FailedPostStartHook", "BackOff")
_IMAGE_EVENTS: Final = ("Failed", "BackOff")
_START_EVENTS: Final = ("Failed",)
_CREATE_EVENTS: Final = (
    *("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "NetworkNotReady"),
    *("FailedCreatePodContainer", "FailedBinding"),
)
_READINESS_EVENTS: Final = ("Unhealthy", "ProbeWarning")
_SCHEDULE_EVENTS: Final = ("FailedScheduling",)
_CREATION_FAILURES: Final = frozenset({"FailedCreate", "ReplicaSetCreateError", "FailedUpdate"})
_CREATED: Final = "SuccessfulCreate"


@dataclass(frozen=True, slots=True)
class _PodProblem:
    """Why a pod is not healthy, and the reasons of events that explain it, the best first."""

    result: HealthResult
    events: tuple[str, ...] = ()


def assess_pod(pod: JsonObject) -> HealthResult:
    problem = _find_problem(pod)
    return problem.result if problem else HEALTHY


def pod_root_cause(pod: JsonObject, events: Iterable[JsonObject]) -> str | None:
    """Return why a pod is not healthy, or None when it is.

    For example `pod x-abc: container main: CrashLoopBackOff (exit code 1, restarted 4 times): Back-off restarting
    failed container`. Only those of `events` (core/v1) that are about this pod count.
    """
    problem = _find_problem(pod)
    if problem is None:
        return None
    metadata = obj(pod, "metadata")
    detail = _event_message(events, metadata, problem.events)
    description = problem.result.message
    if detail and detail not in description:
        description = f"{description}: {detail}"
    return f"pod {text(metadata, 'name')}: {shorten_line(description, RESOURCE_MESSAGE_MAX)}"


def workload_root_cause(
    pods: Iterable[JsonObject], events: Iterable[JsonObject], newest_revisions: Collection[str] = ()
) -> HealthResult | None:
    """Return why the pods of workloads are not healthy: the health of the worst one; None if all are healthy.

    During a rollout a pod of the newest revision comes before those that it replaces: their faults are about to go.
    Without an unhealthy pod, the cause is an event of the workload that says why it cannot create pods.

    Args:
        pods: those of one workload or of several.
        events: those (core/v1) of the workloads and of their pods.
        newest_revisions: what `domain.health.revisions.newest_revision` says of the workloads.
    """
    known_events = tuple(events)
    known_pods = [pod for pod in pods if not _is_terminating(pod)]
    replaced = replaced_pods(known_pods, newest_revisions)
    unhealthy = [(problem, pod) for pod in known_pods if (problem := _find_problem(pod))]
    if not unhealthy:
        failure = _creation_failure(known_events)
        return progressing(failure) if failure else None
    current = [each for each in unhealthy if pod_name(each[1]) not in replaced]
    problem, worst = min(current or unhealthy, key=lambda each: _severity(*each))
    return HealthResult(problem.result.status, pod_root_cause(worst, known_events) or "")


def _severity(problem: _PodProblem, pod: JsonObject) -> tuple[bool, int, str]:
    restarts = sum(integer(status, "restartCount") for status in items(obj(pod, "status"), "containerStatuses"))
    return problem.result.status is not HealthStatus.DEGRADED, -restarts, pod_name(pod)


def _is_terminating(pod: JsonObject) -> bool:
    return bool(text(obj(pod, "metadata"), "deletionTimestamp"))


def _find_problem(pod: JsonObject) -> _PodProblem | None:
    phase = text(obj(pod, "status"), "phase")
    if _is_terminating(pod):
        return _PodProblem(progressing("is being deleted"))
    containers = list(_container_problems(pod))
    if phase in {"Succeeded", "Failed", "Unknown"}:
        return _finished_pod_problem(pod, containers)
    if problem := next((each for each in containers if each.result.status is HealthStatus.DEGRADED), None):
        return problem
    ready = find_condition(pod, "Ready")
    if phase == "Running" and ready and ready.is_true:
        return None
    return _scheduling_problem(pod) or (containers[0] if containers else None) or _readiness_problem(pod)


def _finished_pod_problem(pod: JsonObject, containers: list[_PodProblem]) -> _PodProblem | None:
    status = obj(pod, "status")
    phase = text(status, "phase")
    if phase == "Succeeded":
        return None
    if phase == "Unknown":
        return _PodProblem(
            HealthResult(HealthStatus.UNKNOWN, _with_detail("its node does not answer", text(status, "message")))
        )
    message = containers[0].result.message if containers else text(status, "message")
    return _PodProblem(degraded(_with_detail(text(status, "reason") or "failed", message)))


def _scheduling_problem(pod: JsonObject) -> _PodProblem | None:
    scheduled = find_condition(pod, "PodScheduled")
    if scheduled is None or not scheduled.is_false:
        return None
    make_result = degraded if scheduled.reason == "Unschedulable" else progressing
    return _PodProblem(make_result(scheduled.explanation), _SCHEDULE_EVENTS)


def _readiness_problem(pod: JsonObject) -> _PodProblem:
    ready = find_condition(pod, "Ready")
    if ready and ready.is_false and ready.reason == "ReadinessGatesNotReady":
        return _PodProblem(progressing(ready.explanation))
    if text(obj(pod, "status"), "phase") == "Running":
        return _PodProblem(progressing("is running but not ready"), _READINESS_EVENTS)
    return _PodProblem(progressing("is waiting to be started"), _CREATE_EVENTS)


def _container_problems(pod: JsonObject) -> Iterator[_PodProblem]:
    for container in containers_of(pod):
        if container.has_status and (problem := _container_problem(container)):
            yield problem


def _container_problem(container: Container) -> _PodProblem | None:
    subject = f"{container.role} {container.name}"
    history = f" ({container.termination_summary})" if container.termination_summary else ""
    if container.crash_loops:
        return _PodProblem(degraded(f"{subject}: {CRASH_LOOP}{history}"), _CRASH_EVENTS)
    if container.state == "waiting":
        return _waiting_problem(container, subject=subject)
    if container.state == "terminated":
        return _termination_problem(container, f"{subject}: ended{history}")
    if container.ready:
        return None
    if not container.long_running and container.role == INIT_CONTAINER:
        return _PodProblem(progressing(f"{subject}: has not ended yet{history}"))
    return _PodProblem(progressing(f"{subject}: not ready{history}"), _READINESS_EVENTS)


def _termination_problem(container: Container, message: str) -> _PodProblem | None:
    if container.exit_code:
        return _PodProblem(degraded(message), _CRASH_EVENTS)
    return _PodProblem(progressing(message)) if container.long_running else None


def _waiting_problem(container: Container, *, subject: str) -> _PodProblem:
    reason, message = container.reason, container.message
    if reason in _IMAGE_FAILURES or reason in _START_FAILURES:
        description = _with_detail(f"{subject}: {reason}", message)
        return _PodProblem(
            degraded(description), () if message else _IMAGE_EVENTS if reason in _IMAGE_FAILURES else _START_EVENTS
        )
    if reason in CREATING_REASONS:
        return _PodProblem(progressing(f"{subject}: {reason or 'waiting'}"), _CREATE_EVENTS)
    return _PodProblem(progressing(_with_detail(f"{subject}: {reason}", message)), _CREATE_EVENTS)


def _with_detail(first: str, second: str) -> str:
    return f"{first}: {shorten_line(second, EVENT_MESSAGE_MAX)}" if second else first


def last_seen(event: JsonObject) -> str:
    """Return when an Event (core/v1 or events.k8s.io) last happened: RFC 3339 text in UTC, empty if unknown."""
    series = text(obj(event, "series"), "lastObservedTime")
    times = (series, text(event, "lastTimestamp"), text(event, "eventTime"), text(event, "firstTimestamp"))
    return next((each for each in times if each), text(obj(event, "metadata"), "creationTimestamp"))


def last_seen_at(event: JsonObject) -> datetime:
    """Return the same as a time, to find the newest Event; the earliest time there is if it is unknown.

    Text does not compare like times: some reporters write a fraction of the second, and `.` comes before `Z`.
    """
    try:
        at = datetime.fromisoformat(last_seen(event))
    except ValueError:
        # Unknown, or the year 0, which the API server takes.
        return _EARLIEST
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _event_message(events: Iterable[JsonObject], metadata: JsonObject, reasons: tuple[str, ...]) -> str:
    """Return the last message about this pod under the first of `reasons` that has any."""
    pod_warnings = [event for event in events if _is_about_pod(event, metadata) and text(event, "type") == "Warning"]
    for reason in reasons:
        if matching := [event for event in pod_warnings if text(event, "reason") == reason]:
            return shorten_line(text(max(matching, key=last_seen_at), "message"), EVENT_MESSAGE_MAX)
    return ""


def _is_about_pod(event: JsonObject, metadata: JsonObject) -> bool:
    involved = obj(event, "involvedObject")
    if text(involved, "uid") and text(metadata, "uid"):
        return text(involved, "uid") == text(metadata, "uid")
    return text(involved, "kind") == "Pod" and text(involved, "name") == text(metadata, "name")


def _creation_failure(events: Iterable[JsonObject]) -> str | None:
    """Return the last failure to create a pod, without those of a workload that has created one since."""
    created_at: dict[tuple[str, str], datetime] = {}
    failures: list[tuple[datetime, JsonObject]] = []
    for event in events:
        at, reason = last_seen_at(event), text(event, "reason")
        if reason == _CREATED:
            workload = _involved(event)
            created_at[workload] = max(at, created_at.get(workload, at))
        elif reason in _CREATION_FAILURES:
            failures.append((at, event))
    current = [(at, event) for at, event in failures if at >= created_at.get(_involved(event), at)]
    if not current:
        return None
    _, last = max(current, key=lambda each: each[0])
    message = shorten_line(text(last, "message"), EVENT_MESSAGE_MAX)
    return f"{' '.join(_involved(last))}: {text(last, 'reason')}: {message}"


def _involved(event: JsonObject) -> tuple[str, str]:
    involved = obj(event, "involvedObject")
    return text(involved, "kind"), text(involved, "name")
