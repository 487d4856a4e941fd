"""The history of a release in the status of its XApp: what is known of each revision that Helm keeps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set
from dataclasses import replace
from datetime import datetime
from typing import Final

from xapp_operator.api.models import HealthStatus, ReleaseStatus, RevisionStatus
from xapp_operator.common.text import shorten_line
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    INSTALL,
    ROLLBACK,
    SUPERSEDED,
    UPGRADE,
    Attempt,
    Digests,
    ObservedRelease,
)
from xapp_operator.helm.releases.release_index import RevisionInfo
from xapp_operator.reconcile.status.status_draft import StatusDraft, utc
from xapp_operator.reconcile.work.work_queue import NamespacedName

UNSETTLED_SECONDS: Final = 60.0
UNKNOWN_REVISIONS_MAX: Final = 500
"""Of the revisions of which nothing is known, so many of the newest are looked at: anybody can store thousands."""
FAILURE_MAX: Final = 512
"""Characters of the error of a revision that failed; conditions and events tell more of the last one."""
_INTERRUPTED: Final = "interrupted before it was over"
_ROLLBACK_TO: Final = "Rollback to "
"""So helm describes a rollback; the number of the revision follows."""
_ACTIONS: Final = {"Install complete": INSTALL, "Upgrade complete": UPGRADE}
"""So helm describes the others."""


def forget_other_revisions(draft: StatusDraft, release: ObservedRelease | None) -> StatusDraft:
    """Return the draft without what it knows of revisions that the release does not have.

    After a release was uninstalled, the revisions of the next one have the same numbers; so has one that is made after
    the newest record was deleted. Their records have other uids. A record that is gone may have been pruned, if it is
    not newer than the newest. One that was created again, as from a backup, stays in the history as unknown.
    """
    uids: dict[int, str] = {}
    if release is not None:
        uids = {release.revision: release.secret_uid}
        uids.update((each.revision, each.secret_uid) for each in release.past_revisions)
    newest = max(uids, default=0)

    def may_be_same(revision: int, uid: str | None) -> bool:
        return revision <= newest and (not uid or (uids.get(revision) or uid) == uid)

    test, in_force = draft.test, draft.release.revision
    same = {each.revision for each in draft.history if may_be_same(each.revision, each.secret_uid)}
    newest_same = max(same, default=0)

    def as_known(each: RevisionStatus) -> RevisionStatus | None:
        if each.revision in same:
            return each
        if each.revision not in uids or each.revision > newest_same or each.revision == in_force:
            return None
        return RevisionStatus(revision=each.revision, secret_uid=uids[each.revision], status=each.status)

    history = tuple(filter(None, map(as_known, draft.history)))
    if test is not None and not may_be_same(test.revision, test.secret_uid):
        test = None
    known = {each.revision: each.secret_uid for each in draft.history}
    if in_force is not None and not may_be_same(in_force, known.get(in_force)):
        unknown = {"revision": None, "chart_digest": None, "values_digest": None}
        draft = replace(draft, release=draft.release.model_copy(update=unknown), labelled_revision=None)
    return replace(draft, history=history, test=test)


def build_history(
    draft: StatusDraft, release: ReleaseStatus, stored: Collection[RevisionInfo]
) -> tuple[RevisionStatus, ...]:
    """Return the revisions that Helm keeps, newest first; `release` is the deployed one, and `draft` has the others.

    The digests of those that were deployed, or failed, stay as they were found then: see `find_digests`.
    """
    known = {revision.revision: revision for revision in draft.history}
    newest_known, oldest_known = max(known, default=None), min(known, default=None)
    infos = {info.revision: info for info in stored}
    if release.revision is not None and release.revision not in known:
        # Of a release that was adopted, or whose status was lost, nobody knows whether it was healthy before.
        is_new = draft.attempt is not None and release.revision > (newest_known or 0)
        info = infos.get(release.revision)
        known[release.revision] = RevisionStatus(
            revision=release.revision,
            secret_uid=None if info is None else info.secret_uid or None,
            status=DEPLOYED,
            chart=release.chart,
            chart_version=release.chart_version,
            app_version=release.app_version,
            action=_action_of(release, draft),
            deployed_at=_find_deployed_at(release, draft.attempt, info),
            description=release.description,
            was_healthy=False if is_new else None,
        )
    newest_first = sorted(stored, key=lambda info: -info.revision)
    looked_at = (
        info for number, info in enumerate(newest_first) if number < UNKNOWN_REVISIONS_MAX or info.revision in known
    )
    return tuple(
        (known.get(info.revision) or _unknown_revision(info, oldest_known)).model_copy(
            update={"status": info.status, **_found_digests(info, known.get(info.revision), release)}
        )
        for info in looked_at
    )


def _find_deployed_at(release: ReleaseStatus, attempt: Attempt | None, info: RevisionInfo | None) -> datetime | None:
    """Return when the deployed revision was made: when its record was created, by the clock of the API server.

    Helm takes the time of it from the clock of its machine, which may be wrong. Only a record from before the last
    attempt began may be a copy of an old one, such as one from a backup; then the time of helm tells more.
    """
    told = release.last_deployed
    is_new = attempt is not None and info is not None and info.created >= int(attempt.first_at)
    return utc(info.created) if told is not None and info is not None and is_new else told


def with_failed_revision(
    draft: StatusDraft,
    source: ReleaseStatus | RevisionStatus | None,
    kept: Collection[RevisionInfo],
    *,
    labels: Collection[str],
    after: int = 0,
    keep: int,
) -> StatusDraft:
    """Return the draft that tells what its attempt made before it failed, if helm has recorded that.

    It never was deployed, so it has no time: see `find_digests`. Those between the known ones and it stay unknown.

    Args:
        source: what it was made from; None if helm was not started.
        kept: the revisions that are stored, without those that are deleted after the step.
        labels: those of the attempt, in its records: helm may have run more than once.
        after: the newest revision before the attempt.
        keep: how many revisions the history has. The failed one does not take the place of one that a rollback needs.
    """
    made = (each for each in kept if each.attempt in labels and each.revision > after)
    info = min(made, key=lambda each: each.revision, default=None)
    attempt, known = draft.attempt, {each.revision for each in draft.history}
    if attempt is None or source is None or info is None or info.status != FAILED:
        return draft
    if info.revision in known or len(kept) > keep:
        return draft
    failed = RevisionStatus(
        revision=info.revision,
        secret_uid=info.secret_uid or None,
        status=info.status,
        chart=source.chart,
        chart_version=source.chart_version,
        app_version=source.app_version,
        chart_digest=source.chart_digest,
        values_digest=source.values_digest,
        action=attempt.action,
        description=shorten_line(attempt.message or _INTERRUPTED, FAILURE_MAX),
        was_healthy=False,
    )
    newest_known, oldest_known = max(known, default=info.revision), min(known, default=None)
    unknown = (_unknown_revision(each, oldest_known) for each in kept if newest_known < each.revision < info.revision)
    numbers = {each.revision for each in kept}
    still_kept = (each for each in draft.history if each.revision in numbers)
    history = sorted((*still_kept, *unknown, failed), key=lambda each: -each.revision)
    return replace(draft, history=tuple(history))


def _unknown_revision(info: RevisionInfo, oldest_known: int | None) -> RevisionStatus:
    return RevisionStatus(
        revision=info.revision,
        secret_uid=info.secret_uid or None,
        status=info.status,
        was_healthy=_health_of_unknown(info.revision, oldest_known),
    )


def find_undescribed(history: Iterable[RevisionStatus]) -> frozenset[int]:
    """Return the revisions that never were the deployed one, except those that failed when they were made from a chart.

    What they were made from is known, unlike what a person's helm has made.
    """
    return frozenset(each.revision for each in history if not (each.deployed_at or each.action in (INSTALL, UPGRADE)))


def _found_digests(info: RevisionInfo, known: RevisionStatus | None, release: ReleaseStatus) -> dict[str, str | None]:
    found: ReleaseStatus | RevisionStatus | RevisionInfo = info
    if info.revision == release.revision:
        found = release
    elif known is not None and (known.deployed_at is not None or known.action is not None):
        found = known
    return {"chart_digest": found.chart_digest, "values_digest": found.values_digest}


def find_digests(
    deployed: ReleaseStatus,
    newest: RevisionInfo,
    history: Iterable[RevisionStatus],
    *,
    first: int,
    undescribed: Set[int] = frozenset(),
) -> Digests | None:
    """Return the digests of the deployed revision; None if a person has made what it contains.

    The labels of `newest`, its record, alone do not tell that: an upgrade by a person inherits those of the revision
    before it, and a rollback copies those of any. So helm's description tells what the revision is, and the history
    keeps what was found. `first` is the revision that the labels were made for, as far as revisions are left. So it is
    not believed of one that the stored status lists as one of `undescribed`: see `find_undescribed`.
    """
    described = {each.revision: each for each in history if each.deployed_at is not None}
    labels = label_digests(newest)
    target = _rollback_target(deployed)
    known = described.get(newest.revision) or described.get(target)
    if known is not None:
        return labels if labels == release_digests(known) else None
    return labels if first in {newest.revision, target} - undescribed else None


def label_digests(info: RevisionInfo) -> Digests | None:
    """Return what the labels of a revision say that it was made from; a person's helm may have copied them."""
    return Digests(info.chart_digest, info.values_digest) if info.chart_digest and info.values_digest else None


