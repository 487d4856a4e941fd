"""A model of helm's storage and of a reconciler that does what the plan says, to see where the plan leads in the end.

It follows helm 4.3.1 (`pkg/action`): what install, upgrade, rollback and uninstall leave behind when they succeed,
fail, or are killed; and what the reconciler notes of each step before and after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from tests.unit.domain.situations import GENERATION, NAME, NOW, spec
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.domain.actions import Action, Install, Nothing, Rollback, Uninstall, Unlock, Upgrade, Wait
from xapp_operator.domain.plan import plan
from xapp_operator.domain.situation import (
    DEPLOYED,
    FAILED,
    SUPERSEDED,
    UNINSTALLING,
    Attempt,
    Digests,
    Earlier,
    Observed,
    Outcome,
    Release,
    Situation,
)

LOOK_AGAIN = 5.0  # while the objects are not healthy, in seconds
STEP_SECONDS = 1.0


class Fate(Enum):
    """How one step of helm ends."""

    WORKS = auto()
    FAILS = auto()  # after the revision was recorded; may pass
    FAILS_EARLY = auto()  # before anything was recorded; may pass
    REFUSED = auto()  # for good
    REFUSED_EARLY = auto()
    KILLED = auto()  # with the operator, half way
    KILLED_EARLY = auto()
    KILLED_LATE = auto()  # helm was done, the operator had not noted it


EARLY = {Fate.FAILS_EARLY, Fate.REFUSED_EARLY, Fate.KILLED_EARLY}
KILLED = {Fate.KILLED, Fate.KILLED_EARLY, Fate.KILLED_LATE}
DONE = {Fate.WORKS, Fate.KILLED_LATE}


@dataclass
class World:
    """One XApp, its release, and the fates of the steps to come; when those are used up, `finally_` is every fate."""

    desired: Digests
    fates: list[Fate]
    finally_: Fate = Fate.WORKS
    revisions: list[Earlier] = field(default_factory=list)
    sick: frozenset[Digests] = frozenset()  # never become healthy
    wanted: XAppSpec = field(default_factory=spec)
    attempt: Attempt | None = None
    now: float = NOW
    blind: bool = False  # the operator has just started: health is not known yet
    steps: list[Action] = field(default_factory=list)

    @property
    def uninstalling(self) -> bool:
        return bool(self.revisions) and self.revisions[-1].status == UNINSTALLING

    def settle(self, limit: int) -> Action:
        """Reconcile until nothing more happens by itself, and return the last answer; at most `limit` looks."""
        for _ in range(limit):
            before = len(self.steps)
            action = self.look()
            if len(self.steps) == before and (
                isinstance(action, Nothing) or (isinstance(action, Wait) and self._rests(action))
            ):
                return action
        raise AssertionError(f"no end after {limit} looks: {self.steps[-8:]}")

    def look(self) -> Action:
        """Reconcile once; a wait lets time pass."""
        action = plan(self.situation())
        self.blind = False
        if isinstance(action, Wait):
            self._note_health(action)
            self.now = action.until if action.until is not None else self.now + LOOK_AGAIN
        elif isinstance(action, Nothing):
            self._note_health(action)
        else:
            self.steps.append(action)
            self.now += STEP_SECONDS
            self._act(action)
        return action

    def situation(self) -> Situation:
        return Situation(
            name=NAME,
            spec=self.wanted,
            generation=GENERATION,
            observed=Observed(release=self._release()),
            desired=self.desired,
            health=self.health(),
            culprit="pod a-0: CrashLoopBackOff",
            attempt=self.attempt,
            now=self.now,
        )

    def health(self) -> HealthStatus:
        if self.blind or not self.revisions:
            return HealthStatus.UNKNOWN
        return HealthStatus.DEGRADED if self.revisions[-1].digests in self.sick else HealthStatus.HEALTHY

    def _rests(self, action: Wait) -> bool:
        """Return whether an hour of looking brings the same answer."""
        return all(plan(replace(self.situation(), now=self.now + hours * 3600.0)) == action for hours in (0, 1, 100))

    def _release(self) -> Release | None:
        if not self.revisions:
            return None
        *earlier, newest = self.revisions
        return Release(newest.revision, newest.status, NAME, newest.digests, True, self.now, tuple(earlier))

    def _note_health(self, action: Wait | Nothing) -> None:
        last = self.attempt
        if last is None:
            return
        if isinstance(action, Nothing) and self.health() is HealthStatus.HEALTHY:
            self.attempt = replace(last, outcome=Outcome.SUCCEEDED)
        elif isinstance(action, Wait) and action.reason == Reason.HEALTH_CHECK_FAILED:
            self.attempt = replace(
                last, outcome=Outcome.UNHEALTHY, permanent=True, reason=action.reason, message=action.message
            )

    def _act(self, action: Action) -> None:
        if isinstance(action, Unlock):
            self._set(-1, FAILED)
            return
        fate = self.fates.pop(0) if self.fates else self.finally_
        cause, self.attempt = self.attempt, self._begun(type(action).__name__)
        if fate not in EARLY:
            self._helm(action, fate)
        if fate in KILLED:
            self.blind = True
        elif fate is Fate.WORKS:
            undone = isinstance(action, Rollback) and not action.hold
            self.attempt = self._undone(cause) if undone else self._ended(Outcome.RELEASED)
        else:
            permanent = fate in (Fate.REFUSED, Fate.REFUSED_EARLY)
            self.attempt = replace(self._ended(Outcome.FAILED), permanent=permanent)

    def _begun(self, action: str) -> Attempt:
        last = self.attempt
        begun = Attempt(
            action, Outcome.RUNNING, self.desired, self.now, self.now, generation=GENERATION, message="helm's own error"
        )
        tried = (Outcome.FAILED, Outcome.RUNNING)
        if last is None or last.action != action or last.digests != self.desired or last.outcome not in tried:
            return begun
        return replace(begun, first_at=last.first_at, count=last.count + 1)

    def _ended(self, outcome: Outcome) -> Attempt:
        assert self.attempt is not None
        return replace(self.attempt, outcome=outcome, last_at=self.now)

    def _undone(self, cause: Attempt | None) -> Attempt:
        assert cause is not None
        if cause.outcome in (Outcome.FAILED, Outcome.UNHEALTHY):
            return replace(cause, permanent=True)
        return replace(cause, outcome=Outcome.UNHEALTHY, permanent=True)

    def _helm(self, action: Action, fate: Fate) -> None:
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

    def _record(self, pending: str, digests: Digests, fate: Fate, *, rollback: bool) -> None:
        number = self.revisions[-1].revision + 1 if self.revisions else 1
        if fate in DONE:
            for index in self._deployed():
                self._set(index, SUPERSEDED)
        elif rollback and fate is not Fate.KILLED:
            self._set(-1, SUPERSEDED)  # whatever it was
        status = DEPLOYED if fate in DONE else pending if fate is Fate.KILLED else FAILED
        self.revisions.append(Earlier(number, status, digests))

    def _deployed(self) -> Iterator[int]:
        return (index for index, each in enumerate(self.revisions) if each.status == DEPLOYED)

    def _set(self, index: int, status: str) -> None:
        self.revisions[index] = replace(self.revisions[index], status=status)
