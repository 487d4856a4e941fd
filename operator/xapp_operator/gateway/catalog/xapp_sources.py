"""Fills the store from its two sources, XApp resources and labelled objects, so that it has every xApp once.

The Helm release identifies an xApp. As long as an XApp manages a release, the labels of its objects do not count. When
the XApp is deleted and the objects stay, the xApp is listed by its labels again.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final, Self

import orjson

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import SERVICES_MAX, HealthStatus, Phase
from xapp_operator.api.names import LABEL_ORGANIZATION, LABEL_TEAM, LABEL_VERSION
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.catalog.records import SOURCE_LABELS, XAppEntry, build_entry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.watch.watch_cache import ChangeType, ObjectKey
from xapp_operator.monitor.live_objects import LiveObject
from xapp_operator.monitor.object_labels import ReleaseKey
from xapp_operator.monitor.registry import Registration, XAppRegistry

OBJECT_REMOVAL_SECONDS: Final = 1.0
"""Time after which objects that outlive their XApp are listed by their labels: their watches may lag behind."""
BATCH_SECONDS: Final = 0.05
"""Time for which changes are collected: a Helm operation changes many objects of a release at once."""

_CHART_LABEL: Final = re.compile(r"(?P<name>.+?)-(?P<version>v?[0-9]+\.[0-9]+.*)", re.ASCII)
_PHASE_BY_HEALTH: Final = {
    HealthStatus.HEALTHY: Phase.DEPLOYED,
    HealthStatus.PROGRESSING: Phase.DEPLOYING,
    HealthStatus.DEGRADED: Phase.DEGRADED,
    HealthStatus.UNKNOWN: Phase.DEPLOYED,
}


class XAppSources:
    """Decides which source a release is listed from; `async with` runs the registry.

    Once the registry is synced, the store has every xApp that was known by its labels then.
    """

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        *,
        store: XAppRecordStore,
        removal_seconds: float = OBJECT_REMOVAL_SECONDS,
    ) -> None:
        self.registry = XAppRegistry(kube, settings, on_change=self._on_objects_change, on_sync=self._refresh_changed)
        self._store = store
        self._removal_seconds = removal_seconds
        self._release_by_xapp: dict[ObjectKey, ReleaseKey] = {}
        self._xapps_by_release: dict[ReleaseKey, set[ObjectKey]] = {}
        self._label_entries: dict[ReleaseKey, XAppEntry] = {}
        self._changed_releases: set[ReleaseKey] = set()
        self._batch_timer: asyncio.TimerHandle | None = None
        self._removal_timers: dict[ReleaseKey, asyncio.TimerHandle] = {}

    async def __aenter__(self) -> Self:
        self.registry.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.registry.stop()
        for timer in (self._batch_timer, *self._removal_timers.values()):
            if timer is not None:
                timer.cancel()

    def on_xapp_change(self, change: ChangeType, key: ObjectKey, entry: XAppEntry) -> None:
        """Store a change of an XApp, and remove what was listed by the labels of its objects."""
        if change == "DELETED":
            self._store.remove(*key)
            self._forget_xapp(key)
            return
        release = entry.namespace, entry.release
        if self._release_by_xapp.get(key) != release:
            self._forget_xapp(key)
            self._release_by_xapp[key] = release
            self._xapps_by_release.setdefault(release, set()).add(key)
            for duplicate in (release, (key.namespace, key.name)):
                self._remove_label_entry(duplicate)
        self._store.put(entry)

    def find_xapp(self, release: ReleaseKey, *, by_helm: bool) -> ObjectKey | None:
        """Return the xApp that an object belongs to, or None.

        Args:
            release: the release key of the object (`release_key_of`).
            by_helm: whether Helm named that release; otherwise it is the name in the object's labels.
        """
        owners = self._xapps_by_release.get(release)
        if owners:
            return min(owners)
        named = ObjectKey(*release)
        return named if release in self._label_entries or (not by_helm and named in self._release_by_xapp) else None

    def _forget_xapp(self, key: ObjectKey) -> None:
        release = self._release_by_xapp.pop(key, None)
        if release is None:
            return
        owners = self._xapps_by_release[release]
        owners.discard(key)
        if not owners:
            del self._xapps_by_release[release]
        for each in {release, (key.namespace, key.name)}:
            self._refresh_later(each)

    def _refresh_later(self, release: ReleaseKey) -> None:
        def refresh() -> None:
            del self._removal_timers[release]
            self._refresh_label_entry(release)

        if release not in self._removal_timers:
            self._removal_timers[release] = asyncio.get_running_loop().call_later(self._removal_seconds, refresh)

    def _on_objects_change(self, release: ReleaseKey) -> None:
        """Note that objects of a release have changed; changes are processed in batches."""
        if release in self._xapps_by_release or release in self._removal_timers:
            return
        if not self._changed_releases:
            self._batch_timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._refresh_changed)
        self._changed_releases.add(release)

    def _refresh_changed(self) -> None:
        changed, self._changed_releases = self._changed_releases, set()
        for release in changed:
            self._refresh_label_entry(release)

    def _refresh_label_entry(self, release: ReleaseKey) -> None:
        registration = None if self._has_xapp(release) else self.registry.get(*release)
        if registration is None or not registration.has_workload_or_service:
            self._remove_label_entry(release)
            return
        entry = build_label_entry(registration)
        self._label_entries[release] = entry
        self._store.put(entry)

    def _has_xapp(self, release: ReleaseKey) -> bool:
        # An object without Helm's annotation has the name of its XApp as release. A path must lead to one entry only.
        return release in self._xapps_by_release or ObjectKey(*release) in self._release_by_xapp

    def _remove_label_entry(self, release: ReleaseKey) -> None:
        if self._label_entries.pop(release, None) is not None:
            self._store.remove(*release)


def build_label_entry(registration: Registration) -> XAppEntry:
    """Return the entry of an xApp that is known only by its labels."""
    objects, health = registration.objects, registration.health
    chart, chart_version = _parse_chart_label(registration.first_value(lambda labels: labels.chart))
    organization = registration.first_value(
        lambda labels: labels.organization_annotation or labels.registration_label(LABEL_ORGANIZATION)
    )
    team = registration.first_value(lambda labels: labels.team_annotation or labels.registration_label(LABEL_TEAM))
    record: JsonObject = {
        "name": registration.release,
        "namespace": registration.namespace,
        "uid": f"{registration.namespace}/{registration.release}",
        "xAppName": registration.first_value(lambda labels: labels.name) or registration.release,
        "organization": organization or None,
        "team": team or None,
        "version": registration.first_value(lambda labels: labels.registration_label(LABEL_VERSION)) or chart_version,
        "source": SOURCE_LABELS,
        "phase": _phase_from_objects(objects, health.status).value,
        "ready": health.status is HealthStatus.HEALTHY,
        "health": health.status.value,
        "message": health.message or "known by its labels; no XApp manages it",
        "release": {
            "name": registration.release if registration.made_by_helm else None,
            "chart": chart,
            "chartVersion": chart_version,
            "appVersion": registration.first_value(lambda labels: labels.app_version) or None,
        },
        "chart": {"name": chart, "version": chart_version},
        "createdAt": min((live.created_at for live in objects if live.created_at), default=None),
        "updatedAt": max((live.changed_at for live in objects if live.changed_at), default=None),
    }
    services = [live.service for live in objects if live.service][:SERVICES_MAX]
    return build_entry(
        record,
        release=registration.release,
        services=[orjson.loads(service.status_json) for service in services],
        resources=(len(objects), sum(live.health.status is HealthStatus.HEALTHY for live in objects)),
    )


def _phase_from_objects(objects: tuple[LiveObject, ...], health: HealthStatus) -> Phase:
    return Phase.UNINSTALLING if all(live.deleting for live in objects) else _PHASE_BY_HEALTH[health]


def _parse_chart_label(label: str) -> tuple[str | None, str | None]:
    """Return name and version in a `helm.sh/chart` label, which has `_` in place of `+`."""
    parsed = _CHART_LABEL.fullmatch(label)
    if parsed is None:
        return label or None, None
    return parsed["name"], parsed["version"].replace("_", "+")
