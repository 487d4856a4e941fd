"""The events of one watch request: its bytes split into lines, and each line decoded.

A line holds a whole object, 1.5 MiB and more as JSON, so asyncio's line reader with its fixed limit does not do. Caches
of ten thousand objects spend their time here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

import orjson

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.common.off_loop import decode_sized
from xapp_operator.domain import bounded_json
from xapp_operator.errors import ApiUnavailable
from xapp_operator.kube.api_errors import error_from_status

LINE_MAX_BYTES: Final = 16 * 1024 * 1024
INITIAL_EVENTS_END_ANNOTATION: Final = "k8s.io/initial-events-end"
INTERNAL_ERROR_STATUS: Final = 500

WatchEventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change; a BOOKMARK carries only `metadata.resourceVersion` and annotations."""

    type: WatchEventType
    object: JsonObject

    @property
    def ends_initial_events(self) -> bool:
        """Return whether this bookmark ends the initial events of a streaming list (KEP-3157)."""
        if self.type != "BOOKMARK":
            return False
        return text(obj(obj(self.object, "metadata"), "annotations"), INITIAL_EVENTS_END_ANNOTATION) == "true"


def parse_watch_event(line: bytes) -> WatchEvent:
    """Return the event in one line of a watch.

    Raises:
        WatchExpired: when the resource version is too old.
        KubeError: for any other ERROR event.
    """
    try:
        decoded = bounded_json.loads_bounded(line)
    except orjson.JSONDecodeError as error:
        raise ApiUnavailable("the Kubernetes API sent a watch event that is not JSON") from error
    body = obj(decoded, "object")
    kind = text(decoded, "type")
    if kind == "ERROR":
        raise error_from_status(integer(body, "code", INTERNAL_ERROR_STATUS), body)
    return WatchEvent(type=cast("WatchEventType", kind), object=body)


async def read_watch_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[WatchEvent]:
    """Yield the events in the body of a watch.

    Raises:
        ApiUnavailable: as `read_lines` does.
        KubeError: as `parse_watch_event` does.
    """
    async for line in read_lines(chunks):
        yield await decode_sized(len(line), parse_watch_event, line)


async def read_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the lines in the body of a watch without their ends, and copy each byte at most twice.

    An incomplete last line is dropped: the next watch starts before it.

    Raises ApiUnavailable for a line over `LINE_MAX_BYTES`, which no API server sends.
    """
    pending: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *complete, unfinished = chunk.split(b"\n")
        if complete and pending:
            complete[0] = b"".join((*pending, complete[0]))
            pending, size = [], 0
        if unfinished:
            pending.append(unfinished)
            size += len(unfinished)
        if size > LINE_MAX_BYTES:
            raise ApiUnavailable(f"the Kubernetes API sent a watch event of more than {LINE_MAX_BYTES} bytes")
        for line in filter(None, complete):
            yield line
