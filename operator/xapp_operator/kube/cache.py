"""What the cluster holds of one kind, kept in memory by list and watch.

Lives in `kube` because it lives on resource versions and watch events; the monitor, the operator and the gateway read
from it and never list by themselves. It keeps only what `keep` makes of an object, never whole objects, so that ten
thousand XApps with large values fit; and what it once knew it still knows while the API server is away.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from sys import intern
from types import TracebackType
from typing import Final, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.errors import Invalid, KubeError, NotReady, WatchExpired
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.watch import WatchEvent
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS

BACKOFF_FIRST_SECONDS: Final = 0.25
BACKOFF_MAX_SECONDS: Final = 15.0
EVENTS_WITHOUT_PAUSE: Final = 200

T = TypeVar("T")
ChangeType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class Key(NamedTuple):
    """What names an object within its kind; `namespace` is empty for cluster-scoped kinds."""

    namespace: str
    name: str


Subscriber: TypeAlias = Callable[[ChangeType, Key, T], None]
"""Called in the order of changes, in the event loop; of a DELETED it gets what was last known."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _Scope:
    """The state of one watch: of one namespace, or of all.

    Everything up to the resource version `seen` is in the cache; `resume` is where the watch goes on, 0 to list first.
    """

    namespace: str | None
    seen: int = 0
    resume: int = 0
    listed: bool = False
    contact: float = -math.inf
    failure: KubeError | None = None

    def covers(self, key: Key) -> bool:
        return self.namespace is None or self.namespace == key.namespace

    def reached(self, version: int) -> None:
        self.seen = self.resume = version


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    """What is kept of one object, and which state of which object it was made of."""

    kept: T
    version: int
    uid: str


