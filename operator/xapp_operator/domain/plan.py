"""The decision: what to do about one XApp, given what is wanted and what is there. Pure: no I/O, no clock.

`plan` asks its rules in order; the first that answers wins. Every state of a Helm release has an answer, and a release
that once was deployed is never uninstalled by a remedy. The states are Helm's own (`helm.sh/helm/v4` release status).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.domain.actions import (
    Action,
    CorrectDrift,
    Install,
    Nothing,
    Rollback,
    Test,
    Uninstall,
    Unlock,
    Upgrade,
    Wait,
)
from xapp_operator.errors import XAppError

DEPLOYED: Final = "deployed"
SUPERSEDED: Final = "superseded"
FAILED: Final = "failed"
UNINSTALLING: Final = "uninstalling"
UNINSTALLED: Final = "uninstalled"
PENDING: Final = frozenset({"pending-install", "pending-upgrade", "pending-rollback"})

MAX_DOUBLINGS: Final = 16


class Outcome(StrEnum):
    """How an attempt ended so far."""

    RUNNING = "Running"
    RELEASED = "Released"  # helm is done, the objects are not yet healthy
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNHEALTHY = "Unhealthy"  # not healthy within the timeout
    INTERRUPTED = "Interrupted"  # ended by us for a newer generation or a deletion


@dataclass(frozen=True, slots=True)
class Digests:
    """Chart and values, each as the first 40 hex digits of a sha256."""

    chart: str
    values: str


@dataclass(frozen=True, slots=True)
class Release:
    """A release as Helm's storage shows it: its newest revision, and what was good before."""

    revision: int
    status: str
    owner: str | None  # metadata.name of the XApp that made it; None: a person did
    digests: Digests | None
    attempt_is_ours: bool  # the newest revision carries an attempt label of its own
    modified_at: float  # seconds since the epoch
    good_revision: int | None  # newest revision that once was deployed
    revisions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """What is there."""

    release: Release | None = None
    helm_running: bool = False
    namespace_terminating: bool = False
    waiting_for: tuple[str, ...] = ()  # XApps that this one depends on and that are not Ready


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last step that helm was asked for. Times are seconds since the epoch."""

    action: str
    outcome: Outcome
    digests: Digests | None
    first_at: float
    last_at: float
    count: int = 1
    permanent: bool = False
    reason: str = Reason.INSTALL_FAILED
    message: str = ""


@dataclass(frozen=True, slots=True)
class Requests:
    """What annotations ask for and was not yet acted on."""

    retry: bool = False
    force: bool = False
    test: bool = False
    rollback_to: int | None = None


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off between attempts, in seconds."""

    first: float = 1.0
    longest: float = 300.0

    def due(self, attempt: Attempt) -> float:
        """Return when `attempt` may be made again, in seconds since the epoch."""
        doublings = min(max(attempt.count - 1, 0), MAX_DOUBLINGS)
        return attempt.last_at + min(self.first * 2.0**doublings, self.longest)


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a decision rests on."""

    name: str
    spec: XAppSpec
    deleting: bool = False
    current: bool = True  # status.observedGeneration is metadata.generation
    held_revision: int | None = None
    observed: Observed = field(default_factory=Observed)
    desired: Digests | XAppError | None = None
    health: HealthStatus = HealthStatus.UNKNOWN
    culprit: str = ""
    drifted: bool = False
    attempt: Attempt | None = None
    requests: Requests = field(default_factory=Requests)
    now: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)

    @property
    def release(self) -> Release | None:
        """Return the observed release."""
        return self.observed.release

    @property
    def owned(self) -> bool:
        """Return whether the release is this XApp's own."""
        return self.release is not None and self.release.owner == self.name

    @property
    def may_touch(self) -> bool:
        """Return whether the release is this XApp's own, or a person's that `adopt` takes over."""
        return self.owned or (self.release is not None and self.release.owner is None and self.spec.adopt)


def plan(situation: Situation) -> Action:
    """Return what to do next about one XApp."""
    if situation.requests.retry:
        situation = replace(situation, attempt=None)
    for rule in _RULES:
        action = rule(situation)
        if action is not None:
            return action
    return Nothing()


def _deletion(now: Situation) -> Action | None:
    if not now.deleting:
        return None
    release = now.release
    if now.spec.deletion_policy == "Orphan" or release is None or not now.owned:
        return Nothing()
    if now.observed.helm_running:
        return Wait(Reason.PROGRESSING, "waiting for the running helm step to end")
    last = now.attempt
    if last is not None and last.action == "Uninstall" and last.outcome is Outcome.FAILED and not now.requests.retry:
        due = now.backoff.due(last)
        if now.now < due:
            return Wait(Reason.UNINSTALL_FAILED, last.message, until=due)
    return Uninstall(hooks=release.status != UNINSTALLING and not now.observed.namespace_terminating)


def _suspended(now: Situation) -> Action | None:
    return Wait(Reason.SUSPENDED, "suspended by spec.suspend: nothing is changed") if now.spec.suspend else None


def _pending(now: Situation) -> Action | None:
    release = now.release
    if (
        release is None
        or release.status not in PENDING
        or not (now.owned or (release.owner is None and now.spec.adopt))
    ):
        return None
    if now.observed.helm_running:
        return Wait(Reason.PROGRESSING, f"helm is at work on revision {release.revision}")
    due = release.modified_at + now.spec.timeout_seconds
    if (now.owned and release.attempt_is_ours) or now.now >= due:
        return Unlock(release.revision)
    return Wait(
        Reason.PROGRESSING,
        f"revision {release.revision} is {release.status} by another helm; it is unlocked when spec.timeout "
        f"({now.spec.timeout}) has passed",
        until=due,
    )


