"""What of a request's path and query goes on to the xApp, byte for byte, and what is refused. Pure.

Read from the raw path: in the decoded one a `%2F` is a slash like any other, and could shift what the framework found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from xapp_operator.errors import MalformedRequest

PATH_MAX_BYTES: Final = 8192

_VERSIONED_PREFIX: Final = b"/api/v1/"
_DOT_SEGMENTS: Final = frozenset({b".", b".."})
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_NOT_VISIBLE_ASCII: Final = re.compile(rb"[^!-~]")
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class ProxyPath:
    """A raw path in two: `prefix` up to the port or `api`, as the caller wrote it, and the `path` of the xApp."""

    prefix: str
    path: str


def parse_proxy_path(raw_path: bytes, *, segments: Sequence[str]) -> ProxyPath:
    """Return where the path of the xApp begins in `raw_path`; `segments` is what stands before it, behind `/api`.

    Raises:
        MalformedRequest: for a path that means something else once it is decoded.
    """
    first = 3 if raw_path.startswith(_VERSIONED_PREFIX) else 2
    parts = raw_path.split(b"/")
    before, rest = parts[: first + len(segments)], parts[first + len(segments) :]
    if [unquote_to_bytes(part) for part in before[first:]] != [segment.encode() for segment in segments]:
        raise MalformedRequest(
            "namespace, name, service and port must stand in the path as they are: without an encoded slash"
        )
    return ProxyPath(prefix=b"/".join(before).decode("ascii"), path=_validate_path(b"/" + b"/".join(rest)))


def _validate_path(path: bytes) -> str:
    if len(path) > PATH_MAX_BYTES:
        raise MalformedRequest(f"the path for the xApp is longer than {PATH_MAX_BYTES} bytes: send it as a body")
    if _BAD_ESCAPE.search(path):
        raise MalformedRequest(
            "the path for the xApp has a % that is not followed by two hexadecimal digits: write %25"
        )
    decoded = unquote_to_bytes(path)
    if _CONTROL.search(decoded):
        raise MalformedRequest("the path for the xApp has a control character: leave it out")
    if b"\\" in decoded:
        raise MalformedRequest("the path for the xApp has a backslash, which some programs take for a slash: use /")
    if decoded.startswith(b"//"):
        raise MalformedRequest("the path for the xApp begins with two slashes, as the name of a host does: use one")
    if not _DOT_SEGMENTS.isdisjoint(decoded.split(b"/")):
        raise MalformedRequest("the path for the xApp has a segment . or ..: write the path that it leads to")
    return _percent_encode(path)


def require_path_kept_by_api_server(path: str) -> None:
    """Refuse a path that the API server would change on the way: it decodes the path and joins its segments anew.

    Raises:
        MalformedRequest: for an encoded slash, and for two slashes in a row.
    """
    if "%2f" in path.lower() or "//" in path:
        raise MalformedRequest(
            "a path with an encoded slash or two slashes in a row cannot be passed on unchanged through the Kubernetes "
            "API: write single slashes, or reach the gateway in the cluster"
        )


def require_no_query(query: str) -> None:
    """Refuse the query of a WebSocket, which the API server does not pass on.

    Raises:
        MalformedRequest: for a query.
    """
    if query:
        raise MalformedRequest(
            "the query of a WebSocket is not passed on by the Kubernetes API: leave it out, or reach the gateway in "
            "the cluster"
        )


def encoded_query(query_string: bytes) -> str:
    """Return the query as it was sent; bytes that no URL may hold are percent-encoded."""
    return _percent_encode(query_string)


def _percent_encode(text: bytes) -> str:
    return _NOT_VISIBLE_ASCII.sub(lambda found: b"%%%02X" % found[0][0], text).decode("ascii")
