"""The one writer of status of our own resources.

Lives in `kube` because it decides what crosses the wire: only the difference, and nothing when there is none, so that
a resync of a thousand XApps writes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from pydantic import BaseModel

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.api.models import XAppStatus
from xapp_operator.api.names import REPOSITORY_KIND, XAPP_KIND
from xapp_operator.api.repository import ChartRepositoryStatus
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES, XAPPS, Resource

REMEMBERED_WRITES: Final = 1024


def _field_names(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in model.model_fields.items())


_KINDS: Final[dict[str, tuple[Resource, frozenset[str]]]] = {
    XAPP_KIND: (XAPPS, _field_names(XAppStatus)),
    REPOSITORY_KIND: (CHART_REPOSITORIES, _field_names(ChartRepositoryStatus)),
}


class StatusWriter:
    """Writes the status of XApps and ChartRepositories as JSON merge patches of the difference."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._written: OrderedDict[str, tuple[int, JsonObject]] = OrderedDict()

    async def write(self, body: JsonObject, new_status: JsonObject) -> JsonObject | None:
        """Make the status of the object `body` be `new_status`; return the object as stored, or None if it was so.

        A field of status that this version knows and `new_status` lacks (or has as None) is removed; fields that a
        newer version may have put there are kept. Lists, so the conditions, are replaced whole.

        Args:
            body: the whole object as last read; it may be older than our own last write.
            new_status: the whole status.

        Raises:
            NotFound: when the object is gone.
            Conflict: when another object has its name by now.
        """
        resource, known = _KINDS[text(body, "kind")]
        metadata = obj(body, "metadata")
        uid = text(metadata, "uid")
        current = self._current(uid, body)
        wanted = {key: value for key, value in current.items() if key not in known} | new_status
        patch = difference(current, wanted)
        if not patch:
            return None
        stored = await self._client.patch(
            resource,
            text(metadata, "name"),
            {"metadata": {"uid": uid}, "status": patch},
            namespace=text(metadata, "namespace"),
            subresource="status",
        )
        self._remember(uid, stored)
        return stored

    def _current(self, uid: str, body: JsonObject) -> JsonObject:
        version, status = self._written.get(uid, (0, {}))
        return status if version > _version(body) else obj(body, "status")

    def _remember(self, uid: str, stored: JsonObject) -> None:
        # A reader's cache may lag behind this write; a difference against its old status would undo or skip things.
        self._written[uid] = (_version(stored), obj(stored, "status"))
        self._written.move_to_end(uid)
        if len(self._written) > REMEMBERED_WRITES:
            self._written.popitem(last=False)


def difference(old: JsonObject, new: JsonObject) -> JsonObject:
    """Return the JSON merge patch (RFC 7386) that makes `new` of `old`; empty when they are equal."""
    patch: JsonObject = {key: None for key in old if new.get(key) is None}
    for key, value in new.items():
        before = old.get(key)
        if value is None or _same(before, value):
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = difference(before, value)
        else:
            patch[key] = value
    return patch


def _same(first: Json, second: Json) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    # In JSON, as opposed to Python, true is not 1.
    return first == second and isinstance(first, bool) == isinstance(second, bool)


def _version(body: JsonObject) -> int:
    return int(text(obj(body, "metadata"), "resourceVersion", "0"))
