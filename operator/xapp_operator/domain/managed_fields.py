"""Reads which fields of an object Helm manages, from `metadata.managedFields`. Pure.

Helm applies a manifest server-side and takes every field over. When somebody else changes or removes one of these
fields, the API server takes it out of Helm's entry. So as long as Helm's entry has every field of the manifest, the
object is as the manifest says. No values are compared, so defaults, quantities and other managers' fields cannot be
mistaken for a change. Releases that Helm 3 made have entries with the operation Update; the same holds for them.

The format is that of sigs.k8s.io/structured-merge-diff (fieldpath/serialize.go): `f:` a field, `k:` an item of a list
by its keys, `v:` an item of a set, `.` the node itself; an empty object is a value that is managed as a whole, or a map
of which the manager has lost all members. Only the live object and the other managers tell which of the two it is.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, cast

import orjson

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.api.names import FIELD_MANAGER, LABEL_COMPONENT, REGISTRATION_LABELS

HELM_MANAGER: Final = "helm"
"""The field manager of the helm command line, since version 3.2."""

COMPARISONS_MAX: Final = 200_000
"""Values compared with fields, and list items with keys, for one object; beyond it the answer is "not managed"."""
FIELDS_BYTES_MAX: Final = 256 * 1024
"""Of larger fields only a digest is kept, so that they cost little time and memory."""

OWN_KEYS: Final = frozenset({*REGISTRATION_LABELS, LABEL_COMPONENT})
"""Labels, and annotations of the same keys, that this operator writes on every object of a release."""

SHARED_BYTES_MAX: Final = 8 * 1024
"""Smaller fields are packed once for all objects that have the same, such as those of many releases of one chart."""

_DIGEST_MARK: Final = b"#"  # zlib begins with another byte
_STATUS: Final = "status"
_IDENTITY_FIELDS: Final = frozenset({"apiVersion", "kind", _STATUS})
_METADATA_FIELDS: Final = frozenset({"labels", "annotations", "finalizers", "ownerReferences"})
"""The only parts of `metadata` that can be managed."""


def pack_helm_fields(body: JsonObject) -> bytes:
    """Return the fields that Helm manages in a compact form, equal for equal fields; empty if it manages none.

    A map of which Helm has lost all members is `{".": {}}` in them: that node is managed, but nothing below it.
    """
    entries: list[JsonObject] = []
    others: list[JsonObject] = []
    for each in _entries(obj(body, "metadata")):
        (entries if text(each, "manager") == HELM_MANAGER else others).append(obj(each, "fieldsV1"))
    if not entries:
        return b""
    fields = orjson.dumps(entries, option=orjson.OPT_SORT_KEYS)
    if len(fields) > FIELDS_BYTES_MAX:
        return _DIGEST_MARK + hashlib.blake2b(fields).digest()
    theirs = merge_all(orjson.loads(orjson.dumps(others)))  # copies: the merge changes them
    emptied = [(number, path) for number, entry in enumerate(entries) for path in _emptied_maps(entry, theirs, body)]
    if emptied:
        marked = orjson.loads(fields)
        for number, path in emptied:
            node = marked[number]
            for key in path:
                node = node[key]
            node["."] = {}
        fields = orjson.dumps(marked, option=orjson.OPT_SORT_KEYS)
    return _compress_shared(fields) if len(fields) <= SHARED_BYTES_MAX else zlib.compress(fields, level=1)


@lru_cache(maxsize=512)
def _compress_shared(fields: bytes) -> bytes:
    return zlib.compress(fields, level=1)


def unpack_helm_fields(packed: bytes) -> JsonObject:
    """Return the tree of the fields that `pack_helm_fields` has packed; empty where only a digest is kept."""
    if not packed or packed.startswith(_DIGEST_MARK):
        return {}
    return merge_all(orjson.loads(zlib.decompress(packed)))


def has_other_managers(metadata: JsonObject) -> bool:
    """Return whether anybody but Helm and this operator manages a field outside of the status."""
    own = (HELM_MANAGER, FIELD_MANAGER)
    return any(text(each, "manager") not in own for each in _entries(metadata))


def manages_all(fields: JsonObject, applied: JsonObject) -> bool:
    """Return whether `fields` has every field of `applied`, an object as Helm applied it.

    False may also mean that it cannot be told, as for `stringData` of a Secret, which the API server turns into `data`.
    """
    if applied.get("stringData"):
        return False
    walk = _Walk()
    metadata = {key: _without_own(value) for key, value in obj(applied, "metadata").items() if key in _METADATA_FIELDS}
    rest = {key: value for key, value in applied.items() if key not in _IDENTITY_FIELDS and key != "metadata"}
    whole: JsonObject = {**rest, "metadata": metadata} if metadata else rest
    return not whole or (bool(fields) and walk.covers(fields, whole))


def managers_of(live: JsonObject, paths: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the managers other than Helm of the fields at `paths` of the live object, for each path."""
    others = [each for each in _entries(obj(live, "metadata")) if text(each, "manager") != HELM_MANAGER]
    walk = _Walk()
    for path in paths:
        for entry in others:
            if walk.has_path(obj(entry, "fieldsV1"), live, path):
                yield text(entry, "manager")


