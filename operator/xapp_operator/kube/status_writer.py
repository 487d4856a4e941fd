"""Writes the status of our own resources.

It sends only the difference, and nothing when there is none, so that a resync of a thousand XApps writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache
from pydantic import BaseModel

from xapp_operator.api.chart_repository import ChartRepositoryStatus
from xapp_operator.api.json import Json, JsonObject, encode_sorted, obj, text
from xapp_operator.api.models import XAppStatus
from xapp_operator.api.names import REPOSITORY_KIND, XAPP_KIND
from xapp_operator.api.status_bounds import fit_status
from xapp_operator.errors import Conflict
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES, XAPPS, Resource

CONFLICT_ATTEMPTS: Final = 3
RECENT_WRITES_MAX: Final = 256


def _field_names(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in model.model_fields.items())


_RESOURCE_BY_KIND: Final[dict[str, tuple[Resource, frozenset[str]]]] = {
    XAPP_KIND: (XAPPS, _field_names(XAppStatus)),
    REPOSITORY_KIND: (CHART_REPOSITORIES, _field_names(ChartRepositoryStatus)),
}


@dataclass(frozen=True, slots=True)
class _KnownStatus:
    """The latest known status of one object."""

    namespace: str
    name: str
    uid: str
    version: str
    status: JsonObject

    @classmethod
    def from_object(cls, body: JsonObject) -> _KnownStatus:
        metadata = obj(body, "metadata")
        return cls(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            version=text(metadata, "resourceVersion", "0"),
            status=obj(body, "status"),
        )


class StatusWriter:
    """Writes the status of XApps and ChartRepositories as JSON merge patches of the difference."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._recent_writes: LRUCache[str, _KnownStatus] = LRUCache(RECENT_WRITES_MAX)

    async def write(self, body: JsonObject, new_status: JsonObject) -> JsonObject | None:
        """Set the status of the object `body` to `new_status`; return the object as stored, or None without a change.

        A status field that this version knows and `new_status` lacks (or has as None) is removed. Fields of a newer
        version are kept. Lists, such as the conditions, are replaced as a whole.

        Args:
            body: the complete object as last read; it may be older than our own last write.
            new_status: the complete status; it is cut to the bounds of its schema.

        Raises:
            NotFound: when the object was deleted.
            Conflict: when another object has its name now, others have written its status since it was read, or they
                write faster than we do. A former leader must not replace what the new one has written.
        """
        kind = text(body, "kind")
        resource, known = _RESOURCE_BY_KIND[kind]
        latest = self._latest_known(body)
        if not _find_changes(latest, new_status, known=known):
            return None  # so it fits: it is stored
        new_status = fit_status(new_status, kind=kind)
        attempt = 1
        while patch := _find_changes(latest, new_status, known=known):
            try:
                return await self._patch_status(resource, latest, patch)
            except Conflict:
                if attempt == CONFLICT_ATTEMPTS:
                    raise
            attempt += 1
            latest = await self._read_status(resource, latest)
        return None

    async def _patch_status(self, resource: Resource, latest: _KnownStatus, patch: JsonObject) -> JsonObject:
        # The resourceVersion ensures that the patch applies to the status it was made for.
        body: JsonObject = {"metadata": {"resourceVersion": latest.version}, "status": patch}
        stored = await self._client.patch(resource, latest.name, body, namespace=latest.namespace, subresource="status")
        # The caller's cache may lag behind this write. A patch made from its old status would undo or skip changes.
        written = _KnownStatus.from_object(stored)
        self._recent_writes[written.uid] = written
        return stored

    async def _read_status(self, resource: Resource, known: _KnownStatus) -> _KnownStatus:
        latest = _KnownStatus.from_object(await self._client.get(resource, known.name, namespace=known.namespace))
        if latest.uid != known.uid:
            raise Conflict(f"{resource.kind} {known.name} is another object now: it was deleted and created again")
        if not _json_equal(latest.status, known.status):
            raise Conflict(f"the status of {resource.kind} {known.name} has been written by others since it was read")
        return latest

    def _latest_known(self, body: JsonObject) -> _KnownStatus:
        read = _KnownStatus.from_object(body)
        written = self._recent_writes.get(read.uid)
        return written if written and int(written.version) > int(read.version) else read


def _find_changes(latest: _KnownStatus, new_status: JsonObject, *, known: Collection[str]) -> JsonObject:
    """Return the merge patch to `new_status`, which keeps all fields of the stored status but the `known` ones."""
    kept = {key: value for key, value in latest.status.items() if key not in known}
    return merge_patch(latest.status, kept | new_status)


def merge_patch(old: JsonObject, new: JsonObject) -> JsonObject:
    """Return the JSON merge patch (RFC 7386) that turns `old` into `new`; empty when they are equal."""
    patch: JsonObject = {key: None for key in old if new.get(key) is None}
    for key, value in new.items():
        before = old.get(key)
        if _json_equal(before, value):
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = merge_patch(before, value)
        else:
            patch[key] = value
    return patch


def _json_equal(first: Json, second: Json) -> bool:
    # In JSON, unlike in Python, true is not 1.
    return first is second or (first == second and encode_sorted(first) == encode_sorted(second))
