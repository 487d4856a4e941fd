"""The objects of one kind, kept in memory by list and watch.

The operator, the monitor and the gateway read from such caches and never list objects themselves. A cache keeps only
what `transform` makes of an object, so that ten thousand XApps with large values fit. It keeps its contents while the
API server is unavailable.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from sys import intern
from typing import Final, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.errors import AccessDenied, Invalid, KubeError, NotReady, WatchExpired
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.watch.watch_events import WatchEvent
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS

WATCH_BACKOFF: Final = Backoff(0.25, 15.0)
INTERRUPTION_SECONDS: Final = 600.0
"""A watch that is down for longer stays down, for all that is known, as that of a kind whose webhook is broken."""
DENIED_BACKOFF: Final = Backoff(1.0, 30.0)
"""For a watch without permission: it waits for a person."""
EVENTS_PER_YIELD: Final = 200

T = TypeVar("T")
ChangeType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class ObjectKey(NamedTuple):
    """Identifies an object within its kind; `namespace` is empty for cluster-scoped kinds."""

    namespace: str
    name: str


Subscriber: TypeAlias = Callable[[ChangeType, ObjectKey, T], None]
"""Called in the event loop, in the order of changes; for DELETED, with the last known value."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _WatchScope:
    """The state of one watch: of one namespace, or of all.

    The cache holds everything up to `seen_version`. The watch continues from `resume_version`; 0 means list first.
    """

    namespace: str | None
    seen_version: int = 0
    resume_version: int = 0
    listed: bool = False
    last_contact: float = -math.inf
    failure: KubeError | None = None
    failed_at: float = -math.inf
    """When it went down last (monotonic seconds)."""

    def covers(self, key: ObjectKey) -> bool:
        return self.namespace is None or self.namespace == key.namespace

    def advance_to(self, version: int) -> None:
        self.seen_version = self.resume_version = version


@dataclass(frozen=True, slots=True)
class _CachedObject(Generic[T]):
    """The value made of one object, and the version and UID of that object."""

    value: T
    version: int
    uid: str


