"""JSON answers from bytes or objects, compact or indented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

import orjson
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import Json

MEDIA_TYPE: Final = "application/json"


def json_response(
    content: Json | bytes,
    *,
    status: int = 200,
    pretty: bool = False,
    media_type: str = MEDIA_TYPE,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an answer whose body is `content`, which is JSON already when it is bytes."""
    if not isinstance(content, bytes):
        body = orjson.dumps(content, option=orjson.OPT_INDENT_2 if pretty else 0)
    else:
        body = indented(content) if pretty else content
    return Response(body, status_code=status, media_type=media_type, headers=headers)


def indented(content: bytes) -> bytes:
    """Return compact JSON as people read it."""
    return orjson.dumps(orjson.loads(content), option=orjson.OPT_INDENT_2)


def wants_pretty(request: Request) -> bool:
    """Tell whether the query says `pretty=true`, whatever else is wrong with it: problems are indented too."""
    raw = request.scope["query_string"]
    if b"pretty" not in raw:
        return False
    values: list[str] = parse_qs(raw.decode("latin-1")).get("pretty", [])
    return values[:1] == ["true"]
