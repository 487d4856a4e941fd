"""The session cookie: a bearer token that only gateways can read, and only for a limited time.

The token is sealed with Fernet, by keys that all replicas share. The server keeps nothing: the cluster decides at each
use whether the token is still valid. The token is compressed first, because Fernet's base64 would otherwise make a
token of TOKEN_MAX_BYTES longer than a cookie may be.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from typing import Final

import orjson
from cryptography.fernet import InvalidToken, MultiFernet
from starlette.datastructures import Headers
from starlette.responses import Response

from xapp_operator.errors import SessionEnded

COOKIE_NAME: Final = "xapp_session"
TOKEN_MAX_BYTES: Final = 3000
"""Browsers store cookies of up to 4,096 bytes, name included (RFC 6265, 6.1)."""

_JWT_PARTS: Final = 3
_SEALED: Final = re.compile(r"gAAAA[A-Za-z0-9_-]{90,4090}")
"""A Fernet token: version 0x80, a 64-bit time before 2106, and at least an IV, a block and a MAC, in base64."""


def seal(token: str, *, keys: MultiFernet, expires: int) -> str:
    """Return the cookie value that holds `token` until `expires` (seconds since 1970)."""
    # Without base64 padding: a cookie value that contains `=` needs quotes.
    return keys.encrypt(zlib.compress(f"{expires}:{token}".encode("ascii"), level=9)).decode().rstrip("=")


def is_sealed(cookie: str) -> bool:
    """Return whether a cookie value has the format that `seal` returns; this needs no keys."""
    return _SEALED.fullmatch(cookie) is not None


def unseal(cookie: str, *, keys: MultiFernet) -> tuple[str, int]:
    """Return the token in a cookie value and when the session expires (seconds since 1970).

    Raises:
        InvalidToken: for anything that `seal` did not return for one of `keys`.
    """
    if not is_sealed(cookie):
        raise InvalidToken
    expires, _, token = zlib.decompress(keys.decrypt(cookie + "=" * (-len(cookie) % 4))).decode("ascii").partition(":")
    return token, int(expires)


def session_ended_error() -> SessionEnded:
    """Return the error for a cookie that is not valid or no longer valid."""
    return SessionEnded("the session has ended: sign in again, or send a bearer token of the cluster")


def read_session_cookie(headers: Headers) -> str | None:
    """Return the session cookie of a request, or None.

    Raises:
        SessionEnded: when there are several, because another server of the same host has set one.
    """
    found = [
        value.strip()
        for header in headers.getlist("cookie")
        for name, _, value in (pair.partition("=") for pair in header.split(";"))
        if name.strip() == COOKIE_NAME
    ]
    if len(found) > 1:
        raise session_ended_error()
    return found[0] if found else None


def set_session_cookie(response: Response, value: str, *, seconds: int, secure: bool) -> None:
    """Make the browser keep the session for `seconds`."""
    response.set_cookie(COOKIE_NAME, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")


def _clear_cookie_headers() -> dict[str, str]:
    response = Response()
    response.delete_cookie(COOKIE_NAME, path="/", httponly=True, samesite="strict")
    return {"Set-Cookie": response.headers["set-cookie"]}


CLEAR_COOKIE_HEADERS: Final = _clear_cookie_headers()
"""Headers that make the browser delete its session cookie."""


def jwt_expiry(token: str) -> int | None:
    """Return the expiry in a JSON web token, in seconds since 1970; None for any other token.

    The token is not verified: its expiry can only shorten a session.
    """
    parts = token.split(".")
    if len(parts) != _JWT_PARTS:
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return None
    expiry = claims.get("exp") if isinstance(claims, dict) else None
    return int(expiry) if isinstance(expiry, int | float) and not isinstance(expiry, bool) else None
