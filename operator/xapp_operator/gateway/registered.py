"""Feeds the store from its two sources, XApps and what registers itself by labels, so that every xApp is in it once.

Lives in the gateway, between the watches and the store. An xApp is the same one when it has the same Helm release: as
long as an XApp stands for a release, its labels say nothing in a list; when the XApp goes and the objects stay, the
labels speak again.
"""

from __future__ import annotations

import asyncio
import re
from types import TracebackType
from typing import Final, Self

import orjson

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import SERVICES_MAX, HealthStatus, Phase
from xapp_operator.config import Settings
from xapp_operator.gateway.records import SOURCE_LABELS, Entry, make_entry
from xapp_operator.gateway.store import RecordStore
from xapp_operator.kube.cache import ChangeType, Key
from xapp_operator.kube.client import KubeClient
from xapp_operator.monitor.live import LiveObject
from xapp_operator.monitor.marks import ReleaseKey
from xapp_operator.monitor.registry import Registration, Registry

AFTERMATH_SECONDS: Final = 1.0
"""How long the objects of an XApp that is gone are taken for going too: their watches may lag behind its own."""
TOGETHER_SECONDS: Final = 0.05
"""How long changes are gathered: a helm step changes many objects of a release at once."""

_CHART: Final = re.compile(r"(?P<name>.+?)-(?P<version>v?[0-9]+\.[0-9]+.*)", re.ASCII)
_PHASES: Final = {
    HealthStatus.HEALTHY: Phase.DEPLOYED,
    HealthStatus.PROGRESSING: Phase.DEPLOYING,
    HealthStatus.DEGRADED: Phase.DEGRADED,
    HealthStatus.UNKNOWN: Phase.DEPLOYED,
}


class Registered:
    """Decides which source speaks for a release; `async with` runs the registry."""

    def __init__(
        self, kube: KubeClient, settings: Settings, *, store: RecordStore, aftermath: float = AFTERMATH_SECONDS
    ) -> None:
        self.registry = Registry(kube, settings, on_change=self._objects_changed)
        self._store = store
        self._aftermath_seconds = aftermath
        self._xapps: dict[Key, ReleaseKey] = {}
        self._claims: dict[ReleaseKey, set[Key]] = {}
        self._shown: dict[ReleaseKey, Entry] = {}
        self._due: set[ReleaseKey] = set()
        self._gathering: asyncio.TimerHandle | None = None
        self._aftermath: dict[ReleaseKey, asyncio.TimerHandle] = {}

    async def __aenter__(self) -> Self:
        self.registry.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.registry.stop()
        for timer in (self._gathering, *self._aftermath.values()):
            if timer is not None:
                timer.cancel()

    def xapp_changed(self, change: ChangeType, key: Key, entry: Entry) -> None:
        """Take in a change of an XApp; what its labels said until now gives way in the same step."""
        if change == "DELETED":
            self._store.remove(*key)
            self._let_go(key)
            return
        release = entry.namespace, entry.release
        if self._xapps.get(key) != release:
            self._let_go(key)
            self._xapps[key] = release
            self._claims.setdefault(release, set()).add(key)
            for shown in (release, (key.namespace, key.name)):
                self._hide(shown)
        self._store.put(entry)

    def xapp_of(self, release: ReleaseKey, *, by_helm: bool) -> Key | None:
        """Return the xApp that an object belongs to, or None.

        Args:
            release: what `release_of` tells of the object.
            by_helm: whether Helm named that release; otherwise it is the name in the object's labels.
        """
        claims = self._claims.get(release)
        if claims:
            return min(claims)
        named = Key(*release)
        return named if release in self._shown or (not by_helm and named in self._xapps) else None

    def _let_go(self, key: Key) -> None:
        release = self._xapps.pop(key, None)
        if release is None:
            return
        claims = self._claims[release]
        claims.discard(key)
        if not claims:
            del self._claims[release]
        for each in {release, (key.namespace, key.name)}:
            self._look_after_a_while(each)

    def _look_after_a_while(self, release: ReleaseKey) -> None:
        def look() -> None:
            del self._aftermath[release]
            self._look(release)

        if release not in self._aftermath:
            self._aftermath[release] = asyncio.get_running_loop().call_later(self._aftermath_seconds, look)

    def _objects_changed(self, release: ReleaseKey) -> None:
        """Note that objects of a release changed; many changes at once are looked at together."""
        if release in self._claims or release in self._aftermath:
            return
        if not self._due:
            self._gathering = asyncio.get_running_loop().call_later(TOGETHER_SECONDS, self._look_at_due)
        self._due.add(release)

    def _look_at_due(self) -> None:
        due, self._due = self._due, set()
        for release in due:
            self._look(release)

    def _look(self, release: ReleaseKey) -> None:
        found = None if self._spoken_for(release) else self.registry.get(*release)
        if found is None or not found.runs:
            self._hide(release)
            return
        entry = entry_of_labels(found)
        self._shown[release] = entry
        self._store.put(entry)

    def _spoken_for(self, release: ReleaseKey) -> bool:
        # An object without Helm's annotation belongs to the XApp that our label names; and a path names one xApp only.
        return release in self._claims or Key(*release) in self._xapps

    def _hide(self, release: ReleaseKey) -> None:
        if self._shown.pop(release, None) is not None:
            self._store.remove(*release)


def entry_of_labels(found: Registration) -> Entry:
    """Return what the gateway keeps of an xApp that is known by its labels only."""
    health = found.health
    chart, chart_version = _chart(found.said(lambda mark: mark.chart))
    services = [live.service for live in found.objects if live.service][:SERVICES_MAX]
    record: JsonObject = {
        "name": found.release,
        "namespace": found.namespace,
        "uid": f"{found.namespace}/{found.release}",
        "xAppName": found.said(lambda mark: mark.name) or found.release,
        "organization": found.said(lambda mark: mark.organization_text or mark.organization) or None,
        "team": found.said(lambda mark: mark.team_text or mark.team) or None,
        "version": found.said(lambda mark: mark.version) or chart_version,
        "owner": None,
        "method": None,
        "source": SOURCE_LABELS,
        "phase": _phase(found.objects, health.status).value,
        "ready": health.status is HealthStatus.HEALTHY,
        "health": health.status.value,
        "message": health.message or "known by its labels; no XApp manages it",
        "release": {
            "name": found.release if found.by_helm else None,
            "revision": None,
            "chart": chart,
            "chartVersion": chart_version,
            "appVersion": found.said(lambda mark: mark.app_version) or None,
            "lastDeployed": None,
        },
        "chart": {"name": chart, "version": chart_version, "repoName": None, "url": None},
        "services": [orjson.loads(service.packed) for service in services],
        "createdAt": min((live.created for live in found.objects if live.created), default=None),
        "updatedAt": max((live.changed for live in found.objects if live.changed), default=None),
    }
    ready = sum(live.health.status is HealthStatus.HEALTHY for live in found.objects)
    details: JsonObject = {
        "conditions": [],
        "history": [],
        "resources": {"total": len(found.objects), "ready": ready},
    }
    return make_entry(record, details, release=found.release, ready=health.status is HealthStatus.HEALTHY)


def _phase(objects: tuple[LiveObject, ...], health: HealthStatus) -> Phase:
    return Phase.UNINSTALLING if all(live.leaving for live in objects) else _PHASES[health]


def _chart(label: str) -> tuple[str | None, str | None]:
    """Return name and version in a `helm.sh/chart` label, in which `_` stands for the `+` that no label may have."""
    parsed = _CHART.fullmatch(label)
    if parsed is None:
        return label or None, None
    return parsed["name"], parsed["version"].replace("_", "+")
