"""Knows which objects of deployed releases differ from their stored manifests. It only reads.

Mostly without a request: as long as Helm manages every field of the manifest (`domain.managed_fields`), as the watches
show, an object is as it was applied. Only where that is not so, or where no watch shows an object, `object_comparison`
asks the API server. The result holds until the object changes again. When objects change again and again, the pauses
between comparisons grow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.common.clock import Clock
from xapp_operator.domain.drift import parse_ignored
from xapp_operator.domain.managed_fields import manages_all, unpack_helm_fields
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan_input import DriftState
from xapp_operator.errors import AccessDenied, HelmError
from xapp_operator.helm.applied_objects import AppliedObject, applied_objects
from xapp_operator.kube.reader import KubeReader
from xapp_operator.monitor.live_objects import LiveObjectKey
from xapp_operator.monitor.xapp_monitor import ReleaseObject, XAppMonitor
from xapp_operator.reconcile.inputs.impersonation import ReaderImpersonation
from xapp_operator.reconcile.object_comparison import Comparison, ObjectComparer
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.reconcile.work.repeat_backoff import RepeatBackoff
from xapp_operator.reconcile.work.work_queue import NamespacedName

MAX_COMPARISONS: Final = 500
"""Objects that one reconcile compares by requests; a later one continues."""
MAX_PARALLEL_COMPARISONS: Final = 4
MAX_PAUSE_SECONDS: Final = 30.0
"""The longest pause while objects of an XApp keep changing: a change of another object is not noticed before."""

ManifestKey: TypeAlias = tuple[str, LiveObjectKey]
"""API group, and kind, namespace and name."""

_ObjectVersion: TypeAlias = tuple[bytes, int] | None
"""What changes with an object: the fields that Helm manages, and the content. None if no watch shows the object."""


@dataclass(slots=True)
class _ReleaseState:
    """What is known about the objects of one revision."""

    revision: int
    managed: dict[ManifestKey, bytes] = field(default_factory=dict)
    """Objects whose fields Helm all manages, while the ones it manages are these."""
    compared: dict[ManifestKey, tuple[_ObjectVersion, Comparison]] = field(default_factory=dict)
    """All others."""

    def is_known(self, found: ReleaseObject) -> bool:
        """Return whether an object has not changed since it was compared, or need not be compared."""
        key, live = _key_of(found), found.live
        if live is None and found.watched and found.expires:
            return True
        if live is not None and (live.deleting or self.managed.get(key) == live.helm_fields):
            return True
        version, comparison = self.compared.get(key, (None, None))
        return comparison is not None and not comparison.denied and version == _version_of(found)

    def was_compared(self, found: ReleaseObject) -> bool:
        key = _key_of(found)
        return key in self.managed or key in self.compared

    def store(self, found: ReleaseObject, comparison: Comparison) -> None:
        key, live = _key_of(found), found.live
        if live is not None and comparison.managed and comparison.managed == live.helm_fields:
            self.managed[key] = live.helm_fields
            self.compared.pop(key, None)
        else:
            self.compared[key] = (_version_of(found), comparison)
            self.managed.pop(key, None)

    def drift(self, found: Iterable[ReleaseObject]) -> DriftState:
        results = [self.compared[_key_of(each)][1] for each in found if _key_of(each) in self.compared]
        problems = [each for each in results if each.unknown]
        return DriftState(
            objects=tuple(each.drift for each in results if each.drift is not None),
            unknown=problems[0].unknown if problems else "",
            denied=any(each.denied for each in problems),
        )


def _key_of(found: ReleaseObject) -> ManifestKey:
    return found.group, found.key


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
    ) -> None:
        self._kube = kube
        self._impersonation = impersonation
        self._monitor = monitor
        self._clock = clock
        self._changes = RepeatBackoff(Backoff(backoff.initial, min(backoff.maximum, MAX_PAUSE_SECONDS)))
        self._failures = RepeatBackoff(backoff)
        self._states: dict[NamespacedName, _ReleaseState] = {}
        self._manifests: dict[NamespacedName, tuple[int, str]] = {}
        self._correction_errors: dict[NamespacedName, str] = {}
        self._drifted: set[NamespacedName] = set()

    @property
    def drifted_xapps(self) -> int:
        """Return how many XApps have objects that differ from their release."""
        return len(self._drifted)

    def keep_manifest(self, key: NamespacedName, revision: int, manifest: str) -> None:
        """Keep the manifest of a revision for the next comparison, so that it is not read again."""
        self._manifests[key] = (revision, manifest)

    def record_correction(self, key: NamespacedName, error: AccessDenied | None) -> None:
        """Keep why the last correction failed, if it did; corrections have a back-off of their own."""
        self._changes.forget(key)
        self._correction_errors.pop(key, None)
        if error is not None:
            self._correction_errors[key] = error.message

    def forget(self, key: NamespacedName) -> None:
        self._states.pop(key, None)
        self._manifests.pop(key, None)
        self._correction_errors.pop(key, None)
        self._drifted.discard(key)
        self._changes.forget(key)
        self._failures.forget(key)

    async def find_drift(self, xapp: XApp, revision: int, *, compare_unwatched: bool) -> DriftState:
        """Return how the objects of the deployed `revision` differ from its manifest.

        With `compare_unwatched`, objects that no watch shows are compared again.

        Raises:
            KubeError: when the release record cannot be read.
        """
        key = xapp.key
        state = self._states.get(key)
        if state is None or state.revision != revision:
            state = self._states[key] = _ReleaseState(revision)
        found = list(self._monitor.release_objects(key))
        if compare_unwatched:
            for each in found:
                if each.live is None:
                    state.compared.pop(_key_of(each), None)
        unknown = [each for each in found if not state.is_known(each)]
        if unknown and (self._pause(key) == 0 or key in self._manifests):
            try:
                await self._compare(xapp, state, unknown)
            except HelmError:  # the release record is damaged, which Ready reports
                self._failures.record_repair(key, now=self._clock.monotonic())
            unknown = [each for each in unknown if not state.is_known(each)]
        drift = state.drift(found)
        if drift.objects:
            self._drifted.add(key)
        else:
            self._drifted.discard(key)
            self._correction_errors.pop(key, None)
        if not unknown:
            self._manifests.pop(key, None)
            return replace(drift, correction_error=self._correction_errors.get(key, ""))
        error = self._correction_errors.get(key, "")
        return replace(drift, compare_at=self._clock.now() + self._pause(key), correction_error=error)

    def _pause(self, key: NamespacedName) -> float:
        """Return the seconds until the API server may be asked again."""
        next_at = max(self._changes.next_repair_at(key), self._failures.next_repair_at(key))
        return max(next_at - self._clock.monotonic(), 0.0)

    async def _compare(self, xapp: XApp, state: _ReleaseState, unknown: list[ReleaseObject]) -> None:
        applied = await self._load_manifest(xapp, state.revision)
        suspects = await asyncio.to_thread(_find_suspects, state, unknown, applied)
        if not suspects or self._pause(xapp.key) > 0:
            return
        again = any(map(state.was_compared, suspects))
        limit = asyncio.Semaphore(MAX_PARALLEL_COMPARISONS)
        comparer = ObjectComparer(xapp, self._kube, self._impersonation.client_for(xapp))

        async def compare(each: ReleaseObject) -> bool:
            async with limit:
                comparison = await comparer.compare(each, applied[_key_of(each)])
            if comparison is not None:
                state.store(each, comparison)
            return comparison is not None and not comparison.denied

        succeeded = await asyncio.gather(*map(compare, suspects[:MAX_COMPARISONS]))
        if again:
            self._changes.record_repair(xapp.key, now=self._clock.monotonic())
        if not all(succeeded):
            self._failures.record_repair(xapp.key, now=self._clock.monotonic())

    async def _load_manifest(self, xapp: XApp, revision: int) -> Mapping[ManifestKey, AppliedObject]:
        kept_revision, manifest = self._manifests.pop(xapp.key, (0, ""))
        namespace, release = xapp.metadata.namespace, xapp.release_name
        if kept_revision != revision:
            manifest = (await read_release_record(self._kube, namespace, release, revision)).manifest
        return await asyncio.to_thread(load_applied, manifest, release=release, namespace=namespace)


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
    state: _ReleaseState, unknown: list[ReleaseObject], applied: Mapping[ManifestKey, AppliedObject]
) -> list[ReleaseObject]:
    """Return the objects of which it is not certain that Helm manages all fields; note that it does of all others."""
    suspects = []
    for each in unknown:
        one, live = applied.get(_key_of(each)), each.live
        if one is None:  # the manifest that was read does not have it
            state.store(each, Comparison())
        elif live is not None and one.body is not None and _is_as_applied(live.helm_fields, one.body):
            state.store(each, Comparison(managed=live.helm_fields))
        else:
            suspects.append(each)
    return suspects


def _is_as_applied(helm_fields: bytes, body: JsonObject) -> bool:
    return not parse_ignored(body).error and manages_all(unpack_helm_fields(helm_fields), body)
