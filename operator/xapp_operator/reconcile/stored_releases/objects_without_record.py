"""Tells whether objects of a release may be left although no record of it is. It only reads, and requests nothing.

Helm deletes the records of a release after its objects, but somebody can delete the records alone. Helm then knows
nothing of the release. What is left are objects with the operator's label and Helm's annotations.
"""

from __future__ import annotations

from xapp_operator.api.models import XApp
from xapp_operator.domain.planning.plan_input import HELM_SUCCEEDED, INSTALL, UNINSTALL
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.status.attempts import HELM_FINISHED
from xapp_operator.reconcile.status.status_draft import StatusDraft


def may_have_objects(xapp: XApp, draft: StatusDraft, monitor: XAppMonitor) -> bool:
    """Return whether an XApp without a record of its release may have objects of one.

    It had a release if its status says so. It has no objects of it any more if the operator has uninstalled it, or if
    watches show that all of them are gone.
    """
    if _was_uninstalled(draft) or not _had_release(xapp, draft):
        return False
    if any(not live.deleting for live in monitor.known_objects(xapp.key).values()):
        return True
    objects = tuple(monitor.release_objects(xapp.key))
    return not objects or not all(each.watched for each in objects)


def unclaimed_objects(xapp: XApp, draft: StatusDraft, monitor: XAppMonitor) -> list[str]:
    """Return the objects with the label of an XApp that never had a release, or whose status has lost it."""
    if _was_uninstalled(draft) or _had_release(xapp, draft):
        return []
    # Whoever may write in another namespace can name this XApp there.
    live = (each for each in monitor.known_objects(xapp.key).values() if each.key[1] in ("", xapp.key[0]))
    return sorted(f"{each.key[0]}/{each.key[2]}" for each in live if not each.deleting)


def _was_uninstalled(draft: StatusDraft) -> bool:
    attempt = draft.attempt
    return attempt is not None and attempt.action == UNINSTALL and attempt.outcome in HELM_SUCCEEDED


def _had_release(xapp: XApp, draft: StatusDraft) -> bool:
    """Return whether the status tells of a release, perhaps only as it is stored: the draft forgets what is gone.

    Before an install has made a record, objects with the label are those of others. So they are if the XApp was to take
    a release over, and that has failed.
    """
    stored, attempt = xapp.status.release, draft.attempt
    if stored is not None and stored.revision is not None:
        return True
    if attempt is None:
        return draft.release.revision is not None
    if attempt.action == UNINSTALL or attempt.outcome in HELM_FINISHED or attempt.rollback_cause is not None:
        return True
    return (attempt.action != INSTALL or attempt.revision_before > 0) and not xapp.spec.adopt
