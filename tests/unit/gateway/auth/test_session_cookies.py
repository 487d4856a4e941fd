"""Session cookies and their keys, and the CSRF check."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
from aiohttp import web
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from tests.support.eventually import eventually
from tests.support.gateway import UNREACHABLE_KUBECONFIG
from tests.support.properties import must_occur, occurred
from xapp_operator.config import Settings
from xapp_operator.errors import ApiUnavailable, KubeError, SessionEnded
from xapp_operator.gateway.auth.session_cookies import (
    COOKIE_NAME,
    TOKEN_MAX_BYTES,
    jwt_expiry,
    read_session_cookie,
    seal,
    unseal,
)
from xapp_operator.gateway.auth.session_keys import KEY_READ_INTERVAL_SECONDS_MIN, KEY_REFRESH_SECONDS, SessionKeys
from xapp_operator.gateway.http.origins import proves_same_origin
from xapp_operator.kube.client import KubeClient

KEYS = MultiFernet([Fernet(base64.urlsafe_b64encode(bytes(range(32))))])
PATH = "/api/v1/namespaces/{namespace}/secrets"


@must_occur(longer_than_a_coincidence=15)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=TOKEN_MAX_BYTES))
def test_any_token_can_be_unsealed_and_fits_a_cookie(token: str) -> None:
    cookie = seal(token, keys=KEYS, expires=100)

    assert unseal(cookie, keys=KEYS) == (token, 100)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", cookie)
    assert len(COOKIE_NAME) + 1 + len(cookie) <= 4096
    if len(token) >= 8:
        occurred("longer_than_a_coincidence")
        assert token not in cookie


def test_the_longest_token_fits_a_cookie_however_little_it_compresses() -> None:
    visible = [chr(code) for code in range(33, 127)]
    token = "".join(secrets.choice(visible) for _ in range(TOKEN_MAX_BYTES))
    assert len(COOKIE_NAME) + 1 + len(seal(token, keys=KEYS, expires=2**40)) <= 4096


def test_only_a_sealed_cookie_can_be_unsealed() -> None:
    cookie = seal("token", keys=KEYS, expires=100)
    raw = base64.urlsafe_b64decode(cookie + "==")
    changed = [raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :] for at in range(len(raw)) for bit in (1, 128)]
    cut = [raw[:at] for at in range(len(raw))]
    texts = [base64.urlsafe_b64encode(each).decode().rstrip("=") for each in (*changed, *cut, raw + b"x")]
    for text in (*texts, "", "ä", "a b", cookie * 40, cookie + "!"):
        with pytest.raises(InvalidToken):
            unseal(text, keys=KEYS)


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


def test_the_session_cookie_is_found_among_others_and_two_of_them_are_refused() -> None:
    def headers(*values: str) -> Headers:
        return Headers(raw=[(b"cookie", each.encode()) for each in values])

    assert read_session_cookie(headers()) is None
    assert read_session_cookie(headers("a=b; c")) is None
    assert read_session_cookie(headers("a=b", f"c=d; {COOKIE_NAME}=e; f=g")) == "e"
    for twice in (headers(f"{COOKIE_NAME}=a; {COOKIE_NAME}=b"), headers(f"{COOKIE_NAME}=a", f"{COOKIE_NAME}=b")):
        with pytest.raises(SessionEnded):
            read_session_cookie(twice)


@pytest.mark.parametrize(
    ("given", "proven"),
    [
        ({}, False),
        ({"origin": "http://gateway:31315"}, True),
        ({"origin": "http://gateway"}, False),
        ({"origin": "http://gateway:30080"}, False),
        ({"origin": "null"}, False),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-site", "origin": "http://gateway:31315"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"x-requested-with": ""}, True),
    ],
    ids=str,
)
def test_same_origin_requests_pass_the_csrf_check(given: dict[str, str], proven: bool) -> None:
    assert proves_same_origin(Headers({"host": "gateway:31315", **given})) is proven


@dataclass
class FakeSecretServer:
    """Stores one Secret like an API server, and counts the requests."""

    data: dict[str, str] | None = None
    reads: int = 0
    created: int = 0
    status: int | None = None
    hold: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, _request: web.Request) -> web.Response:
        self.reads += 1
        await self.hold.wait()
        if self.status is not None:
            return self._refusal(self.status)
        return self._refusal(404) if self.data is None else self._secret(200)

    async def create(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.data is not None:
            return self._refusal(409, "AlreadyExists")
        self.data = body["data"]
        self.created += 1
        return self._secret(201)

    def _secret(self, status: int) -> web.Response:
        return web.json_response({"kind": "Secret", "data": self.data}, status=status)

    def _refusal(self, status: int, reason: str = "") -> web.Response:
        return web.json_response({"kind": "Status", "message": "no", "reason": reason, "code": status}, status=status)


class FakeClock:
    """A clock that only a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def secret_server(folder: Path) -> AsyncIterator[tuple[FakeSecretServer, KubeClient]]:
    server = FakeSecretServer()
    server.hold.set()
    app = web.Application()
    app.router.add_get(f"{PATH}/{{name}}", server.read)
    app.router.add_post(PATH, server.create)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(UNREACHABLE_KUBECONFIG.replace("127.0.0.1:1", f"127.0.0.1:{runner.addresses[0][1]}"))
    try:
        async with await KubeClient.connect(Settings(kubeconfig=str(kubeconfig))) as kube:
            yield server, kube
    finally:
        await runner.cleanup()