def release_digests(release: ReleaseStatus | RevisionStatus) -> Digests | None:
    """Return what a revision was made from, as far as the status tells."""
    chart, values = release.chart_digest, release.values_digest
    return Digests(chart, values) if chart is not None and values is not None else None


def _rollback_target(release: ReleaseStatus) -> int:
    """Return the revision that the deployed one is a copy of, as helm describes it; 0 if it is not a copy."""
    _, _, number = (release.description or "").partition(_ROLLBACK_TO)
    return int(number or 0)


def find_copies(revision: int | None, history: Iterable[RevisionStatus], deployed: ReleaseStatus) -> frozenset[int]:
    """Return `revision` and all revisions into which rollbacks have copied it, as helm describes them.

    The labels do not tell that: an upgrade by a person inherits them. `deployed` was deployed last.
    """
    if revision is None:
        return frozenset()
    described = {each.revision: each.description for each in history}
    if deployed.revision is not None:
        described[deployed.revision] = deployed.description
    copies = {revision}
    for number, description in sorted(described.items()):  # a copy comes after what it was copied from
        if description in {f"{_ROLLBACK_TO}{each}" for each in copies}:
            copies.add(number)
    return frozenset(copies)


def _action_of(release: ReleaseStatus, draft: StatusDraft) -> str | None:
    """Return what made the deployed revision, as helm describes it; only a description of a person's own tells nothing.

    The last attempt may be another step: after an automatic rollback, the upgrade that failed; after an upgrade by a
    person, the one before.
    """
    description = release.description or ""
    if description.startswith(_ROLLBACK_TO):
        return ROLLBACK
    return _ACTIONS.get(description) or (draft.attempt.action if draft.attempt else None)


