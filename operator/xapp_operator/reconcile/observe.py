"""Gathers the facts about one XApp for `plan`: its release, live objects, annotations, and desired state.

The observer only reads, and its types allow nothing else. In the settled case it makes no API call: everything is in
caches. After a restart it reads each deployed release record once, to learn what the release consists of.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from xapp_operator.api.conditions import STALLED, find_condition
from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus, XApp
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    UNINSTALLED,
    AnnotationRequests,
    AttemptOutcome,
    Digests,
    DriftState,
    LabelState,
    ObservedRelease,
    ObservedState,
    TerminatingState,
)
from xapp_operator.errors import (
    ApiUnavailable,
    KubeError,
    ReleaseRecordDamaged,
    SourcePending,
    XAppError,
)
from xapp_operator.helm.releases.release_index import revisions_with_leftovers
from xapp_operator.kube.reader import is_namespace_terminating
from xapp_operator.monitor.release_objects import MonitorReport
from xapp_operator.monitor.root_cause import find_root_cause
from xapp_operator.reconcile.desired_state import resolve_desired_state
from xapp_operator.reconcile.inputs.chart_archives import ArchiveOwnerChanges
from xapp_operator.reconcile.labels import MissingLabels, find_missing_labels, label_state
from xapp_operator.reconcile.plan_basis import unready_dependencies
from xapp_operator.reconcile.reconcile_context import ObserverContext
from xapp_operator.reconcile.status.revision_history import (
    add_known_health,
    build_history,
    find_copies,
    forget_other_revisions,
    release_digests,
)
from xapp_operator.reconcile.status.status_draft import (
    MAX_REVISION_DIGITS,
    RequestField,
    StatusDraft,
    is_unhandled,
    request_digest,
    requested_value,
)
from xapp_operator.reconcile.stored_releases.adoptable_release import matches_desired_state
from xapp_operator.reconcile.stored_releases.begun_uninstall import find_begun_uninstall
from xapp_operator.reconcile.stored_releases.deployed_release import (
    is_label_outdated,
    is_same_release,
    load_deployed_release,
)
from xapp_operator.reconcile.stored_releases.objects_without_record import may_have_objects
from xapp_operator.reconcile.terminating import find_terminating
from xapp_operator.reconcile.watching.release_watch import LATE_SECONDS

POD_GRACE_SECONDS: Final = 3.0
"""For this long after a helm step, pods are not asked why they are not ready."""
_UNSEEN_MESSAGE: Final = "the objects of the new revision are not shown yet"
_UNINSTALLED_MESSAGE: Final = "the release is uninstalled"


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts about one XApp: the input of `plan`, and what actions and status need besides."""

    state: ObservedState
    desired: Digests | XAppError | None
    live: MonitorReport
    requests: AnnotationRequests
    handled: tuple[RequestField, ...]  # annotations that this observation has handled
    release: ReleaseStatus
    history: tuple[RevisionStatus, ...]
    missing_labels: MissingLabels
    archive_owner_changes: ArchiveOwnerChanges


@dataclass(frozen=True, slots=True)
class _KnownRelease:
    release: ObservedRelease | None
    status: ReleaseStatus
    history: tuple[RevisionStatus, ...]
    damaged: ReleaseRecordDamaged | None = None
    manifest_problem: str = ""
    missing_labels: MissingLabels = field(default_factory=MissingLabels)
    labels: LabelState = field(default_factory=LabelState)
    drift: DriftState | None = None
    terminating: TerminatingState = field(default_factory=TerminatingState)


