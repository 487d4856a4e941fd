"""The facts a decision rests on: what is wanted, what is there, and what was tried. Plain frozen data, no decisions.

Lives in `domain` beside `plan`, which reads it; the reconciler fills it in. The states of a release are Helm's own
(`helm.sh/helm/v4` release status).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.domain.backoff import Backoff
from xapp_operator.errors import XAppError

DEPLOYED: Final = "deployed"
SUPERSEDED: Final = "superseded"
FAILED: Final = "failed"
UNINSTALLING: Final = "uninstalling"
UNINSTALLED: Final = "uninstalled"
PENDING: Final = frozenset({"pending-install", "pending-upgrade", "pending-rollback"})

INSTALL: Final = "Install"
UPGRADE: Final = "Upgrade"
ROLLBACK: Final = "Rollback"
UNINSTALL: Final = "Uninstall"


class AttemptOutcome(StrEnum):
    """How an attempt ended so far."""

    RUNNING = "Running"
    RELEASED = "Released"  # helm is done, the objects are not yet healthy
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNHEALTHY = "Unhealthy"  # not healthy within the timeout
    INTERRUPTED = "Interrupted"  # ended by us for a newer generation or a deletion


HEALTH_PENDING: Final = frozenset({AttemptOutcome.RUNNING, AttemptOutcome.RELEASED, AttemptOutcome.INTERRUPTED})
"""Outcomes after which what is deployed has yet to become healthy."""


@dataclass(frozen=True, slots=True)
class Digests:
    """Chart and values, each as the first 40 hex digits of a sha256."""

    chart: str
    values: str


@dataclass(frozen=True, slots=True)
class PastRevision:
    """A revision before the newest one."""

    revision: int
    status: str
    digests: Digests | None = None

    @property
    def was_deployed(self) -> bool:
        """Return whether it once was deployed, by the rule of Helm's own rollback on failure."""
        return self.status in (DEPLOYED, SUPERSEDED)


@dataclass(frozen=True, slots=True)
class ObservedRelease:
    """A release as Helm's storage shows it: its newest revision, and what came before."""

    revision: int
    status: str
    owner: str | None  # metadata.name of the XApp that made it; None: a person did
    digests: Digests | None  # None: not known, or changed by another helm; of a person's, what it was found equal to
    has_own_attempt: bool  # the newest revision carries an attempt label of its own
    modified_at: float  # seconds since the epoch
    past_revisions: tuple[PastRevision, ...] = ()

    @property
    def revisions(self) -> tuple[int, ...]:
        """Return the numbers of all revisions that are kept."""
        return (self.revision, *(each.revision for each in self.past_revisions))

    @property
    def rollback_candidates(self) -> tuple[PastRevision, ...]:
        """Return the earlier revisions that once were deployed, newest first."""
        return tuple(
            sorted((each for each in self.past_revisions if each.was_deployed), key=lambda each: -each.revision)
        )


@dataclass(frozen=True, slots=True)
class ObservedState:
    """What is there."""

    release: ObservedRelease | None = None
    helm_running: bool = False
    namespace_terminating: bool = False
    unready_dependencies: tuple[str, ...] = ()  # XApps that this one depends on and that are not Ready


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last install, upgrade, rollback or uninstall. Times are seconds since the epoch.

    An upgrade that was rolled back by a remedy stays recorded as Failed or Unhealthy, so that it is not tried again; a
    rollback is recorded while it runs, when it failed, and when it is held.
    """

    action: str
    outcome: AttemptOutcome
    digests: Digests | None  # what was wanted, for a rollback too
    first_at: float
    last_at: float  # when the outcome was noted
    generation: int = -1  # the newest one that is known to want these digests
    count: int = 1
    permanent: bool = False
    reason: str = Reason.INSTALL_FAILED
    message: str = ""


@dataclass(frozen=True, slots=True)
class AnnotationRequests:
    """What annotations ask for and was not yet acted on."""

    retry: bool = False
    force: bool = False
    test: bool = False
    rollback_to: int | None = None

    def clears_attempt(self, attempt: Attempt) -> bool:
        """Return whether `attempt` is to be forgotten: a failed one, not one whose objects are still awaited."""
        failed = attempt.outcome in (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY) or attempt.action == ROLLBACK
        return failed and (self.retry or self.force)


@dataclass(frozen=True, slots=True)
class PlanInput:
    """Everything a decision rests on."""

    name: str
    spec: XAppSpec
    generation: int = 0
    deleting: bool = False
    generation_observed: bool = True  # status.observedGeneration is metadata.generation
    held_revision: int | None = None
    observed: ObservedState = field(default_factory=ObservedState)
    desired: Digests | XAppError | None = None  # None: not asked for, because nothing will be deployed
    health: HealthStatus = HealthStatus.UNKNOWN
    root_cause: str = ""
    drifted: bool = False
    attempt: Attempt | None = None
    requests: AnnotationRequests = field(default_factory=AnnotationRequests)
    now: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)

    def next_attempt_at(self, attempt: Attempt) -> float:
        """Return when `attempt` may be repeated, in seconds since the epoch."""
        return attempt.last_at + self.backoff.delay(attempt.count)

    @property
    def release(self) -> ObservedRelease | None:
        """Return the observed release."""
        return self.observed.release

    @property
    def owned(self) -> bool:
        """Return whether the release is this XApp's own."""
        return self.release is not None and self.release.owner == self.name

    @property
    def owned_or_adoptable(self) -> bool:
        """Return whether the release is this XApp's own, or a person's that `adopt` takes over."""
        return self.owned or (self.release is not None and self.release.owner is None and self.spec.adopt)

    @property
    def desired_is_deployed(self) -> bool:
        """Return whether the desired digests are the ones deployed."""
        return self.release is not None and self.release.status == DEPLOYED and self.release.digests == self.desired

    def timed_out(self, attempt: Attempt) -> bool:
        """Return whether `timeout` has passed since `attempt` was first made."""
        return self.now - attempt.first_at >= self.spec.timeout_seconds
