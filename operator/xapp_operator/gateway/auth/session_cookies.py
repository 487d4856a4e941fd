"""The session cookie: a bearer token, sealed so that only gateways can read it, and for a limited time.

Pure. AES-256-GCM (NIST SP 800-38D) with a key that all replicas share; the id of the key goes in front, in the clear,
so that keys can be rotated, and is authenticated with the rest. Nothing is kept on the server's side: the cluster
itself decides at every use whether the token still counts.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.datastructures import Headers
from starlette.responses import Response

from xapp_operator.errors import SessionEnded

COOKIE_NAME: Final = "xapp_session"
KEY_BYTES: Final = 32
TOKEN_MAX_BYTES: Final = 3000
"""Browsers keep cookies of 4,096 bytes, name and all (RFC 6265, 6.1), and sealed it is a third longer."""

_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_EXPIRY: Final = struct.Struct(">q")
_SEAL_CONTEXT: Final = b"xapp-operator session 1"
_JWT_PARTS: Final = 3
_SEALED_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class SessionKey:
    """One key and its id, which is made from it."""

    id: bytes
    secret: bytes = field(repr=False)

    @classmethod
    def from_secret(cls, secret: bytes) -> SessionKey:
        """Return the key of KEY_BYTES bytes."""
        return cls(hashlib.blake2b(secret, digest_size=_ID_BYTES, person=b"xapp session key").digest(), secret)


def seal(token: str, *, key: SessionKey, expires: int) -> str:
    """Return the cookie's value that holds `token` until `expires` (seconds since 1970)."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    content = _EXPIRY.pack(expires) + token.encode("ascii")
    sealed = AESGCM(key.secret).encrypt(nonce, content, _SEAL_CONTEXT + key.id)
    return base64.urlsafe_b64encode(key.id + nonce + sealed).rstrip(b"=").decode()


def sealing_key_id(cookie: str) -> bytes:
    """Return the id of the key that a cookie is sealed with.

    Raises:
        SessionEnded: for what cannot be a cookie of ours.
    """
    return _decode_cookie(cookie)[:_ID_BYTES]


def unseal(cookie: str, *, keys: Mapping[bytes, SessionKey], now: float) -> str:
    """Return the token in a cookie.

    Raises:
        SessionEnded: for any other than what `seal` returned for one of `keys`, or when it is too old at `now`.
    """
    sealed = _decode_cookie(cookie)
    key = keys.get(sealed[:_ID_BYTES])
    if key is None:
        raise session_ended_error()
    nonce, rest = sealed[_ID_BYTES : _ID_BYTES + _NONCE_BYTES], sealed[_ID_BYTES + _NONCE_BYTES :]
    try:
        content = AESGCM(key.secret).decrypt(nonce, rest, _SEAL_CONTEXT + key.id)
    except InvalidTag:
        raise session_ended_error() from None
    if now >= _EXPIRY.unpack_from(content)[0]:
        raise session_ended_error()
    return content[_EXPIRY.size :].decode("ascii")


def session_ended_error() -> SessionEnded:
    """Return the error for a cookie that does not count any more."""
    return SessionEnded("the session has ended: sign in again, or send a bearer token of the cluster")


def read_session_cookie(headers: Headers) -> str | None:
    """Return the session cookie of a request, or None.

    Raises:
        SessionEnded: when there are several: another server of the same host has set one of them.
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
    """Have the browser keep a session for `seconds`."""
    response.set_cookie(COOKIE_NAME, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")


def _clear_cookie_headers() -> dict[str, str]:
    response = Response()
    response.delete_cookie(COOKIE_NAME, path="/", httponly=True, samesite="strict")
    return {"Set-Cookie": response.headers["set-cookie"]}


CLEAR_COOKIE_HEADERS: Final = _clear_cookie_headers()
"""Headers that make the browser delete its session cookie."""


def jwt_expiry(token: str) -> int | None:
    """Return when a JSON web token says that it ends, in seconds since 1970; None for all others.

    Nothing is verified here: it only makes a session shorter.
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


def _decode_cookie(cookie: str) -> bytes:
    if len(cookie) > _SEALED_MAX:
        raise session_ended_error()
    try:
        sealed = base64.b64decode(cookie + "=" * (-len(cookie) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise session_ended_error() from None
    if len(sealed) < _ID_BYTES + _NONCE_BYTES + _EXPIRY.size:
        raise session_ended_error()
    return sealed
