"""Which headers are forwarded between a caller and an xApp: those of two lists, and those that the settings add. Pure.

Any other header is dropped: an xApp gets no credentials of the caller, and its responses cannot act on the origin that
they share with the gateway's own pages, or on a web server in front. Hop-by-hop headers (RFC 9110, section 7.6.1) and
those of PROTECTED_HEADERS are dropped even if the settings name them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from xapp_operator.config.settings import Settings
from xapp_operator.errors import XAppError

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]

_REQUEST_HEADERS: Final = frozenset(
    {
        *(b"accept", b"accept-charset", b"accept-encoding", b"accept-language", b"user-agent", b"prefer", b"priority"),
        *(b"content-type", b"content-encoding", b"content-language", b"content-disposition", b"content-digest"),
        *(b"cache-control", b"pragma", b"range", b"last-event-id", b"idempotency-key", b"soapaction", b"digest"),
        *(b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since", b"if-range", b"want-digest"),
        *(b"x-request-id", b"x-correlation-id", b"x-requested-with", b"traceparent", b"tracestate", b"baggage", b"b3"),
        *(b"x-b3-traceid", b"x-b3-spanid", b"x-b3-parentspanid", b"x-b3-sampled", b"x-b3-flags"),
    }
)
_RESPONSE_HEADERS: Final = frozenset(
    {
        *(b"content-type", b"content-length", b"content-encoding", b"content-language", b"content-disposition"),
        *(b"content-location", b"content-range", b"accept-ranges", b"content-digest", b"repr-digest", b"digest"),
        *(b"etag", b"last-modified", b"expires", b"age", b"cache-control", b"pragma", b"vary", b"location", b"link"),
        *(b"allow", b"accept-patch", b"accept-post", b"retry-after", b"preference-applied", b"server-timing"),
        *(
            b"deprecation",
            b"sunset",
            b"warning",
            b"x-request-id",
            b"x-correlation-id",
            b"x-total-count",
            b"traceparent",
        ),
        *(b"ratelimit", b"ratelimit-policy", b"x-ratelimit-limit", b"x-ratelimit-remaining", b"x-ratelimit-reset"),
    }
)
_HOP_BY_HOP: Final = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
        *(b"proxy-authenticate", b"proxy-authorization", b"proxy-authentication-info", b"http2-settings"),
    }
)
PROTECTED_HEADERS: Final = _HOP_BY_HOP | frozenset(
    {
        *(b"host", b"expect", b"authorization", b"cookie", b"cookie2", b"origin", b"x-session-proof"),
        *(b"forwarded", b"x-real-ip", b"audit-id", b"x-http-method", b"x-http-method-override", b"x-method-override"),
        *(b"set-cookie", b"set-cookie2", b"service-worker-allowed", b"clear-site-data", b"www-authenticate"),
        *(b"strict-transport-security", b"alt-svc", b"public-key-pins", b"expect-ct", b"report-to", b"nel"),
        *(b"reporting-endpoints", b"refresh", b"origin-agent-cluster", b"date", b"proxy-status", b"sourcemap"),
        *(b"content-security-policy", b"content-security-policy-report-only", b"x-content-type-options"),
        *(b"x-accel-redirect", b"x-accel-expires", b"x-sendfile", b"x-lighttpd-send-file", b"x-reproxy-url"),
    }
)
_PROTECTED_PREFIXES: Final = (
    *(b"x-forwarded-", b"impersonate-", b"x-remote-", b"sec-", b"access-control-", b"x-accel-", b"cross-origin-"),
)
_HEADER_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL_CHARACTER: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

SANDBOX_HEADER: Final = (b"content-security-policy", b"sandbox")
"""Pages of an xApp run no scripts and get an opaque origin, since they share the gateway's."""


class UnsafeProxyHeaders(XAppError):
    """The settings name a header that is never forwarded."""

    title = "Unsafe configuration"
    permanent = True


@dataclass(frozen=True, slots=True)
class HeaderLists:
    """The names of headers that are forwarded, in lower case."""

    request: frozenset[bytes] = _REQUEST_HEADERS
    response: frozenset[bytes] = _RESPONSE_HEADERS

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the lists with the names that the settings add.

        Raises:
            UnsafeProxyHeaders: when one of them is no name of a header, or is never forwarded.
        """
        return cls(
            _REQUEST_HEADERS | _added_names(settings.proxy_request_headers, "XAPP_PROXY_REQUEST_HEADERS"),
            _RESPONSE_HEADERS | _added_names(settings.proxy_response_headers, "XAPP_PROXY_RESPONSE_HEADERS"),
        )


def _added_names(names: Iterable[str], setting: str) -> frozenset[bytes]:
    added = frozenset(name.lower().encode() for name in names)
    for name in sorted(added):
        if not _HEADER_NAME.fullmatch(name) or name in PROTECTED_HEADERS or name.startswith(_PROTECTED_PREFIXES):
            raise UnsafeProxyHeaders(f"{setting}: the header {name.decode()!r} is never forwarded: remove it")
    return added


def forwarded_request_headers(
    headers: RawHeaders,
    *,
    lists: HeaderLists,
    host: str,
    client: str,
    scheme: str,
    public_host: str,
    prefix: str,
) -> list[tuple[str, str]]:
    """Return the headers for the xApp. `host` names the Service; the other arguments become X-Forwarded-*."""
    forwarded = _end_to_end_headers(headers, names=lists.request)
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


def forwarded_response_headers(headers: RawHeaders, *, lists: HeaderLists) -> list[tuple[bytes, bytes]]:
    """Return the response headers for the caller: only for them, and with a sandbox that isolates the xApp's pages."""
    forwarded = [(name.lower(), value) for name, value in _end_to_end_headers(headers, names=lists.response)]
    cache_control = b",".join(value for name, value in forwarded if name == b"cache-control")
    vary = b",".join(value for name, value in forwarded if name == b"vary")
    return [
        *(each for each in forwarded if each[0] not in {b"cache-control", b"vary"}),
        (b"cache-control", _private(cache_control)),
        (b"vary", _vary_by_caller(vary)),
        SANDBOX_HEADER,
    ]


def _private(cache_control: bytes) -> bytes:
    """Return a Cache-Control with which no shared cache keeps the response (RFC 9111, 5.2.2.7)."""
    if b'"' in cache_control:
        return b"private, no-cache"  # a list of header names, in which commas do not separate directives
    directives = [each.strip() for each in cache_control.split(b",") if each.strip()]
    kept = [
        each
        for each in directives
        if each.partition(b"=")[0].strip().lower() not in {b"public", b"private", b"s-maxage", b"proxy-revalidate"}
    ]
    return b", ".join([b"private", *kept])


def _vary_by_caller(vary: bytes) -> bytes:
    names = [each.strip() for each in vary.split(b",") if each.strip()]
    if b"*" in names:
        return b"*"
    known = {each.lower() for each in names}
    return b", ".join([*names, *(each for each in (b"Authorization", b"Cookie") if each.lower() not in known)])


def _end_to_end_headers(headers: RawHeaders, *, names: frozenset[bytes]) -> Iterator[tuple[bytes, bytes]]:
    connection = b",".join(value for name, value in headers if name.lower() == b"connection")
    dropped = {each.strip().lower() for each in connection.split(b",")}
    for name, value in headers:
        is_forwarded = name.lower() in names and name.lower() not in dropped
        if is_forwarded and not _CONTROL_CHARACTER.search(value):
            yield name, value
