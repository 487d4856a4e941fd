"""Helm steps that the status need not record before they run. Pure.

Most steps are over before anybody could read about them, so the write that says "helm is running" would tell nobody
anything. It may be left out where the record in Helm's storage tells the same: after a kill, `recover_attempt` finds
the attempt that the status lacks, and the plan goes on as if it had been written. Both functions look at the stored
status only, so they agree about what can be recovered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xapp_operator.domain.planning.plan_input import (
    INSTALL,
    UNINSTALLED,
    UNINSTALLING,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    ObservedRelease,
)


@dataclass(frozen=True, slots=True)
class StoredStatus:
    """What the stored status says about helm steps."""

    attempt: Attempt | None = None
    revision: int | None = None  # of the release
    tested: bool = False  # it tells of a run of tests
    ready: bool = False  # Ready is True for the current generation


def is_recoverable(stored: StoredStatus, action: str) -> bool:
    """Return whether the attempt of a step would be found again, if the operator were killed before it is stored.

    That is the first install, where the status tells of no release, and the first upgrade after a success. Rollbacks
    are never recovered, because they copy the labels of an older revision.
    """
    if not _is_settled(stored.attempt):
        return False
    if action == INSTALL:
        return stored.revision is None and not stored.tested  # its revisions count from 1 again
    return action == UPGRADE and stored.revision is not None


def may_start_unrecorded(stored: StoredStatus, action: str, *, previous: Attempt | None, requested: bool) -> bool:
    """Return whether a step may start before the status tells of it; `previous` is the attempt before.

    Not after one that did not succeed, even if the status lacks it: the cluster may refuse the status, and tries are
    counted.
    """
    return _is_settled(previous) and may_stay_unrecorded(stored, action, requested=requested)


def may_stay_unrecorded(stored: StoredStatus, action: str, *, requested: bool) -> bool:
    """Return whether the status need not tell of a step for a while.

    It must if an annotation asked for something, because each is acted on once, or if it says that this generation is
    Ready, because that is no longer true.
    """
    return is_recoverable(stored, action) and not stored.ready and not requested


def may_stay_running(stored: StoredStatus, attempt: Attempt, *, requested: bool) -> bool:
    """Return whether the status may say for a while that `attempt` runs, although helm has ended.

    If the operator were killed then, it would look at the release as after any kill within a step.
    """
    before = stored.attempt
    if before is None or before.outcome is not AttemptOutcome.RUNNING or stored.ready or requested:
        return False
    return (before.action, before.digests) == (attempt.action, attempt.digests)


def _is_settled(attempt: Attempt | None) -> bool:
    return attempt is None or attempt.outcome is AttemptOutcome.SUCCEEDED


def recover_attempt(stored: StoredStatus, release: ObservedRelease | None, *, name: str) -> Attempt | None:
    """Return the attempt that made the newest revision, if the stored status lacks it; it counts as running.

    `name` is the XApp. Nothing is recovered where the status was lost altogether and there is an older good revision:
    whether the newest one was ever healthy is unknown then, and it must not be rolled back.
    """
    if release is None or release.owner != name or not release.has_own_attempt or release.digests is None:
        return None
    if release.status in (UNINSTALLING, UNINSTALLED):
        return None
    attempt = Attempt(
        action=INSTALL,
        outcome=AttemptOutcome.RUNNING,
        digests=release.digests,
        first_at=release.modified_at,
        last_at=release.modified_at,
    )
    if stored.revision is None:
        return attempt if is_recoverable(stored, INSTALL) and not release.deployed_before else None
    is_newer = release.revision > stored.revision
    attempt = replace(attempt, action=UPGRADE, revision_before=stored.revision)
    return attempt if is_newer and is_recoverable(stored, UPGRADE) else None
