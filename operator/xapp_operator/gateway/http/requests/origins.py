"""Where a request comes from: its origin, its scheme, this machine or another.

The middleware refuses requests of other origins in every mode, to prevent cross-site request forgery (CSRF). A session
also needs a proof with each request, which pages of other origins do not know.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import HTTPConnection

from xapp_operator.domain.address_rule import is_loopback

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_SECURE_SCHEMES: Final = frozenset({"https", "wss"})


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


def is_https(connection: HTTPConnection, *, trust_forwarded_proto: bool) -> bool:
    """Tell whether the request came over https, to this gateway or to a trusted proxy in front of it."""
    if connection.scope["scheme"] in _SECURE_SCHEMES:
        return True
    return trust_forwarded_proto and connection.headers.get("x-forwarded-proto", "").lower() == "https"


def page_uses_https(connection: HTTPConnection) -> bool:
    """Tell whether a browser says that the page of the request came over https, perhaps from a proxy in front."""
    return connection.headers.get("origin", "").lower().startswith("https://")


def is_loopback_connection(connection: HTTPConnection) -> bool:
    """Tell whether the request stayed on this machine: by its sender, and by the name that the sender used.

    Behind a proxy on the same machine, the sender is loopback, but the name is not.
    """
    host = host_without_port(connection.headers.get("host", ""))
    return connection.client is not None and is_loopback(connection.client.host) and is_loopback(host)


def _normalize_authority(authority: str, default: str) -> str:
    name = host_without_port(authority)
    port = authority[len(name) :].removeprefix(":")
    return f"{name}:{port or default}"
