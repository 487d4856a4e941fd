"""The status of one XApp during a reconcile, and how attempts and annotations are stored in it.

Times are seconds since the epoch here, and RFC 3339 in the resource.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

from xapp_operator.api.models import ReleaseStatus, RevisionStatus, XApp
from xapp_operator.api.names import (
    ANNOTATION_FORCE_AT,
    ANNOTATION_RECONCILE_AT,
    ANNOTATION_RETRY_AT,
    ANNOTATION_ROLLBACK_TO,
    ANNOTATION_TEST_AT,
)
from xapp_operator.api.status_parts import HandledAnnotations, LastAttempt, LastTest, TerminatingObject
from xapp_operator.api.status_texts import MESSAGE_MAX
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    HEALTH_PENDING,
    INSTALL,
    ROLLBACK,
    UNINSTALL,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    Digests,
    ObservedRelease,
    TestOutcome,
    TestRun,
)
from xapp_operator.errors import XAppError
from xapp_operator.reconcile.status.attempts import rolled_back_attempt

RequestField: TypeAlias = Literal["reconcile_at", "retry_at", "force_at", "test_at", "rollback_to"]
"""A field of `status.handled`."""

MAX_REVISION_DIGITS: Final = 10
"""A longer number is no revision."""

_ANNOTATIONS: Final[dict[RequestField, str]] = {
    "reconcile_at": ANNOTATION_RECONCILE_AT,
    "retry_at": ANNOTATION_RETRY_AT,
    "force_at": ANNOTATION_FORCE_AT,
    "test_at": ANNOTATION_TEST_AT,
    "rollback_to": ANNOTATION_ROLLBACK_TO,
}


@dataclass(frozen=True, slots=True)
class StatusDraft:
    """What a reconcile knows and has changed; it starts from the stored status and becomes the next one."""

    attempt: Attempt | None
    release: ReleaseStatus
    history: tuple[RevisionStatus, ...]
    held_revision: int | None
    handled: HandledAnnotations
    test: TestRun | None
    configured_repository: str | None  # name of the ChartRepository, if that has more than a url
    terminating: tuple[TerminatingObject, ...]
    labelled_revision: int | None  # not stored: the revision that has the registration labels of this generation
    unlocked: bool = False  # not stored: this reconcile unlocked the release
    orphans_deleted: bool = False  # not stored: this reconcile deleted what the release left behind
    restore_refused: str = ""  # not stored: why an uninstall that has only begun could not be undone
    drift_corrected: str = ""  # not stored: what this reconcile corrected
    repository_error: XAppError | None = None  # not stored: why the ChartRepository could not be created

    @classmethod
    def from_status(cls, xapp: XApp, *, now: float) -> StatusDraft:
        status, release = xapp.status, xapp.status.release or ReleaseStatus()
        generation_observed = status.observed_generation == xapp.metadata.generation
        draft = cls(
            attempt=attempt_from_status(status.last_attempt, now=now),
            release=release,
            history=tuple(status.history or ()),
            # A suspended XApp stays as it is. Resuming it is a change of the spec, which ends the rollback.
            held_revision=status.held_revision if generation_observed or xapp.spec.suspend else None,
            handled=status.handled or HandledAnnotations(),
            test=load_test_run(status.last_test, now=now),
            configured_repository=status.configured_repository,
            terminating=tuple(status.terminating or ()),
            labelled_revision=release.revision if generation_observed or status.observed_generation == -1 else None,
        )
        return draft if generation_observed or xapp.spec.suspend else draft.after_spec_change(xapp)

    def after_spec_change(self, xapp: XApp) -> StatusDraft:
        """Return the draft without a failure of an earlier spec, and without a rollback that was requested of it.

        A deletion raises the generation, but nothing is tried again then: what failed still tells of the release.
        """
        unfinished = (AttemptOutcome.FAILED, AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED)
        attempt = self.attempt
        if attempt is not None and attempt.action != UNINSTALL and xapp.metadata.deletion_timestamp is not None:
            return self
        requested = attempt is not None and attempt.outcome in unfinished and attempt.rollback_to
        draft = replace(self, attempt=attempt_after_spec_change(attempt, self.release))
        is_same = bool(requested) and requested == requested_value(xapp, "rollback_to")
        return draft.with_handled(xapp, "rollback_to") if is_same else draft

    def without_finished_rollback(self, release: ObservedRelease | None) -> StatusDraft:
        """Return the draft without a rollback that was over when the operator ended; the spec has changed since."""
        attempt = self.attempt
        if attempt is None or not (attempt.action == ROLLBACK or attempt.rollback_was_ended):
            return self
        if attempt.outcome not in HEALTH_PENDING:
            return self
        is_over = release is not None and release.status == DEPLOYED and release.digests != attempt.digests
        return replace(self, attempt=None) if is_over else self

    def with_finished_rollback(self, release: ObservedRelease | None, xapp: XApp) -> StatusDraft:
        """Return the draft that tells of a rollback which was over when the operator ended."""
        attempt = self.attempt
        if attempt is None or attempt.action != ROLLBACK or attempt.outcome is not AttemptOutcome.RUNNING:
            return self
        if release is None or release.status != DEPLOYED or release.revision <= (self.release.revision or 0):
            return self
        if attempt.rollback_cause is None:
            return self._with_finished_request(attempt, release, xapp)
        is_over = release.digests != attempt.digests
        return replace(self, attempt=rolled_back_attempt(attempt, attempt.rollback_cause)) if is_over else self

    def _with_finished_request(self, attempt: Attempt, release: ObservedRelease, xapp: XApp) -> StatusDraft:
        """Return the draft that holds the revision of rollback-to, or the one held before, if it is what is deployed.

        The revision itself may be gone then: a full history is pruned after the rollback.
        """
        is_requested = attempt.rollback_to == requested_value(xapp, "rollback_to")
        if not attempt.rollback_to or not (is_requested or self.held_revision is not None):
            return self
        known = {each.revision: (each.chart_digest, each.values_digest) for each in self.history}
        target = int(attempt.rollback_to.partition("@")[0])
        digests = (None, None) if release.digests is None else (release.digests.chart, release.digests.values)
        if known.get(target) != digests:
            return self
        if release.digests is None and target in release.revisions:
            return self  # it may be what another helm has deployed: the rollback is done again
        released = replace(attempt, outcome=AttemptOutcome.RELEASED)
        draft = replace(self, attempt=released, held_revision=target)
        return draft.with_handled(xapp, "rollback_to") if is_requested else draft

    def with_finished_upgrade(self, release: ObservedRelease | None, xapp: XApp) -> StatusDraft:
        """Return the draft that knows of an upgrade which was deployed before the operator recorded that.

        It has handled force-at, and its digests are those of the release: they may have changed after it was planned.
        It ended when its record was written last: from then on, its objects have the timeout to become healthy.
        """
        attempt = self.attempt
        if attempt is None or attempt.action not in (INSTALL, UPGRADE) or attempt.outcome not in HEALTH_PENDING:
            return self
        if attempt.rollback_was_ended:
            return self  # the newest revision may be that of the rollback
        if release is None or release.status != DEPLOYED or not release.has_own_attempt:
            return self
        if release.revision <= (self.release.revision or 0):
            return self
        ended_at = max(attempt.last_at, release.modified_at)
        draft = replace(self, attempt=replace(attempt, digests=release.digests, last_at=ended_at))
        return draft.with_handled(xapp, "force_at") if attempt.request_digest == request_digest(xapp) else draft

    def with_unnoticed_success(self, release: ObservedRelease | None, xapp: XApp) -> StatusDraft:
        """Return the draft that knows of a step whose last write was stored, although helm has failed then.

        The step itself looks for that, but cannot while the API server is away.
        """
        attempt = self.attempt
        if attempt is None or attempt.outcome is not AttemptOutcome.FAILED:
            return self
        if release is None or release.owner != xapp.metadata.name or release.digests is None:
            return self
        made, cause = attempt.digests, attempt.rollback_cause
        if attempt.action == ROLLBACK:
            target = 0 if cause is None else cause.revision
            copied = (each.digests for each in release.past_revisions if each.revision == target)
            made = release.digests if cause is None else next(copied, None)  # a requested one is looked at below
        running = replace(self, attempt=replace(attempt, outcome=AttemptOutcome.RUNNING))
        found = running.with_finished_upgrade(release, xapp).with_finished_rollback(release, xapp)
        if made != release.digests or found is running or found.attempt is None:
            return self
        if found.attempt.outcome is not AttemptOutcome.RUNNING:
            return found
        return replace(found, attempt=replace(found.attempt, outcome=AttemptOutcome.RELEASED))

    def with_unwritten(self, newer: StatusDraft, xapp: XApp, *, same_generation: bool) -> StatusDraft:
        """Return the draft with what actions did whose outcome could not be written."""
        draft = replace(
            self,
            attempt=newer.attempt,
            release=newer.release,
            history=newer.history,
            handled=newer.handled,
            test=newer.test,
            terminating=newer.terminating,
        )
        if not same_generation:
            return draft.after_spec_change(xapp)
        return replace(draft, held_revision=newer.held_revision, labelled_revision=newer.labelled_revision)

    def with_handled(self, xapp: XApp, *fields: RequestField) -> StatusDraft:
        """Return the draft with the annotations of `fields` marked as handled."""
        if not fields:
            return self
        values: dict[str, str | None] = {field: requested_value(xapp, field) for field in fields}
        return replace(self, handled=self.handled.model_copy(update=values))


def requested_value(xapp: XApp, field: RequestField) -> str | None:
    """Return the value of an annotation as `status.handled` stores it: a long text as its digest.

    What stands before `@`, as the revision of rollback-to does, stays if it is short.
    """
    value = xapp.metadata.annotations.get(_ANNOTATIONS[field])
    if value is None or len(value) <= MESSAGE_MAX:
        return value
    digest = f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"
    revision, at, _ = value.partition("@")
    return f"{revision}@{digest}" if at and len(revision) <= MAX_REVISION_DIGITS else digest


def request_digest(xapp: XApp) -> str:
    """Return 40 hex digits for the values of retry-at and force-at; nothing if it has neither."""
    values = [xapp.metadata.annotations.get(_ANNOTATIONS[field]) for field in ("retry_at", "force_at")]
    return "" if values == [None, None] else hashlib.sha256(json.dumps(values).encode()).hexdigest()[:40]


def is_unhandled(xapp: XApp, handled: HandledAnnotations, field: RequestField) -> bool:
    """Return whether an annotation has a value that has not been handled yet."""
    value = requested_value(xapp, field)
    return value is not None and value != getattr(handled, field)


def attempt_from_status(last: LastAttempt | None, *, now: float) -> Attempt | None:
    """Return the attempt that a status stores, if any.

    A time in the future, from a clock that jumped, counts as `now`.
    """
    if last is None or last.action is None or last.outcome not in set(AttemptOutcome) or last.first_at is None:
        return None
    digests = None
    if last.chart_digest is not None and last.values_digest is not None:
        digests = Digests(last.chart_digest, last.values_digest)
    return Attempt(
        action=last.action,
        outcome=AttemptOutcome(last.outcome),
        digests=digests,
        first_at=min(last.first_at.timestamp(), now),
        last_at=min((last.last_at or last.first_at).timestamp(), now),
        generation=-1 if last.generation is None else last.generation,
        count=last.count or 1,
        revision_before=last.revision_before or 0,
        permanent=bool(last.permanent),
        reason=last.reason or "",
        message=last.message or "",
        rollback_to=last.rollback_to or "",
        request_digest=last.request_digest or "",
        hook=last.hook,
        rollback_cause=last.rollback_cause,
    )


def attempt_after_spec_change(attempt: Attempt | None, release: ReleaseStatus) -> Attempt | None:
    """Return the attempt without a failure: a changed spec may succeed with the same chart and values.

    `adopt`, `serviceAccountName` or `timeout` may be what changed. A deployed revision that is not healthy stays
    recorded, and has what is left of the new `timeout`. The upgrade whose rollback is not over is made again.
    """
    if attempt is None or attempt.digests is None:
        return attempt
    deployed = (attempt.digests.chart, attempt.digests.values) == (release.chart_digest, release.values_digest)
    if attempt.outcome is AttemptOutcome.UNHEALTHY and deployed:
        return replace(attempt, outcome=AttemptOutcome.RELEASED, permanent=False)
    unfinished = attempt.outcome in (AttemptOutcome.RUNNING, AttemptOutcome.INTERRUPTED)
    if attempt.action == ROLLBACK and attempt.rollback_cause is not None and unfinished:
        return replace(attempt, action=UPGRADE, outcome=AttemptOutcome.INTERRUPTED)
    return None if attempt.outcome in (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY) else attempt


def attempt_to_status(attempt: Attempt | None) -> LastAttempt | None:
    if attempt is None:
        return None
    failed = attempt.outcome in (AttemptOutcome.FAILED, AttemptOutcome.UNHEALTHY)
    return LastAttempt(
        generation=attempt.generation,
        chart_digest=attempt.digests.chart if attempt.digests else None,
        values_digest=attempt.digests.values if attempt.digests else None,
        action=attempt.action,
        outcome=attempt.outcome.value,
        permanent=attempt.permanent if failed else None,
        reason=attempt.reason if failed else None,
        message=attempt.message if failed else None,
        rollback_to=attempt.rollback_to or None,
        request_digest=attempt.request_digest or None,
        hook=attempt.hook if failed or attempt.outcome is AttemptOutcome.RUNNING else None,
        rollback_cause=attempt.rollback_cause,
        count=attempt.count,
        revision_before=attempt.revision_before or None,
        first_at=utc(attempt.first_at),
        last_at=utc(attempt.last_at),
    )


def load_test_run(last: LastTest | None, *, now: float) -> TestRun | None:
    """Return the run of tests that a status stores, if any; a time in the future counts as `now`."""
    if last is None or last.revision is None or last.outcome not in set(TestOutcome) or last.first_at is None:
        return None
    return TestRun(
        revision=last.revision,
        outcome=TestOutcome(last.outcome),
        first_at=min(last.first_at.timestamp(), now),
        last_at=min((last.last_at or last.first_at).timestamp(), now),
        requested=bool(last.requested),
        count=last.count or 1,
        message=last.message or "",
        secret_uid=last.secret_uid or "",
    )


def store_test_run(run: TestRun | None) -> LastTest | None:
    if run is None:
        return None
    return LastTest(
        revision=run.revision,
        secret_uid=run.secret_uid or None,
        outcome=run.outcome.value,
        requested=run.requested or None,
        message=run.message or None,
        count=run.count,
        first_at=utc(run.first_at),
        last_at=utc(run.last_at),
    )


def begin_test_run(previous: TestRun | None, release: ObservedRelease, *, requested: bool, now: float) -> TestRun:
    """Return a new run of the tests; it continues the count of `previous`, a run of this revision that did not end."""
    run = TestRun(
        revision=release.revision,
        outcome=TestOutcome.RUNNING,
        first_at=now,
        last_at=now,
        requested=requested,
        secret_uid=release.secret_uid,
    )
    if previous is None or previous.ended or previous.revision != run.revision:
        return run
    # Time during which no operator worked on it does not count towards the timeout.
    first_at = previous.first_at if previous.outcome is TestOutcome.INTERRUPTED else now
    return replace(run, first_at=first_at, count=previous.count + 1)


def utc(seconds: float) -> datetime:
    """Return the time `seconds` since the epoch in UTC, in whole seconds as Kubernetes stores times."""
    return datetime.fromtimestamp(int(seconds), UTC)
