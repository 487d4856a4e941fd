"""The input of `plan`: the desired state, the actual state, and past attempts, as plain frozen data.

The states of a release are those of Helm (`helm.sh/helm/v4`, release status).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import HealthStatus, XAppSpec
from xapp_operator.api.status_parts import HookReference, RollbackCause, TerminatingObject
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.errors import HelmNotStarted, KubeError, ReleaseRecordDamaged, XAppError

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
    """How an attempt ended, or where it is now."""

    RUNNING = "Running"
    RELEASED = "Released"  # helm has finished, the objects are not healthy yet
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNHEALTHY = "Unhealthy"  # not healthy within the timeout
    INTERRUPTED = "Interrupted"  # the operator ended it for a newer generation or a deletion


class TestOutcome(StrEnum):
    """How a run of the tests ended, or that it has not ended."""

    __test__ = False  # for pytest, which collects classes by their names

    RUNNING = "Running"
    INTERRUPTED = "Interrupted"  # no test failed; it is begun again
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class TestRun:
    """The last run of the tests of the chart. Times are seconds since the epoch."""

    __test__ = False

    revision: int
    outcome: TestOutcome
    first_at: float
    last_at: float  # when the outcome was recorded
    requested: bool = False  # by the annotation test-at
    count: int = 1
    message: str = ""
    secret_uid: str = ""  # of the record of the revision; empty: unknown

    @property
    def ended(self) -> bool:
        return self.outcome in (TestOutcome.SUCCEEDED, TestOutcome.FAILED)


HEALTH_PENDING: Final = frozenset({AttemptOutcome.RUNNING, AttemptOutcome.RELEASED, AttemptOutcome.INTERRUPTED})
"""Outcomes after which the deployed objects have yet to become healthy."""


HELM_SUCCEEDED: Final = frozenset({AttemptOutcome.RELEASED, AttemptOutcome.SUCCEEDED})


@dataclass(frozen=True, slots=True)
class Digests:
    """The digests of chart and values: the first 40 hex digits of a sha256 each."""

    chart: str
    values: str


@dataclass(frozen=True, slots=True)
class PastRevision:
    """A revision before the newest one."""

    revision: int
    status: str
    digests: Digests | None = None
    was_healthy: bool | None = None  # at some time while it was in force; None: not known
    secret_uid: str = ""  # of its record

    @property
    def was_deployed(self) -> bool:
        """Return whether it once was deployed, by the rule of Helm's rollback on failure."""
        return self.status in (DEPLOYED, SUPERSEDED)


@dataclass(frozen=True, slots=True)
class PendingRevision:
    """A revision before the newest one, on which another helm works that has read an earlier history."""

    revision: int
    status: str
    modified_at: float  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class ObservedRelease:
    """A release in Helm's storage: its newest revision, and the ones before."""

    revision: int
    status: str
    owner: str | None  # metadata.name of the XApp that it belongs to; None: of no XApp
    digests: Digests | None  # None: unknown, or changed by another helm; without `owner`, those that it matches
    has_own_attempt: bool  # the newest revision has an attempt label of its own
    modified_at: float  # seconds since the epoch
    past_revisions: tuple[PastRevision, ...] = ()
    left_by: str = ""  # the XApp that created it, without `owner`: it no longer exists
    overtaken_by: frozenset[int] = frozenset()  # earlier revisions made after the newest: theirs may be in force
    late_pending: PendingRevision | None = None  # an earlier revision that is not over
    secret_uid: str = ""  # of the record of the newest revision

    @property
    def overtaken(self) -> bool:
        return bool(self.overtaken_by)

    @property
    def revisions(self) -> tuple[int, ...]:
        return (self.revision, *(each.revision for each in self.past_revisions))

    @property
    def deployed_before(self) -> tuple[PastRevision, ...]:
        """Return the earlier revisions that once were deployed, newest first."""
        return tuple(
            sorted((each for each in self.past_revisions if each.was_deployed), key=lambda each: -each.revision)
        )

    @property
    def rollback_candidates(self) -> tuple[PastRevision, ...]:
        """Return those of `deployed_before` that may have been healthy: the others were no better."""
        return tuple(each for each in self.deployed_before if each.was_healthy is not False)


@dataclass(frozen=True, slots=True)
class LabelState:
    """The registration labels on the objects of the deployed release."""

    missing: bool = False  # on some objects of watched kinds
    outdated: bool = False  # they were not written since the revision or the spec changed
    repair_at: float = 0.0  # not to be written earlier (seconds since the epoch)
    refused: KubeError | None = None  # why they could not be written on some object after the last step

    def repair_due(self, now: float) -> bool:
        return (self.missing or self.outdated) and now >= self.repair_at


@dataclass(frozen=True, slots=True)
class DriftState:
    """How the objects of the deployed release differ from its manifest.

    `unknown` is why some could not be compared; with `denied` a right is missing. Times are seconds since the epoch.
    """

    objects: tuple[DriftedObject, ...] = ()
    unknown: str = ""
    denied: bool = False
    compare_at: float | None = None  # when more objects are compared; None: when one changes
    correct_at: float = 0.0  # not to be corrected earlier
    correction_error: str = ""  # why the last correction was refused
    correction_denied: bool = False  # for want of a right
    corrected_before: bool = False  # one of these objects

    @property
    def correctable(self) -> tuple[DriftedObject, ...]:
        return tuple(each for each in self.objects if not each.refusal)


