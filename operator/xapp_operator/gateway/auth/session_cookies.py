"""The session cookie: a bearer token that only gateways can read, and only for a limited time.

The cookie is sealed with Fernet, by a key that all replicas share and that the cookie names. It also holds the digest
of the session's proof: browsers send a cookie to every port of a host, so a request must prove that it comes from a
page that knows more than the cookie. The token is compressed, because Fernet's base64 would otherwise make a token of
TOKEN_MAX_BYTES longer than a cookie may be.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson
from cryptography.fernet import Fernet, InvalidToken
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response

from xapp_operator.errors import SessionEnded

HOST_COOKIE_NAME: Final = "__Host-xapp_session"
"""The cookie over https: browsers accept this prefix only with Secure, and only from the host itself (RFC 6265bis)."""

COOKIE_NAME: Final = "xapp_session"
"""The cookie over http, where browsers refuse the prefix."""

TOKEN_MAX_BYTES: Final = 3000
"""Browsers store cookies of up to 4,096 bytes, name included (RFC 6265, 6.1)."""

PROOF_HEADER: Final = "x-session-proof"
SESSION_SUBPROTOCOL: Final = "session.xapp-operator.io"
"""The subprotocol of a WebSocket whose page sends a proof, if the xApp selects none of the others."""

PROOF_SUBPROTOCOL_PREFIX: Final = f"proof.{SESSION_SUBPROTOCOL}."
"""Before the proof in a WebSocket's subprotocols, because a browser cannot set headers there."""

COOKIES_MAX: Final = 180
"""As many as a browser keeps of one host. Each that is not sealed with a key costs the check of a MAC."""

ID_BYTES: Final = 16
OWNER_BYTES: Final = 12
_PROOF_BYTES: Final = 32
_JWT_PARTS: Final = 3
_SEALED: Final = re.compile(r"(\d{1,11})\.(gAAAA[A-Za-z0-9_-]{90,4050})", re.ASCII)
"""Name of the key, and a Fernet token: version 0x80, a 64-bit time before 2106, an IV, blocks and a MAC, in base64."""

_HEAD: Final = struct.Struct(f">{ID_BYTES}s{OWNER_BYTES}s{OWNER_BYTES}sII32s")


@dataclass(frozen=True, slots=True)
class Session:
    """What a cookie holds. Times are seconds since 1970; `user` and `group` are digests."""

    key_name: int
    id: bytes
    user: bytes
    group: bytes
    issued_at: int
    expires: int
    proof_digest: bytes = field(repr=False)
    token: str = field(repr=False)

    def is_proved_by(self, proof: str) -> bool:
        """Return whether `proof` is the one that was returned with the cookie, in constant time."""
        return hmac.compare_digest(proof_digest(proof), self.proof_digest)


def make_proof() -> str:
    """Return a new proof: visible ASCII that may stand in a header and in the name of a subprotocol."""
    return secrets.token_urlsafe(_PROOF_BYTES)


def proof_digest(proof: str) -> bytes:
    return hashlib.sha256(proof.encode("utf-8", "surrogateescape")).digest()


def seal(session: Session, *, key: Fernet) -> str:
    """Return the cookie value that holds a session; `key` is the one that it names."""
    head = _HEAD.pack(session.id, session.user, session.group, session.issued_at, session.expires, session.proof_digest)
    sealed = key.encrypt(head + zlib.compress(session.token.encode("ascii"), level=9)).decode()
    # Without base64 padding: a cookie value that contains `=` needs quotes.
    return f"{session.key_name}.{sealed.rstrip('=')}"


def key_name_of(cookie: str) -> int | None:
    """Return the name of the key in a cookie value, or None for a value that `seal` never returns."""
    found = _SEALED.fullmatch(cookie)
    return None if found is None else int(found[1])


def unseal(cookie: str, *, keys: Mapping[int, Fernet]) -> Session:
    """Return the session in a cookie value, which may have expired.

    Raises:
        SessionEnded: for anything that `seal` did not return for one of `keys`.
    """
    found = _SEALED.fullmatch(cookie)
    if found is None or (key := keys.get(int(found[1]))) is None:
        raise session_ended_error()
    try:
        opened = key.decrypt(found[2] + "=" * (-len(found[2]) % 4))
    except InvalidToken:
        raise session_ended_error() from None
    session_id, user, group, issued_at, expires, digest = _HEAD.unpack_from(opened)
    token = zlib.decompress(opened[_HEAD.size :]).decode("ascii")
    return Session(int(found[1]), session_id, user, group, issued_at, expires, digest, token)


def session_ended_error() -> SessionEnded:
    """Return the error for a cookie that is not valid or no longer valid."""
    return SessionEnded("the session has ended: sign in again, or send a bearer token of the cluster")


def read_session_cookies(headers: Headers, *, names: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return name and values of the session cookie of a request, or None; the first of `names` that is there counts.

    There are several values, at most COOKIES_MAX, if another server of the same host has set cookies of that name.
    """
    pairs = [
        (name.strip(), value.strip())
        for header in headers.getlist("cookie")
        for name, _, value in (pair.partition("=") for pair in header.split(";"))
    ]
    for wanted in names:
        found = [value for name, value in pairs if name == wanted]
        if found:
            return wanted, found[:COOKIES_MAX]
    return None


def read_proof(connection: HTTPConnection) -> str:
    """Return the proof of a request, empty if it has none or several.

    It is in a header, or in a subprotocol of a WebSocket.
    """
    found = connection.headers.getlist(PROOF_HEADER)
    if not found:
        offered: list[str] = connection.scope.get("subprotocols", [])
        found = [
            each.removeprefix(PROOF_SUBPROTOCOL_PREFIX) for each in offered if each.startswith(PROOF_SUBPROTOCOL_PREFIX)
        ]
    return found[0] if len(found) == 1 else ""


def set_session_cookie(response: Response, value: str, *, seconds: int, secure: bool) -> None:
    """Make the browser keep the session for `seconds`; `secure` for https."""
    name = HOST_COOKIE_NAME if secure else COOKIE_NAME
    response.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")


def clear_cookie_headers(name: str) -> dict[str, str]:
    """Return the headers that make the browser delete a session cookie."""
    response = Response()
    response.delete_cookie(name, path="/", secure=name == HOST_COOKIE_NAME, httponly=True, samesite="strict")
    return {"Set-Cookie": response.headers["set-cookie"]}


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
