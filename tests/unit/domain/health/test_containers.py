"""The containers of a pod, and which of them crash loop."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from xapp_operator.domain.health.containers import containers_of

Object: TypeAlias = dict[str, Any]


def status(name: str = "main", *, state: Object | None = None, last: Object | None = None, restarts: int = 0) -> Object:
    return {
        "name": name,
        "ready": False,
        "restartCount": restarts,
        "state": state or {},
        "lastState": {"terminated": last} if last else {},
    }


def ended(code: int, reason: str = "Error", *, restarts: int = 0) -> Object:
    return status(state={"terminated": {"exitCode": code, "reason": reason}}, restarts=restarts)


def waiting(reason: str, *, last: Object | None = None, restarts: int = 0) -> Object:
    return status(state={"waiting": {"reason": reason}}, last=last, restarts=restarts)


def running(*, last: Object | None = None, restarts: int = 0) -> Object:
    return status(state={"running": {"startedAt": "2026-01-01T00:00:00Z"}}, last=last, restarts=restarts)


def pod(
    container: Object | None, *, policy: str = "", own_policy: str = "", init: bool = False, phase: str = "Running"
) -> Object:
    """Return a pod with one container `main`; its status is left out when it is None."""
    own: Object = {"name": "main"} | ({"restartPolicy": own_policy} if own_policy else {})
    spec: Object = {"restartPolicy": policy} if policy else {}
    specs, statuses = ("initContainers", "initContainerStatuses") if init else ("containers", "containerStatuses")
    return {"spec": {**spec, specs: [own]}, "status": {"phase": phase, statuses: [container] if container else []}}


FAILED: Object = {"exitCode": 1, "reason": "Error"}
LOST: Object = {"exitCode": 137, "reason": "ContainerStatusUnknown"}

LOOPS: dict[str, tuple[Object, bool]] = {
    "waits in the back-off": (pod(waiting("CrashLoopBackOff", restarts=1)), True),
    "shown as ended in the back-off": (pod(ended(1, restarts=1)), True),
    "killed, shown as ended": (pod(ended(137, "OOMKilled", restarts=3)), True),
    "ends well again and again": (pod(ended(0, "Completed", restarts=1)), True),
    "ended for the first time": (pod(ended(1)), False),
    "runs after restarts": (pod(running(last=FAILED, restarts=5)), False),
    "is made again after a failure": (pod(waiting("ContainerCreating", last=FAILED, restarts=1)), True),
    "is made again after a good end": (pod(waiting("ContainerCreating", last={"exitCode": 0}, restarts=1)), False),
    "is made again after its node was lost": (pod(waiting("ContainerCreating", last=LOST, restarts=1)), False),
    "has no image after a failure": (pod(waiting("ImagePullBackOff", last=FAILED, restarts=1)), False),
    "failed and is tried again": (pod(ended(1, restarts=1), policy="OnFailure"), True),
    "ended well where failures are tried again": (pod(ended(0, "Completed", restarts=1), policy="OnFailure"), False),
    "failed where nothing is tried again": (pod(ended(1, restarts=1), policy="Never"), False),
    "failed by a policy of its own": (pod(ended(1, restarts=1), policy="Never", own_policy="OnFailure"), True),
    "init failed and is tried again": (pod(ended(1, restarts=1), init=True, phase="Pending"), True),
    "init ended well at last": (pod(ended(0, "Completed", restarts=1), init=True, phase="Pending"), False),
    "init failed where nothing is tried again": (
        pod(ended(1, restarts=1), init=True, policy="Never", phase="Pending"),
        False,
    ),
    "sidecar ends well again and again": (pod(ended(0, restarts=1), init=True, own_policy="Always"), True),
    "of a pod that failed for good": (pod(ended(1, restarts=2), policy="OnFailure", phase="Failed"), False),
    "of a pod that succeeded": (pod(ended(0, restarts=2), own_policy="Always", phase="Succeeded"), False),
}


@pytest.mark.parametrize(("body", "loops"), LOOPS.values(), ids=LOOPS)
def test_a_container_that_is_restarted_again_and_again_crash_loops(body: Object, loops: bool) -> None:
    (container,) = containers_of(body)
    assert container.crash_loops is loops


@pytest.mark.parametrize(
    ("body", "state", "code", "history"),
    [
        (pod(ended(2)), "terminated", 2, "exit code 2"),
        (pod(ended(0, "Completed", restarts=1)), "terminated", 0, "exit code 0, restarted once"),
        (
            pod(waiting("CrashLoopBackOff", last={"exitCode": 137, "reason": "OOMKilled"}, restarts=4)),
            "waiting",
            137,
            "OOMKilled, exit code 137, restarted 4 times",
        ),
        (pod(waiting("ContainerCreating")), "waiting", None, ""),
        (pod(running(last=FAILED, restarts=2)), "running", None, "exit code 1, restarted 2 times"),
        (pod(status()), "waiting", None, ""),
        (pod(None), "waiting", None, ""),
    ],
)
def test_the_state_and_last_exit_are_reported(body: Object, state: str, code: int | None, history: str) -> None:
    (container,) = containers_of(body)
    assert (container.state, container.exit_code, container.termination_summary) == (state, code, history)


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}, "no such image"),
        ({"terminated": {"exitCode": 128, "reason": "StartError", "message": "no such file"}}, "no such file"),
        ({"terminated": {"exitCode": 1, "reason": "Error", "message": "a secret of the application"}}, ""),
    ],
)
def test_the_message_of_a_termination_is_that_of_the_application(state: Object, shown: str) -> None:
    (container,) = containers_of(pod(status(state=state)))
    assert container.kubelet_message == shown


def test_all_containers_are_reported_and_init_containers_come_first() -> None:
    body: Object = {
        "spec": {
            "initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
            "containers": [{"name": "core"}, {"name": "metrics"}],
        },
        "status": {
            "initContainerStatuses": [{**running(), "name": "proxy", "ready": True}],
            "containerStatuses": [{**running(), "name": "metrics"}, {**running(), "name": "core"}],
        },
    }
    summary = [(each.name, each.has_status, each.role, each.long_running, each.ready) for each in containers_of(body)]
    assert summary == [
        ("setup", False, "init container", False, False),
        ("proxy", True, "init container", True, True),
        ("core", True, "container", True, False),
        ("metrics", True, "container", True, False),
    ]
