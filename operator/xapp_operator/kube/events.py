"""Events of Kubernetes on our objects: what `kubectl describe` and `kubectl events` show of an XApp.

Lives in `kube` because it writes to the API server. Events are a courtesy: one that cannot be posted is logged and
forgotten, and never fails or long delays what it tells of.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import FIELD_MANAGER
from xapp_operator.errors import KubeError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import EVENTS
from xapp_operator.telemetry.logs import get_logger

MESSAGE_MAX_CHARACTERS: Final = 1024
COLLAPSE_SECONDS: Final = 300.0
REMEMBERED_EVENTS: Final = 4096
OBJECT_NAME_MAX: Final = 200
POST_SECONDS: Final = 5.0

EventKind: TypeAlias = Literal["Normal", "Warning"]

_log = get_logger(__name__)


class _Subject(NamedTuple):
    """What makes two events the same."""

    uid: str
    kind: EventKind
    reason: str
    message: str


@dataclass(slots=True)
class _Posted:
    """An event that was posted and may still be counted up."""

    name: str
    posted_at: float
    count: int


class EventRecorder:
    """Posts events; the same one on the same object within five minutes is counted up instead of posted again."""

    def __init__(self, client: KubeClient, *, component: str = FIELD_MANAGER) -> None:
        self._client = client
        self._component = component
        self._instance = socket.gethostname()
        self._posted: OrderedDict[_Subject, _Posted] = OrderedDict()

    async def normal(self, body: JsonObject, *, reason: str, message: str) -> None:
        """Tell of something that went as it should; never raises.

        Args:
            body: the object that it is about, with apiVersion and kind.
            reason: one word in CamelCase.
            message: a sentence, cut at 1,024 characters.
        """
        await self._record(body, kind="Normal", reason=reason, message=message)

    async def warning(self, body: JsonObject, *, reason: str, message: str) -> None:
        """Tell of something that went wrong; otherwise like `normal`."""
        await self._record(body, kind="Warning", reason=reason, message=message)

    async def _record(self, body: JsonObject, *, kind: EventKind, reason: str, message: str) -> None:
        metadata = obj(body, "metadata")
        subject = _Subject(text(metadata, "uid"), kind, reason, _cut(message))
        # The namespace of events about cluster-scoped objects is "default", by custom of Kubernetes.
        namespace = text(metadata, "namespace") or "default"
        try:
            async with asyncio.timeout(POST_SECONDS):
                if not await self._count_up(subject, namespace=namespace):
                    await self._post(subject, body, namespace=namespace)
        except (KubeError, TimeoutError) as error:
            _log.warning("event not posted", reason=reason, name=text(metadata, "name"), error=str(error) or "time-out")

    async def _count_up(self, subject: _Subject, *, namespace: str) -> bool:
        posted = self._posted.get(subject)
        if posted is None or time.monotonic() - posted.posted_at >= COLLAPSE_SECONDS:
            return False
        posted.count += 1
        change: JsonObject = {"count": posted.count, "lastTimestamp": _now()}
        try:
            await self._client.patch(EVENTS, posted.name, change, namespace=namespace)
        except NotFound:
            return False
        return True

    async def _post(self, subject: _Subject, body: JsonObject, *, namespace: str) -> None:
        name = f"{text(obj(body, 'metadata'), 'name')[:OBJECT_NAME_MAX]}.{secrets.token_hex(8)}"
        await self._client.create(EVENTS, self._event(subject, body, name=name), namespace=namespace)
        self._posted[subject] = _Posted(name, time.monotonic(), 1)
        self._posted.move_to_end(subject)
        if len(self._posted) > REMEMBERED_EVENTS:
            self._posted.popitem(last=False)

    def _event(self, subject: _Subject, body: JsonObject, *, name: str) -> JsonObject:
        metadata, now = obj(body, "metadata"), _now()
        involved: JsonObject = {
            "apiVersion": text(body, "apiVersion"),
            "kind": text(body, "kind"),
            "namespace": text(metadata, "namespace"),
            "name": text(metadata, "name"),
            "uid": text(metadata, "uid"),
            "resourceVersion": text(metadata, "resourceVersion"),
        }
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name},
            "involvedObject": involved,
            "type": subject.kind,
            "reason": subject.reason,
            "message": subject.message,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def _cut(message: str) -> str:
    return message if len(message) <= MESSAGE_MAX_CHARACTERS else message[: MESSAGE_MAX_CHARACTERS - 1] + "…"


def _now() -> str:
    return datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
