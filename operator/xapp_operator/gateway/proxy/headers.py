"""Which headers pass between a caller and an xApp, and which are the gateway's own affair. Pure.

Hop-by-hop headers end here (RFC 9110, 7.6.1), and so does what says who the caller is: an xApp gets nobody's token and
no cookie of the gateway. In answers nothing passes that would act on the origin which the gateway's pages share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]

_HOP_BY_HOP: Final = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
        *(b"proxy-authenticate", b"proxy-authorization", b"proxy-authentication-info", b"http2-settings"),
    }
)
_DROPPED_REQUEST_HEADERS: Final = frozenset(
    {
        *(b"host", b"expect", b"content-length"),
        *(b"authorization", b"cookie", b"cookie2"),
        # The Host that the xApp sees is not the caller's, so it could only take an Origin for a foreign one.
        b"origin",
        *(b"forwarded", b"x-real-ip", b"audit-id"),
    }
)
_DROPPED_REQUEST_PREFIXES: Final = (b"x-forwarded-", b"impersonate-", b"x-remote-")
_DROPPED_RESPONSE_HEADERS: Final = frozenset(
    {
        *(b"set-cookie", b"set-cookie2", b"service-worker-allowed", b"clear-site-data"),
        *(b"strict-transport-security", b"alt-svc", b"public-key-pins", b"public-key-pins-report-only", b"expect-ct"),
        *(b"report-to", b"reporting-endpoints", b"nel", b"refresh", b"origin-agent-cluster"),
        *(b"content-security-policy", b"content-security-policy-report-only", b"x-content-type-options"),
        *(b"date", b"proxy-status"),
        # Nobody can answer it: no Authorization passes. A browser would ask for a password in the name of the gateway,
        # and send it with every request from then on.
        b"www-authenticate",
        # Orders to a server in front, which would take them for the gateway's: to answer with another path, or a file.
        *(b"x-accel-redirect", b"x-accel-expires", b"x-sendfile", b"x-lighttpd-send-file", b"x-reproxy-url"),
    }
)
_DROPPED_RESPONSE_PREFIXES: Final = (b"access-control-",)
_LOCATION_HEADERS: Final = frozenset({b"location", b"content-location"})
_HEADER_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL_CHARACTER: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

SANDBOX_HEADER: Final = (b"content-security-policy", b"sandbox")
"""A page of an xApp runs no script and has an origin of its own, though it comes from the gateway."""


def forwarded_request_headers(
    headers: RawHeaders, *, host: str, client: str, scheme: str, public_host: str, prefix: str
) -> list[tuple[str, str]]:
    """Return the headers for the xApp; `host` is the Service's, the other arguments become X-Forwarded-*."""
    dropped = _HOP_BY_HOP | _DROPPED_REQUEST_HEADERS | _connection_headers(headers)
    passed = [
        (name.decode("ascii"), value.decode("utf-8", "replace"))
        for name, value in headers
        if name.lower() not in dropped
        and not name.lower().startswith((*_DROPPED_REQUEST_PREFIXES, b"sec-websocket-"))
        and _is_valid_header(name, value)
    ]
    return [
        ("Host", host),
        *passed,
        ("X-Forwarded-For", client),
        ("X-Forwarded-Proto", scheme),
        ("X-Forwarded-Host", public_host),
        ("X-Forwarded-Prefix", prefix),
    ]


def request_body_length(headers: RawHeaders) -> int | None:
    """Return how many bytes the body of a request has, or None when it comes in chunks."""
    known = {name.lower(): value for name, value in headers}
    if b"transfer-encoding" in known:
        return None
    return int(known.get(b"content-length", b"0"))


def forwarded_response_headers(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer that pass, with what keeps its pages apart from the gateway's."""
    dropped = _HOP_BY_HOP | _DROPPED_RESPONSE_HEADERS | _connection_headers(headers)
    passed = [
        (name.lower(), value)
        for name, value in headers
        if name.lower() not in dropped
        and not name.lower().startswith(_DROPPED_RESPONSE_PREFIXES)
        and _is_valid_header(name, value)
    ]
    return [*passed, SANDBOX_HEADER]


def is_location_header(name: bytes) -> bool:
    """Tell whether the value of a header of an answer is a URL of what is answered."""
    return name in _LOCATION_HEADERS


def _connection_headers(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    return {
        each.strip().lower() for name, value in headers if name.lower() == b"connection" for each in value.split(b",")
    }


def _is_valid_header(name: bytes, value: bytes) -> bool:
    return _HEADER_NAME.fullmatch(name) is not None and _CONTROL_CHARACTER.search(value) is None
