"""Records Kubernetes Events about our objects, for `kubectl describe` and `kubectl events`.

Events are best effort: they are posted in the background, never delay or fail the work that they report, and are
dropped while the API server is unavailable. Namespaces take turns, and of too many events at once, each namespace loses
only its own.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self, TypeAlias

from cachetools import LRUCache

from xapp_operator.api.conditions import Reason
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import FIELD_MANAGER
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock
from xapp_operator.common.fair_queue import FairQueue
from xapp_operator.common.text import rfc3339, shorten
from xapp_operator.errors import AccessDenied, KubeError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import EVENTS
from xapp_operator.telemetry.logs import get_logger

MESSAGE_MAX_CHARACTERS: Final = 1024
POSTED_EVENTS_MAX: Final = 4096
OBJECT_NAME_MAX_CHARACTERS: Final = 200
QUEUED_EVENTS_MAX: Final = 1000
FLUSH_SECONDS: Final = 2.0

EventType: TypeAlias = Literal["Normal", "Warning"]

_log = get_logger(__name__)


class _EventKey(NamedTuple):
    """Two events with the same key are counted as one."""

    uid: str
    type: EventType
    reason: str
    message: str


@dataclass(slots=True)
class _PostedEvent:
    """An event that was posted and whose count may still increase."""

    name: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class _QueuedEvent:
    """An event that waits to be posted."""

    key: _EventKey
    involved_object: JsonObject
    timestamp: str


class EventRecorder:
    """Posts events; when an event recurs, its count increases instead, as long as the API server keeps it.

    `async with` runs it, and posts the remaining events at the end.
    """

    def __init__(self, client: KubeClient, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._client = client
        self._clock = clock
        self._instance = socket.gethostname()
        self._queue: FairQueue[_QueuedEvent] = FairQueue(QUEUED_EVENTS_MAX)
        self._idle = asyncio.Event()
        self._idle.set()
        self._posted: LRUCache[_EventKey, _PostedEvent] = LRUCache(POSTED_EVENTS_MAX)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._post_all(), name="events")
        return self

    async def __aexit__(self, *_: object) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("events lost at shutdown", events=len(self._queue))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def record_refusal(self, body: JsonObject, error: KubeError, *, otherwise: str) -> None:
        """Record a Warning about a refused request, as `record` does.

        Its reason is AccessDenied if a right is missing, and `otherwise` in all other cases.
        """
        reason = Reason.ACCESS_DENIED if isinstance(error, AccessDenied) else otherwise
        self.record(body, event_type="Warning", reason=reason, message=error.message)

    def record(self, body: JsonObject, *, event_type: EventType = "Normal", reason: str, message: str) -> None:
        """Record what happened to the object `body`, which has apiVersion and kind; never waits and never raises.

        `reason` is one word in CamelCase; `message` is a sentence, shortened to 1,024 characters.
        """
        metadata = obj(body, "metadata")
        involved_object: JsonObject = {
            "apiVersion": text(body, "apiVersion"),
            "kind": text(body, "kind"),
            "namespace": text(metadata, "namespace"),
            "name": text(metadata, "name"),
            "uid": text(metadata, "uid"),
            "resourceVersion": text(metadata, "resourceVersion"),
        }
        key = _EventKey(text(metadata, "uid"), event_type, reason, shorten(message, MESSAGE_MAX_CHARACTERS))
        namespace = text(metadata, "namespace")
        now = rfc3339(self._clock.now())
        dropped = self._queue.put(namespace, _QueuedEvent(key, involved_object, now))
        self._idle.clear()
        if dropped is not None:
            about = dropped.involved_object
            _log.warning(
                "event dropped, queue full",
                reason=dropped.key.reason,
                namespace=text(about, "namespace"),
                name=text(about, "name"),
            )

    async def _post_all(self) -> None:
        while True:
            queued = await self._queue.get()
            # By Kubernetes convention, events about cluster-scoped objects are in the namespace "default".
            namespace = text(queued.involved_object, "namespace") or "default"
            try:
                if not await self._increment_count(queued, namespace=namespace):
                    await self._post(queued, namespace=namespace)
            except KubeError as error:
                _log.warning("event not posted", reason=queued.key.reason, error=error.message)
            except Exception:
                _log.exception("event not posted", reason=queued.key.reason)
            finally:
                if not self._queue:
                    self._idle.set()

    async def _increment_count(self, queued: _QueuedEvent, *, namespace: str) -> bool:
        posted = self._posted.get(queued.key)
        if posted is None:
            return False
        posted.count += 1
        change: JsonObject = {"count": posted.count, "lastTimestamp": queued.timestamp}
        try:
            await self._client.patch(EVENTS, posted.name, change, namespace=namespace)
        except NotFound:
            return False
        return True

    async def _post(self, queued: _QueuedEvent, *, namespace: str) -> None:
        name = f"{text(queued.involved_object, 'name')[:OBJECT_NAME_MAX_CHARACTERS]}.{secrets.token_hex(8)}"
        await self._client.create(EVENTS, self._event_object(queued, name=name), namespace=namespace)
        self._posted[queued.key] = _PostedEvent(name)

    def _event_object(self, queued: _QueuedEvent, *, name: str) -> JsonObject:
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name},
            "involvedObject": queued.involved_object,
            "type": queued.key.type,
            "reason": queued.key.reason,
            "message": queued.key.message,
            "count": 1,
            "firstTimestamp": queued.timestamp,
            "lastTimestamp": queued.timestamp,
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": FIELD_MANAGER,
            "reportingInstance": self._instance,
        }