class HealthMarks:
    """When deployed revisions became healthy, as seen since this operator started.

    A container that crashes at each start counts as ready until it crashes. So a revision that is Degraded within
    `UNSETTLED_SECONDS` after it became healthy counts as one that never was.
    """

    def __init__(self) -> None:
        self._marks: dict[NamespacedName, tuple[int, float]] = {}  # revision and time, of those healthy since then

    def forget(self, key: NamespacedName) -> None:
        self._marks.pop(key, None)

    def with_health(
        self,
        key: NamespacedName,
        history: tuple[RevisionStatus, ...],
        release: ObservedRelease | None,
        health: HealthStatus,
        *,
        now: float,
    ) -> tuple[RevisionStatus, ...]:
        """Return the history that tells whether the deployed revision was healthy; `now` is in seconds, monotonic.

        The status changes anyway then. Where nothing is known, nothing is added: a new version of the operator would
        write the status of every XApp. While another helm works on an earlier revision, or after it did, the objects
        may be of that one.
        """
        if release is None or release.status != DEPLOYED or release.overtaken or release.late_pending:
            return history
        revision = release.revision
        known = next((each.was_healthy for each in history if each.revision == revision), None)
        if health is HealthStatus.HEALTHY and known is False:
            self._marks[key] = (revision, now)
            return _with_was_healthy(history, revision, was_healthy=True)
        marked_revision, marked_at = self._marks.get(key, (None, 0.0))
        is_unsettled = marked_revision == revision and now - marked_at < UNSETTLED_SECONDS
        if health is HealthStatus.DEGRADED and known and is_unsettled:
            return _with_was_healthy(history, revision, was_healthy=False)
        return history


def _with_was_healthy(
    history: tuple[RevisionStatus, ...], revision: int, *, was_healthy: bool
) -> tuple[RevisionStatus, ...]:
    return tuple(
        each.model_copy(update={"was_healthy": was_healthy}) if each.revision == revision else each for each in history
    )


def add_known_health(release: ObservedRelease, history: Iterable[RevisionStatus]) -> ObservedRelease:
    """Return `release` with what the history knows of the health of its earlier revisions."""
    find_health = _health_finder(history)
    past = (replace(each, was_healthy=find_health(each.revision)) for each in release.past_revisions)
    return replace(release, past_revisions=tuple(past))


def find_never_healthy(revisions: Iterable[int], history: Iterable[RevisionStatus]) -> frozenset[int]:
    """Return those of `revisions` that never were healthy, as far as the history knows."""
    find_health = _health_finder(history)
    return frozenset(each for each in revisions if find_health(each) is False)


def find_rollback_target(history: Iterable[RevisionStatus]) -> int | None:
    """Return the revision to which an upgrade that comes next would be rolled back; `history` is newest first."""
    good = (each for each in history if each.status in (DEPLOYED, SUPERSEDED) and each.was_healthy is not False)
    return next((each.revision for each in good), None)


def _health_finder(history: Iterable[RevisionStatus]) -> Callable[[int], bool | None]:
    known = {each.revision: each.was_healthy for each in history}
    oldest_known = min(known, default=None)
    return lambda revision: known.get(revision, _health_of_unknown(revision, oldest_known))


def _health_of_unknown(revision: int, oldest_known: int | None) -> bool | None:
    """Return that a revision which the history lacks never was healthy, unless it is older than all in the history.

    One after the known ones failed, and helm may call it superseded. Where there are too many, the history leaves out
    those that never were healthy, then the oldest.
    """
    return False if oldest_known is not None and revision > oldest_known else None
