"""The objects of a release: as its inventory names them, and as the watches show them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from xapp_operator.api.models import HealthStatus, ServiceStatus
from xapp_operator.api.names import LABEL_AGGREGATE_TO_MONITOR
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.kube.resources import Resource
from xapp_operator.monitor.live_objects import LiveObject, LiveObjectKey, OwnerKey, is_custom_group

GroupKind: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """One object of a release; one that `expires` may have been deleted because its time to live is over.

    `api_version` is empty when there is no inventory, and the object comes from a watch.
    """

    key: LiveObjectKey
    api_version: str = ""
    expires: bool = False

    @property
    def group_kind(self) -> GroupKind:
        return self.api_version.rpartition("/")[0], self.key[0]


@dataclass(frozen=True, slots=True)
class ReleaseObject:
    """One object of a release, as the watches show it.

    `live` is None if no watch shows it: it does not exist, lacks the labels, or is of a kind that is not watched.
    """

    key: LiveObjectKey
    api_version: str
    live: LiveObject | None
    watched: bool
    expires: bool

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class UnlabelledObject:
    """One object of a release on which the watch shows no labels; perhaps it does not exist."""

    resource: Resource
    namespace: str | None
    name: str


@dataclass(frozen=True, slots=True)
class MonitorReport:
    """The state of one xApp's objects; `unhealthy` are those that are not healthy, sorted by kind and name."""

    status: HealthStatus = HealthStatus.UNKNOWN
    message: str = ""
    total: int = 0
    ready: int = 0
    services: tuple[ServiceStatus, ...] = ()
    unhealthy: tuple[LiveObject, ...] = ()


def expected_objects(owner: OwnerKey, inventory: Iterable[ObjectRef]) -> tuple[ExpectedObject, ...]:
    """Return the objects of the release of `owner`."""
    return tuple(
        ExpectedObject((ref.kind, ref.namespace or owner[0], ref.name), ref.api_version, ref.expires)
        for ref in inventory
    )


def why_unknown(expected: ExpectedObject, *, listed: Resource | None, refused: Resource | None) -> str:
    """Return why the health of an object is unknown that is not watched; nothing if it counts as healthy.

    Its kind is `listed` at present, or the operator may not watch it: `refused`.
    """
    if listed is not None:
        return f"its health is unknown: {listed.group_resource} could not be listed yet"
    if not is_custom_group(expected.group_kind[0]):
        return ""
    if refused is None:
        return (
            "its health is unknown: the cluster does not serve its kind, or it is not watched yet. If the "
            f"CustomResourceDefinition for {expected.api_version} is gone, install it"
        )
    if not refused.has_status:
        return ""
    return (
        f"its health is unknown: the operator may not list and watch {refused.group_resource}. Grant that "
        f'with a ClusterRole labelled {LABEL_AGGREGATE_TO_MONITOR}: "true"'
    )
