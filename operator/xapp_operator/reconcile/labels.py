"""The registration labels: which every object of a release has, which objects lack them, and when to repair them.

An xApp registers with the Service Monitor by these labels. `verbs.repair_labels` writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import (
    HELM_RELEASE_NAME,
    LABEL_ORGANIZATION,
    LABEL_TEAM,
    LABEL_VERSION,
    LABEL_XAPP,
)
from xapp_operator.domain.backoff import Backoff
from xapp_operator.domain.naming import label_value
from xapp_operator.domain.plan_input import LabelState
from xapp_operator.errors import AccessDenied, NotFound
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.resources import SERVICES
from xapp_operator.monitor.object_labels import has_labels
from xapp_operator.monitor.xapp_monitor import UnlabelledObject, XAppMonitor
from xapp_operator.reconcile.work_queue import NamespacedName

MAX_OBJECTS_PER_REPAIR: Final = 50
"""Objects without labels that one reconcile repairs; the next reconcile continues."""
RESET_SECONDS: Final = 60.0
"""After this time without a repair, or twice the last delay if that is longer, the back-off starts again."""


@dataclass(frozen=True, slots=True)
class _LastRepair:
    count: int
    repaired_at: float
    delay: float


class LabelBackoff:
    """Delays repeated repairs, because another controller may keep removing the labels.

    Times are monotonic seconds, so that a clock that is set back delays nothing.
    """

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._repairs: dict[NamespacedName, _LastRepair] = {}

    def next_repair_at(self, key: NamespacedName) -> float:
        last = self._repairs.get(key)
        return last.repaired_at + last.delay if last is not None else 0.0

    def record_repair(self, key: NamespacedName, *, now: float) -> None:
        """Record a repair, whether it succeeded or not."""
        last = self._repairs.get(key)
        again = last is not None and now - last.repaired_at < max(RESET_SECONDS, 2 * last.delay)
        count = last.count + 1 if last is not None and again else 1
        self._repairs[key] = _LastRepair(count, now, self._backoff.delay(count))

    def forget(self, key: NamespacedName) -> None:
        self._repairs.pop(key, None)


@dataclass(frozen=True, slots=True)
class MissingLabels:
    """The objects of a release that lack labels, and the error if the XApp's identity may not read one of them."""

    objects: tuple[UnlabelledObject, ...] = ()
    error: AccessDenied | None = None


def label_state(
    missing: MissingLabels, *, outdated: bool, incomplete: bool, seconds_until_repair: float, now: float
) -> LabelState:
    """Return the label facts for `plan`.

    Args:
        missing: the objects without labels.
        outdated: the labels were not written since the revision or the spec changed.
        incomplete: the last attempt to write them on all objects failed.
        seconds_until_repair: what is left of the back-off between repairs.
        now: seconds since the epoch.
    """
    if outdated and not incomplete:
        return LabelState(missing=bool(missing.objects), outdated=True)  # a new version is no repeated repair
    repair_at = now + seconds_until_repair if seconds_until_repair > 0 else 0.0
    return LabelState(missing=bool(missing.objects), outdated=incomplete, repair_at=repair_at)


def predefined_labels(xapp: XApp) -> dict[str, str]:
    """Return a value for each of REGISTRATION_LABELS.

    Organization and team are sanitised; the name and a dotted numeric version are valid label values as they are.
    """
    return {
        LABEL_XAPP: xapp.metadata.name,
        LABEL_ORGANIZATION: label_value(xapp.spec.organization),
        LABEL_TEAM: label_value(xapp.spec.team),
        LABEL_VERSION: xapp.spec.version,
    }


def original_text_annotations(xapp: XApp) -> dict[str, str]:
    """Return the annotations with the texts that label values cannot hold as they were written."""
    return {LABEL_ORGANIZATION: xapp.spec.organization, LABEL_TEAM: xapp.spec.team}


async def find_missing_labels(xapp: XApp, *, client: KubeReader, monitor: XAppMonitor) -> MissingLabels:
    """Return the objects of the release that lack labels, except those that another release has taken over.

    The monitor's watch picks objects by label, so those that lack it are read here and given to the monitor. When all
    labels are there, nothing is read.
    """
    labels = predefined_labels(xapp)
    found: list[tuple[UnlabelledObject, JsonObject]] = []
    error: AccessDenied | None = None
    for candidate in monitor.find_unlabelled(xapp.key, labels)[:MAX_OBJECTS_PER_REPAIR]:
        try:
            body = await client.get(candidate.resource, candidate.name, namespace=candidate.namespace)
        except NotFound:
            continue
        except AccessDenied as denied:
            error = error or denied
            continue
        if _belongs_to_release(xapp, body):
            await monitor.update_object(candidate.resource, body)  # perhaps the watch is only late
            found.append((candidate, body))
    monitor.set_unlabelled(xapp.key, [(each.resource, body) for each, body in found])
    missing = (each for each, body in found if not has_labels(body, labels, component=each.resource == SERVICES))
    return MissingLabels(tuple(missing), error)


def _belongs_to_release(xapp: XApp, body: JsonObject) -> bool:
    annotations = obj(obj(body, "metadata"), "annotations")
    return text(annotations, HELM_RELEASE_NAME, xapp.release_name) == xapp.release_name