class WatchCache(Generic[T]):
    """The objects of one kind that match a selector, transformed, by namespace and name."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        *,
        transform: Callable[[JsonObject], T | None],
        namespaces: Iterable[str] = (),
        label_selector: str | None = None,
        metadata_only: bool = False,
        on_status: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare a cache; `async with` or `start` and `stop` run it.

        Args:
            client: reads the objects with its identity.
            resource: the kind.
            transform: returns what to keep of an object, or None to leave it out. Must not keep a reference to the
                object itself.
            namespaces: one watch each; empty means one watch of all namespaces.
            label_selector: a Kubernetes label selector.
            metadata_only: read objects without spec and status.
            on_status: called when the cache has synced, and when `failure` has changed.
        """
        self._client = client
        self._resource = resource
        self._transform = transform
        self._label_selector = label_selector
        self._metadata_only = metadata_only
        self._on_status = on_status
        self._scopes = [_WatchScope(namespace) for namespace in sorted(set(namespaces))] or [_WatchScope(None)]
        self._entries: dict[ObjectKey, _CachedObject[T]] = {}
        self._use_streaming_lists = True
        self._subscribers: list[Subscriber[T]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.synced = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def start(self) -> None:
        if self._tasks:
            raise RuntimeError("this cache was already started")
        self._tasks = [
            asyncio.create_task(
                self._run_watch(scope), name=f"watch {self._resource.group_resource} {scope.namespace or '*'}"
            )
            for scope in self._scopes
        ]

    async def stop(self) -> None:
        """Stop every watch; the contents stay readable."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def wait_synced(self, *, timeout_seconds: float) -> None:
        """Wait until every namespace has been listed once.

        Raises:
            NotReady: when that takes longer; the message includes the last error of the API server.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                await self.synced.wait()
        except TimeoutError:
            reason = f": {self.failure.message}" if self.failure else ""
            raise NotReady(
                f"{self._resource.group_resource} could not be listed within {timeout_seconds:g} seconds{reason}"
            ) from self.failure

    @property
    def last_contact(self) -> float:
        """Return the oldest time of the last contact of each watch with the API server, on the monotonic clock.

        On a quiet cluster, a watch has contact every 60 seconds (bookmarks) or when it is reopened, after at most 90.
        """
        return min(scope.last_contact for scope in self._scopes)

    @property
    def failure(self) -> KubeError | None:
        """Return why a watch is down now, or None while all watches work."""
        return next((scope.failure for scope in self._scopes if scope.failure), None)

    @property
    def interruption(self) -> KubeError | None:
        """Return why a watch is down that will hardly stay down, so that the contents may be out of date."""
        for scope in self._scopes:
            failure = scope.failure
            if failure and not failure.permanent and scope.failed_at > time.monotonic() - INTERRUPTION_SECONDS:
                return failure
        return None

    def get(self, *, namespace: str = "", name: str) -> T | None:
        entry = self._entries.get(ObjectKey(namespace, name))
        return entry.value if entry else None

    def items(self) -> Iterator[tuple[ObjectKey, T]]:
        """Iterate over all values; finish before awaiting anything."""
        return ((key, entry.value) for key, entry in self._entries.items())

    def __len__(self) -> int:
        return len(self._entries)

    def subscribe(self, subscriber: Subscriber[T]) -> Callable[[], None]:
        """Call `subscriber` for every change from now on; returns a function that unsubscribes it."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def store_written(self, body: JsonObject) -> None:
        """Store an object that this process has just written, without waiting for its watch event."""
        key = _key_of(body)
        scope = next((each for each in self._scopes if each.covers(key)), None)
        # The watch has already seen any version that is not newer, and may have seen the object deleted since.
        if scope is not None and _resource_version_of(body) > max(scope.seen_version, self._version_of(key)):
            self._store(key, body)

    async def _run_watch(self, scope: _WatchScope) -> None:
        failures = 0
        while True:
            contact, restarted = scope.last_contact, True
            try:
                await self._watch_once(scope)
            except WatchExpired:
                scope.resume_version = 0
            except KubeError as error:
                self._record_failure(scope, error)
            except Exception:
                _log.exception("watch failed", resource=self._resource.group_resource, namespace=scope.namespace)
                scope.resume_version = 0
            else:
                restarted = False
            if restarted:
                METRICS.record_watch_restart(resource=self._resource.group_resource)
            failures = failures + 1 if scope.last_contact == contact else 0
            denied = isinstance(scope.failure, AccessDenied)
            if denied:
                scope.last_contact = time.monotonic()  # the server does respond
            await asyncio.sleep((DENIED_BACKOFF if denied else WATCH_BACKOFF).jittered(failures))

    async def _watch_once(self, scope: _WatchScope) -> None:
        # A streaming list needs memory for one object only (KEP-3157, Kubernetes 1.34). For 10,000 XApps, pages of 500
        # took 30 MB more and were no faster.
        if not scope.resume_version and not self._use_streaming_lists:
            await self._list(scope)
        listing: set[ObjectKey] | None = None if scope.resume_version else set()
        watch = self._client.watch(
            self._resource,
            namespace=scope.namespace,
            label_selector=self._label_selector,
            resource_version=str(scope.resume_version) if scope.resume_version else None,
            metadata_only=self._metadata_only,
            initial_events=listing is not None,
            on_open=lambda: self._record_contact(scope),
        )
        count = 0
        async with aclosing(watch) as events:
            try:
                async for event in events:
                    self._record_contact(scope)
                    listing = self._handle_event(scope, event, listing=listing)
                    count += 1
                    if count % EVENTS_PER_YIELD == 0:
                        await asyncio.sleep(0)
            except Invalid:
                if listing is None:
                    raise
                self._use_streaming_lists = False
        if not count:
            # The server sends at least a bookmark before it ends a watch, unless the watch continues from a version
            # that the server never had, as after a restore of etcd from a backup.
            scope.resume_version = 0

    def _handle_event(
        self, scope: _WatchScope, event: WatchEvent, *, listing: set[ObjectKey] | None
    ) -> set[ObjectKey] | None:
        if listing is None:
            self._apply_change(scope, event)
            return None
        if event.ends_initial_events:
            self._finish_list(scope, listing=listing, version=_resource_version_of(event.object))
            return None
        if event.type != "BOOKMARK":
            self._store_listed(scope, event.object, listing=listing)
        return listing

    def _apply_change(self, scope: _WatchScope, event: WatchEvent) -> None:
        version = _resource_version_of(event.object)
        if event.type != "BOOKMARK":
            key = _key_of(event.object)
            if event.type == "DELETED":
                if version >= self._version_of(key):
                    self._remove(key)
            elif version > self._version_of(key):
                self._store(key, event.object)
        scope.advance_to(version)

    async def _list(self, scope: _WatchScope) -> None:
        listing: set[ObjectKey] = set()
        version = 0
        async for page in self._client.list_pages(
            self._resource,
            namespace=scope.namespace,
            label_selector=self._label_selector,
            metadata_only=self._metadata_only,
        ):
            self._record_contact(scope)
            for item in page.items:
                self._store_listed(scope, item, listing=listing)
            version = int(page.resource_version)
        self._finish_list(scope, listing=listing, version=version)

    def _store_listed(self, scope: _WatchScope, body: JsonObject, *, listing: set[ObjectKey]) -> None:
        key, version = _key_of(body), _resource_version_of(body)
        listing.add(key)
        known = self._version_of(key)
        # Older than what a watch has reported: etcd was restored from a backup, so the list is right. Older than our
        # own write (`store_written`): the list was made before that write.
        if version > known or version < known <= scope.seen_version:
            self._store(key, body)

    def _finish_list(self, scope: _WatchScope, *, listing: set[ObjectKey], version: int) -> None:
        newest = max(version, scope.seen_version)
        deleted = [
            key
            for key, entry in self._entries.items()
            if scope.covers(key) and key not in listing and entry.version <= newest
        ]
        for key in deleted:
            self._remove(key)
        scope.advance_to(version)
        scope.listed = True
        if not self.synced.is_set() and all(each.listed for each in self._scopes):
            self.synced.set()
            self._on_status()

    def _store(self, key: ObjectKey, body: JsonObject) -> None:
        value = self._transform_or_none(key, body)
        if value is None:
            self._remove(key)
            return
        entry = _CachedObject(value, _resource_version_of(body), text(obj(body, "metadata"), "uid"))
        previous = self._entries.get(key)
        if previous and previous.uid != entry.uid:
            self._remove(key)
            previous = None
        self._entries[key] = entry
        self._notify("MODIFIED" if previous else "ADDED", key, value)

    def _remove(self, key: ObjectKey) -> None:
        entry = self._entries.pop(key, None)
        if entry:
            self._notify("DELETED", key, entry.value)

    def _transform_or_none(self, key: ObjectKey, body: JsonObject) -> T | None:
        try:
            return self._transform(body)
        except Exception:
            # One unexpected object must not end the watch of all others.
            _log.exception(
                "object left out", resource=self._resource.group_resource, namespace=key.namespace, name=key.name
            )
            return None

    def _notify(self, change: ChangeType, key: ObjectKey, value: T) -> None:
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(change, key, value)
            except Exception:
                _log.exception("subscriber failed", resource=self._resource.group_resource)

    def _version_of(self, key: ObjectKey) -> int:
        entry = self._entries.get(key)
        return entry.version if entry else 0

    def _record_contact(self, scope: _WatchScope) -> None:
        scope.last_contact = time.monotonic()
        if scope.failure:
            scope.failure = None
            _log.info("watch resumed", resource=self._resource.group_resource, namespace=scope.namespace)
            self._on_status()

    def _record_failure(self, scope: _WatchScope, error: KubeError) -> None:
        if not scope.failure:
            scope.failed_at = time.monotonic()
            _log.warning(
                "watch interrupted",
                resource=self._resource.group_resource,
                namespace=scope.namespace,
                error=error.message,
            )
        changed = type(scope.failure) is not type(error)
        scope.failure = error
        if changed:
            self._on_status()


def _key_of(body: JsonObject) -> ObjectKey:
    metadata = obj(body, "metadata")
    return ObjectKey(intern(text(metadata, "namespace")), text(metadata, "name"))


def _resource_version_of(body: JsonObject) -> int:
    # Resource versions are decimal numbers that can be compared within a kind (KEP-5504, Kubernetes 1.35).
    return int(text(obj(body, "metadata"), "resourceVersion", "0"))
