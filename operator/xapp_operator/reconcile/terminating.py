"""Knows which objects of a release were being deleted already when helm applied them. It only reads.

helm applies to such an object as to any other, and then the object goes away: with helm alone, it would be missing for
good. So it is noted while it is there, and created again once it is gone. It counts as one if its deletion was asked
for before the record of the deployed revision was created, by the clock of the API server, so that it is recognized
after a restart too. What somebody deletes later is drift.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from xapp_operator.api.models import TERMINATING_MAX
from xapp_operator.api.status_parts import TerminatingObject
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.domain.planning.actions import HelmAction, Uninstall
from xapp_operator.domain.planning.plan_input import TerminatingState
from xapp_operator.monitor.live_objects import LiveObject, LiveObjectKey, cluster_scoped_key
from xapp_operator.monitor.release_objects import ReleaseObject
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.work.work_queue import NamespacedName

_OF_CONTROLLERS: Final = frozenset({"Job", "Pod", "ReplicaSet"})
"""Kinds whose objects mostly are not of a manifest, but of a controller, which replaces them itself."""


def find_terminating(
    objects: Iterable[ReleaseObject], noted: Iterable[TerminatingObject], *, created: int
) -> TerminatingState:
    """Return which `objects` of the deployed release were being deleted when helm applied them, and which are gone.

    `noted` are those that were known before. `created` is when the record of the revision was created.
    """
    known = {(each.kind, each.namespace, each.name): each for each in noted}
    still: list[TerminatingObject] = []
    gone: list[DriftedObject] = []
    for found in objects:
        one, live = known.get(found.key) or known.get(cluster_scoped_key(found.key)), found.live
        if live is not None and live.deleting:
            if (one is not None and _seconds(one) == live.deleted_at) or _was_deleted_before(live, created):
                still.append(_note(found.key, live))
        elif live is None and one is not None:
            still.append(one.model_copy(update={"namespace": found.key[1]}))
            if found.watched:
                gone.append(DriftedObject(*found.key, found.group, missing=True))
    return TerminatingState(tuple(still[:TERMINATING_MAX]), tuple(gone))


def note_before_step(
    action: HelmAction, key: NamespacedName, noted: tuple[TerminatingObject, ...], monitor: XAppMonitor
) -> tuple[TerminatingObject, ...]:
    """Return `noted` with what of the XApp is being deleted now: the operator may end before it sees it again.

    The manifest of the step is not known yet; what is not in it is forgotten afterwards.
    """
    if isinstance(action, Uninstall):
        return noted
    known = {(each.kind, each.namespace, each.name) for each in noted}
    found = (_note(each.key, each) for each in objects_being_deleted(key, monitor) if each.key not in known)
    return (*noted, *found)[:TERMINATING_MAX]


def objects_being_deleted(key: NamespacedName, monitor: XAppMonitor) -> list[LiveObject]:
    """Return the objects of the XApp that watches show as being deleted, without those of controllers.

    Whoever may write in another namespace can name this XApp there: of those objects, only those of the manifest count.
    """
    deleting = (each for each in monitor.known_objects(key).values() if each.deleting)
    found = [each for each in deleting if each.key[0] not in _OF_CONTROLLERS]
    if any(each.key[1] not in ("", key[0]) for each in found):
        named = {each.key for each in monitor.release_objects(key)}
        found = [each for each in found if each.key[1] in ("", key[0]) or each.key in named]
    return sorted(found, key=lambda each: each.key)


def _was_deleted_before(live: LiveObject, created: int) -> bool:
    made = datetime.fromisoformat(live.created_at).timestamp() if live.created_at else 0
    return made < created and live.deleted_at <= created


def _note(key: LiveObjectKey, live: LiveObject) -> TerminatingObject:
    kind, namespace, name = key
    deleted_at = datetime.fromtimestamp(live.deleted_at, UTC)
    return TerminatingObject(kind=kind, namespace=namespace, name=name, deleted_at=deleted_at)


def _seconds(one: TerminatingObject) -> int:
    return int(one.deleted_at.timestamp())
