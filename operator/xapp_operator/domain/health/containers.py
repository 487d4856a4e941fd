"""The containers of a pod as the kubelet reports them: their state, and whether they are in a crash loop. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from xapp_operator.api.json import JsonObject, integer, items, obj, text

INIT_CONTAINER: Final = "init container"
MAIN_CONTAINER: Final = "container"
CRASH_LOOP: Final = "CrashLoopBackOff"
CREATING_REASONS: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Waiting reasons of a container that is being created."""
UNINFORMATIVE_REASONS: Final = frozenset({"", "Error", "Completed"})
"""Reasons that add nothing to the exit code."""

ContainerState: TypeAlias = Literal["waiting", "running", "terminated"]

_RUNTIME_ERRORS: Final = frozenset({"ContainerCannotRun", "StartError"})
_FINISHED_POD_PHASES: Final = frozenset({"Succeeded", "Failed"})
_STATUS_UNKNOWN: Final = "ContainerStatusUnknown"


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod.

    `role` is INIT_CONTAINER, also for a sidecar, or MAIN_CONTAINER. `has_status` is False until the kubelet reports the
    container; it counts as waiting until then. `long_running` means that it should run as long as the pod.
    `last_termination` is the current termination, or else the previous one, and `previous_termination` that of the run
    before this one; empty if there was none. `image` and `resources` are as the pod asks for them.
    """

    name: str
    image: str
    resources: JsonObject
    has_status: bool
    role: str
    long_running: bool
    ready: bool
    restarts: int
    state: ContainerState
    reason: str
    message: str
    last_termination: JsonObject
    previous_termination: JsonObject
    crash_loops: bool

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of a container that has terminated or waits for its restart."""
        if self.state == "running" or not self.last_termination:
            return None
        return integer(self.last_termination, "exitCode")

    @property
    def kubelet_message(self) -> str:
        """Return what the kubelet says about the state; the message of a termination is a text of the application.

        Of one that could not be started, it is an error of the container runtime.
        """
        return self.message if self.state != "terminated" or self.reason in _RUNTIME_ERRORS else ""

    @property
    def termination_summary(self) -> str:
        """Return the last termination and the restarts: `OOMKilled, exit code 137, restarted 4 times`."""
        parts: list[str] = []
        if (reason := text(self.last_termination, "reason")) not in UNINFORMATIVE_REASONS:
            parts.append(reason)
        if self.last_termination:
            parts.append(f"exit code {integer(self.last_termination, 'exitCode')}")
        if self.restarts:
            parts.append("restarted once" if self.restarts == 1 else f"restarted {self.restarts} times")
        return ", ".join(parts)


def containers_of(pod: JsonObject) -> Iterator[Container]:
    """Yield the init containers and sidecars, then the containers."""
    spec, status = obj(pod, "spec"), obj(pod, "status")
    policy = text(spec, "restartPolicy", "Always")
    pod_finished = text(status, "phase") in _FINISHED_POD_PHASES
    for role, specs, statuses in (
        (INIT_CONTAINER, "initContainers", "initContainerStatuses"),
        (MAIN_CONTAINER, "containers", "containerStatuses"),
    ):
        statuses_by_name = {text(each, "name"): each for each in items(status, statuses)}
        specs_by_name = {text(each, "name"): each for each in items(spec, specs)}
        for name in {**specs_by_name, **statuses_by_name}:
            yield _container_from_status(
                statuses_by_name.get(name, {}),
                specs_by_name.get(name, {}),
                name=name,
                role=role,
                policy=policy,
                pod_finished=pod_finished,
            )


def _container_from_status(
    status: JsonObject, spec: JsonObject, *, name: str, role: str, policy: str, pod_finished: bool
) -> Container:
    state, inner = _state_of(status)
    own_policy = text(spec, "restartPolicy")
    long_running = (own_policy or (policy if role == MAIN_CONTAINER else "")) == "Always"
    previous_termination = obj(obj(status, "lastState"), "terminated")
    last_termination = inner if state == "terminated" else previous_termination
    restarts = integer(status, "restartCount")
    reason = text(inner, "reason")
    crash_loops = (state == "waiting" and reason == CRASH_LOOP) or (
        restarts > 0
        and not pod_finished
        and _will_restart(state, reason, last_termination, long_running=long_running, policy=own_policy or policy)
    )
    return Container(
        name=name,
        image=text(spec, "image") or text(status, "image"),
        resources=obj(spec, "resources"),
        has_status=bool(status),
        role=role,
        long_running=long_running,
        ready=status.get("ready") is True,
        restarts=restarts,
        state=state,
        reason=reason,
        message=text(inner, "message"),
        last_termination=last_termination,
        previous_termination=previous_termination,
        crash_loops=crash_loops,
    )


def _state_of(status: JsonObject) -> tuple[ContainerState, JsonObject]:
    state = obj(status, "state")
    if "terminated" in state:
        return "terminated", obj(state, "terminated")
    # An empty state means waiting (Kubernetes API, ContainerState).
    return ("running", obj(state, "running")) if "running" in state else ("waiting", obj(state, "waiting"))


def _will_restart(
    state: ContainerState, reason: str, last_termination: JsonObject, *, long_running: bool, policy: str
) -> bool:
    """Return whether a container that was restarted before will be restarted again.

    During most of the back-off, a kubelet of version 1.36 shows the container as terminated, not as waiting.
    """
    failed = integer(last_termination, "exitCode") != 0
    if state == "terminated":
        return long_running or (failed and policy != "Never")
    node_lost = text(last_termination, "reason") == _STATUS_UNKNOWN
    return state == "waiting" and reason in CREATING_REASONS and failed and not node_lost
