"""The part of a request's path and query that is forwarded to the xApp, byte for byte. Pure.

The raw path is parsed: in the decoded path a `%2F` looks like a slash and could shift the segments that the framework
found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.requests.paths import check_path

_VERSIONED_PREFIX: Final = b"/api/v1/"
_NOT_VISIBLE_ASCII: Final = re.compile(rb"[^!-~]")


@dataclass(frozen=True, slots=True)
class ProxyPath:
    """A raw path in two parts: the `prefix` up to the port or `api`, and the `path` in the xApp's API."""

    prefix: str
    path: str


def parse_proxy_path(raw_path: bytes, *, segments: Sequence[str]) -> ProxyPath:
    """Split `raw_path` before the xApp's path; `segments` are the decoded segments between `/api` and it.

    Raises:
        MalformedRequest: for a path whose meaning changes when it is decoded.
    """
    first = 3 if raw_path.startswith(_VERSIONED_PREFIX) else 2
    parts = raw_path.split(b"/")
    before, rest = parts[: first + len(segments)], parts[first + len(segments) :]
    if [unquote_to_bytes(part) for part in before[first:]] != [segment.encode() for segment in segments]:
        raise MalformedRequest(
            "namespace, name, service and port must not contain an encoded slash: write them unencoded"
        )
    return ProxyPath(prefix=b"/".join(before).decode("ascii"), path=_validate_path(b"/" + b"/".join(rest)))


def _validate_path(path: bytes) -> str:
    check_path(path)
    if unquote_to_bytes(path).startswith(b"//"):
        raise MalformedRequest("the path for the xApp starts with two slashes, like a host in a URL: use one slash")
    return percent_encode(path)


def require_path_kept_by_api_server(path: str) -> None:
    """Refuse a path that the API server would change when it decodes it and joins its segments.

    Raises:
        MalformedRequest: for an encoded slash, and for two slashes in a row.
    """
    if "%2f" in path.lower() or "//" in path:
        raise MalformedRequest(
            "the Kubernetes API would change a path with an encoded slash or two slashes in a row: use single slashes, "
            "or run the gateway in the cluster"
        )


def require_no_query(query: str) -> None:
    """Refuse the query of a WebSocket request, which the API server does not forward.

    Raises:
        MalformedRequest: for a non-empty query.
    """
    if query:
        raise MalformedRequest(
            "the Kubernetes API does not forward the query of a WebSocket request: remove it, or run the gateway in "
            "the cluster"
        )


def percent_encode(text: bytes) -> str:
    """Return a path or query as it was sent, with bytes that a URL must not contain percent-encoded."""
    return _NOT_VISIBLE_ASCII.sub(lambda found: b"%%%02X" % found[0][0], text).decode("ascii")
