"""Caches the newest JSON of every XApp, and which XApps refer to which objects.

It is filled by the kopf handlers and by the responses to status writes, so that a reconcile reads what it wrote. The
JSON is stored as bytes, because there are thousands of XApps and few are reconciled at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import orjson

from xapp_operator.api.json import JsonObject, encode_json, integer, items, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_VALUES_TEXT
from xapp_operator.reconcile.work_queue import NamespacedName


@dataclass(frozen=True, slots=True)
class CachedXApp:
    """One XApp: what routing events needs, and the whole as JSON bytes."""

    uid: str
    resource_version: int
    generation: int
    deleting: bool
    references: frozenset[tuple[str, str]]  # (kind, name) of what it reads in its namespace
    repository: str | None
    depends_on: tuple[str, ...]
    data: bytes

    def parse(self) -> tuple[JsonObject, XApp]:
        raw = cast("JsonObject", orjson.loads(self.data))
        return raw, XApp.model_validate(raw)


class XAppCache:
    """The newest known state of every XApp by (namespace, name), and the reverse of its references."""

    def __init__(self, *, on_namespace: Callable[[str], None] = lambda _: None) -> None:
        """Create an empty cache; `on_namespace` is called when `in_namespace` becomes empty or not empty."""
        self._on_namespace = on_namespace
        self._keys: dict[str, set[NamespacedName]] = {}  # by namespace
        self._entries: dict[NamespacedName, CachedXApp] = {}
        self._referrers: dict[tuple[str, str, str], set[NamespacedName]] = {}  # (namespace, kind, name)

    def get(self, key: NamespacedName) -> CachedXApp | None:
        return self._entries.get(key)

    def put(self, raw: JsonObject) -> CachedXApp:
        """Store `raw` unless a newer object of that name is stored; return what is stored then.

        Events may arrive late, even of a deleted object whose name another object has now.
        """
        entry = _to_cached(raw)
        metadata = obj(raw, "metadata")
        key = (text(metadata, "namespace"), text(metadata, "name"))
        known = self._entries.get(key)
        if known is not None and known.resource_version >= entry.resource_version:
            return known
        self._remove_references(key, known)
        self._entries[key] = entry
        for reference in _references_of(entry):
            self._referrers.setdefault((key[0], *reference), set()).add(key)
        keys = self._keys.setdefault(key[0], set())
        keys.add(key)
        if len(keys) == 1 and known is None:
            self._on_namespace(key[0])
        return entry

    def remove(self, key: NamespacedName, uid: str) -> bool:
        """Remove `key` if it is still the object with that uid; return whether it was."""
        known = self._entries.get(key)
        if known is None or known.uid != uid:
            return False
        self._remove_references(key, known)
        del self._entries[key]
        self._keys[key[0]].discard(key)
        if not self._keys[key[0]]:
            del self._keys[key[0]]
            self._on_namespace(key[0])
        return True

    def in_namespace(self, namespace: str | None) -> tuple[NamespacedName, ...]:
        """Return the XApps of a namespace, or all of them."""
        return tuple(self._entries if namespace is None else self._keys.get(namespace, ()))

    def referrers(self, namespace: str, kind: str, name: str) -> set[NamespacedName]:
        """Return the XApps that refer to a ChartArchive, Secret, ConfigMap, ChartRepository or XApp."""
        return set(self._referrers.get((namespace, kind, name), ()))

    def _remove_references(self, key: NamespacedName, known: CachedXApp | None) -> None:
        if known is None:
            return
        for reference in _references_of(known):
            referrers = self._referrers.get((key[0], *reference))
            if referrers is not None:
                referrers.discard(key)
                if not referrers:
                    del self._referrers[key[0], *reference]


def _references_of(entry: CachedXApp) -> Iterator[tuple[str, str]]:
    yield from entry.references
    if entry.repository:
        yield "ChartRepository", entry.repository
    for name in entry.depends_on:
        yield "XApp", name


def _to_cached(raw: JsonObject) -> CachedXApp:
    metadata = {key: value for key, value in obj(raw, "metadata").items() if key != "managedFields"}
    if ANNOTATION_VALUES_TEXT in (annotations := obj(metadata, "annotations")):
        # Only the gateway uses it, and it is as long as the values.
        metadata["annotations"] = {key: each for key, each in annotations.items() if key != ANNOTATION_VALUES_TEXT}
    spec = obj(raw, "spec")
    references = {(text(source, "kind"), text(source, "name")) for source in items(spec, "valuesFrom")}
    archive = obj(spec, "archive")
    for field, kind in (("chartArchiveRef", "ChartArchive"), ("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
        if name := text(obj(archive, field), "name"):
            references.add((kind, name))
    return CachedXApp(
        uid=text(metadata, "uid"),
        resource_version=int(text(metadata, "resourceVersion", "0")),
        generation=integer(metadata, "generation"),
        deleting="deletionTimestamp" in metadata,
        references=frozenset(references),
        repository=text(spec, "repoName") or None,
        depends_on=tuple(text(other, "name") for other in items(spec, "dependsOn")),
        data=encode_json({**raw, "metadata": metadata}),
    )
