"""Origins of browser requests, to prevent cross-site request forgery (CSRF).

The middleware refuses requests of other origins in every mode. A caller who signs in with a cookie, which browsers send
by themselves, must also prove that the request comes from a page of this gateway.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""

CSRF_HEADER: Final = "x-requested-with"
"""A page of another origin may set this header only after a CORS preflight, which this gateway never allows."""

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_SAME_ORIGIN: Final = "same-origin"


def host_without_port(host: str) -> str:
    """Return the name or address in a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def is_same_origin(origin: str, host: str) -> bool:
    """Tell whether the Origin header and the Host header name the same authority."""
    scheme, separator, authority = origin.lower().partition("://")
    default = _DEFAULT_PORTS.get(scheme)
    if not separator or default is None or not host:
        return False
    return _normalize_authority(authority, default) == _normalize_authority(host.lower(), default)


def proves_same_origin(headers: Headers) -> bool:
    """Tell whether no page of another origin can have sent the request.

    SameSite=Strict is not enough: to a browser, every port of a host is the same site, and xApps have NodePorts.
    """
    if CSRF_HEADER in headers:
        return True
    fetched_from = headers.getlist("sec-fetch-site")
    if fetched_from:
        return fetched_from == [_SAME_ORIGIN]
    origins, hosts = headers.getlist("origin"), headers.getlist("host")
    return len(origins) == len(hosts) == 1 and is_same_origin(origins[0], hosts[0])


def _normalize_authority(authority: str, default: str) -> str:
    name = host_without_port(authority)
    port = authority[len(name) :].removeprefix(":")
    return f"{name}:{port or default}"
