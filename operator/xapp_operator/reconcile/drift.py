"""Knows which objects of deployed releases differ from their stored manifests. It only reads.

Mostly without a request: as long as Helm manages every field of the manifest (`domain.managed_fields`), as the watches
show, an object is as it was applied. Only where that is not so, or where no watch shows an object, `object_comparison`
asks the API server. The result holds until the object changes again. Where it depends on what scales the object, on
what admission refuses, or on which kinds the cluster serves, it holds until the next resync or request. When objects
change again and again, the pauses between comparisons grow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.common.clock import Clock
from xapp_operator.common.parallel import run_parallel
from xapp_operator.domain.drift import DriftedObject, parse_ignored
from xapp_operator.domain.managed_fields import manages_all, unpack_helm_fields
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan_input import DriftState
from xapp_operator.errors import HelmError
from xapp_operator.helm.applied_objects import AppliedObject, applied_objects
from xapp_operator.kube.reader import KubeReader
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.monitor.release_objects import ReleaseObject
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.inputs.impersonation import ReaderImpersonation
from xapp_operator.reconcile.object_comparison import MAX_OBJECTS, Comparison, ObjectComparer
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.reconcile.work.repeat_backoff import RepeatBackoff
from xapp_operator.reconcile.work.work_queue import NamespacedName

MAX_PARALLEL_COMPARISONS: Final = 4
MAX_PAUSE_SECONDS: Final = 30.0
"""The longest pause while objects of an XApp keep changing: a change of another object is not noticed before."""
CLOCK_PRECISION_SECONDS: Final = 0.001

_RECHECK_PART: Final = 0.9
"""Of the time between two resyncs: so each of them compares what something may scale."""

ManifestKey: TypeAlias = tuple[str, LiveObjectKey]
"""API group, and kind, namespace and name."""

_ObjectVersion: TypeAlias = tuple[bytes, int] | None
"""What changes with an object: the fields that Helm manages, and the content. None if no watch shows the object."""


@dataclass(frozen=True, slots=True)
class CorrectionRefusal:
    """Why the API server refused a correction; `denied` for want of a right."""

    message: str
    denied: bool


@dataclass(slots=True)
class _ReleaseState:
    """What is known about the objects of one revision."""

    revision: int
    managed: dict[ManifestKey, bytes] = field(default_factory=dict)
    """Objects whose fields Helm all manages, while the ones it manages are these."""
    compared: dict[ManifestKey, tuple[_ObjectVersion, Comparison, float]] = field(default_factory=dict)
    """All others, and when they were compared (monotonic seconds)."""

    def is_known(self, found: ReleaseObject, *, since: float) -> bool:
        """Return whether an object has not changed since it was compared, or need not be compared.

        If no watch tells all that the result depends on, it must have been compared after `since`.
        """
        key, live = _key_of(found), found.live
        if _has_expired(found):
            return True
        if live is not None and (live.deleting or self.managed.get(key) == live.helm_fields):
            return True
        if key not in self.compared:
            return False
        version, comparison, compared_at = self.compared[key]
        if comparison.denied or version != _version_of(found):
            return False
        return not comparison.may_become_wrong or compared_at > since

    def forget_comparison(self, found: ReleaseObject) -> None:
        """Forget how an object compares if that can change without a change of the object that a watch shows."""
        key = _key_of(found)
        if key in self.compared and (found.live is None or self.compared[key][1].may_become_wrong):
            del self.compared[key]

    def was_compared(self, found: ReleaseObject) -> bool:
        key = _key_of(found)
        return key in self.managed or key in self.compared

    def store(self, found: ReleaseObject, comparison: Comparison, *, at: float) -> None:
        key, live = _key_of(found), found.live
        if live is not None and comparison.managed and comparison.managed == live.helm_fields:
            self.managed[key] = live.helm_fields
            self.compared.pop(key, None)
        else:
            self.compared[key] = (_version_of(found), comparison, at)
            self.managed.pop(key, None)

    def drift(self, found: Iterable[ReleaseObject]) -> DriftState:
        keys = [_key_of(each) for each in found if not _has_expired(each)]
        results = [self.compared[key][1] for key in keys if key in self.compared]
        problems = [each for each in results if each.unknown]
        return DriftState(
            objects=tuple(each.drift for each in results if each.drift is not None),
            unknown=problems[0].unknown if problems else "",
            denied=any(each.denied for each in problems),
        )


def _key_of(found: ReleaseObject) -> ManifestKey:
    return found.group, found.key


def _has_expired(found: ReleaseObject) -> bool:
    return found.live is None and found.watched and found.expires


def _key_of_drifted(found: DriftedObject) -> ManifestKey:
    return found.group, (found.kind, found.namespace, found.name)


def _version_of(found: ReleaseObject) -> _ObjectVersion:
    return None if found.live is None else (found.live.helm_fields, found.live.content)


class DriftDetector:
    """Compares the objects of releases with their manifests."""

    def __init__(
        self,
        kube: KubeReader,
        impersonation: ReaderImpersonation,
        monitor: XAppMonitor,
        *,
        backoff: Backoff,
        clock: Clock,
        resync_seconds: float,
    ) -> None:
        self._kube = kube
        self._impersonation = impersonation
        self._monitor = monitor
        self._clock = clock
        self._recheck_seconds = _RECHECK_PART * resync_seconds
        self._changes = RepeatBackoff(Backoff(backoff.initial, min(backoff.maximum, MAX_PAUSE_SECONDS)))
        self._failures = RepeatBackoff(backoff)
        self._states: dict[NamespacedName, _ReleaseState] = {}
        self._manifests: dict[NamespacedName, tuple[int, str]] = {}
        self._refusals: dict[NamespacedName, CorrectionRefusal] = {}
        self._corrected: dict[NamespacedName, set[ManifestKey]] = {}
        self._drifted: set[NamespacedName] = set()

    @property
    def drifted_xapps(self) -> int:
        """Return how many XApps have objects that differ from their release."""
        return len(self._drifted)

    def keep_manifest(self, key: NamespacedName, revision: int, manifest: str) -> None:
        """Keep the manifest of a revision for the next comparison, so that it is not read again."""
        self._manifests[key] = (revision, manifest)

    def drop_manifest(self, key: NamespacedName) -> None:
        """Drop the manifest that was kept, if no comparison took it."""
        self._manifests.pop(key, None)

    def record_correction(
        self, key: NamespacedName, corrected: Iterable[DriftedObject], refusal: CorrectionRefusal | None
    ) -> None:
        """Keep what was corrected, and why the rest was refused; corrections have a back-off of their own."""
        self._changes.forget(key)
        self._refusals.pop(key, None)
        if refusal is not None:
            self._refusals[key] = refusal
        self._corrected.setdefault(key, set()).update(map(_key_of_drifted, corrected))

    def forget(self, key: NamespacedName) -> None:
        self._states.pop(key, None)
        self._manifests.pop(key, None)
        self._refusals.pop(key, None)
        self._corrected.pop(key, None)
        self._drifted.discard(key)
        self._changes.forget(key)
        self._failures.forget(key)

    def replaced_objects(self, key: NamespacedName) -> tuple[int, tuple[DriftedObject, ...]]:
        """Return the revision, and the objects in whose lists somebody replaced items, as far as that is known."""
        state = self._states.get(key)
        if state is None:
            return 0, ()
        drifted = (comparison.drift for _, comparison, _ in state.compared.values())
        return state.revision, tuple(each for each in drifted if each is not None and each.replaced)

    async def find_drift(self, xapp: XApp, revision: int, *, requested: bool) -> DriftState:
        """Return how the objects of the deployed `revision` differ from its manifest.

        If that is `requested`, objects are compared again of which no watch shows all that matters.

        Raises:
            KubeError: when the release record cannot be read.
        """
        key = xapp.key
        state = self._states.get(key)
        if state is None or state.revision != revision:
            state = self._states[key] = _ReleaseState(revision)
            self._corrected.pop(key, None)
        found = list(self._monitor.release_objects(key))
        if requested:
            for each in found:
                state.forget_comparison(each)
        since = self._clock.monotonic() - self._recheck_seconds
        unknown = [each for each in found if not state.is_known(each, since=since)]
        if unknown and (self._pause(key) == 0 or key in self._manifests):
            try:
                await self._compare(xapp, state, unknown)
            except HelmError:  # the release record is damaged, which Ready reports
                self._failures.record_repair(key, now=self._clock.monotonic())
            unknown = [each for each in unknown if not state.is_known(each, since=since)]
        drift = self._with_corrections(key, state.drift(found))
        if drift.objects:
            self._drifted.add(key)
        else:
            self._drifted.discard(key)
            self._refusals.pop(key, None)
        if not unknown:
            self._manifests.pop(key, None)
            return drift
        return replace(drift, compare_at=self._clock.now() + self._pause(key))

    def _with_corrections(self, key: NamespacedName, drift: DriftState) -> DriftState:
        """Return `drift` with what became of the corrections of these objects."""
        refusal, corrected = self._refusals.get(key), self._corrected.get(key, set())
        return replace(
            drift,
            correction_error="" if refusal is None else refusal.message,
            correction_denied=refusal is not None and refusal.denied,
            corrected_before=any(_key_of_drifted(each) in corrected for each in drift.correctable),
        )

    def _pause(self, key: NamespacedName) -> float:
        """Return the seconds until the API server may be asked again.

        The end of a pause is passed on in wall-clock time, which is less precise, so that it may come a bit too early.
        """
        next_at = max(self._changes.next_repair_at(key), self._failures.next_repair_at(key))
        left = next_at - self._clock.monotonic()
        return left if left > CLOCK_PRECISION_SECONDS else 0.0

    async def _compare(self, xapp: XApp, state: _ReleaseState, unknown: list[ReleaseObject]) -> None:
        manifest = await self._load_manifest(xapp, state.revision)
        applied, suspects = await asyncio.to_thread(
            _find_suspects, xapp, state, unknown, manifest, at=self._clock.monotonic()
        )
        if not suspects or self._pause(xapp.key) > 0:
            return
        again = any(map(state.was_compared, suspects))
        comparer = ObjectComparer(xapp, self._kube, self._impersonation.client_for(xapp))

        async def compare(each: ReleaseObject) -> bool:
            comparison = await comparer.compare(each, applied[_key_of(each)])
            if comparison is not None:
                state.store(each, comparison, at=self._clock.monotonic())
            return comparison is not None and not comparison.denied

        succeeded = await run_parallel(compare, suspects[:MAX_OBJECTS], at_once=MAX_PARALLEL_COMPARISONS)
        if again:
            self._changes.record_repair(xapp.key, now=self._clock.monotonic())
        if not all(succeeded):
            self._failures.record_repair(xapp.key, now=self._clock.monotonic())

    async def _load_manifest(self, xapp: XApp, revision: int) -> str:
        kept_revision, manifest = self._manifests.pop(xapp.key, (0, ""))
        if kept_revision == revision:
            return manifest
        return (await read_release_record(self._kube, xapp.metadata.namespace, xapp.release_name, revision)).manifest


def load_applied(manifest: str, *, release: str, namespace: str) -> dict[ManifestKey, AppliedObject]:
    """Return the objects of a manifest by API group, kind, namespace and name.

    Raises:
        HelmError: when the manifest cannot be read.
    """
    return {
        (each.api_version.rpartition("/")[0], (each.kind, each.namespace or namespace, each.name)): applied
        for each, applied in applied_objects(manifest, release=release, namespace=namespace).items()
    }


def _find_suspects(
    xapp: XApp, state: _ReleaseState, unknown: list[ReleaseObject], manifest: str, *, at: float
) -> tuple[Mapping[ManifestKey, AppliedObject], list[ReleaseObject]]:
    """Return the objects of the manifest, and those of `unknown` of which Helm may not manage all fields any more.

    `state` notes that Helm does of all others.

    Raises:
        HelmError: when the manifest cannot be read.
    """
    applied = load_applied(manifest, release=xapp.release_name, namespace=xapp.metadata.namespace)
    suspects = []
    for each in unknown:
        one, live = applied.get(_key_of(each)), each.live
        if one is None:  # the manifest that was read does not have it
            state.store(each, Comparison(), at=at)
        elif live is not None and one.body is not None and _is_as_applied(live.helm_fields, one.body):
            state.store(each, Comparison(managed=live.helm_fields), at=at)
        else:
            suspects.append(each)
    return applied, suspects


def _is_as_applied(helm_fields: bytes, body: JsonObject) -> bool:
    return not parse_ignored(body).error and manages_all(unpack_helm_fields(helm_fields), body)