class Observer:
    """Observes one XApp at a time."""

    def __init__(self, context: ObserverContext) -> None:
        self._context = context

    async def observe(self, xapp: XApp, draft: StatusDraft) -> Observation:
        """Return the facts about `xapp`; `draft` is what this reconcile has found out so far.

        Raises:
            KubeError: when the cluster does not answer a question that cannot be left open.
        """
        try:
            return await self._observe(xapp, draft)
        finally:
            self._context.drift.drop_manifest(xapp.key)  # megabytes, of which perhaps no comparison was made

    async def _observe(self, xapp: XApp, draft: StatusDraft) -> Observation:
        context, key = self._context, xapp.key
        requests = _annotation_requests(xapp, draft)
        attempt = requests.clear_attempt(draft.attempt)
        draft = draft if attempt is draft.attempt else replace(draft, attempt=attempt)
        deleting = xapp.metadata.deletion_timestamp is not None
        running = context.held_releases.is_held_by_other((key[0], xapp.release_name), xapp.metadata.uid)
        unavailable = context.release_watch.unavailable(key[0])
        if unavailable is not None:
            terminating = deleting and await is_namespace_terminating(context.kube, key[0])
            live = await self._observe_live_state(xapp, draft)
            return self.without_release(xapp, draft, unavailable, live, running=running, terminating=terminating)
        if not running:
            await context.release_watch.ensure_current(key[0], xapp.release_name)
        desired_state = await resolve_desired_state(xapp, draft, context, deleting=deleting)
        release = context.release_watch.get_release(key[0], xapp.release_name, attempt=draft.attempt)
        draft = forget_other_revisions(draft, release)
        release, desired = await self._observe_owner(xapp, draft, release, desired_state.digests)
        damaged, label_outdated = None, False
        try:
            label_outdated = not deleting and await is_label_outdated(xapp, draft, release, context)
        except ReleaseRecordDamaged as error:
            damaged = error
        known = _KnownRelease(
            release, draft.release, draft.history, damaged, terminating=TerminatingState(draft.terminating)
        )
        if release is None:
            known = _KnownRelease(None, ReleaseStatus(), (), damaged)
            context.drift.forget(key)
        elif release.owner == xapp.metadata.name and release.status == DEPLOYED and not deleting:
            known = await self._read_deployed_release(xapp, draft, known, release)
            if not (running or known.damaged or known.manifest_problem):
                requested = bool(desired_state.handled)
                known = await self._compare_objects(xapp, draft, known, release.revision, requested=requested)
        else:
            known = replace(known, history=tuple(each for each in known.history if each.revision in release.revisions))
        release, labels, history = known.release, known.labels, known.history
        unseen = labels.outdated and self._may_be_unseen(xapp, draft)
        live = _correct_health(await self._observe_live_state(xapp, draft, unseen=unseen), release)
        changes = ArchiveOwnerChanges()
        if desired is not None:
            changes = context.inputs.archive_owner_changes(xapp, resolved=isinstance(desired, Digests))
        unready = unready_dependencies(xapp, context)
        return Observation(
            state=ObservedState(
                release=release,
                held_copies=find_copies(draft.held_revision, draft.history, known.status),
                record_damaged=known.damaged,
                label_outdated=label_outdated,
                manifest_problem=known.manifest_problem,
                helm_running=running,
                namespace_terminating=deleting and await is_namespace_terminating(context.kube, key[0]),
                unready_dependencies=unready,
                missing_dependencies=tuple(name for name in unready if context.xapps.get((key[0], name)) is None),
                dependency_cycle=() if deleting else context.xapps.dependency_cycle(key),
                dependents=context.xapps.dependents(key) if deleting else (),
                repository_missing=desired_state.repository_missing,
                archive_owners_differ=bool(changes)
                and context.archive_backoff.next_repair_at(key) <= context.clock.monotonic(),
                begun_uninstall=await find_begun_uninstall(xapp, draft, release, context)
                if deleting and not running
                else None,
                tests_running=context.test_runs.is_running(key),  # last: nothing is awaited after it
                objects_without_record=deleting and release is None and may_have_objects(xapp, draft, context.monitor),
                orphans_deleted=draft.orphans_deleted,
                leftovers=self._may_have_leftovers(xapp),
                labels=labels,
                drift=known.drift,
                terminating=known.terminating,
            ),
            desired=desired,
            live=live,
            requests=requests,
            handled=desired_state.handled,
            release=known.status,
            history=history
            if running or unseen
            else context.health_marks.with_health(key, history, release, live.status, now=context.clock.monotonic()),
            missing_labels=known.missing_labels,
            archive_owner_changes=changes,
        )

    def _may_have_leftovers(self, xapp: XApp) -> bool:
        context, key = self._context, xapp.key
        if context.leftover_backoff.next_repair_at(key) > context.clock.monotonic():
            return False
        revisions, clean = context.release_watch.revisions(key[0], xapp.release_name), context.clean_points.get(key)
        return key in context.noted_objects or bool(revisions_with_leftovers(revisions, clean=clean))

    async def _read_deployed_release(
        self, xapp: XApp, draft: StatusDraft, known: _KnownRelease, release: ObservedRelease
    ) -> _KnownRelease:
        """Return what the record of a deployed revision says."""
        context, key = self._context, xapp.key
        try:
            status = await load_deployed_release(xapp, draft, release.revision, context)
        except ReleaseRecordDamaged as error:
            return replace(known, damaged=error)
        read = replace(
            known,
            release=replace(release, digests=None if release.overtaken else release_digests(status)),
            status=status,
            history=build_history(draft, status, context.release_watch.revisions(key[0], xapp.release_name)),
            manifest_problem=context.unreadable_manifests.get(key, ""),
        )
        await context.monitor.watch_kinds(key)
        return read

    async def _compare_objects(
        self, xapp: XApp, draft: StatusDraft, known: _KnownRelease, revision: int, *, requested: bool
    ) -> _KnownRelease:
        """Return what differs between the objects of a deployed revision and its manifest."""
        context, key = self._context, xapp.key
        missing = await find_missing_labels(
            xapp,
            client=context.impersonation.client_for(xapp),
            monitor=context.monitor,
            absent=context.absent_objects,
        )
        outdated, pause = draft.labelled_revision != revision, context.label_backoff.next_repair_at(key)
        was_stalled = find_condition(xapp.status.conditions, STALLED) is not None
        refused_before = not outdated and bool(missing.objects) and was_stalled  # perhaps before a restart
        labels = label_state(
            missing,
            outdated=outdated,
            incomplete=key in context.incompletely_labelled or refused_before,
            refused=context.incompletely_labelled.get(key),
            seconds_until_repair=0.0 if requested else pause - context.clock.monotonic(),
            now=context.clock.now(),
        )
        drift = await self._find_drift(xapp, revision, requested=requested)
        terminating = self._find_terminating(xapp, draft, revision)
        return replace(known, missing_labels=missing, labels=labels, drift=drift, terminating=terminating)

    def _find_terminating(self, xapp: XApp, draft: StatusDraft, revision: int) -> TerminatingState:
        context, key = self._context, xapp.key
        info = context.release_watch.get_revision(key[0], xapp.release_name, revision)
        created = 0 if info is None else info.created
        terminating = find_terminating(context.monitor.release_objects(key), draft.terminating, created=created)
        pause = context.correction_backoff.next_repair_at(key) - context.clock.monotonic()
        return replace(terminating, recreate_at=context.clock.now() + pause)

    def without_release(
        self,
        xapp: XApp,
        draft: StatusDraft,
        error: XAppError,
        live: MonitorReport,
        *,
        running: bool = False,
        terminating: bool = False,
    ) -> Observation:
        """Return what is known without the release, because of `error`; the status keeps what it says of it."""
        return Observation(
            state=ObservedState(
                releases_unavailable=error,
                helm_running=running,
                tests_running=self._context.test_runs.is_running(xapp.key),
                namespace_terminating=terminating,
                orphans_deleted=draft.orphans_deleted,
                terminating=TerminatingState(draft.terminating),
            ),
            desired=None,
            live=live,
            requests=_annotation_requests(xapp, draft),
            handled=(),
            release=draft.release,
            history=draft.history,
            missing_labels=MissingLabels(),
            archive_owner_changes=ArchiveOwnerChanges(),
        )

    async def _observe_owner(
        self, xapp: XApp, draft: StatusDraft, release: ObservedRelease | None, desired: Digests | XAppError | None
    ) -> tuple[ObservedRelease | None, Digests | XAppError | None]:
        """Return the release with its owner, and `desired`, or the error if it may not be read whether it has that."""
        context = self._context
        if release is None:
            return None, desired
        owner, (namespace, name) = release.owner, xapp.key
        if owner == name:
            # Only an older revision may have its label: of an XApp before it, or of a release before this one.
            newest = context.release_watch.get_revision(namespace, xapp.release_name, release.revision)
            is_labelled = newest is None or newest.xapp == name
            if not is_labelled and not await is_same_release(xapp, draft, release.revision, context):
                release = replace(release, owner=None)
        elif owner is not None and context.xapps.is_complete and context.xapps.get((namespace, owner)) is None:
            release = replace(release, owner=None, left_by=owner)
        try:
            if isinstance(desired, Digests) and await matches_desired_state(xapp, draft, context, release, desired):
                release = replace(release, digests=desired)
        except SourcePending as pending:
            desired = pending
        except KubeError as error:
            if not error.permanent:
                raise
            desired = error
        return add_known_health(release, draft.history), desired

    async def _find_drift(self, xapp: XApp, revision: int, *, requested: bool) -> DriftState | None:
        """Return the drift of the deployed revision, or None where it is not looked for."""
        context, key = self._context, xapp.key
        if xapp.spec.drift_detection.mode == "disabled":
            context.drift.forget(key)
        if xapp.spec.drift_detection.mode == "disabled" or xapp.spec.suspend:
            return None
        drift = await context.drift.find_drift(xapp, revision, requested=requested)
        pause = context.correction_backoff.next_repair_at(key) - context.clock.monotonic()
        return replace(drift, correct_at=context.clock.now() + pause)

    def _may_be_unseen(self, xapp: XApp, draft: StatusDraft) -> bool:
        """Return whether the watches may show the objects of an unlabelled revision as they were before.

        A new revision is labelled first, and the responses show its objects. If one failed, the watches are waited for.
        """
        if xapp.key not in self._context.incompletely_labelled:
            return True
        return _is_released_within(draft, LATE_SECONDS, now=self._context.clock.now())

    async def _observe_live_state(self, xapp: XApp, draft: StatusDraft, *, unseen: bool = False) -> MonitorReport:
        """Return the health of the objects.

        Raises:
            ApiUnavailable: while they are not shown, if it depends on them whether a helm step is undone.
        """
        context, now = self._context, self._context.clock.now()
        awaited = draft.attempt is not None and draft.attempt.outcome is AttemptOutcome.RELEASED
        interruption = context.monitor.interruption(xapp.key)
        if awaited and interruption is not None and xapp.metadata.deletion_timestamp is None:
            raise ApiUnavailable(f"the objects of the release are not shown at present: {interruption.message}")
        report = context.monitor.report(xapp.key, release=xapp.release_name)
        if report.status is HealthStatus.HEALTHY and unseen and xapp.key in context.incompletely_labelled:
            return replace(report, status=HealthStatus.PROGRESSING, message=_UNSEEN_MESSAGE)
        if report.status is HealthStatus.HEALTHY or _is_recent_step(draft, report.status, now=now):
            return report
        cause = await find_root_cause(context.kube, report.unhealthy)
        if cause is None:
            return report
        # kstatus calls a rollout Progressing until its deadline, even while its pods crash. Users call that Degraded.
        status = cause.status if report.status is HealthStatus.PROGRESSING else report.status
        return replace(report, status=status, message=cause.message)