def later() -> int:
    return int(time.time()) + 3600


def key(name: int) -> dict[str, str]:
    return {str(name): base64.b64encode(secrets.token_bytes(32)).decode()}


async def test_replicas_that_start_together_share_one_secret(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.hold.clear()
        replicas = [SessionKeys(kube, Settings()) for _ in range(4)]
        sealing = [asyncio.create_task(each.seal("token", expires=later())) for each in replicas for _ in range(5)]
        await eventually(lambda: server.reads == len(replicas), what="each replica to ask")
        server.hold.set()
        cookies = await asyncio.gather(*sealing)

        assert server.created == 1
        assert server.reads <= 2 * len(replicas)
        for replica in replicas:
            assert [await replica.unseal(cookie) for cookie in cookies] == ["token"] * len(cookies)


async def test_a_new_key_seals_and_older_keys_still_unseal(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        clock = FakeClock()
        server.data = key(9)
        one, two = (SessionKeys(kube, Settings(), monotonic=clock) for _ in range(2))
        before = await one.seal("token", expires=later())
        await two.unseal(before)
        server.data = {**server.data, **key(10), "note": "", "11": "not base64!", "12": "c2hvcnQ="}
        clock.now += KEY_REFRESH_SECONDS
        after = await one.seal("token", expires=later())
        clock.now -= KEY_REFRESH_SECONDS - KEY_READ_INTERVAL_SECONDS_MIN

        assert await two.unseal(after) == await two.unseal(before) == "token"
        server.data.pop("9")
        clock.now += KEY_REFRESH_SECONDS
        with pytest.raises(SessionEnded):
            await two.unseal(before)


async def test_cookies_with_unknown_keys_cost_one_request_per_interval(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        clock = FakeClock()
        server.data = key(1)
        keys = SessionKeys(kube, Settings(), monotonic=clock)
        await keys.seal("token", expires=later())
        clock.now += KEY_READ_INTERVAL_SECONDS_MIN
        made_up = [seal("token", keys=MultiFernet([Fernet(Fernet.generate_key())]), expires=later()) for _ in range(50)]
        found = await asyncio.gather(*map(keys.unseal, made_up), return_exceptions=True)

        assert all(isinstance(each, SessionEnded) for each in found)
        assert server.reads == 2


async def test_an_expired_session_and_a_garbled_cookie_are_ended(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.data = key(1)
        keys = SessionKeys(kube, Settings())
        alive = await keys.seal("token", expires=later())
        over = await keys.seal("token", expires=int(time.time()))

        assert await keys.unseal(alive) == "token"
        for cookie in (over, alive[:-1], alive + "!", ""):
            with pytest.raises(SessionEnded):
                await keys.unseal(cookie)


async def test_sessions_continue_while_the_api_server_is_unavailable(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        clock = FakeClock()
        server.data = key(1)
        keys = SessionKeys(kube, Settings(), monotonic=clock)
        cookie = await keys.seal("token", expires=later())
        server.status = 503
        clock.now += 10 * KEY_REFRESH_SECONDS

        assert await keys.unseal(cookie) == "token"
        with pytest.raises(ApiUnavailable):
            await SessionKeys(kube, Settings()).unseal(cookie)


async def test_a_secret_without_keys_and_a_missing_permission_are_reported(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.data = {"note": "aGk="}
        with pytest.raises(KubeError, match="xapp-operator-system/xapp-gateway-session holds no session key"):
            await SessionKeys(kube, Settings()).seal("token", expires=later())
        for status in (401, 403):
            # A failure of the gateway's own credentials is not the caller's.
            server.status = status
            with pytest.raises(KubeError, match="the gateway may not get or create the Secret") as raised:
                await SessionKeys(kube, Settings()).seal("token", expires=later())
            assert raised.value.status == 502
