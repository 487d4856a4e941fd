"""Why a pod is not healthy, in real states from kubelet, scheduler and kwok."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.health.pod_health import pod_root_cause, workload_root_cause
from xapp_operator.domain.health.resource_health import assess

Object: TypeAlias = dict[str, Any]

HEALTHY, PROGRESSING, DEGRADED, UNKNOWN = (
    HealthStatus.HEALTHY,
    HealthStatus.PROGRESSING,
    HealthStatus.DEGRADED,
    HealthStatus.UNKNOWN,
)


def waiting(
    reason: str, message: str = "", *, name: str = "main", restarts: int = 0, last: Object | None = None
) -> Object:
    state = {"waiting": {"reason": reason} | ({"message": message} if message else {})}
    return {"name": name, "ready": False, "restartCount": restarts, "state": state, "lastState": last or {}}


def ended(code: int, reason: str = "Error", *, name: str = "main", restarts: int = 0, message: str = "") -> Object:
    state = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
    return {"name": name, "ready": False, "restartCount": restarts, "state": state}


def running(*, ready: bool, name: str = "main", restarts: int = 0, last: Object | None = None) -> Object:
    return {
        "name": name,
        "ready": ready,
        "restartCount": restarts,
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        "lastState": last or {},
    }


def last(code: int, reason: str = "Error", message: str = "") -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def pod(
    phase: str,
    *containers: Object,
    ready: bool | None = None,
    init: tuple[Object, ...] = (),
    spec: Object | None = None,
    conditions: tuple[Object, ...] = (),
    name: str = "x-abc",
    status: Object | None = None,
    **metadata: Any,
) -> Object:
    of_ready = () if ready is None else ({"type": "Ready", "status": "True" if ready else "False"},)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", **metadata},
        "spec": spec or {},
        "status": {
            "phase": phase,
            "conditions": [*of_ready, *conditions],
            "containerStatuses": list(containers),
            "initContainerStatuses": list(init),
            **(status or {}),
        },
    }


def event(reason: str, message: str, *, at: str = "10:00:00", about: str = "x-abc", **more: Any) -> Object:
    return {
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": f"2026-01-01T{at}Z",
        "involvedObject": {"kind": "Pod", "name": about, "uid": f"uid-{about}"},
        **more,
    }


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient cpu.",
}
GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "waiting for gates"}
GATES_NOT_READY = {
    "type": "Ready",
    "status": "False",
    "reason": "ReadinessGatesNotReady",
    "message": 'the status of pod readiness gate "lb" is not "True"',
}
NEVER: Object = {"restartPolicy": "Never"}
SIDECAR: Object = {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]}
PULL_MESSAGE = 'Back-off pulling image "nope:1": ErrImagePull: not found'

STATES: list[tuple[str, Object, HealthStatus, str]] = [
    ("new", pod(""), PROGRESSING, "is waiting to be started"),
    ("pending", pod("Pending"), PROGRESSING, "is waiting to be started"),
    ("unschedulable", pod("Pending", conditions=(UNSCHEDULABLE,)), DEGRADED, "Unschedulable: 0/3 nodes are available"),
    ("gated", pod("Pending", conditions=(GATED,)), PROGRESSING, "SchedulingGated: waiting for gates"),
    ("creating", pod("Pending", waiting("ContainerCreating")), PROGRESSING, "container main: ContainerCreating"),
    ("waiting for a reason", pod("Pending", waiting("")), PROGRESSING, "container main: waiting"),
    ("waiting oddly", pod("Pending", waiting("Paused", "why")), PROGRESSING, "container main: Paused: why"),
    ("ready", pod("Running", running(ready=True), ready=True), HEALTHY, ""),
    ("ready after restarts", pod("Running", running(ready=True, restarts=3, last=last(1)), ready=True), HEALTHY, ""),
    ("not ready", pod("Running", running(ready=False), ready=False), PROGRESSING, "container main: not ready"),
    (
        "not ready since it was killed",
        pod("Running", running(ready=False, restarts=1, last=last(137, "OOMKilled")), ready=False),
        PROGRESSING,
        "container main: not ready (OOMKilled, exit code 137, restarted once)",
    ),
    (
        "one of two not ready",
        pod("Running", running(ready=True, name="a"), running(ready=False, name="b"), ready=False),
        PROGRESSING,
        "container b: not ready",
    ),
    (
        "gates not ready",
        pod("Running", running(ready=True), conditions=(GATES_NOT_READY,)),
        PROGRESSING,
        "readiness gate",
    ),
    (
        "running, and its containers are not ready",
        pod(
            "Running",
            conditions=(
                {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "no containers"},
            ),
        ),
        PROGRESSING,
        "is running but not ready",
    ),
    ("running without a reason", pod("Running"), PROGRESSING, "is running but not ready"),
    (
        "crashing",
        pod("Running", waiting("CrashLoopBackOff", "back-off 40s", restarts=4, last=last(1)), ready=False),
        DEGRADED,
        "container main: CrashLoopBackOff (exit code 1, restarted 4 times)",
    ),
    (
        "out of memory",
        pod("Running", waiting("CrashLoopBackOff", restarts=2, last=last(137, "OOMKilled")), ready=False),
        DEGRADED,
        "container main: CrashLoopBackOff (OOMKilled, exit code 137, restarted 2 times)",
    ),
    (
        "ends well again and again",
        pod("Running", waiting("CrashLoopBackOff", restarts=5, last=last(0, "Completed")), ready=False),
        DEGRADED,
        "CrashLoopBackOff (exit code 0, restarted 5 times)",
    ),
    (
        "no such image",
        pod("Pending", waiting("ImagePullBackOff", PULL_MESSAGE)),
        DEGRADED,
        f"ImagePullBackOff: {PULL_MESSAGE}",
    ),
    ("image pull fails", pod("Pending", waiting("ErrImagePull", "denied")), DEGRADED, "ErrImagePull: denied"),
    ("image never pulled", pod("Pending", waiting("ErrImageNeverPull")), DEGRADED, "container main: ErrImageNeverPull"),
    ("image name", pod("Pending", waiting("InvalidImageName", "bad")), DEGRADED, "InvalidImageName: bad"),
    (
        "no such Secret",
        pod("Pending", waiting("CreateContainerConfigError", 'secret "s" not found')),
        DEGRADED,
        'CreateContainerConfigError: secret "s" not found',
    ),
    ("cannot create", pod("Pending", waiting("CreateContainerError", "oci")), DEGRADED, "CreateContainerError: oci"),
    ("cannot run", pod("Pending", waiting("RunContainerError", "no exec")), DEGRADED, "RunContainerError: no exec"),
    (
        "ended, will be tried again",
        pod("Running", ended(2), ready=False),
        DEGRADED,
        "container main: ended (exit code 2)",
    ),
    (
        "killed for memory",
        pod("Running", ended(137, "OOMKilled", restarts=1), ready=False),
        DEGRADED,
        "CrashLoopBackOff (OOMKilled, exit code 137, restarted once)",
    ),
    (
        "restarted after a crash",
        pod("Running", waiting("ContainerCreating", restarts=2, last=last(1)), ready=False),
        DEGRADED,
        "CrashLoopBackOff (exit code 1, restarted 2 times)",
    ),
    (
        "ended well but should run",
        pod("Running", ended(0, "Completed"), ready=False),
        PROGRESSING,
        "ended (exit code 0)",
    ),
    (
        "one ended well, one runs, never restarted",
        pod("Running", ended(0, "Completed", name="a"), running(ready=False, name="b"), spec=NEVER, ready=False),
        PROGRESSING,
        "container b: not ready",
    ),
    (
        "init waits",
        pod("Pending", waiting("PodInitializing"), init=(running(ready=False, name="wait-db"),)),
        PROGRESSING,
        "init container wait-db: has not ended yet",
    ),
    (
        "init crashes",
        pod(
            "Pending",
            waiting("PodInitializing"),
            init=(waiting("CrashLoopBackOff", name="setup", restarts=2, last=last(3)),),
        ),
        DEGRADED,
        "init container setup: CrashLoopBackOff (exit code 3, restarted 2 times)",
    ),
    (
        "init has no image",
        pod("Pending", waiting("PodInitializing"), init=(waiting("ErrImagePull", "denied", name="setup"),)),
        DEGRADED,
        "init container setup: ErrImagePull: denied",
    ),
    (
        "init ended",
        pod("Pending", waiting("PodInitializing"), init=(ended(0, "Completed", name="setup"),)),
        PROGRESSING,
        "container main: PodInitializing",
    ),
    (
        "sidecar not ready",
        pod("Pending", waiting("PodInitializing"), init=(running(ready=False, name="proxy"),), spec=SIDECAR),
        PROGRESSING,
        "init container proxy: not ready",
    ),
    (
        "sidecar ended well but should run",
        pod("Pending", waiting("PodInitializing"), init=(ended(0, "Completed", name="proxy"),), spec=SIDECAR),
        PROGRESSING,
        "init container proxy: ended (exit code 0)",
    ),
    (
        "the broken one is named, not the first",
        pod("Pending", waiting("ContainerCreating", name="a"), waiting("ErrImagePull", "denied", name="b")),
        DEGRADED,
        "container b: ErrImagePull: denied",
    ),
    ("succeeded", pod("Succeeded", ended(0, "Completed"), ready=False), HEALTHY, ""),
    ("failed", pod("Failed", ended(1), spec=NEVER), DEGRADED, "failed: container main: ended (exit code 1)"),
    (
        "evicted",
        pod("Failed", status={"reason": "Evicted", "message": "The node was low on resource: memory."}),
        DEGRADED,
        "Evicted: The node was low on resource: memory.",
    ),
    ("node lost", pod("Unknown", status={"message": "NodeLost"}), UNKNOWN, "its node does not answer: NodeLost"),
    (
        "going",
        pod("Running", waiting("CrashLoopBackOff"), deletionTimestamp="2026-01-01T00:00:00Z"),
        PROGRESSING,
        "is being deleted",
    ),
]


@pytest.mark.parametrize(
    ("body", "status", "message"), [state[1:] for state in STATES], ids=[state[0] for state in STATES]
)
def test_the_root_cause_of_a_pod_is_reported(body: Object, status: HealthStatus, message: str) -> None:
    result = assess(body)
    assert (result.status, message in result.message) == (status, True), result.message
    assert bool(result.message) == bool(message)
    reason = pod_root_cause(body, [])
    assert reason == (f"pod x-abc: {result.message}" if result.message else None)


CRASHING = pod("Running", waiting("CrashLoopBackOff", restarts=4, last=last(1)), ready=False)
BACK_OFF = event("BackOff", "Back-off restarting failed container")


@pytest.mark.parametrize(
    ("body", "events", "expected"),
    [
        (
            CRASHING,
            [BACK_OFF],
            "pod x-abc: container main: CrashLoopBackOff (exit code 1, restarted 4 times): "
            "Back-off restarting failed container",
        ),
        (CRASHING, [BACK_OFF, event("Unhealthy", "Liveness probe failed: 503")], "Liveness probe failed: 503"),
        (
            pod("Running", running(ready=False), ready=False),
            [event("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")],
            "pod x-abc: container main: not ready: Readiness probe failed: HTTP probe failed with statuscode: 503",
        ),
        (
            pod("Pending", waiting("ContainerCreating")),
            [event("FailedMount", 'MountVolume.SetUp failed for volume "v": secret "s" not found')],
            'container main: ContainerCreating: MountVolume.SetUp failed for volume "v": secret "s" not found',
        ),
        (
            pod("Pending"),
            [event("FailedCreatePodSandBox", "no network")],
            "pod x-abc: is waiting to be started: no network",
        ),
        (
            pod("Pending", waiting("ErrImageNeverPull")),
            [event("Failed", "not present")],
            "ErrImageNeverPull: not present",
        ),
        (pod("Pending", waiting("ImagePullBackOff")), [event("BackOff", "backed off")], "ImagePullBackOff: backed off"),
        (
            pod("Pending", waiting("ErrImageNeverPull")),
            [event("Failed", "of this name", involvedObject={"kind": "Pod", "name": "x-abc"})],
            "ErrImageNeverPull: of this name",
        ),
    ],
)
def test_an_event_adds_to_the_root_cause(body: Object, events: list[Object], expected: str) -> None:
    reason = pod_root_cause(body, events)
    assert reason is not None
    assert reason.endswith(expected)


@pytest.mark.parametrize(
    "events",
    [
        [event("FailedScheduling", "0/3 nodes")],  # outdated: it has been scheduled
        [event("Unhealthy", "other pod", about="y")],
        [{**event("Unhealthy", "fine"), "type": "Normal"}],
        [event("Unhealthy", "same name, older pod", involvedObject={"kind": "Pod", "name": "x-abc", "uid": "older"})],
        [event("BackOff", "no pod", involvedObject={"kind": "Node", "name": "x-abc"})],
        [event("BackOff", "not by name", involvedObject={"kind": "Pod", "name": "y"})],
        [{}, {"involvedObject": None}, {"type": "Warning", "reason": "BackOff"}],
    ],
)
def test_unrelated_events_are_left_out(events: list[Object]) -> None:
    assert pod_root_cause(CRASHING, events) == pod_root_cause(CRASHING, [])


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([{"at": "10:00:00"}, {"at": "10:05:00"}, {"at": "10:01:00"}], 1),
        ([{"at": "10:00:00"}, {"at": "", "lastTimestamp": None, "eventTime": "2026-01-01T10:02:00.5Z"}], 1),
        # As text, 10:00:00.5Z would come before 10:00:00Z.
        ([{"at": "10:00:00.5"}, {"at": "10:00:00"}, {"at": "10:00:00.499999"}], 0),
        # The API server gives every time with its zone; others may leave it out, and mean UTC.
        ([{"lastTimestamp": "2026-01-01T10:00:00"}, {"lastTimestamp": "2026-01-01T12:30:00+02:00"}], 1),
        ([{"lastTimestamp": "2026-01-01T11:00:00"}, {"lastTimestamp": "2026-01-01T12:30:00+02:00"}], 0),
        # The API server takes the year 0.
        ([{"lastTimestamp": "0000-01-01T00:00:00Z"}, {"at": "10:00:00"}], 1),
        (
            [
                {"at": "10:00:00", "series": {"count": 9, "lastObservedTime": "2026-01-01T11:00:00.000000Z"}},
                {"at": "10:30:00"},
            ],
            0,
        ),
        (
            [
                {"lastTimestamp": None, "metadata": {"creationTimestamp": "2026-01-01T10:00:00Z"}},
                {"lastTimestamp": None},
            ],
            0,
        ),
    ],
)
def test_the_last_of_equal_events_is_reported(times: list[Object], expected: int) -> None:
    events = [event("Unhealthy", f"number {index}", **time) for index, time in enumerate(times)]
    assert str(pod_root_cause(CRASHING, events)).endswith(f"number {expected}")


def test_output_of_an_application_is_never_reported() -> None:
    for body in (
        pod("Running", waiting("CrashLoopBackOff", restarts=1, last=last(1, message="password=hunter2")), ready=False),
        pod("Failed", ended(1, message="password=hunter2"), spec=NEVER),
        pod("Running", running(ready=False, last=last(1, message="password=hunter2")), ready=False),
    ):
        assert "hunter2" not in str(pod_root_cause(body, []))


def test_a_long_reason_is_truncated_to_one_line() -> None:
    body = pod("Pending", waiting("ErrImagePull", "line\n" * 100_000))
    reason = pod_root_cause(body, [])
    assert reason is not None
    assert "\n" not in reason
    assert len(reason) == len("pod x-abc: container main: ErrImagePull: ") + 1024


def test_a_message_that_kubernetes_keeps_is_whole() -> None:
    longest = "x" * 1024
    assert str(pod_root_cause(pod("Pending", waiting("ErrImagePull", longest)), [])).endswith(f": {longest}")
    assert str(pod_root_cause(CRASHING, [event("BackOff", longest)])).endswith(f": {longest}")
    refused = workload_root_cause([], [{**QUOTA, "message": longest}])
    assert refused is not None
    assert refused.message == f"StatefulSet db: FailedCreate: {longest}"
    too_long = [event("BackOff", f"{longest}x"), {**QUOTA, "message": f"{longest}x"}]
    for reason in (
        str(pod_root_cause(pod("Pending", waiting("ErrImagePull", f"{longest}x")), [])),
        str(pod_root_cause(CRASHING, too_long[:1])),
        str(workload_root_cause([], too_long[1:])),
    ):
        assert f": {longest[1:]}…" in reason


READY = pod("Running", running(ready=True), ready=True, name="well")
NOT_READY = pod("Running", running(ready=False), ready=False, name="b-not-ready")
BROKEN = pod("Pending", waiting("ErrImagePull", "denied"), name="c-broken")
GOING = pod("Running", waiting("CrashLoopBackOff"), name="a-going", deletionTimestamp="2026-01-01T00:00:00Z")
QUOTA = event(
    "FailedCreate",
    'pods "db-0" is forbidden: exceeded quota',
    involvedObject={"kind": "StatefulSet", "name": "db", "uid": "u"},
)


@pytest.mark.parametrize(
    ("pods", "events", "expected"),
    [
        ([], [], None),
        ([READY], [], None),
        ([READY, NOT_READY], [], "pod b-not-ready: container main: not ready"),
        ([GOING, NOT_READY, BROKEN], [], "pod c-broken: container main: ErrImagePull: denied"),
        ([GOING], [], None),
        ([CRASHING, BROKEN], [BACK_OFF], str(pod_root_cause(CRASHING, [BACK_OFF]))),
        ([], [QUOTA], 'StatefulSet db: FailedCreate: pods "db-0" is forbidden: exceeded quota'),
        ([READY], [BACK_OFF], None),
        ([BROKEN], [QUOTA], "pod c-broken: container main: ErrImagePull: denied"),
    ],
)
def test_the_worst_pod_is_the_root_cause(pods: list[Object], events: list[Object], expected: str | None) -> None:
    for order in (pods, list(reversed(pods))):
        cause = workload_root_cause(order, events)
        assert (cause.message if cause else None) == expected
