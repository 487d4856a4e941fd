"""Session cookies: what they hold, which of several counts, and their proof."""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import replace

import orjson
import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response

from tests.support.properties import must_occur, occurred
from xapp_operator.errors import SessionEnded
from xapp_operator.gateway.auth.session_cookies import (
    COOKIE_NAME,
    HOST_COOKIE_NAME,
    PROOF_SUBPROTOCOL_PREFIX,
    Session,
    clear_cookie_headers,
    jwt_expiry,
    key_name_of,
    make_proof,
    proof_digest,
    read_proof,
    read_session_cookies,
    seal,
    set_session_cookie,
    unseal,
)
from xapp_operator.gateway.http.requests.origins import is_loopback_connection, is_same_origin

COOKIES_MAX = 180
TOKEN_MAX_BYTES = 3000

KEYS = {name: Fernet(Fernet.generate_key()) for name in (1_700_000_000, 1_700_000_001)}
KEY = min(KEYS)
SESSION = Session(
    key_name=KEY,
    id=bytes(range(16)),
    user=b"u" * 12,
    group=b"g" * 12,
    issued_at=1_700_000_100,
    expires=2**32 - 1,
    proof_digest=proof_digest("proof"),
    token="token",
)


@must_occur(longer_than_a_coincidence=15)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=TOKEN_MAX_BYTES))
def test_any_session_can_be_unsealed_and_fits_a_cookie(token: str) -> None:
    session = replace(SESSION, token=token)
    cookie = seal(session, key=KEYS[KEY])

    assert unseal(cookie, keys=KEYS) == session
    assert key_name_of(cookie) == KEY
    assert re.fullmatch(r"[A-Za-z0-9._-]+", cookie)
    assert len(HOST_COOKIE_NAME) + 1 + len(cookie) <= 4096
    if len(token) >= 8:
        occurred("longer_than_a_coincidence")
        assert token not in cookie
        assert token not in repr(session)
        assert repr(session.proof_digest) not in repr(session)


def test_the_longest_token_fits_a_cookie_however_little_it_compresses() -> None:
    visible = [chr(code) for code in range(33, 127)]
    token = "".join(secrets.choice(visible) for _ in range(TOKEN_MAX_BYTES))
    cookie = seal(replace(SESSION, key_name=99_999_999_999, token=token), key=KEYS[KEY])
    assert len(HOST_COOKIE_NAME) + 1 + len(cookie) <= 4096


def test_sessions_of_every_length_can_be_unsealed() -> None:
    for length in range(1, 400, 8):
        session = replace(SESSION, key_name=1234, token=secrets.token_hex(length))
        assert unseal(seal(session, key=KEYS[KEY]), keys={1234: KEYS[KEY]}) == session


def test_only_a_sealed_cookie_can_be_unsealed() -> None:
    cookie = seal(SESSION, key=KEYS[KEY])
    name, _, sealed = cookie.partition(".")
    raw = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
    changed = [raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :] for at in range(len(raw)) for bit in (1, 128)]
    cut = [raw[:at] for at in range(len(raw))]
    texts = [f"{name}.{base64.urlsafe_b64encode(each).decode().rstrip('=')}" for each in (*changed, *cut, raw + b"x")]
    other_keys = [f"{max(KEYS)}.{sealed}", f"7.{sealed}", f"-1.{sealed}", f"{'9' * 5000}.{sealed}", f"\u0661.{sealed}"]
    for text in (*texts, *other_keys, sealed, "", "ä", "a b", cookie * 40, cookie + "!"):
        with pytest.raises(SessionEnded):
            unseal(text, keys=KEYS)


def test_only_the_proof_of_the_session_proves_it() -> None:
    proof = make_proof()
    assert len(proof) == 43  # 256 bits in base64
    session = replace(SESSION, proof_digest=proof_digest(proof))

    assert session.is_proved_by(proof)
    for wrong in ("", proof[:-1], proof + "a", make_proof(), proof.swapcase(), "ä", "\udcff"):
        assert not session.is_proved_by(wrong)


def jwt(claims: object) -> str:
    return f"h.{base64.urlsafe_b64encode(orjson.dumps(claims)).decode().rstrip('=')}.s"


@pytest.mark.parametrize(
    ("token", "expiry"),
    [
        (jwt({"exp": 123}), 123),
        (jwt({"exp": 123.9}), 123),
        (jwt({"exp": True}), None),
        (jwt({"exp": "123"}), None),
        (jwt([]), None),
        ("opaque", None),
        ("a.b.c", None),
        ("a.ä.c", None),
    ],
)
def test_the_expiry_of_a_jwt_is_read(token: str, expiry: int | None) -> None:
    assert jwt_expiry(token) == expiry