def parse_keys(name: str) -> JsonObject:
    """Return the keys of an item of a list from the name of its node; empty for another node."""
    found = orjson.loads(name[2:]) if name.startswith("k:") else {}
    return found if isinstance(found, dict) else {}


def _entries(metadata: JsonObject) -> Iterator[JsonObject]:
    return (each for each in items(metadata, "managedFields") if text(each, "subresource") != _STATUS)


def _emptied_maps(fields: JsonObject, theirs: JsonObject, live: JsonObject) -> Iterator[tuple[str, ...]]:
    """Yield the paths of empty nodes below which other managers have fields, or whose live value is an empty map."""
    levels: list[tuple[tuple[str, ...], JsonObject, JsonObject, Json]] = [((), fields, theirs, live)]
    while levels:
        path, node, shared, value = levels.pop()
        for key, child in node.items():
            below = obj(shared, key)
            member = value.get(key.removeprefix("f:")) if isinstance(value, dict) else None
            if not child and (below or member == {}):
                yield (*path, key)
            elif isinstance(child, dict) and (below or member):
                levels.append(((*path, key), child, below, member))


def _without_own(value: Json) -> Json:
    """Return labels or annotations without those that this operator takes over from Helm."""
    return {key: each for key, each in value.items() if key not in OWN_KEYS} if isinstance(value, dict) else value


def merge_all(trees: Iterable[JsonObject]) -> JsonObject:
    """Return one tree with the fields of all; it has parts of them, and changes them."""
    merged: JsonObject = {}
    for each in trees:
        merge_fields(merged, each)
    return merged


def merge_fields(target: JsonObject, source: JsonObject) -> None:
    """Add a tree of fields to another one."""
    stack = [(target, source)]
    while stack:
        into, each = stack.pop()
        for key, value in each.items():
            known = into.get(key)
            if isinstance(known, dict) and isinstance(value, dict):
                stack.append((known, value))
            else:
                into[key] = value


class _Walk:
    """Walks through trees of fields along an object, with a bound on the work."""

    def __init__(self) -> None:
        self._comparisons = 0
        self._keyed: dict[int, list[tuple[JsonObject, JsonObject]]] = {}

    def covers(self, node: JsonObject, value: Json) -> bool:
        self._comparisons += 1
        if self._comparisons > COMPARISONS_MAX:
            return False
        if not node:
            return True  # managed as a whole
        if isinstance(value, dict) and value:
            return all(self._child_covers(node.get(f"f:{key}"), member) for key, member in value.items())
        if isinstance(value, list):
            return all(self._has_item(node, item) for item in value)
        return not value or "." in node

    def has_path(self, node: JsonObject, value: Json, path: Iterable[str]) -> bool:
        """Return whether `node` has the field at `path` of `value`."""
        for token in path:
            if not node:
                return True
            if isinstance(value, list):
                value = value[int(token)] if token.isdecimal() and int(token) < len(value) else None
                child = next(self._nodes_of(node, value), None)
            else:
                child = cast("JsonObject | None", node.get(f"f:{token}"))
                value = value.get(token) if isinstance(value, dict) else None
            if child is None:
                return False
            node = child
        return True

    def _child_covers(self, child: Json, value: Json) -> bool:
        return isinstance(child, dict) and self.covers(child, value)

    def _has_item(self, node: JsonObject, item: Json) -> bool:
        return any(self.covers(child, item) for child in self._nodes_of(node, item))

    def _nodes_of(self, node: JsonObject, item: Json) -> Iterator[JsonObject]:
        """Yield the nodes whose keys an item of a list has; keys that the item lacks were defaulted."""
        if not isinstance(item, dict):
            child = node.get(f"v:{orjson.dumps(item).decode()}")
            if isinstance(child, dict):
                yield child
            return
        for keys, child in self._keyed_nodes(node):
            self._comparisons += 1
            if self._comparisons > COMPARISONS_MAX:
                return
            if _has_keys(item, keys):
                yield child

    def _keyed_nodes(self, node: JsonObject) -> list[tuple[JsonObject, JsonObject]]:
        """Return the nodes of the items of a list with their keys, which are parsed once: they may be long."""
        known = self._keyed.get(id(node))  # the caller keeps the tree
        if known is None:
            nodes = ((parse_keys(name), child) for name, child in node.items())
            known = self._keyed[id(node)] = [(keys, child) for keys, child in nodes if isinstance(child, dict)]
        return known


def _has_keys(item: JsonObject, keys: JsonObject) -> bool:
    given = keys.keys() & item.keys()
    return bool(given) and all(item[key] == keys[key] for key in given)
