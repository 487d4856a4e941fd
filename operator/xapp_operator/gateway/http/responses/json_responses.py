"""JSON responses from bytes or objects, compact or indented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final
from urllib.parse import parse_qs

import orjson
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from xapp_operator.api.json import Json

JSON_MEDIA_TYPE: Final = "application/json"


def json_response(
    content: Json | bytes,
    *,
    status: int = 200,
    pretty: bool = False,
    media_type: str = JSON_MEDIA_TYPE,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response with `content` as its body; bytes must be JSON already."""
    if not isinstance(content, bytes):
        body = orjson.dumps(content, option=orjson.OPT_INDENT_2 if pretty else 0)
    else:
        body = indent_json(content) if pretty else content
    return Response(body, status_code=status, media_type=media_type, headers=headers)


def indent_json(content: bytes) -> bytes:
    return orjson.dumps(orjson.loads(content), option=orjson.OPT_INDENT_2)


def wants_pretty(request: HTTPConnection) -> bool:
    """Tell whether the query has `pretty=true`, even if it is otherwise invalid: problems are indented too."""
    raw = request.scope["query_string"]
    if b"pretty" not in raw:
        return False
    values: list[str] = parse_qs(raw.decode("latin-1")).get("pretty", [])
    return values[:1] == ["true"]


def etag_response(
    request: Request,
    body: bytes,
    *,
    pretty: bool = False,
    media_type: str = JSON_MEDIA_TYPE,
    headers: Mapping[str, str] | None = None,
    vary: Sequence[str] = (),
) -> Response:
    """Return JSON with an ETag, or 304 if the client has that version.

    `vary` are request headers on which the content depends, besides those of every response.
    """
    if pretty:
        body = indent_json(body)
    tag = blake2b(body, digest_size=12).hexdigest()
    all_headers = {**cache_headers(tag), **(headers or {})}
    all_headers["Vary"] = ", ".join((all_headers["Vary"], *vary))
    return not_modified(request, tag, headers=all_headers) or json_response(
        body, media_type=media_type, headers=all_headers
    )


def cache_headers(tag: str) -> dict[str, str]:
    """Return the headers of a response that a client may keep and asks for again with `tag` in If-None-Match."""
    return {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}


def not_modified(request: Request, tag: str, *, headers: Mapping[str, str] | None = None) -> Response | None:
    """Return 304 if the client has the version `tag`, else None."""
    if_none_match = request.headers.get("if-none-match")
    if if_none_match is None or not _etag_matches(if_none_match, f'"{tag}"'):
        return None
    return Response(status_code=304, headers=headers or cache_headers(tag))


def _etag_matches(if_none_match: str, tag: str) -> bool:
    # If-None-Match uses weak comparison (RFC 9110, 8.8.3.2).
    tags = (each.strip().removeprefix("W/") for each in if_none_match.split(","))
    return any(each in (tag, "*") for each in tags)
