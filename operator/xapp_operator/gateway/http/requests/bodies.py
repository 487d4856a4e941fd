"""Reads request bodies with limits on size, speed and total time, which the framework does not have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import orjson
from starlette.requests import ClientDisconnect, Request

from xapp_operator.api.json import JsonObject
from xapp_operator.common.off_loop import run_sized
from xapp_operator.domain.chart_values.yaml_values import load_json
from xapp_operator.errors import ContentTooLarge, FormInvalid, MalformedRequest, ValuesInvalid

BODY_MIN_BYTES: Final = 10 * 1024
"""Bytes of a body that must arrive in any BODY_MIN_SECONDS until it ends, because a slow upload holds a slot."""
BODY_MIN_SECONDS: Final = 10.0
BODY_SECONDS_MAX: Final = 600.0
JSON_MAX_BYTES: Final = 64 * 1024

_BOM: Final = b"\xef\xbb\xbf"


async def iter_body(request: Request, *, seconds: float = BODY_SECONDS_MAX) -> AsyncIterator[bytes]:
    """Yield the body, chunk by chunk.

    Raises:
        MalformedRequest: when it takes more than `seconds`, or less than BODY_MIN_BYTES arrive in
            BODY_MIN_SECONDS.
        ClientDisconnect: when the client disconnects before the end of the body.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    received, seconds_left = 0, BODY_MIN_SECONDS  # of these bytes; the time between two calls does not count
    while True:
        asked_at = clock()
        try:
            async with asyncio.timeout(min(seconds_left, deadline - asked_at)):
                message = await request.receive()
        except TimeoutError:
            raise MalformedRequest(
                f"the body stopped before its end: send it within {seconds:g} seconds, "
                f"and at least {BODY_MIN_BYTES:,} bytes in {BODY_MIN_SECONDS:g} seconds"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        received, seconds_left = received + len(chunk), seconds_left - (clock() - asked_at)
        if received >= BODY_MIN_BYTES:
            received, seconds_left = 0, BODY_MIN_SECONDS
        yield chunk
        if not message.get("more_body", False):
            return


async def read_json_object(
    request: Request, *, what: str, max_bytes: int = JSON_MAX_BYTES, seconds: float = BODY_SECONDS_MAX
) -> JsonObject:
    """Return the body, which must be a JSON object; the Content-Type is ignored.

    Args:
        request: the request.
        what: name of the body in errors.
        max_bytes: maximum size of the body.
        seconds: maximum time for the body.

    Raises:
        ContentTooLarge: for a larger body.
        MalformedRequest: for a body that is not JSON, or takes too long.
        FormInvalid: for JSON that is not an object, or that has a key twice.
    """
    body = await read_body(request, what=what, max_bytes=max_bytes, seconds=seconds)
    return await run_sized(len(body), decode_json_object, body, what=what)


async def read_body(request: Request, *, what: str, max_bytes: int, seconds: float = BODY_SECONDS_MAX) -> bytes:
    """Return the body as it was sent.

    Raises:
        ContentTooLarge: for a larger body.
        MalformedRequest: for a body that takes too long.
    """
    body = bytearray()
    async for chunk in iter_body(request, seconds=seconds):
        body += chunk
        if len(body) > max_bytes:
            raise ContentTooLarge.for_field(
                what, f"has more than {max_bytes:,} bytes, which is the maximum here: send less"
            )
    return bytes(body)


def decode_json_object(data: bytes, *, what: str) -> JsonObject:
    """Decode a JSON object; `what` names it in errors. Raises as `read_json_object` does."""
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise MalformedRequest.for_field(what, "is empty: send a JSON object")
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        message = f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}: send a JSON object"
        raise MalformedRequest.for_field(what, message) from None
    try:
        value = load_json(data, source=what)
    except ValuesInvalid as error:
        raise FormInvalid(error.message, errors=error.errors) from None
    if not isinstance(value, dict):
        raise FormInvalid.for_field(what, f"must be a JSON object, as in {{…}}, not a {_json_type_name(value)}")
    return value


def _json_type_name(value: object) -> str:
    names = {str: "text", bool: "boolean", int: "number", float: "number", list: "list", type(None): "null"}
    return names[type(value)]