def test_the_session_cookie_is_found_among_others() -> None:
    def found(*values: str, names: tuple[str, ...] = (COOKIE_NAME,)) -> tuple[str, list[str]] | None:
        return read_session_cookies(Headers(raw=[(b"cookie", each.encode()) for each in values]), names=names)

    assert found() is None
    assert found("a=b; c") is None
    assert found("a=b", f"c=d; {COOKIE_NAME}=e; f=g") == (COOKIE_NAME, ["e"])
    for twice in ([f"{COOKIE_NAME}=a; {COOKIE_NAME}=b"], [f"{COOKIE_NAME}=a", f"{COOKIE_NAME}=b"]):
        assert found(*twice) == (COOKIE_NAME, ["a", "b"])
    assert found("; ".join(f"{COOKIE_NAME}={at}" for at in range(999))) == (
        COOKIE_NAME,
        [str(at) for at in range(COOKIES_MAX)],
    )


def test_a_cookie_that_another_port_can_set_does_not_count_over_https() -> None:
    headers = Headers({"cookie": f"{COOKIE_NAME}=planted; {HOST_COOKIE_NAME}=own; {COOKIE_NAME}=planted"})

    assert read_session_cookies(headers, names=(HOST_COOKIE_NAME,)) == (HOST_COOKIE_NAME, ["own"])
    assert read_session_cookies(Headers({"cookie": f"{COOKIE_NAME}=planted"}), names=(HOST_COOKIE_NAME,)) is None


@pytest.mark.parametrize(
    ("secure", "expected"),
    [
        (False, "xapp_session=v; HttpOnly; Max-Age=60; Path=/; SameSite=strict"),
        (True, "__Host-xapp_session=v; HttpOnly; Max-Age=60; Path=/; SameSite=strict; Secure"),
    ],
)
def test_a_cookie_is_for_the_browser_and_this_site_only(secure: bool, expected: str) -> None:
    response = Response()
    set_session_cookie(response, "v", seconds=60, secure=secure)
    assert response.headers["set-cookie"] == expected
    cleared = clear_cookie_headers(expected.partition("=")[0])["Set-Cookie"]
    assert "Max-Age=0" in cleared
    assert [each in cleared for each in ("HttpOnly", "Path=/", "SameSite=strict", "Secure")] == [True] * 3 + [secure]


def connection(*headers: tuple[str, str], **scope: object) -> HTTPConnection:
    raw = [(name.encode(), value.encode()) for name, value in headers]
    return HTTPConnection({"type": "http", "headers": raw, **scope})


def test_a_proof_is_read_from_the_header_or_else_from_a_subprotocol() -> None:
    offered = ["chat", f"{PROOF_SUBPROTOCOL_PREFIX}abc"]

    assert read_proof(connection()) == ""
    assert read_proof(connection(("x-session-proof", "abc"))) == "abc"
    assert read_proof(connection(subprotocols=offered)) == "abc"
    assert read_proof(connection(("x-session-proof", "header"), subprotocols=offered)) == "header"
    assert read_proof(connection(("x-session-proof", "abc"), ("x-session-proof", "abc"))) == ""
    assert read_proof(connection(subprotocols=[*offered, f"{PROOF_SUBPROTOCOL_PREFIX}def"])) == ""


@pytest.mark.parametrize(
    ("client", "host", "expected"),
    [
        ("127.0.0.1", "localhost:31315", True),
        ("::1", "[::1]:31315", True),
        ("127.0.0.1", "gateway.example.com", False),  # a proxy on the same machine
        ("10.0.0.7", "localhost:31315", False),
        ("10.0.0.7", "10.0.0.5:31315", False),
        ("127.0.0.1", "", False),
    ],
)
def test_a_request_is_local_by_its_sender_and_by_the_name_it_used(client: str, host: str, expected: bool) -> None:
    assert is_loopback_connection(connection(("host", host), client=(client, 1))) is expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://gateway:31315", True),
        ("http://gateway", False),
        ("http://gateway:30080", False),
        ("https://elsewhere:31315", False),
        ("null", False),
    ],
)
def test_an_origin_is_the_same_only_with_name_and_port(origin: str, expected: bool) -> None:
    assert is_same_origin(origin, "gateway:31315") is expected
