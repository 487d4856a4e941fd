"""Why a pod is not healthy: the container at fault, its reason, and the event that tells more.

The rules of kstatus for pods, and the waiting reasons of the kubelet (k8s.io/kubernetes/pkg/kubelet/container and
images). Messages of terminated containers are never repeated: with terminationMessagePolicy FallbackToLogsOnError they
are the application's own output. Pure, like all of `domain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.containers import CRASH_LOOP, CREATING, INIT, Container, containers_of
from xapp_operator.domain.events import last_seen
from xapp_operator.domain.verdict import HEALTHY, Verdict, condition, degraded, progressing, shorten

_DETAIL_MAX: Final = 300

_BROKEN_IMAGE: Final = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
    | {"RegistryUnavailable", "SignatureValidationFailed"}
)
_BROKEN_START: Final = frozenset(
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


@dataclass(frozen=True, slots=True)
class _Problem:
    """What ails a pod: a verdict, and the reasons of events that would say more, the best first."""

    verdict: Verdict
    events: tuple[str, ...] = ()


def verdict_on(pod: JsonObject) -> Verdict:
    """Judge a Pod."""
    problem = _problem_of(pod)
    return problem.verdict if problem else HEALTHY


def pod_reason(pod: JsonObject, events: Iterable[JsonObject]) -> str | None:
    """Return why a pod is not healthy, or None when it is.

    For example `pod x-abc: container main: CrashLoopBackOff (exit code 1, restarted 4 times): Back-off restarting
    failed container`. Of `events` (core/v1), those about this pod are used.
    """
    problem = _problem_of(pod)
    if problem is None:
        return None
    metadata = obj(pod, "metadata")
    detail = _event_message(events, metadata, problem.events)
    told = problem.verdict.message
    if detail and detail not in told:
        told = f"{told}: {detail}"
    return f"pod {text(metadata, 'name')}: {shorten(told)}"


def root_cause(pods: Iterable[JsonObject], events: Iterable[JsonObject]) -> Verdict | None:
    """Return why these pods, of one workload, are not healthy: the verdict on the worst; None when none ails.

    Where there is no such pod, an event of the workload itself that says why it can create none.
    """
    known = tuple(events)
    ailing = [(problem, pod) for pod in pods if not _leaving(pod) and (problem := _problem_of(pod))]
    if not ailing:
        failure = _creation_failure(known)
        return progressing(failure) if failure else None
    problem, worst = min(ailing, key=lambda each: _rank(*each))
    return Verdict(problem.verdict.status, pod_reason(worst, known) or "")


def _rank(problem: _Problem, pod: JsonObject) -> tuple[bool, int, str]:
    restarts = sum(integer(status, "restartCount") for status in items(obj(pod, "status"), "containerStatuses"))
    return problem.verdict.status is not HealthStatus.DEGRADED, -restarts, text(obj(pod, "metadata"), "name")


def _leaving(pod: JsonObject) -> bool:
    return bool(text(obj(pod, "metadata"), "deletionTimestamp"))


def _problem_of(pod: JsonObject) -> _Problem | None:
    phase = text(obj(pod, "status"), "phase")
    if _leaving(pod):
        return _Problem(progressing("is being deleted"))
    containers = list(_container_problems(pod))
    if phase in {"Succeeded", "Failed", "Unknown"}:
        return _ended(pod, containers)
    if problem := next((each for each in containers if each.verdict.status is HealthStatus.DEGRADED), None):
        return problem
    ready = condition(pod, "Ready")
    if phase == "Running" and ready and ready.true:
        return None
    return _unscheduled(pod) or (containers[0] if containers else None) or _not_ready(pod)


def _ended(pod: JsonObject, containers: list[_Problem]) -> _Problem | None:
    status = obj(pod, "status")
    phase = text(status, "phase")
    if phase == "Succeeded":
        return None
    if phase == "Unknown":
        return _Problem(Verdict(HealthStatus.UNKNOWN, _joined("its node does not answer", text(status, "message"))))
    told = containers[0].verdict.message if containers else text(status, "message")
    return _Problem(degraded(_joined(text(status, "reason") or "failed", told)))


def _unscheduled(pod: JsonObject) -> _Problem | None:
    scheduled = condition(pod, "PodScheduled")
    if scheduled is None or not scheduled.false:
        return None
    verdict = degraded if scheduled.reason == "Unschedulable" else progressing
    return _Problem(verdict(scheduled.why), _SCHEDULE_EVENTS)


def _not_ready(pod: JsonObject) -> _Problem:
    ready = condition(pod, "Ready")
    if ready and ready.false and ready.reason == "ReadinessGatesNotReady":
        return _Problem(progressing(ready.why))
    if text(obj(pod, "status"), "phase") == "Running":
        return _Problem(progressing("is running but not ready"), _READINESS_EVENTS)
    return _Problem(progressing("is waiting to be started"), _CREATE_EVENTS)


def _container_problems(pod: JsonObject) -> Iterator[_Problem]:
    for container in containers_of(pod):
        if container.told and (problem := _container_problem(container)):
            yield problem


def _container_problem(container: Container) -> _Problem | None:
    subject = f"{container.word} {container.name}"
    history = f" ({container.history})" if container.history else ""
    if container.crash_loops:
        return _Problem(degraded(f"{subject}: {CRASH_LOOP}{history}"), _CRASH_EVENTS)
    if container.state == "waiting":
        return _waiting_problem(container, subject=subject)
    if container.state == "terminated":
        return _end_problem(container, f"{subject}: ended{history}")
    if container.ready:
        return None
    if not container.runs_on and container.word == INIT:
        return _Problem(progressing(f"{subject}: has not ended yet{history}"))
    return _Problem(progressing(f"{subject}: not ready{history}"), _READINESS_EVENTS)


def _end_problem(container: Container, told: str) -> _Problem | None:
    if container.exit_code:
        return _Problem(degraded(told), _CRASH_EVENTS)
    return _Problem(progressing(told)) if container.runs_on else None


def _waiting_problem(container: Container, *, subject: str) -> _Problem:
    reason, message = container.reason, container.message
    if reason in _BROKEN_IMAGE or reason in _BROKEN_START:
        told = _joined(f"{subject}: {reason}", message)
        return _Problem(degraded(told), () if message else _IMAGE_EVENTS if reason in _BROKEN_IMAGE else _START_EVENTS)
    if reason in CREATING:
        return _Problem(progressing(f"{subject}: {reason or 'waiting'}"), _CREATE_EVENTS)
    return _Problem(progressing(_joined(f"{subject}: {reason}", message)), _CREATE_EVENTS)


def _joined(first: str, second: str) -> str:
    return f"{first}: {shorten(second, _DETAIL_MAX)}" if second else first


def _event_message(events: Iterable[JsonObject], metadata: JsonObject, reasons: tuple[str, ...]) -> str:
    """Return the last message about this pod under the first of `reasons` that has any."""
    ours = [event for event in events if _is_about(event, metadata) and text(event, "type") == "Warning"]
    for reason in reasons:
        if told := [event for event in ours if text(event, "reason") == reason]:
            return shorten(text(max(told, key=last_seen), "message"), _DETAIL_MAX)
    return ""


def _is_about(event: JsonObject, metadata: JsonObject) -> bool:
    about = obj(event, "involvedObject")
    if text(about, "uid") and text(metadata, "uid"):
        return text(about, "uid") == text(metadata, "uid")
    return text(about, "kind") == "Pod" and text(about, "name") == text(metadata, "name")


def _creation_failure(events: Iterable[JsonObject]) -> str | None:
    failures = [event for event in events if text(event, "reason") in _CREATION_FAILURES]
    if not failures:
        return None
    last = max(failures, key=last_seen)
    about = obj(last, "involvedObject")
    told = shorten(text(last, "message"), _DETAIL_MAX)
    return f"{text(about, 'kind')} {text(about, 'name')}: {text(last, 'reason')}: {told}"