def _uninstalling(now: Situation) -> Action | None:
    release = now.release
    return Uninstall(hooks=False) if release and release.status == UNINSTALLING and now.owned else None


def _ownership(now: Situation) -> Action | None:
    release = now.release
    if release is None or now.may_touch:
        return None
    if release.owner is None:
        message = (
            "a Helm release of this name exists already and was not made by this XApp: set adopt: true to take it "
            "over, or choose another releaseName in a new XApp"
        )
    else:
        message = f"the Helm release of this name belongs to the XApp {release.owner}: choose another releaseName in a new XApp"
    return Wait(Reason.ACCESS_DENIED, message, stalled=True)


def _rollback_to(now: Situation) -> Action | None:
    wanted = now.requests.rollback_to
    if wanted is None or now.release is None or wanted not in now.release.revisions:
        return None
    return Rollback(wanted, hold=True)


def _hold(now: Situation) -> Action | None:
    if now.held_revision is None or not now.current or now.release is None or now.release.status != DEPLOYED:
        return None
    return Nothing(f"revision {now.held_revision} is held by rollback-to until the spec changes")


def _source(now: Situation) -> Action | None:
    """Answer for a chart or values that could not be had."""
    problem = now.desired
    if not isinstance(problem, XAppError):
        return None
    done = now.attempt is not None and now.attempt.outcome in (Outcome.RELEASED, Outcome.SUCCEEDED)
    if now.current and done and now.release is not None and now.release.status == DEPLOYED:
        return Nothing()  # what this generation asked for runs; a source that is away changes nothing about it
    reason = problem.reason or Reason.CHART_PULL_FAILED
    return Wait(reason, problem.message, stalled=problem.permanent)


def _failed_attempt(now: Situation) -> Action | None:
    """Answer for an attempt at these same digests that failed: back off, roll back or stall."""
    last = now.attempt
    if last is None or last.digests != now.desired or last.outcome not in (Outcome.FAILED, Outcome.UNHEALTHY):
        return None
    if last.outcome is Outcome.UNHEALTHY:
        return _after_unhealthy(now, last)
    release = now.release
    if last.permanent or now.now - last.first_at >= now.spec.timeout_seconds:
        rolls_back = release is not None and release.status == FAILED and now.spec.upgrade.on_failure == "rollback"
        if rolls_back and release is not None and release.good_revision is not None:
            return Rollback(release.good_revision)
        return Wait(last.reason, last.message, stalled=True)
    due = now.backoff.due(last)
    return Wait(last.reason, last.message, until=due) if now.now < due else None


def _after_unhealthy(now: Situation, last: Attempt) -> Action | None:
    release = now.release
    if release is None:
        return Wait(last.reason, last.message, stalled=True)
    if release.digests != now.desired:  # rolled back already
        return Wait(last.reason, last.message, stalled=True)
    if now.health is HealthStatus.HEALTHY:
        return None
    return _not_healthy_in_time(now, last)


def _not_healthy_in_time(now: Situation, last: Attempt) -> Action:
    release = now.release
    message = f"not healthy within spec.timeout ({now.spec.timeout}): {now.culprit}"
    if last.action == "Upgrade" and release is not None:
        earlier = [number for number in release.revisions if number < release.revision]
        if now.spec.upgrade.on_failure == "rollback" and earlier:
            return Rollback(max(earlier))
        return Wait(Reason.HEALTH_CHECK_FAILED, message, stalled=True)
    return Wait(Reason.HEALTH_CHECK_FAILED, message)


def _absent(now: Situation) -> Action | None:
    return Install(take_ownership=now.spec.adopt) if now.release is None else None


def _never_deployed(now: Situation) -> Action | None:
    release = now.release
    if release is None or release.good_revision is not None or release.status not in (FAILED, UNINSTALLED):
        return None
    return Install(replace=True, take_ownership=now.spec.adopt)


def _broken_after_good(now: Situation) -> Action | None:
    release = now.release
    if release is None or release.status == DEPLOYED:
        return None
    return Install(replace=True) if release.status == UNINSTALLED else Upgrade(take_ownership=now.spec.adopt)


def _deployed(now: Situation) -> Action:
    release = now.release
    if release is None or release.digests != now.desired or now.requests.force:
        return Upgrade(take_ownership=now.spec.adopt)
    last = now.attempt
    if last is not None and last.outcome is Outcome.RELEASED and now.health is not HealthStatus.HEALTHY:
        deadline = last.last_at + now.spec.timeout_seconds
        if now.now >= deadline:
            return _not_healthy_in_time(now, last)
        return Wait(Reason.PROGRESSING, now.culprit or "waiting for the objects to become healthy", until=deadline)
    if now.requests.test:
        return Test()
    if now.drifted and now.spec.drift_detection.mode == "enabled":
        return CorrectDrift()
    return Nothing()


def _release_states(now: Situation) -> Action:
    action = _absent(now) or _never_deployed(now) or _broken_after_good(now) or _deployed(now)
    if isinstance(action, Install | Upgrade) and now.observed.waiting_for:
        names = ", ".join(now.observed.waiting_for)
        return Wait(Reason.DEPENDENCY_NOT_READY, f"waiting for XApps named in dependsOn to be Ready: {names}")
    return action


_RULES: tuple[Callable[[Situation], Action | None], ...] = (
    _deletion,
    _suspended,
    _pending,
    _uninstalling,
    _ownership,
    _rollback_to,
    _hold,
    _source,
    _failed_attempt,
    _release_states,
)
