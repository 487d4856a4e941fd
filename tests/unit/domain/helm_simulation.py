"""A model of helm's storage and of a reconciler that executes the plan, to test where the plan converges.

It follows helm 4.3.1 (`pkg/action`): what install, upgrade, rollback and uninstall leave behind when they succeed,
fail, or are killed; and what the reconciler records before and after each step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from tests.unit.domain.plan_inputs import GENERATION, NAME, NOW, spec
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.domain.actions import Action, Install, Nothing, Rollback, Uninstall, Unlock, Upgrade, Wait
from xapp_operator.domain.plan import plan
from xapp_operator.domain.plan_input import (
    DEPLOYED,
    FAILED,
    SUPERSEDED,
    UNINSTALLING,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    ObservedState,
    PastRevision,
    PlanInput,
)

REQUEUE_SECONDS = 5.0  # while the objects are not healthy, in seconds
STEP_SECONDS = 1.0


class StepResult(Enum):
    """How one step of helm ends."""

    SUCCEEDS = auto()
    FAILS = auto()  # after the revision was recorded; transient
    FAILS_EARLY = auto()  # before anything was recorded; transient
    REFUSED = auto()  # permanent
    REFUSED_EARLY = auto()
    KILLED = auto()  # together with the operator, during the step
    KILLED_EARLY = auto()
    KILLED_LATE = auto()  # helm was done, but the operator had not recorded it


EARLY = {StepResult.FAILS_EARLY, StepResult.REFUSED_EARLY, StepResult.KILLED_EARLY}
KILLED = {StepResult.KILLED, StepResult.KILLED_EARLY, StepResult.KILLED_LATE}
DONE = {StepResult.SUCCEEDS, StepResult.KILLED_LATE}


@dataclass
class ReconcilerModel:
    """One XApp, its release, and the results of the next steps; after those, every step has `default_result`."""

    desired: Digests
    step_results: list[StepResult]
    default_result: StepResult = StepResult.SUCCEEDS
    revisions: list[PastRevision] = field(default_factory=list)
    unhealthy_digests: frozenset[Digests] = frozenset()  # never become healthy
    spec: XAppSpec = field(default_factory=spec)
    attempt: Attempt | None = None
    now: float = NOW
    health_unknown: bool = False  # the operator has just started: health is not known yet
    steps: list[Action] = field(default_factory=list)

    @property
    def uninstalling(self) -> bool:
        return bool(self.revisions) and self.revisions[-1].status == UNINSTALLING

    def reconcile_until_settled(self, limit: int) -> Action:
        """Reconcile until nothing changes any more, at most `limit` times, and return the last action."""
        for _ in range(limit):
            before = len(self.steps)
            action = self.reconcile_once()
            if len(self.steps) == before and (
                isinstance(action, Nothing) or (isinstance(action, Wait) and self._is_final(action))
            ):
                return action
        raise AssertionError(f"no end after {limit} looks: {self.steps[-8:]}")

    def reconcile_once(self) -> Action:
        """Reconcile once; a wait advances the clock."""
        action = plan(self.plan_input())
        self.health_unknown = False
        if isinstance(action, Wait):
            self._note_health(action)
            self.now = action.until if action.until is not None else self.now + REQUEUE_SECONDS
        elif isinstance(action, Nothing):
            self._note_health(action)
        else:
            self.steps.append(action)
            self.now += STEP_SECONDS
            self._act(action)
        return action

    def plan_input(self) -> PlanInput:
        return PlanInput(
            name=NAME,
            spec=self.spec,
            generation=GENERATION,
            observed=ObservedState(release=self._release()),
            desired=self.desired,
            health=self.health(),
            root_cause="pod a-0: CrashLoopBackOff",
            attempt=self.attempt,
            now=self.now,
        )

    def health(self) -> HealthStatus:
        if self.health_unknown or not self.revisions:
            return HealthStatus.UNKNOWN
        return HealthStatus.DEGRADED if self.revisions[-1].digests in self.unhealthy_digests else HealthStatus.HEALTHY

    def _is_final(self, action: Wait) -> bool:
        """Return whether an hour of reconciling gives the same action."""
        return all(plan(replace(self.plan_input(), now=self.now + hours * 3600.0)) == action for hours in (0, 1, 100))

    def _release(self) -> ObservedRelease | None:
        if not self.revisions:
            return None
        *earlier, newest = self.revisions
        return ObservedRelease(newest.revision, newest.status, NAME, newest.digests, True, self.now, tuple(earlier))

    def _note_health(self, action: Wait | Nothing) -> None:
        last = self.attempt
        if last is None:
            return
        if isinstance(action, Nothing) and self.health() is HealthStatus.HEALTHY:
            self.attempt = replace(last, outcome=AttemptOutcome.SUCCEEDED)
        elif isinstance(action, Wait) and action.reason == Reason.HEALTH_CHECK_FAILED:
            self.attempt = replace(
                last, outcome=AttemptOutcome.UNHEALTHY, permanent=True, reason=action.reason, message=action.message
            )

    def _act(self, action: Action) -> None:
        if isinstance(action, Unlock):
            self._set(-1, FAILED)
            return
        fate = self.step_results.pop(0) if self.step_results else self.default_result
        cause, self.attempt = self.attempt, self._start_attempt(type(action).__name__)
        if fate not in EARLY:
            self._helm(action, fate)
        if fate in KILLED:
            self.health_unknown = True
        elif fate is StepResult.SUCCEEDS:
            undone = isinstance(action, Rollback) and not action.hold
            self.attempt = self._rolled_back_attempt(cause) if undone else self._end_attempt(AttemptOutcome.RELEASED)
        else:
            permanent = fate in (StepResult.REFUSED, StepResult.REFUSED_EARLY)
            self.attempt = replace(self._end_attempt(AttemptOutcome.FAILED), permanent=permanent)

    def _start_attempt(self, action: str) -> Attempt:
        last = self.attempt
        new_attempt = Attempt(
            action,
            AttemptOutcome.RUNNING,
            self.desired,
            self.now,
            self.now,
            generation=GENERATION,
            message="helm's own error",
        )
        tried = (AttemptOutcome.FAILED, AttemptOutcome.RUNNING)
        if last is None or last.action != action or last.digests != self.desired or last.outcome not in tried:
            return new_attempt
        return replace(new_attempt, first_at=last.first_at, count=last.count + 1)

    def _end_attempt(self, outcome: AttemptOutcome) -> Attempt:
        assert self.attempt is not None
        return replace(self.attempt, outcome=outcome, last_at=self.now)

    def _rolled_back_attempt(self, cause: Attempt | None) -> Attempt:
        assert cause is not None
        if cause.outcome in (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY):
            return replace(cause, permanent=True)
        return replace(cause, outcome=AttemptOutcome.UNHEALTHY, permanent=True)

    def _helm(self, action: Action, fate: StepResult) -> None:
        if isinstance(action, Uninstall):
            if fate in DONE:
                self.revisions.clear()
            else:
                self._set(-1, UNINSTALLING)
            return
        pending, digests = "pending-upgrade", self.desired
        if isinstance(action, Install):
            assert not self.revisions or action.replace, "cannot reuse a name that is still in use"
            pending = "pending-install"
        elif isinstance(action, Upgrade):
            good = {DEPLOYED, SUPERSEDED, FAILED}
            assert self.revisions[-1].status in good, "has no deployed releases"
        elif isinstance(action, Rollback):
            pending = "pending-rollback"
            targets = [each.digests for each in self.revisions if each.revision == action.revision]
            assert targets, "release has no such version"
            assert targets[0] is not None
            digests = targets[0]
        self._record(pending, digests, fate, rollback=isinstance(action, Rollback))

    def _record(self, pending: str, digests: Digests, fate: StepResult, *, rollback: bool) -> None:
        number = self.revisions[-1].revision + 1 if self.revisions else 1
        if fate in DONE:
            for index in self._deployed():
                self._set(index, SUPERSEDED)
        elif rollback and fate is not StepResult.KILLED:
            self._set(-1, SUPERSEDED)  # whatever it was
        status = DEPLOYED if fate in DONE else pending if fate is StepResult.KILLED else FAILED
        self.revisions.append(PastRevision(number, status, digests))

    def _deployed(self) -> Iterator[int]:
        return (index for index, each in enumerate(self.revisions) if each.status == DEPLOYED)

    def _set(self, index: int, status: str) -> None:
        self.revisions[index] = replace(self.revisions[index], status=status)
