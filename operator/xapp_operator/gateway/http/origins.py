"""Where a request of a browser comes from: which hosts and origins are the same, and what proves it.

Pure. Lives beside the entrance, which refuses foreign origins in every mode, and `auth`, which wants a proof where a
cookie that browsers send by themselves is what signs the caller in.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""

CSRF_HEADER: Final = "x-requested-with"
"""No page of another origin can set it without being allowed to by a preflight, which is never answered here."""

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_SAME_ORIGIN: Final = "same-origin"


def host_without_port(host: str) -> str:
    """Return the name or address in a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def is_same_origin(origin: str, host: str) -> bool:
    """Tell whether an Origin header names the authority that the Host header names."""
    scheme, separator, authority = origin.lower().partition("://")
    default = _DEFAULT_PORTS.get(scheme)
    if not separator or default is None or not host:
        return False
    return _normalize_authority(authority, default) == _normalize_authority(host.lower(), default)


def proves_same_origin(headers: Headers) -> bool:
    """Tell whether a request cannot have been sent by a page of another origin.

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