def _correct_health(live: MonitorReport, release: ObservedRelease | None) -> MonitorReport:
    """Return the health of the objects; none are left of an uninstalled release of which helm keeps the history."""
    if release is None or release.status != UNINSTALLED or live.status is not HealthStatus.HEALTHY:
        return live
    return replace(live, status=HealthStatus.DEGRADED, message=_UNINSTALLED_MESSAGE)


def _annotation_requests(xapp: XApp, draft: StatusDraft) -> AnnotationRequests:
    number = (requested_value(xapp, "rollback_to") or "").partition("@")[0]
    rollback = is_unhandled(xapp, draft.handled, "rollback_to")
    readable = number.isascii() and number.isdecimal() and len(number) <= MAX_REVISION_DIGITS
    return AnnotationRequests(
        retry=is_unhandled(xapp, draft.handled, "retry_at"),
        force=is_unhandled(xapp, draft.handled, "force_at"),
        test=is_unhandled(xapp, draft.handled, "test_at"),
        rollback_to=int(number) if rollback and readable else None,
        rollback_unreadable=rollback and not readable,
        rollback_value=requested_value(xapp, "rollback_to") or "",
        digest=request_digest(xapp),
    )


def _is_recent_step(draft: StatusDraft, status: HealthStatus, *, now: float) -> bool:
    return status is not HealthStatus.DEGRADED and _is_released_within(draft, POD_GRACE_SECONDS, now=now)


def _is_released_within(draft: StatusDraft, seconds: float, *, now: float) -> bool:
    attempt = draft.attempt
    return attempt is not None and attempt.outcome is AttemptOutcome.RELEASED and now - attempt.last_at < seconds
