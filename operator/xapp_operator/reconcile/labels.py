"""The registration labels: which every object of a release has, which objects lack them, and when to repair them.

An xApp registers with the Service Monitor by these labels. `verbs.repair_labels` writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from cachetools import TLRUCache

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.common.clock import Clock
from xapp_operator.domain.planning.plan_input import LabelState
from xapp_operator.domain.registration import registration_labels
from xapp_operator.errors import AccessDenied, KubeError, NotFound
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.resources import SERVICES
from xapp_operator.monitor.live_objects import LiveObject, belongs_to_release, owned_live_object, taken_live_object
from xapp_operator.monitor.object_labels import has_labels
from xapp_operator.monitor.release_objects import UnlabelledObject
from xapp_operator.monitor.xapp_monitor import XAppMonitor

MAX_OBJECTS_PER_REPAIR: Final = 50
"""Objects without labels that one reconcile repairs; the next reconcile continues."""
ABSENT_SECONDS: Final = 5.0
"""An object that did not exist is not read again before."""
DENIED_SECONDS: Final = 30.0
"""An object that may not be read is not read again before, unless the spec changes."""

AbsentObjects: TypeAlias = TLRUCache[tuple[UnlabelledObject, int], bool]
"""Whether an object may not be read, or does not exist, by the generation of its XApp."""


@dataclass(frozen=True, slots=True)
class MissingLabels:
    """The objects of a release that lack labels, and the error if the XApp's identity may not read one of them."""

    objects: tuple[UnlabelledObject, ...] = ()
    error: AccessDenied | None = None


def label_state(
    missing: MissingLabels,
    *,
    outdated: bool,
    incomplete: bool,
    refused: KubeError | None,
    seconds_until_repair: float,
    now: float,
) -> LabelState:
    """Return the label facts for `plan`.

    Args:
        missing: the objects without labels.
        outdated: the labels were not written since the revision or the spec changed.
        incomplete: the last attempt to write them on all objects failed.
        refused: why, if that does not pass.
        seconds_until_repair: what is left of the back-off between repairs; 0 or less if it is over.
        now: seconds since the epoch.
    """
    if outdated and not incomplete:
        return LabelState(missing=bool(missing.objects), outdated=True)  # a new version is no repeated repair
    repair_at = now + seconds_until_repair
    return LabelState(missing=bool(missing.objects), outdated=incomplete, repair_at=repair_at, refused=refused)


def predefined_labels(xapp: XApp) -> dict[str, str]:
    """Return a value for each of REGISTRATION_LABELS."""
    return registration_labels(xapp.metadata.name, xapp.spec)


def absent_objects(clock: Clock) -> AbsentObjects:
    """Return an empty memory of objects that did not exist or might not be read."""
    return TLRUCache(
        maxsize=10_000,
        ttu=lambda _, denied, now: now + (DENIED_SECONDS if denied else ABSENT_SECONDS),
        timer=clock.monotonic,
    )


async def find_missing_labels(
    xapp: XApp, *, client: KubeReader, monitor: XAppMonitor, absent: AbsentObjects
) -> MissingLabels:
    """Return the objects of the release that lack labels, except those that another release has taken over.

    The monitor's watch picks objects by label, so those that lack it are read here and given to the monitor. When all
    labels are there, nothing is read.
    """
    labels = predefined_labels(xapp)
    found: list[tuple[UnlabelledObject, JsonObject]] = []
    shown: list[LiveObject] = []
    error: AccessDenied | None = None
    generation = xapp.metadata.generation
    candidates = [each for each in monitor.find_unlabelled(xapp.key, labels) if (each, generation) not in absent]
    for candidate in candidates[:MAX_OBJECTS_PER_REPAIR]:
        try:
            body = await client.get(candidate.resource, candidate.name, namespace=candidate.namespace)
        except NotFound:
            absent[candidate, generation] = False
            continue
        except AccessDenied as denied:
            absent[candidate, generation] = True
            error = error or denied
            continue
        if not belongs_to_release(body, xapp.release_name):
            kind, release = candidate.resource.kind, xapp.release_name
            shown.append(taken_live_object(body, kind=kind, owner=xapp.key, release=release))
            continue
        await monitor.update_object(candidate.resource, body)  # perhaps the watch is only late
        shown.append(owned_live_object(body, kind=candidate.resource.kind, owner=xapp.key))
        found.append((candidate, body))
    monitor.set_unlabelled(xapp.key, shown)
    missing = (each for each, body in found if not has_labels(body, labels, component=each.resource == SERVICES))
    return MissingLabels(tuple(missing), error)
