"""The containers of a pod as the kubelet tells of them, read in one place: their state, and whether they crash.

Lives in `domain` because the verdict on a pod, which goes into status, and the health of an xApp, which a caller reads,
must tell a crash loop by the same rule. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from xapp_operator.api.json import JsonObject, integer, items, obj, text

INIT_CONTAINER: Final = "init container"
MAIN_CONTAINER: Final = "container"
CRASH_LOOP: Final = "CrashLoopBackOff"
CREATING_REASONS: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons for which the kubelet lets a container wait that is on its way."""
UNINFORMATIVE_REASONS: Final = frozenset({"", "Error", "Completed"})
"""Reasons of an end that tell no more than its exit code."""

ContainerState: TypeAlias = Literal["waiting", "running", "terminated"]

_FINISHED_POD_PHASES: Final = frozenset({"Succeeded", "Failed"})
_STATUS_UNKNOWN: Final = "ContainerStatusUnknown"


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod.

    `word` is INIT or MAIN; a sidecar (an init container that is to run on) is INIT. `told` is whether the kubelet has
    told of it yet; until then it waits. `runs_on` tells that it is to run for as long as the pod. `last_end` is how it
    ended: now where it is terminated, before where it is not, or empty.
    """

    name: str
    has_status: bool
    role: str
    long_running: bool
    ready: bool
    restarts: int
    state: ContainerState
    reason: str
    message: str
    last_termination: JsonObject
    crash_loops: bool

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of a container that is terminated, or that waits to be started again."""
        return (
            None if self.state == "running" or not self.last_termination else integer(self.last_termination, "exitCode")
        )

    @property
    def termination_summary(self) -> str:
        """Return how it ended last and how often it was restarted: `OOMKilled, exit code 137, restarted 4 times`."""
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
            own_policy = text(specs_by_name.get(name), "restartPolicy")
            yield _container_from_status(
                statuses_by_name.get(name, {}),
                name=name,
                role=role,
                own_policy=own_policy,
                policy=policy,
                pod_finished=pod_finished,
            )


def _container_from_status(
    status: JsonObject, *, name: str, role: str, own_policy: str, policy: str, pod_finished: bool
) -> Container:
    state, inner = _state_of(status)
    long_running = (own_policy or (policy if role == MAIN_CONTAINER else "")) == "Always"
    last_termination = inner if state == "terminated" else obj(obj(status, "lastState"), "terminated")
    restarts = integer(status, "restartCount")
    reason = text(inner, "reason")
    crash_loops = (state == "waiting" and reason == CRASH_LOOP) or (
        restarts > 0
        and not pod_finished
        and _will_restart(state, reason, last_termination, long_running=long_running, policy=own_policy or policy)
    )
    return Container(
        name=name,
        has_status=bool(status),
        role=role,
        long_running=long_running,
        ready=status.get("ready") is True,
        restarts=restarts,
        state=state,
        reason=reason,
        message=text(inner, "message"),
        last_termination=last_termination,
        crash_loops=crash_loops,
    )


def _state_of(status: JsonObject) -> tuple[ContainerState, JsonObject]:
    state = obj(status, "state")
    # No member at all means waiting (Kubernetes API, ContainerState).
    kinds: tuple[ContainerState, ...] = ("terminated", "running")
    for kind in kinds:
        if kind in state:
            return kind, obj(state, kind)
    return "waiting", obj(state, "waiting")


def _will_restart(
    state: ContainerState, reason: str, last_termination: JsonObject, *, long_running: bool, policy: str
) -> bool:
    """Tell whether a container that was restarted before is about to be once more.

    For most of the back-off a kubelet of 1.36 shows the container as terminated, and not as waiting.
    """
    failed = integer(last_termination, "exitCode") != 0
    if state == "terminated":
        return long_running or (failed and policy != "Never")
    node_lost = text(last_termination, "reason") == _STATUS_UNKNOWN  # with its node
    return state == "waiting" and reason in CREATING_REASONS and failed and not node_lost
