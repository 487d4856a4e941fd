"""The containers of a pod as the kubelet tells of them, read in one place: their state, and whether they crash.

Lives in `domain` because the verdict on a pod, which goes into status, and the health of an xApp, which a caller reads,
must tell a crash loop by the same rule. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from xapp_operator.api.json import JsonObject, integer, items, obj, text

INIT: Final = "init container"
MAIN: Final = "container"
CRASH_LOOP: Final = "CrashLoopBackOff"
CREATING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons for which the kubelet lets a container wait that is on its way."""
SAYS_NOTHING: Final = frozenset({"", "Error", "Completed"})
"""Reasons of an end that tell no more than its exit code."""

State: TypeAlias = Literal["waiting", "running", "terminated"]

_ENDED: Final = frozenset({"Succeeded", "Failed"})
_NOT_ITS_OWN_END: Final = "ContainerStatusUnknown"


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod.

    `word` is INIT or MAIN; a sidecar (an init container that is to run on) is INIT. `told` is whether the kubelet has
    told of it yet; until then it waits. `runs_on` tells that it is to run for as long as the pod. `last_end` is how it
    ended: now where it is terminated, before where it is not, or empty.
    """

    name: str
    told: bool
    word: str
    runs_on: bool
    ready: bool
    restarts: int
    state: State
    reason: str
    message: str
    last_end: JsonObject
    crash_loops: bool

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of a container that is terminated, or that waits to be started again."""
        return None if self.state == "running" or not self.last_end else integer(self.last_end, "exitCode")

    @property
    def history(self) -> str:
        """Return how it ended last and how often it was restarted: `OOMKilled, exit code 137, restarted 4 times`."""
        parts: list[str] = []
        if (reason := text(self.last_end, "reason")) not in SAYS_NOTHING:
            parts.append(reason)
        if self.last_end:
            parts.append(f"exit code {integer(self.last_end, 'exitCode')}")
        if self.restarts:
            parts.append("restarted once" if self.restarts == 1 else f"restarted {self.restarts} times")
        return ", ".join(parts)


def containers_of(pod: JsonObject) -> Iterator[Container]:
    """Yield the init containers and sidecars, then the containers."""
    spec, status = obj(pod, "spec"), obj(pod, "status")
    policy = text(spec, "restartPolicy", "Always")
    ended = text(status, "phase") in _ENDED
    for word, specs, statuses in (
        (INIT, "initContainers", "initContainerStatuses"),
        (MAIN, "containers", "containerStatuses"),
    ):
        told = {text(each, "name"): each for each in items(status, statuses)}
        asked = {text(each, "name"): each for each in items(spec, specs)}
        for name in {**asked, **told}:
            own_policy = text(asked.get(name), "restartPolicy")
            yield _container(
                told.get(name, {}), name=name, word=word, own_policy=own_policy, policy=policy, pod_ended=ended
            )


def _container(status: JsonObject, *, name: str, word: str, own_policy: str, policy: str, pod_ended: bool) -> Container:
    state, inner = _state(status)
    runs_on = (own_policy or (policy if word == MAIN else "")) == "Always"
    last_end = inner if state == "terminated" else obj(obj(status, "lastState"), "terminated")
    restarts = integer(status, "restartCount")
    reason = text(inner, "reason")
    crash_loops = (state == "waiting" and reason == CRASH_LOOP) or (
        restarts > 0
        and not pod_ended
        and _starts_again(state, reason, last_end, runs_on=runs_on, policy=own_policy or policy)
    )
    return Container(
        name=name,
        told=bool(status),
        word=word,
        runs_on=runs_on,
        ready=status.get("ready") is True,
        restarts=restarts,
        state=state,
        reason=reason,
        message=text(inner, "message"),
        last_end=last_end,
        crash_loops=crash_loops,
    )


def _state(status: JsonObject) -> tuple[State, JsonObject]:
    state = obj(status, "state")
    # No member at all means waiting (Kubernetes API, ContainerState).
    kinds: tuple[State, ...] = ("terminated", "running")
    for kind in kinds:
        if kind in state:
            return kind, obj(state, kind)
    return "waiting", obj(state, "waiting")


def _starts_again(state: State, reason: str, last_end: JsonObject, *, runs_on: bool, policy: str) -> bool:
    """Tell whether a container that was restarted before is about to be once more.

    For most of the back-off a kubelet of 1.36 shows the container as terminated, and not as waiting.
    """
    failed = integer(last_end, "exitCode") != 0
    if state == "terminated":
        return runs_on or (failed and policy != "Never")
    lost = text(last_end, "reason") == _NOT_ITS_OWN_END  # with its node
    return state == "waiting" and reason in CREATING and failed and not lost
