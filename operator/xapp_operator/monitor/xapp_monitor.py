"""The Service Monitor of the operator: watches the objects of XApps, and reports the health and Services of each.

It writes nothing. There is one watch per kind, which selects the operator's label. Other kinds than WATCHED_RESOURCES
are watched from the first time that a release has an object of them. If the cluster no longer serves the version that
is watched, what the watch has shown no longer counts, and the version of another release is watched instead.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import SERVICES_MAX, HealthStatus
from xapp_operator.api.names import LABEL_XAPP
from xapp_operator.config.settings import Settings
from xapp_operator.domain.health.resource_health import ResourceHealth, missing_resource, overall_health
from xapp_operator.errors import KubeError, NotFound, NotReady, XAppError
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS, SERVICES, Resource
from xapp_operator.kube.watch.watch_cache import ChangeType, WatchCache
from xapp_operator.kube.watch.watch_cache import ObjectKey as CacheKey
from xapp_operator.monitor.live_objects import (
    METADATA_ONLY,
    WATCHED_RESOURCES,
    LiveObject,
    LiveObjectKey,
    OwnerKey,
    cluster_scoped_key,
    has_only_metadata,
    health_in_release,
    is_custom_group,
    xapp_live_object,
)
from xapp_operator.monitor.release_objects import (
    ExpectedObject,
    GroupKind,
    MonitorReport,
    ReleaseObject,
    UnlabelledObject,
    expected_objects,
    why_unknown,
)
from xapp_operator.telemetry.logs import get_logger

SYNC_SECONDS: Final = 60.0
PERMISSION_RECHECK_SECONDS: Final = 60.0

_SECRET: Final = (SECRETS.group, SECRETS.kind)

_log = get_logger(__name__)


class XAppMonitor:
    """The live objects of all XApps, with their health as they change."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        *,
        on_change: Callable[[OwnerKey], None],
        is_secret_watched: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Prepare without a watch.

        Args:
            kube: the client.
            settings: `namespaces` is used.
            on_change: called with the XApp whose objects have changed.
            is_secret_watched: returns whether `update_secret` is called for every change in a namespace.
        """
        self._kube = kube
        self._namespaces = settings.namespaces
        self._on_change = on_change
        self._caches: dict[str, WatchCache[LiveObject]] = {}
        self._by_owner: dict[OwnerKey, dict[LiveObjectKey, LiveObject]] = {}
        self._expected: dict[OwnerKey, tuple[ExpectedObject, ...]] = {}
        self._unlabelled_objects: dict[OwnerKey, dict[LiveObjectKey, LiveObject]] = {}
        self._changed: dict[OwnerKey, asyncio.Event] = {}
        self._kinds: dict[GroupKind, Resource] = {}
        self._refused: dict[GroupKind, Resource] = {}
        self._unserved: set[GroupKind] = set()
        self._is_secret_watched = is_secret_watched
        self._secrets: dict[CacheKey, tuple[int, LiveObject]] = {}
        self._recheck: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to watch and wait for the first lists.

        Raises:
            NotReady: when they do not come within a minute.
        """
        for resource in WATCHED_RESOURCES:
            self._watch(resource)
        await asyncio.gather(*(cache.wait_synced(timeout_seconds=SYNC_SECONDS) for cache in self._caches.values()))

    async def stop(self) -> None:
        if self._recheck is not None:
            self._recheck.cancel()
        await asyncio.gather(*(cache.stop() for cache in self._caches.values()))

    @property
    def last_contact(self) -> float:
        """Return when the quietest watch last received something from the API server (monotonic seconds).

        Custom kinds do not count: they may be deleted, and the API server then stops answering for them.
        """
        built_in = (self._caches.get(each.group_resource) for each in WATCHED_RESOURCES)
        return min((cache.last_contact for cache in built_in if cache is not None), default=0.0)

    def set_inventory(self, owner: OwnerKey, inventory: Sequence[ObjectRef]) -> None:
        """Store which objects the release of `owner` consists of."""
        self._expected[owner] = expected_objects(owner, inventory)

    def has_inventory(self, owner: OwnerKey) -> bool:
        return owner in self._expected

    def forget_inventory(self, owner: OwnerKey) -> None:
        self._expected.pop(owner, None)
        self._unlabelled_objects.pop(owner, None)

    def known_objects(self, owner: OwnerKey) -> Mapping[LiveObjectKey, LiveObject]:
        return {**self._by_owner.get(owner, {})}

    @contextlib.contextmanager
    def changes(self, owner: OwnerKey) -> Iterator[asyncio.Event]:
        """Provide an event that each change of an object of `owner` sets; one caller at a time."""
        event = self._changed[owner] = asyncio.Event()
        try:
            yield event
        finally:
            self._changed.pop(owner, None)

    def release_objects(self, owner: OwnerKey) -> Iterator[ReleaseObject]:
        """Yield the objects of the release of `owner`, if its inventory is known."""
        known = self._unlabelled_objects.get(owner, {}) | self._by_owner.get(owner, {})
        for each in self._expected.get(owner, ()):
            yield ReleaseObject(
                key=each.key,
                api_version=each.api_version,
                live=self._find_live(each, known),
                watched=self._watched_resource(each) is not None,
                expires=each.expires,
            )

    def _watched_resource(self, expected: ExpectedObject) -> Resource | None:
        """Return the kind of an object if every change of it is seen."""
        if expected.group_kind == _SECRET:
            return SECRETS if self._is_secret_watched(expected.key[1]) else None
        resource = self._kinds.get(expected.group_kind)
        if resource is None or expected.group_kind in self._unserved:
            return None
        return resource if self._caches[resource.group_resource].synced.is_set() else None

    def _find_live(self, expected: ExpectedObject, known: Mapping[LiveObjectKey, LiveObject]) -> LiveObject | None:
        """Return what of `known` an object is, unless the watch of its kind no longer shows how it is now."""
        if expected.group_kind in self._unserved:
            return None
        return known.get(expected.key) or known.get(cluster_scoped_key(expected.key))

    def find_unlabelled(self, owner: OwnerKey, labels: Mapping[str, str]) -> list[UnlabelledObject]:
        """Return the objects of watched kinds of the release of `owner` on which no watch shows `labels`.

        Services must have a component label too.
        """
        known, found = self._by_owner.get(owner, {}), []
        for each in self._expected.get(owner, ()):
            resource = self._watched_resource(each)
            live = self._find_live(each, known)
            if resource is None or (live is None and each.expires):
                continue
            if live is None or not live.labels.has_labels(labels, component=resource == SERVICES):
                namespace = each.key[1] if resource.namespaced else None
                found.append(UnlabelledObject(resource, namespace, each.key[2]))
        return found

    def set_unlabelled(self, owner: OwnerKey, unlabelled: Iterable[LiveObject]) -> None:
        """Store the objects of `owner` that lack the labels; until the next call they count for its health."""
        self._unlabelled_objects.pop(owner, None)
        if found := {live.key: live for live in unlabelled}:
            self._unlabelled_objects[owner] = found

    async def update_object(self, resource: Resource, body: JsonObject) -> None:
        """Store an object as a write has just returned it, and watch its kind from now on.

        Objects of kinds that are not watched are not stored: nothing would ever update them.
        """
        if resource == SECRETS:
            metadata = obj(body, "metadata")
            key = CacheKey(text(metadata, "namespace"), text(metadata, "name"))
            version = int(text(metadata, "resourceVersion", "0"))
            self.update_secret(key, version, xapp_live_object(body, kind=SECRETS.kind))
            return
        await self._watch_kind(replace(resource, has_status=resource.has_status or "status" in body))
        cache = self._caches.get(resource.group_resource)
        if cache is not None:
            cache.store_written(body)

    def update_secret(self, key: CacheKey, version: int | None, live: LiveObject | None) -> None:
        """Store a Secret; `version` is None if it was deleted, `live` if it is not of a release.

        Secrets are watched in each namespace by itself, so the operator does that for all purposes at once.
        """
        known_version, known = self._secrets.get(key) or (0, None)
        if version is not None and version < known_version:
            return
        self._secrets.pop(key, None)
        if known is not None and (version is None or live is None or live.owner != known.owner):
            self._on_event("DELETED", key, known)
        if live is not None and version is not None:
            self._secrets[key] = (version, live)
            self._on_event("ADDED", key, live)

    async def watch_kinds(self, owner: OwnerKey) -> None:
        """Watch the kinds of the release of `owner` that are not watched yet; called at each reconcile.

        It asks the API server only for kinds that the cluster did not serve so far.
        """
        expected = self._expected.get(owner, ())
        for kind, api_version in dict.fromkeys((each.group_kind, each.api_version) for each in expected):
            if self._needs_watch(kind, api_version):
                with contextlib.suppress(NotFound):  # the cluster does not serve the kind
                    if kind in self._unserved:
                        await self._kube.discovery.served_kinds()  # reads again what the cluster serves
                    resource = await self._kube.discovery.resource_for(api_version=api_version, kind=kind[1])
                    await self._watch_kind(resource)

    def _needs_watch(self, kind: GroupKind, api_version: str) -> bool:
        """Return whether a kind has no watch, or one of another version, which the cluster no longer serves."""
        watched = self._kinds.get(kind)
        if watched is None:
            return kind not in self._refused and kind != _SECRET
        return kind in self._unserved and watched.api_version != api_version

    async def _watch_kind(self, resource: Resource) -> None:
        kind = resource.group, resource.kind
        if kind in self._refused and resource.has_status:
            self._refused[kind] = resource
        if not self._needs_watch(kind, resource.api_version):
            return
        if not await self._may_watch(resource):
            self._refused[kind] = resource
            _log.warning("kind not watched: no permission to watch it", kind=resource.group_resource)
            if self._recheck is None or self._recheck.done():
                self._recheck = asyncio.create_task(self._recheck_refused(), name="recheck of refused watches")
        elif self._needs_watch(kind, resource.api_version):  # no other task was faster
            replaced, cache = self._remove_watch(kind), self._watch(resource)
            if replaced is not None:
                await replaced.stop()
            try:
                await cache.wait_synced(timeout_seconds=SYNC_SECONDS)
            except NotReady as error:  # the caller must neither wait longer nor fail because of it
                _log.warning("kind watched, but not synced yet", kind=resource.group_resource, error=error.message)

    async def _recheck_refused(self) -> None:
        """Watch refused kinds once the operator may; an administrator grants the permission while it runs.

        Only for kinds that decide health: objects of others are compared with their release once, and when asked for.
        """
        while any(is_custom_group(group) for group, _ in self._refused):
            await asyncio.sleep(PERMISSION_RECHECK_SECONDS)
            for kind, resource in [each for each in self._refused.items() if is_custom_group(each[0][0])]:
                with contextlib.suppress(XAppError):  # the API server is away: the next round asks again
                    if await self._may_watch(resource):
                        del self._refused[kind]
                        await self._watch_kind(resource)
                        self._report_kind(kind)

    def _report_kind(self, kind: GroupKind) -> None:
        """Report a change of every XApp whose release has objects of a kind."""
        for owner, expected in list(self._expected.items()):
            if any(each.group_kind == kind for each in expected):
                self._on_change(owner)

    async def _may_watch(self, resource: Resource) -> bool:
        namespaces = self._namespaces if resource.namespaced else ()
        for namespace in namespaces or (None,):
            if not await self._kube.is_allowed(resource, "watch", namespace=namespace):
                return False
        return True

    def interruption(self, owner: OwnerKey) -> KubeError | None:
        """Return why a kind of the release of `owner`, or a built-in one, is not shown; not one that is not served."""
        named = dict.fromkeys(each.group_kind for each in self._expected.get(owner, ()))
        kinds = (self._kinds.get(each) for each in named if each not in self._unserved)
        caches = (self._caches[each.group_resource] for each in (*WATCHED_RESOURCES, *filter(None, kinds)))
        return next(filter(None, (each.interruption for each in caches)), None)

    def report(self, owner: OwnerKey, *, release: str = "") -> MonitorReport:
        """Return the state of the objects of `owner`. With `release`, they must belong to the release of that name."""
        inventory = self._expected.get(owner)
        named = {each.key for each in inventory or ()}
        shown = self._unlabelled_objects.get(owner, {}) | self._by_owner.get(owner, {})
        # Whoever may write in another namespace can name this release there.
        known = {key: live for key, live in shown.items() if key[1] in ("", owner[0]) or key in named}
        expected = tuple(ExpectedObject(key) for key in known) if inventory is None else inventory
        found = [self._find_live(each, known) for each in expected]
        results = [
            health_in_release(live, release) if live else self._health_of_absent(each)
            for each, live in zip(expected, found, strict=True)
        ]
        health = overall_health(results)
        services = [live.service for _, live in sorted(known.items()) if live.service is not None][:SERVICES_MAX]
        unhealthy = {live.key: live for live in found if live and live.health.status is not HealthStatus.HEALTHY}
        return MonitorReport(
            status=health.status,
            message=health.message,
            total=len(results),
            ready=sum(result.status is HealthStatus.HEALTHY for result in results),
            services=tuple(each.status for each in services),
            unhealthy=tuple(unhealthy[key] for key in sorted(unhealthy)),
        )

    def _health_of_absent(self, expected: ExpectedObject) -> ResourceHealth:
        """Return the health of an object that no watch shows.

        Kinds that have no status are healthy by kstatus once they exist, and helm has made sure of that.
        """
        kind, namespace, name = expected.key
        message = ""
        if self._watched_resource(expected) is None:
            listed = None if expected.group_kind in self._unserved else self._kinds.get(expected.group_kind)
            message = why_unknown(expected, listed=listed, refused=self._refused.get(expected.group_kind))
        elif not expected.expires:
            return missing_resource(kind=kind, name=name, namespace=namespace)
        status = HealthStatus.UNKNOWN if message else HealthStatus.HEALTHY
        return ResourceHealth(kind=kind, name=name, namespace=namespace, status=status, message=message)

    def _watch(self, resource: Resource) -> WatchCache[LiveObject]:
        cache: WatchCache[LiveObject] = WatchCache(
            self._kube,
            resource,
            transform=partial(xapp_live_object, kind=resource.kind),
            namespaces=self._namespaces if resource.namespaced else (),
            label_selector=LABEL_XAPP,
            metadata_only=resource in METADATA_ONLY or has_only_metadata(resource),
            on_status=lambda: self._update_unserved(resource, cache.failure),
        )
        cache.subscribe(self._on_event)
        cache.start()
        self._caches[resource.group_resource] = cache
        self._kinds[resource.group, resource.kind] = resource
        return cache

    def _remove_watch(self, kind: GroupKind) -> WatchCache[LiveObject] | None:
        """Forget what the watch of a kind has shown, and return it to be stopped."""
        if (resource := self._kinds.pop(kind, None)) is None:
            return None
        self._unserved.discard(kind)
        cache = self._caches.pop(resource.group_resource)
        for key, live in cache.items():
            self._on_event("DELETED", key, live)
        return cache

    def _update_unserved(self, resource: Resource, failure: KubeError | None) -> None:
        """Note whether the cluster still serves the version of a kind that is watched, and report a change of that."""
        kind, before = (resource.group, resource.kind), len(self._unserved)
        if isinstance(failure, NotFound):
            self._unserved.add(kind)
        elif failure is None:
            self._unserved.discard(kind)
        if len(self._unserved) != before:
            self._report_kind(kind)

    def _on_event(self, change: ChangeType, _: CacheKey, live: LiveObject) -> None:
        objects = self._by_owner.setdefault(live.owner, {})
        before = objects.get(live.key)
        if change == "MODIFIED" and before is None:
            self._remove_from_other_owners(live)
        if change == "DELETED":
            objects.pop(live.key, None)
            if not objects:
                del self._by_owner[live.owner]
        else:
            objects[live.key] = live
            if before == live:
                return
        self._report_change(live.owner, live.key)

    def _report_change(self, owner: OwnerKey, key: LiveObjectKey) -> None:
        """Report a change, unless the object is in another namespace and the release does not name it."""
        if key[1] not in ("", owner[0]) and all(each.key != key for each in self._expected.get(owner, ())):
            return
        if (changed := self._changed.get(owner)) is not None:
            changed.set()
        self._on_change(owner)

    def _remove_from_other_owners(self, live: LiveObject) -> None:
        """Remove an object from its former owner when its label names another xApp now."""
        for owner in [owner for owner, objects in self._by_owner.items() if live.key in objects]:
            del self._by_owner[owner][live.key]
            if not self._by_owner[owner]:
                del self._by_owner[owner]
            self._report_change(owner, live.key)