@dataclass(frozen=True, slots=True)
class TerminatingState:
    """Objects of the release that were being deleted when helm applied them, and those of them that are gone now."""

    objects: tuple[TerminatingObject, ...] = ()
    gone: tuple[DriftedObject, ...] = ()
    recreate_at: float = 0.0  # not to be created again earlier (seconds since the epoch)


@dataclass(frozen=True, slots=True)
class BegunUninstall:
    """A release that is to stay, although its uninstall has begun."""

    status: str  # the release's before the uninstall
    obstacle: str = ""  # why it cannot have that status again


@dataclass(frozen=True, slots=True)
class ObservedState:
    """The actual state, as caches and the cluster show it."""

    release: ObservedRelease | None = None
    releases_unavailable: XAppError | None = None  # why it is not known whether there is a release
    held_copies: frozenset[int] = frozenset()  # the held revision, and those into which rollbacks have copied it
    record_damaged: ReleaseRecordDamaged | None = None  # why the newest revision cannot be read
    label_outdated: bool = False  # the label of the newest revision has another status than its record
    manifest_problem: str = ""  # why it is not known which objects the deployed revision consists of
    helm_running: bool = False  # for another XApp that names the same release
    namespace_terminating: bool = False
    unready_dependencies: tuple[str, ...] = ()  # XApps that this one depends on and that are not Ready
    missing_dependencies: tuple[str, ...] = ()  # those of them that do not exist
    dependency_cycle: tuple[str, ...] = ()  # of dependsOn, beginning and ending with this XApp
    dependents: tuple[str, ...] = ()  # of an XApp that is being deleted: those that depend on it, outside of cycles
    repository_missing: bool = False  # the ChartRepository that spec.repoName names does not exist
    archive_owners_differ: bool = False  # the XApp owns other ChartArchives than the one it uses
    objects_without_record: bool = False  # of an XApp that is being deleted: the release has objects, but no record
    orphans_deleted: bool = False  # DeleteOrphans was executed
    leftovers: bool = False  # a revision failed, and it is not known whether helm has left objects of it
    begun_uninstall: BegunUninstall | None = None  # looked for when a deleted XApp leaves its release
    labels: LabelState = field(default_factory=LabelState)
    tests_running: bool = False  # a helm process of this operator runs the tests of the chart
    drift: DriftState | None = None  # None: not looked for
    terminating: TerminatingState = field(default_factory=TerminatingState)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last install, upgrade, rollback or uninstall. Times are seconds since the epoch.

    An upgrade that the plan rolled back stays recorded as Failed or Unhealthy, so that it is not repeated. A rollback
    is recorded while it runs, when it failed, and when its revision is held. If a changed spec ends one that nobody
    requested, the upgrade is recorded as Interrupted, with the cause of the rollback.
    """

    action: str
    outcome: AttemptOutcome
    digests: Digests | None  # the desired ones, also for a rollback
    first_at: float
    last_at: float  # when the outcome was recorded
    generation: int = -1  # the newest generation that is known to have these digests
    count: int = 1
    revision_before: int = 0  # the newest revision when the last try began
    permanent: bool = False
    reason: str = Reason.INSTALL_FAILED
    message: str = ""
    rollback_to: str = ""  # the annotation's value, for a rollback that it requested; or the held revision
    request_digest: str = ""  # of the values of retry-at and force-at when it began
    hook: HookReference | None = None  # the one that helm waits for, or that failed
    rollback_cause: RollbackCause | None = None  # of a rollback that nobody requested, until it has succeeded

    @property
    def rollback_was_ended(self) -> bool:
        """Return whether it is an upgrade whose rollback a changed spec has ended."""
        ended = self.action == UPGRADE and self.outcome is AttemptOutcome.INTERRUPTED
        return ended and self.rollback_cause is not None

    @property
    def is_unfinished_uninstall(self) -> bool:
        """Return whether it is an uninstall that may have left the release `uninstalling`."""
        return self.action == UNINSTALL and self.outcome not in HELM_SUCCEEDED

    def begun(self, now: float) -> Attempt:
        """Return the attempt, which has waited for a place until `now`: that does not count towards the timeout.

        If the clock was set back meanwhile, nothing that it did lies in the future.
        """
        waited = max(now - self.last_at, 0.0)
        return replace(self, first_at=min(self.first_at + waited, now), last_at=now)


def find_known_digests(
    desired: Digests | XAppError | None, attempt: Attempt | None, *, generation: int
) -> Digests | None:
    """Return `desired`; if it is an error, the digests that this generation had before, as far as they are known."""
    if not isinstance(desired, XAppError):
        return desired
    return attempt.digests if attempt is not None and attempt.generation == generation else None


def is_plannable(error: XAppError, attempt: Attempt | None, generation: int) -> bool:
    """Return whether the plan can go on without chart or values, for want of which `error` was raised.

    What may pass is waited for, unless it is known what the generation had before: that may have to be undone.
    """
    return error.permanent or find_known_digests(error, attempt, generation=generation) is not None


@dataclass(frozen=True, slots=True)
class AnnotationRequests:
    """What annotations ask for that has not been handled yet."""

    retry: bool = False
    force: bool = False
    test: bool = False
    rollback_to: int | None = None
    rollback_value: str = ""  # the whole value of rollback-to
    rollback_unreadable: bool = False  # rollback-to names no revision
    digest: str = ""  # of the values of retry-at and force-at

    def clear_attempt(self, attempt: Attempt | None) -> Attempt | None:
        """Return what is left of `attempt`: nothing of a failed one, all of one whose objects may still become healthy.

        A failed uninstall counts as interrupted: that the release is `uninstalling` is still the operator's own doing.
        An attempt that began with the same values has answered them: it keeps its back-off and its timeout, however
        long they stay unhandled.
        """
        if attempt is None:
            return None
        unfinished = attempt.action == ROLLBACK and attempt.outcome not in HELM_SUCCEEDED
        failed = attempt.outcome in (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY) or unfinished
        is_answer = attempt.request_digest != "" and attempt.request_digest == self.digest
        if not failed or is_answer or not (self.retry or self.force):
            return attempt
        return replace(attempt, outcome=AttemptOutcome.INTERRUPTED) if attempt.action == UNINSTALL else None


@dataclass(frozen=True, slots=True)
class PlanInput:
    """Everything that a decision depends on."""

    name: str
    spec: XAppSpec
    generation: int = 0
    deleting: bool = False
    deleted_at: float = 0.0  # metadata.deletionTimestamp, in seconds since the epoch, corrected already
    generation_observed: bool = True  # status.observedGeneration is metadata.generation
    held_revision: int | None = None
    observed: ObservedState = field(default_factory=ObservedState)
    desired: Digests | XAppError | None = None  # None: not resolved, because nothing will be deployed
    source_unavailable: bool = False  # `desired` is what the source gave before: nothing can be deployed from it now
    health: HealthStatus = HealthStatus.UNKNOWN
    root_cause: str = ""
    attempt: Attempt | None = None
    test: TestRun | None = None
    requests: AnnotationRequests = field(default_factory=AnnotationRequests)
    now: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)

    def with_corrected_times(self, corrected: Callable[[float], float]) -> PlanInput:
        """Return the input whose past times can be compared with `now`, although the clock may have jumped since."""
        release, attempt, test = self.release, self.attempt, self.test
        if release is not None:
            late = release.late_pending
            if late is not None:
                late = replace(late, modified_at=corrected(late.modified_at))
            release = replace(release, modified_at=corrected(release.modified_at), late_pending=late)
        if attempt is not None:
            attempt = replace(attempt, first_at=corrected(attempt.first_at), last_at=corrected(attempt.last_at))
        if test is not None:
            test = replace(test, first_at=corrected(test.first_at), last_at=corrected(test.last_at))
        observed = replace(self.observed, release=release)
        return replace(self, observed=observed, attempt=attempt, test=test)

    def next_attempt_at(self, attempt: Attempt) -> float:
        """Return when `attempt` may be repeated, in seconds since the epoch."""
        return attempt.last_at + self.backoff.delay(attempt.count)

    @property
    def release(self) -> ObservedRelease | None:
        return self.observed.release

    @property
    def owned(self) -> bool:
        return self.release is not None and self.release.owner == self.name

    @property
    def owned_or_adoptable(self) -> bool:
        """Return whether this XApp owns the release, or takes over one of no XApp with `adopt`."""
        return self.owned or (self.release is not None and self.release.owner is None and self.spec.adopt)

    @property
    def desired_is_deployed(self) -> bool:
        """Return whether the release was deployed from the desired digests."""
        return self.release is not None and self.release.status == DEPLOYED and self.release.digests == self.desired

    @property
    def failed_rollback_request(self) -> Attempt | None:
        """Return the last attempt if it was the rollback that rollback-to still asks for, and it failed."""
        last = self.attempt
        if last is None or last.outcome is not AttemptOutcome.FAILED:
            return None
        return last if last.rollback_to == self.requests.rollback_value else None

    def timed_out(self, attempt: Attempt) -> bool:
        """Return whether `spec.timeout` has passed since `attempt` was first made.

        A try that was due before is made nevertheless, if it can be made: there was no operator, or no API server.
        While helm cannot be started, as with a full disk, no time counts.
        """
        if attempt.outcome is AttemptOutcome.FAILED and attempt.reason == HelmNotStarted.reason:
            return False
        deadline = attempt.first_at + self.spec.timeout_seconds
        missed = self.next_attempt_at(attempt) < deadline
        prevented = self.source_unavailable or self.observed.unready_dependencies or self.observed.dependency_cycle
        return self.now >= deadline and (not missed or bool(prevented))
