"""One watch request as events: the bytes of the stream cut into lines, and the lines into objects.

Lives apart from `client` because lines of a watch have no bound that a line reader could be given (an object is up to
1.5 MiB and more as JSON), and because caches of ten thousand objects spend their time here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

import orjson

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.errors import ApiUnavailable
from xapp_operator.kube.failures import from_status

LINE_MAX_BYTES: Final = 16 * 1024 * 1024
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
INTERNAL_ERROR: Final = 500

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change; of a BOOKMARK only `metadata.resourceVersion` (and its annotations) mean something."""

    type: EventType
    object: JsonObject

    @property
    def ends_initial_events(self) -> bool:
        """Tell whether this bookmark closes the list of a watch that was asked for initial events (KEP-3157)."""
        if self.type != "BOOKMARK":
            return False
        return text(obj(obj(self.object, "metadata"), "annotations"), INITIAL_EVENTS_END) == "true"


async def read_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a byte stream without their ends; each byte is copied at most twice.

    Raises:
        ApiUnavailable: for a line over `LINE_MAX_BYTES`, which no API server sends.
    """
    pending: list[bytes] = []
    size = 0
    async for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        pending.append(first)
        size += len(first)
        if size > LINE_MAX_BYTES:
            raise ApiUnavailable(f"the Kubernetes API sent a watch event of more than {LINE_MAX_BYTES} bytes")
        if not rest:
            continue
        yield b"".join(pending)
        *whole, last = rest
        for line in whole:
            yield line
        pending, size = [last], len(last)
    if size:
        yield b"".join(pending)


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[WatchEvent]:
    """Yield the events of the body of a watch.

    Raises:
        WatchExpired: when the server says that the resource version is too old.
        KubeError: for any other ERROR event.
    """
    async for line in read_lines(chunks):
        if not line.strip():
            continue
        try:
            raw = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            # A server that dies cuts its last line short.
            raise ApiUnavailable("the Kubernetes API broke off a watch in the middle of an event") from error
        decoded = cast("JsonObject", raw)
        body = obj(decoded, "object")
        kind = text(decoded, "type")
        if kind == "ERROR":
            raise from_status(integer(body, "code", INTERNAL_ERROR), body)
        yield WatchEvent(type=cast("EventType", kind), object=body)