class WatchCache(Generic[T]):
    """The objects of one kind that a selector picks, as `keep` sees them, by namespace and name."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        *,
        keep: Callable[[JsonObject], T | None],
        namespaces: Iterable[str] = (),
        label_selector: str | None = None,
        field_selector: str | None = None,
        metadata_only: bool = False,
    ) -> None:
        """Prepare a cache; `async with` or `start` and `stop` run it.

        Args:
            client: in whose name objects are read.
            resource: the kind.
            keep: makes what is kept of an object; None leaves the object out. Must not hold on to the object.
            namespaces: one watch each; none of them means all namespaces with one watch.
            label_selector: of Kubernetes.
            field_selector: of Kubernetes.
            metadata_only: objects come without spec and status.
        """
        self._client = client
        self._resource = resource
        self._keep = keep
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._metadata_only = metadata_only
        self._scopes = [_Scope(namespace) for namespace in sorted(set(namespaces))] or [_Scope(None)]
        self._entries: dict[Key, _Entry[T]] = {}
        self._streams_lists = True
        self._subscribers: list[Subscriber[T]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.synced = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def start(self) -> None:
        """Begin to list and watch."""
        if self._tasks:
            raise RuntimeError("this cache has been started")
        self._tasks = [
            asyncio.create_task(self._follow(scope), name=f"watch {self._resource.full_name} {scope.namespace or '*'}")
            for scope in self._scopes
        ]

    async def stop(self) -> None:
        """End every watch; what is known stays readable."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def wait_synced(self, *, seconds: float) -> None:
        """Wait until every namespace has been listed once.

        Raises:
            NotReady: when that takes longer, with what the API server said last.
        """
        try:
            async with asyncio.timeout(seconds):
                await self.synced.wait()
        except TimeoutError:
            reason = f": {self.failure.message}" if self.failure else ""
            raise NotReady(
                f"{self._resource.full_name} could not be listed within {seconds:g} seconds{reason}"
            ) from self.failure

    @property
    def last_contact(self) -> float:
        """Return when every watch had last heard from the API server, on the monotonic clock.

        On a quiet cluster a watch hears of it every 60 seconds (bookmarks), or when it is opened anew after at most 90.
        """
        return min(scope.contact for scope in self._scopes)

    @property
    def failure(self) -> KubeError | None:
        """Return why a watch is down at the moment, or None while all are well."""
        return next((scope.failure for scope in self._scopes if scope.failure), None)

    def get(self, *, namespace: str = "", name: str) -> T | None:
        """Return what is kept of one object."""
        entry = self._entries.get(Key(namespace, name))
        return entry.kept if entry else None

    def items(self) -> Iterator[tuple[Key, T]]:
        """Iterate over all that is kept; finish before awaiting anything."""
        return ((key, entry.kept) for key, entry in self._entries.items())

    def __len__(self) -> int:
        return len(self._entries)

    def on_event(self, subscriber: Subscriber[T]) -> Callable[[], None]:
        """Have `subscriber` called for every change from now on; returns what ends that."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def put(self, body: JsonObject) -> None:
        """Take in an object that this process has just written, without waiting for its watch event."""
        key = _key(body)
        scope = next((each for each in self._scopes if each.covers(key)), None)
        # What is not newer than the watch has been seen by it already, and was perhaps deleted since.
        if scope is not None and _version(body) > max(scope.seen, self._version_of(key)):
            self._store(key, body)

    async def _follow(self, scope: _Scope) -> None:
        wait = BACKOFF_FIRST_SECONDS
        while True:
            contact, restarted = scope.contact, True
            try:
                await self._watch(scope)
            except WatchExpired:
                scope.resume = 0
            except KubeError as error:
                self._lost(scope, error)
            except Exception:
                _log.exception("watch failed", resource=self._resource.full_name, namespace=scope.namespace)
                scope.resume = 0
            else:
                restarted = False
            if restarted:
                METRICS.watch_restarted(resource=self._resource.full_name)
            wait = BACKOFF_FIRST_SECONDS if scope.contact != contact else min(wait * 2, BACKOFF_MAX_SECONDS)
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311 - jitter

    async def _watch(self, scope: _Scope) -> None:
        # A list that comes as events needs no more memory than one object (KEP-3157, Kubernetes 1.34); for 10,000
        # XApps pages of 500 took 30 MB more and were no faster.
        if not scope.resume and not self._streams_lists:
            await self._list(scope)
        listing: set[Key] | None = None if scope.resume else set()
        watch = self._client.watch(
            self._resource,
            namespace=scope.namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=str(scope.resume) if scope.resume else None,
            metadata_only=self._metadata_only,
            initial_events=listing is not None,
            on_open=lambda: self._heard(scope),
        )
        count = 0
        async with aclosing(watch) as events:
            try:
                async for event in events:
                    self._heard(scope)
                    listing = self._take(scope, event, listing=listing)
                    count += 1
                    if count % EVENTS_WITHOUT_PAUSE == 0:
                        await asyncio.sleep(0)
            except Invalid:
                if listing is None:
                    raise
                self._streams_lists = False
        if not count:
            # Before it ends a watch the server sends at least a bookmark, but nothing at all to one that goes on from
            # a version that it has never had, as after etcd was restored from a backup.
            scope.resume = 0

    def _take(self, scope: _Scope, event: WatchEvent, *, listing: set[Key] | None) -> set[Key] | None:
        if listing is None:
            self._change(scope, event)
            return None
        if event.ends_initial_events:
            self._finish_list(scope, listing=listing, version=_version(event.object))
            return None
        if event.type != "BOOKMARK":
            self._list_one(scope, event.object, listing=listing)
        return listing

    def _change(self, scope: _Scope, event: WatchEvent) -> None:
        version = _version(event.object)
        if event.type != "BOOKMARK":
            key = _key(event.object)
            if event.type == "DELETED":
                if version >= self._version_of(key):
                    self._remove(key)
            elif version > self._version_of(key):
                self._store(key, event.object)
        scope.reached(version)

    async def _list(self, scope: _Scope) -> None:
        listing: set[Key] = set()
        version = 0
        async for page in self._client.pages(
            self._resource,
            namespace=scope.namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            metadata_only=self._metadata_only,
        ):
            self._heard(scope)
            for item in page.items:
                self._list_one(scope, item, listing=listing)
            version = int(page.resource_version)
            await asyncio.sleep(0)
        self._finish_list(scope, listing=listing, version=version)

    def _list_one(self, scope: _Scope, body: JsonObject, *, listing: set[Key]) -> None:
        key, version = _key(body), _version(body)
        listing.add(key)
        known = self._version_of(key)
        # An older state than a watch has told of means that etcd was restored from a backup: the list is right.
        # Older than our own write (`put`) means that the list was made before it.
        if version > known or version < known <= scope.seen:
            self._store(key, body)

    def _finish_list(self, scope: _Scope, *, listing: set[Key], version: int) -> None:
        newest = max(version, scope.seen)
        gone = [
            key
            for key, entry in self._entries.items()
            if scope.covers(key) and key not in listing and entry.version <= newest
        ]
        for key in gone:
            self._remove(key)
        scope.reached(version)
        scope.listed = True
        if all(each.listed for each in self._scopes):
            self.synced.set()

    def _store(self, key: Key, body: JsonObject) -> None:
        kept = self._made_of(key, body)
        if kept is None:
            self._remove(key)
            return
        entry = _Entry(kept, _version(body), text(obj(body, "metadata"), "uid"))
        previous = self._entries.get(key)
        if previous and previous.uid != entry.uid:
            self._remove(key)
            previous = None
        self._entries[key] = entry
        self._tell("MODIFIED" if previous else "ADDED", key, kept)

    def _remove(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry:
            self._tell("DELETED", key, entry.kept)

    def _made_of(self, key: Key, body: JsonObject) -> T | None:
        try:
            return self._keep(body)
        except Exception:
            # One object that nobody foresaw must not end the watch of all others.
            _log.exception("object left out", resource=self._resource.full_name, namespace=key.namespace, name=key.name)
            return None

    def _tell(self, change: ChangeType, key: Key, kept: T) -> None:
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(change, key, kept)
            except Exception:
                _log.exception("subscriber failed", resource=self._resource.full_name)

    def _version_of(self, key: Key) -> int:
        entry = self._entries.get(key)
        return entry.version if entry else 0

    def _heard(self, scope: _Scope) -> None:
        scope.contact = time.monotonic()
        if scope.failure:
            scope.failure = None
            _log.info("watch resumed", resource=self._resource.full_name, namespace=scope.namespace)

    def _lost(self, scope: _Scope, error: KubeError) -> None:
        if not scope.failure:
            _log.warning(
                "watch interrupted", resource=self._resource.full_name, namespace=scope.namespace, error=error.message
            )
        scope.failure = error


def _key(body: JsonObject) -> Key:
    metadata = obj(body, "metadata")
    return Key(intern(text(metadata, "namespace")), text(metadata, "name"))


def _version(body: JsonObject) -> int:
    # Resource versions are decimal numbers that may be compared within a kind (KEP-5504, Kubernetes 1.35).
    return int(text(obj(body, "metadata"), "resourceVersion", "0"))
