"""Threat: another server of the same host plants session cookies, or somebody makes them up to hold requests."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from starlette.requests import Request

from tests.unit.gateway.auth.secret_server import FakeClock, FakeSecretServer, make_key, secret_server
from xapp_operator.config.settings import Settings
from xapp_operator.errors import SessionEnded
from xapp_operator.gateway.auth import session_secret, sessions
from xapp_operator.gateway.auth.callers import Authenticator
from xapp_operator.gateway.auth.session_cookies import COOKIE_NAME, seal
from xapp_operator.gateway.auth.sessions import NewSession, Sessions
from xapp_operator.gateway.http.responses.problems import UNAUTHENTICATED_HEADERS
from xapp_operator.kube.client import KubeClient

PLANTED = 20


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (session_secret, sessions):
        monkeypatch.setattr(module, "STATE_SECONDS", 0.01)


@dataclass(frozen=True, slots=True)
class Victim:
    """A user's session, and cookies that name keys which no replica has yet."""

    server: FakeSecretServer
    kube: KubeClient
    replica: Sessions
    session: NewSession
    planted: list[str]


@asynccontextmanager
async def signed_in_victim(folder: Path) -> AsyncIterator[Victim]:
    async with secret_server(folder) as (server, kube):
        server.data = make_key(int(time.time()))
        replica = Sessions(kube, Settings(), monotonic=FakeClock())
        new = await replica.begin("token", user="jane")
        opened = await replica.open(new.cookie, proof=new.proof)
        planted = [
            seal(replace(opened, key_name=opened.key_name + 9 + at), key=Fernet(Fernet.generate_key()))
            for at in range(PLANTED)
        ]
        yield Victim(server, kube, replica, new, planted)


async def load_session(kube: KubeClient, cookies: Sequence[str], *, proof: str = "") -> Request:
    """Return a request with these cookies after its session has been looked for."""
    headers = [(b"cookie", f"{COOKIE_NAME}={each}".encode()) for each in cookies]
    request = Request(
        {
            "type": "http",
            "method": "GET",
            "path": "/",
            "scheme": "http",
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 1),
            "headers": [*headers, (b"host", b"127.0.0.1"), (b"x-session-proof", proof.encode())],
        }
    )
    await Authenticator(Settings(), kube).load_session(request)
    return request


async def test_the_session_of_the_user_needs_no_read_for_planted_cookies(tmp_path: Path) -> None:
    async with signed_in_victim(tmp_path) as victim:
        reads = victim.server.reads
        found = await victim.replica.open_any([*victim.planted, victim.session.cookie], proof=victim.session.proof)

        assert (found.token, victim.server.reads) == ("token", reads)


async def test_made_up_cookies_of_one_request_wait_and_read_once(tmp_path: Path) -> None:
    async with signed_in_victim(tmp_path) as victim:
        reads = victim.server.reads
        with pytest.raises(SessionEnded):
            await victim.replica.open_any(victim.planted, proof="")

        assert victim.server.reads == reads + 1


async def test_a_session_with_a_key_that_another_replica_added_is_found_among_planted_cookies(tmp_path: Path) -> None:
    async with signed_in_victim(tmp_path) as victim:
        assert victim.server.data is not None
        victim.server.data |= make_key(int(time.time()) + 1)
        new = await Sessions(victim.kube, Settings()).begin("newer", user="jane")

        assert (await victim.replica.open_any([*victim.planted, new.cookie], proof=new.proof)).token == "newer"


async def test_planted_cookies_do_not_clear_the_cookie_of_the_user(tmp_path: Path) -> None:
    async with signed_in_victim(tmp_path) as victim:
        several = await load_session(victim.kube, victim.planted)
        alone = await load_session(victim.kube, victim.planted[:1])
        among = await load_session(victim.kube, [*victim.planted, victim.session.cookie], proof=victim.session.proof)

        assert UNAUTHENTICATED_HEADERS not in several.scope
        assert UNAUTHENTICATED_HEADERS in alone.scope
        assert Authenticator(Settings(), victim.kube).get_session(among) is not None
