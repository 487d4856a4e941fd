"""What others can read along, in words for the log, for GET /api/about and for a page where people sign in."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import is_loopback
from xapp_operator.gateway.http.requests.origins import is_https, is_loopback_connection

_PLAIN_HTTP = (
    "this gateway speaks plain HTTP, so others on the network can read tokens and data: set XAPP_TLS_CERT and "
    "XAPP_TLS_KEY, or put a proxy with TLS in front and set XAPP_TRUST_FORWARDED_PROTO"
)
_INSECURE_SESSIONS = "XAPP_INSECURE_SESSIONS allows sessions over plain HTTP, where others can steal them: turn it off"


def start_warnings(settings: Settings) -> list[str]:
    """Return what an administrator should know when the gateway starts."""
    exposed = settings.tls_cert is None and not is_loopback(settings.host)
    warnings = [_PLAIN_HTTP] if exposed and not settings.trust_forwarded_proto else []
    return [*warnings, _INSECURE_SESSIONS] if settings.insecure_sessions and settings.tls_cert is None else warnings


def insecure_text(connection: HTTPConnection, settings: Settings) -> str | None:
    """Return the warnings for the sender of a request, or None when nobody can read along."""
    if is_https(connection, trust_forwarded_proto=settings.trust_forwarded_proto):
        return None
    warnings = start_warnings(settings)
    if not warnings and settings.trust_forwarded_proto and not is_loopback_connection(connection):
        warnings = [_PLAIN_HTTP]
    return "; ".join(warnings) or None
