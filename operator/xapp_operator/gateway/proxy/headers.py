"""Which headers are forwarded between a caller and an xApp. Pure.

Hop-by-hop headers are dropped (RFC 9110, section 7.6.1), and so are the caller's credentials: an xApp gets no token and
no cookie. Response headers that act on a whole origin are dropped, because the gateway's own pages share that origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
        *(b"authorization", b"cookie", b"cookie2", b"x-session-proof"),
        # The xApp sees another Host than the caller does, so it would take every Origin for a foreign one.
        b"origin",
        *(b"forwarded", b"x-real-ip", b"audit-id"),
    }
)
_DROPPED_REQUEST_PREFIXES: Final = (b"x-forwarded-", b"impersonate-", b"x-remote-", b"sec-websocket-")
_DROPPED_RESPONSE_HEADERS: Final = frozenset(
    {
        *(b"set-cookie", b"set-cookie2", b"service-worker-allowed", b"clear-site-data"),
        *(b"strict-transport-security", b"alt-svc", b"public-key-pins", b"public-key-pins-report-only", b"expect-ct"),
        *(b"report-to", b"reporting-endpoints", b"nel", b"refresh", b"origin-agent-cluster"),
        *(b"content-security-policy", b"content-security-policy-report-only", b"x-content-type-options"),
        *(b"date", b"proxy-status"),
        # The Authorization header is dropped, so no client could respond to the challenge. A browser would ask for a
        # password for the gateway's origin and send it with every later request.
        b"www-authenticate",
        # Instructions to a web server in front of the gateway, to send another path or a file.
        *(b"x-accel-redirect", b"x-accel-expires", b"x-sendfile", b"x-lighttpd-send-file", b"x-reproxy-url"),
    }
)
_DROPPED_RESPONSE_PREFIXES: Final = (b"access-control-",)
_HEADER_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL_CHARACTER: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

SANDBOX_HEADER: Final = (b"content-security-policy", b"sandbox")
"""Pages of an xApp run no scripts and get an opaque origin, since they share the gateway's."""


def forwarded_request_headers(
    headers: RawHeaders, *, host: str, client: str, scheme: str, public_host: str, prefix: str
) -> list[tuple[str, str]]:
    """Return the headers for the xApp. `host` names the Service; the other arguments become X-Forwarded-*."""
    forwarded = _end_to_end_headers(headers, without=_DROPPED_REQUEST_HEADERS, prefixes=_DROPPED_REQUEST_PREFIXES)
    return [
        ("Host", host),
        *((name.decode("ascii"), value.decode("utf-8", "replace")) for name, value in forwarded),
        ("X-Forwarded-For", client),
        ("X-Forwarded-Proto", scheme),
        ("X-Forwarded-Host", public_host),
        ("X-Forwarded-Prefix", prefix),
    ]


def request_body_length(headers: RawHeaders) -> int | None:
    """Return the length of a request body in bytes, or None for a chunked one."""
    known = {name.lower(): value for name, value in headers}
    if b"transfer-encoding" in known:
        return None
    return int(known.get(b"content-length", b"0"))


def forwarded_response_headers(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Return the response headers for the caller, with a sandbox that isolates the xApp's pages."""
    forwarded = _end_to_end_headers(headers, without=_DROPPED_RESPONSE_HEADERS, prefixes=_DROPPED_RESPONSE_PREFIXES)
    return [*((name.lower(), value) for name, value in forwarded), SANDBOX_HEADER]


def _end_to_end_headers(
    headers: RawHeaders, *, without: frozenset[bytes], prefixes: tuple[bytes, ...]
) -> Iterator[tuple[bytes, bytes]]:
    connection = b",".join(value for name, value in headers if name.lower() == b"connection")
    dropped = _HOP_BY_HOP | without | {each.strip().lower() for each in connection.split(b",")}
    for name, value in headers:
        is_dropped = name.lower() in dropped or name.lower().startswith(prefixes)
        if not is_dropped and _HEADER_NAME.fullmatch(name) and not _CONTROL_CHARACTER.search(value):
            yield name, value
