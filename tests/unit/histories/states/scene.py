"""What a state is, how a history knows that its XApp is in it, and how to stay there for a moment."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Set
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.fakes.histories import History
from tests.support.fakes.json_patch import Json
from xapp_operator.domain.planning import plan as planning
from xapp_operator.domain.planning.actions import Action, Wait
from xapp_operator.domain.planning.plan_input import AttemptOutcome, PlanInput, TestOutcome
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile import reconciler

REACHED_WITHIN_SECONDS = 200.0
POLL_SECONDS = 0.1
SLOW_SECONDS = 4.0
"""For so long, a request that is held does not end."""
BY_RELEASE = "_plan_release"
"""What answers if no rule does."""


@dataclass
class Scene:
    """A history whose last plan for its XApp is known."""

    history: History
    inputs: PlanInput | None = None
    action: Action | None = None
    rule: str = BY_RELEASE
    """The rule that answered."""

    async def until(self, condition: Callable[[], bool]) -> None:
        waited = 0.0
        while not condition():
            assert waited < REACHED_WITHIN_SECONDS, "the state is never reached"
            await self.history.cluster.wait(POLL_SECONDS)
            waited += POLL_SECONDS

    async def until_step(self, command: str) -> None:
        """Wait until helm runs a command."""
        await self.until(lambda: self.history.helm_steps[-1:] != [] and self.history.helm_steps[-1].command == command)

    async def until_waiting(self, reason: str, *, stalled: bool = False) -> None:
        def waits() -> bool:
            return isinstance(self.action, Wait) and (self.action.reason, self.action.stalled) == (reason, stalled)

        await self.until(waits)

    async def until_ready(self) -> None:
        await self.until(lambda: self.history.outcome.startswith("Ready"))
        await self.history.cluster.wait(5.0)

    def hold(self, action: type[Action], method: str, part: str) -> Callable[[], bool]:
        """Hold the first request of an action; return whether that has come."""
        held: list[str] = []

        def latency(request: ApiRequest) -> float:
            is_meant = isinstance(self.action, action) and request.method == method and part in request.path
            if held or not is_meant or "dryRun" in request.params:
                return 0.0
            held.append(request.path)
            return SLOW_SECONDS

        self.history.cluster.latency = latency
        return lambda: bool(held)


def nothing(_: Scene) -> None:
    pass


@dataclass(frozen=True)
class State:
    """How an XApp comes into a state, and how what is done to it there must end."""

    reach: Callable[[Scene], Coroutine[Any, Any, None]]
    end: str = "Ready UpgradeSucceeded"
    """How it ends after it was suspended and resumed."""
    changed_end: str = "Ready"
    """How it ends after its spec was changed."""
    change: Json = field(default_factory=dict)
    """What the last change of the spec changes, too."""
    recover: Callable[[Scene], None] = nothing
    """Ends what keeps the XApp in this state; called after something was done to it there."""
    deleting: bool = False
    foreign: bool = False
    """The release is not the XApp's own, and stays when it is deleted."""
    stays: Set[str] = frozenset()
    """What helm does not delete: the hooks of the chart."""
    uninstalled: bool = False
    """The release goes away in this state."""


@dataclass(frozen=True)
class At:
    """What the last plan was about, and what it chose."""

    action: type[Action] | None
    """None: nothing was planned yet."""
    rule: str = BY_RELEASE
    release: str | None = None
    """Helm's status of the newest revision."""
    attempt: AttemptOutcome | None = None
    test: TestOutcome | None = None

    @classmethod
    def of(cls, scene: Scene) -> At:
        inputs = scene.inputs
        if inputs is None:
            return cls(None)
        release, attempt, test = inputs.release, inputs.attempt, inputs.test
        return cls(
            None if scene.action is None else type(scene.action),
            scene.rule,
            None if release is None else release.status,
            None if attempt is None else attempt.outcome,
            None if test is None else test.outcome,
        )


def watch_plans(scene: Scene, patch: pytest.MonkeyPatch) -> None:
    """Let the scene know each plan for its XApp."""
    plan, rules = planning.plan, planning._PLAN_RULES

    def recorded(rule: Callable[[PlanInput], Action | None]) -> Callable[[PlanInput], Action | None]:
        def ask(inputs: PlanInput) -> Action | None:
            answer = rule(inputs)
            if answer is not None and inputs.name == "hello":
                scene.rule = rule.__name__
            return answer

        return ask

    def ask(inputs: PlanInput) -> Action:
        if inputs.name != "hello":
            return plan(inputs)
        scene.rule = BY_RELEASE
        scene.inputs, scene.action = inputs, plan(inputs)
        return scene.action

    patch.setattr(planning, "_PLAN_RULES", tuple(recorded(rule) for rule in rules))
    patch.setattr(reconciler, "plan", ask)
