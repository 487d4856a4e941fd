"""Caches the newest JSON of every XApp, and which XApps refer to which objects.

It is filled by the kopf handlers and by the responses to status writes, so that a reconcile reads what it wrote. The
JSON is stored as bytes, because there are thousands of XApps and few are reconciled at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

import orjson

from xapp_operator.api.conditions import READY, Reason
from xapp_operator.api.json import JsonObject, encode_json, integer, items, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_VALUES_TEXT
from xapp_operator.domain.planning.dependencies import cycle_members, find_cycle
from xapp_operator.reconcile.work.work_queue import NamespacedName, WorkQueue
from xapp_operator.telemetry.metrics import OTHER_LABEL

RELEASE: Final = "Release"
"""Stands for a Helm release where the kind of an object is expected."""
_REASONS: Final = {reason.value: reason.value for reason in Reason}


@dataclass(frozen=True, slots=True)
class CachedXApp:
    """One XApp: what routing events needs, and the whole as JSON bytes."""

    uid: str
    resource_version: int
    generation: int
    deleting: bool
    adopts: bool
    ready: bool  # the condition Ready is True for this generation
    not_ready_since: float | None  # seconds since the epoch; None while it is Ready or suspended
    reason: str  # of the condition Ready; empty without one
    references: frozenset[tuple[str, str]]  # (kind, name) of what it reads in its namespace
    repository: str  # empty without one
    configured_repository: str  # of the status
    release_name: str  # empty: the name of the XApp
    depends_on: tuple[str, ...]
    data: bytes
    own_write: bool = False  # see `XAppCache.put`

    @property
    def needs_all(self) -> bool:
        """Return whether its reconcile needs all XApps: those that depend on it, or whose objects it must not adopt."""
        return self.deleting or self.adopts

    @property
    def step_version(self) -> tuple[str, int]:
        """Return what a helm step is for: uid and generation, which a deletion raises too."""
        return self.uid, self.generation

    def parse(self) -> tuple[JsonObject, XApp]:
        raw = cast("JsonObject", orjson.loads(self.data))
        return raw, XApp.model_validate(raw)


class XAppCache:
    """The newest known state of every XApp by (namespace, name), and the reverse of its references."""

    def __init__(
        self,
        *,
        on_namespace: Callable[[str], None] = lambda _: None,
        on_related: Callable[[NamespacedName], None] = lambda _: None,
    ) -> None:
        """Create an empty cache.

        Args:
            on_namespace: called when `in_namespace` becomes empty or not empty.
            on_related: called with each XApp for which another one has changed what dependsOn means (whether that one
                is Ready, exists, depends on it, or closes or opens a cycle), or no longer has the release of that name.
        """
        self._on_namespace = on_namespace
        self._on_related = on_related
        self._keys: dict[str, set[NamespacedName]] = {}  # by namespace
        self._entries: dict[NamespacedName, CachedXApp] = {}
        self._referrers: dict[tuple[str, str, str], set[NamespacedName]] = {}  # (namespace, kind, name)
        self._expected: set[NamespacedName] = set()
        self._not_ready: dict[NamespacedName, float] = {}

    @property
    def is_complete(self) -> bool:
        """Return whether all XApps that `expect` named have been stored, or removed."""
        return not self._expected

    def expect(self, keys: Iterable[NamespacedName]) -> None:
        """Expect these XApps; until they are stored, no XApp that needs all is reconciled. No keys end the wait."""
        waited, self._expected = not self.is_complete, {key for key in keys if key not in self._entries}
        if waited:
            self._report_completion()

    def get(self, key: NamespacedName) -> CachedXApp | None:
        return self._entries.get(key)

    def put(self, raw: JsonObject, *, own_write: bool = False) -> CachedXApp:
        """Store `raw` unless a newer object of that name is stored; return what is stored then.

        Events may arrive late, even of a deleted object whose name another object has now. `own_write` says that `raw`
        is what the operator has written, and nobody has changed anything else: there is nothing to do about it.
        """
        entry = _to_cached(raw, own_write=own_write)
        metadata = obj(raw, "metadata")
        key = (text(metadata, "namespace"), text(metadata, "name"))
        known = self._entries.get(key)
        if known is not None and known.resource_version >= entry.resource_version:
            return known
        concerned = self._concerned_by(key, known, entry)
        self._remove_references(key, known)
        self._entries[key] = entry
        self._set_not_ready(key, entry.not_ready_since)
        for reference in _references_of(entry):
            self._referrers.setdefault((key[0], *reference), set()).add(key)
        keys = self._keys.setdefault(key[0], set())
        keys.add(key)
        if len(keys) == 1 and known is None:
            self._on_namespace(key[0])
        self._report(key, concerned | self._concerned_by(key, known, entry))
        self._arrived(key)
        return entry

    def remove(self, key: NamespacedName, uid: str) -> bool:
        """Remove `key` if it is still the object with that uid; return whether it was."""
        self._arrived(key)
        known = self._entries.get(key)
        if known is None or known.uid != uid:
            return False
        concerned = self._concerned_by(key, known, None)
        concerned |= {name for _, name in self.installers(key[0], known.release_name or key[1])}
        self._remove_references(key, known)
        del self._entries[key]
        self._set_not_ready(key, None)
        self._keys[key[0]].discard(key)
        if not self._keys[key[0]]:
            del self._keys[key[0]]
            self._on_namespace(key[0])
        self._report(key, concerned)
        return True

    def in_namespace(self, namespace: str | None) -> tuple[NamespacedName, ...]:
        """Return the XApps of a namespace, or all of them."""
        return tuple(self._entries if namespace is None else self._keys.get(namespace, ()))

    def referrers(self, namespace: str, kind: str, name: str) -> set[NamespacedName]:
        """Return the XApps that refer to a ChartArchive, Secret, ConfigMap, ChartRepository or XApp."""
        return set(self._referrers.get((namespace, kind, name), ()))

    def was_configured(self, namespace: str, repository: str) -> bool:
        """Return whether an XApp that refers to a ChartRepository says that it has, or had, more than a url."""
        keys = self._referrers.get((namespace, "ChartRepository", repository), ())
        return any(self._entries[key].configured_repository == repository for key in keys)

    def installers(self, namespace: str, release_name: str) -> set[NamespacedName]:
        """Return the XApps whose release has this name, whoever has made that release."""
        found, namesake = self.referrers(namespace, RELEASE, release_name), (namespace, release_name)
        entry = self._entries.get(namesake)
        return {*found, namesake} if entry is not None and not entry.release_name else found

    def is_ready(self, key: NamespacedName) -> bool:
        """Return whether an XApp exists and is Ready as of its current generation."""
        entry = self._entries.get(key)
        return entry is not None and entry.ready and not entry.deleting

    def not_ready_since(self) -> Collection[float]:
        """Return since when each XApp is not Ready that is neither Ready nor suspended, in seconds since the epoch."""
        return self._not_ready.values()

    def count_by_reason(self) -> Counter[str]:
        """Return how many XApps have each reason in their condition Ready."""
        return Counter(entry.reason for entry in self._entries.values() if entry.reason)

    def dependency_cycle(self, key: NamespacedName) -> tuple[str, ...]:
        """Return the names of the shortest cycle of dependsOn through an XApp, or nothing without one."""
        entry = self._entries.get(key)
        return find_cycle(key[1], self._dependencies(key[0])) if entry is not None and entry.depends_on else ()

    def dependents(self, key: NamespacedName) -> tuple[str, ...]:
        """Return the names of the XApps that depend on one, in order, without members of its cycles."""
        names = {name for _, name in self.referrers(key[0], "XApp", key[1])}
        return tuple(sorted(names - self._cycle_members(key))) if names else ()

    def _set_not_ready(self, key: NamespacedName, since: float | None) -> None:
        if since is None:
            self._not_ready.pop(key, None)
        else:
            self._not_ready[key] = since

    def _dependencies(self, namespace: str) -> Callable[[str], Iterable[str]]:
        def depends_on(name: str) -> Iterable[str]:
            entry = self._entries.get((namespace, name))
            return () if entry is None else entry.depends_on

        return depends_on

    def _cycle_members(self, key: NamespacedName) -> set[str]:
        namespace, name = key
        entry = self._entries.get(key)
        if entry is None or not entry.depends_on or not self._referrers.get((namespace, "XApp", name)):
            return set()
        return cycle_members(
            name,
            self._dependencies(namespace),
            lambda each: (found for _, found in self._referrers.get((namespace, "XApp", each), ())),
        )

    def _concerned_by(self, key: NamespacedName, known: CachedXApp | None, entry: CachedXApp | None) -> set[str]:
        """Return the XApps for which this change of one matters; a change of dependsOn, as the cache is now."""
        namespace, name = key
        before, after = (each and (each.uid, each.ready and not each.deleting) for each in (known, entry))
        concerned = {found for _, found in self.referrers(namespace, "XApp", name)} if before != after else set()
        old, new = (set() if each is None else set(each.depends_on) for each in (known, entry))
        if old != new:
            concerned |= (old ^ new) | self._cycle_members(key)
        return concerned

    def _report(self, key: NamespacedName, names: set[str]) -> None:
        for name in names - {key[1]}:
            if (key[0], name) in self._entries:
                self._on_related((key[0], name))

    def _arrived(self, key: NamespacedName) -> None:
        if key in self._expected:
            self._expected.discard(key)
            self._report_completion()

    def _report_completion(self) -> None:
        if not self._expected:
            for key, entry in self._entries.items():
                if entry.needs_all:
                    self._on_related(key)

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
    if entry.release_name:
        yield RELEASE, entry.release_name
    for name in entry.depends_on:
        yield "XApp", name


def small_metadata(raw: JsonObject) -> JsonObject:
    """Return the metadata of an XApp without what the operator does not use and may be as long as the values."""
    metadata = {key: value for key, value in obj(raw, "metadata").items() if key != "managedFields"}
    if ANNOTATION_VALUES_TEXT in (annotations := obj(metadata, "annotations")):
        metadata["annotations"] = {key: each for key, each in annotations.items() if key != ANNOTATION_VALUES_TEXT}
    return metadata


def keep_written(xapps: XAppCache, queue: WorkQueue, before: JsonObject, written: JsonObject) -> None:
    """Keep an XApp as the response to a write of its status has returned it, unless it is gone by then.

    A change of a user that the response brings queues the key at once: the event of that change may come after the
    next write, and is then no news.

    Args:
        xapps: where it is kept.
        queue: has the key of the XApp.
        before: the XApp that was written to.
        written: the response.
    """
    metadata = obj(written, "metadata")
    key, version = (text(metadata, "namespace"), text(metadata, "name")), int(text(metadata, "resourceVersion"))
    known = xapps.get(key)
    if known is None or known.uid != text(metadata, "uid"):
        return
    own_write = _differs_by_status(before, written)
    xapps.put(written, own_write=own_write)
    if own_write:  # not the version in the cache, which may be a later one of a user
        queue.take_back(key, version)
    else:
        queue.add(key, version=version)


def _differs_by_status(before: JsonObject, after: JsonObject) -> bool:
    """Return whether two versions of an XApp differ by nothing but the status; another spec has another generation."""
    first, second = small_metadata(before), small_metadata(after)
    return {**first, "resourceVersion": None} == {**second, "resourceVersion": None}


def _to_cached(raw: JsonObject, *, own_write: bool) -> CachedXApp:
    metadata, spec = small_metadata(raw), obj(raw, "spec")
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
        adopts=spec.get("adopt") is True,
        ready=_is_reported_ready(obj(raw, "status"), generation=integer(metadata, "generation")),
        not_ready_since=_not_ready_since(raw),
        reason=_ready_reason(obj(raw, "status")),
        references=frozenset(references),
        repository=text(spec, "repoName"),
        configured_repository=text(obj(raw, "status"), "configuredRepository"),
        release_name=text(spec, "releaseName"),
        depends_on=tuple(text(other, "name") for other in items(spec, "dependsOn")),
        data=encode_json({**raw, "metadata": metadata}),
        own_write=own_write,
    )


def _is_reported_ready(status: JsonObject, *, generation: int) -> bool:
    return integer(status, "observedGeneration", -1) == generation and any(
        text(condition, "type") == READY and text(condition, "status") == "True"
        for condition in items(status, "conditions")
    )


def _ready_reason(status: JsonObject) -> str:
    """Return the reason of the condition Ready: one that the operator writes, or OTHER_LABEL."""
    for condition in items(status, "conditions"):
        if text(condition, "type") == READY:
            return _REASONS.get(text(condition, "reason"), OTHER_LABEL)
    return ""


def _not_ready_since(raw: JsonObject) -> float | None:
    """Return when an XApp stopped being Ready; when it was created, if nothing is known of it yet.

    The condition counts also if it is about an earlier generation: a change of the spec alone makes nothing fail.
    """
    metadata = obj(raw, "metadata")
    if obj(raw, "spec").get("suspend") is True:
        return None
    since = text(metadata, "creationTimestamp")
    for condition in items(obj(raw, "status"), "conditions"):
        if text(condition, "type") == READY:
            since = "" if text(condition, "status") == "True" else text(condition, "lastTransitionTime")
    since = text(metadata, "deletionTimestamp") or since
    return datetime.fromisoformat(since).timestamp() if since else None
