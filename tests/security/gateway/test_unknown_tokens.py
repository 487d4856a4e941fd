"""Clients that make up tokens: each token costs the API server an authentication, so the gateway asks it rarely."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support.gateway import GatewayServer
from tests.support.stand_in_api import StandInApi, serve_api, serve_authenticating_gateway
from xapp_operator.gateway.auth import identities
from xapp_operator.gateway.routes import session

LIMIT = 20


@pytest.fixture
def api() -> Iterator[StandInApi]:
    with serve_api() as one:
        yield one


@pytest.fixture
def gateway(api: StandInApi, tmp_path: Path) -> Iterator[GatewayServer]:
    with serve_authenticating_gateway(
        api, tmp_path, unknown_tokens_per_address=LIMIT, trusted_proxies=("127.0.0.2/32",)
    ) as one:
        yield one


def get(http: httpx.Client, token: str, path: str = "/api/xapps", **headers: str) -> httpx.Response:
    return http.get(path, headers={"Authorization": f"Bearer {token}", **headers})


def test_an_unknown_token_is_checked_once_in_some_seconds(gateway: GatewayServer, api: StandInApi) -> None:
    with gateway.client() as http:
        answers = [get(http, "made-up", path) for path in ("/api/xapps", "/api/session", "/api/stream") * 10]
        signing_in = http.post("/api/session", json={"token": "made-up"})

    assert {answer.status_code for answer in [*answers, signing_in]} == {401}
    assert (api.requests["users"], api.requests["access"]) == (1, 0)


def test_one_address_can_try_few_tokens_and_other_users_of_it_can_still_sign_in(
    gateway: GatewayServer, api: StandInApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_SECONDS", 0.01)
    monkeypatch.setattr(identities, "LATE_CHECKS_WAITING_MAX", 4)
    with gateway.client() as http, ThreadPoolExecutor(16) as threads:
        assert get(http, "jane:1").status_code == 200
        flood = Counter(
            answer.status_code for answer in threads.map(lambda number: get(http, f"made-up-{number}"), range(200))
        )
        known = get(http, "jane:1")
        new = get(http, "joe:1")
        signing_in = http.post("/api/session", json={"token": "jim:1"})

    assert flood.keys() == {401, 429}
    assert api.requests["unknown tokens"] == flood[401] >= LIMIT
    assert (known.status_code, new.status_code, signing_in.status_code) == (200, 200, 201)


def test_tokens_over_the_limit_are_checked_one_after_another(
    gateway: GatewayServer, api: StandInApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_SECONDS", 600.0)
    monkeypatch.setattr(identities, "LATE_CHECK_WAIT_SECONDS_MAX", 0.3)
    with gateway.client() as http, ThreadPoolExecutor(8) as threads:
        assert get(http, "jane:1").status_code == 200
        for number in range(LIMIT):
            assert get(http, f"made-up-{number}").status_code == 401
        late = list(threads.map(lambda number: get(http, f"late-{number}"), range(16)))
        known = get(http, "jane:1")

    assert api.requests["unknown tokens"] == LIMIT
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in late} == {(429, "1")}
    assert "XAPP_UNKNOWN_TOKENS_PER_ADDRESS" in late[0].json()["detail"]
    assert known.status_code == 200


def test_clients_behind_a_trusted_proxy_are_told_apart(
    gateway: GatewayServer, api: StandInApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "LATE_CHECK_WAIT_SECONDS_MAX", 0.0)
    transport = httpx.HTTPTransport(local_address="127.0.0.2")
    with gateway.client(transport=transport) as proxy, gateway.client() as direct:
        for number in range(LIMIT):
            get(proxy, f"made-up-{number}", **{"X-Forwarded-For": "198.51.100.7"})
        flooding = get(proxy, "joe:1", **{"X-Forwarded-For": "192.0.2.1, 198.51.100.7"})
        for number in range(LIMIT):
            get(proxy, f"made-up-six-{number}", **{"X-Forwarded-For": f"2001:db8::{number:x}"})
        same_network = get(proxy, "jim:1", **{"X-Forwarded-For": "2001:db8::ffff"})
        another = get(proxy, "joe:1", **{"X-Forwarded-For": "198.51.100.7, 198.51.100.8"})
        forged = [get(direct, f"forged-{n}", **{"X-Forwarded-For": f"203.0.113.{n}"}) for n in range(LIMIT + 1)]

    assert (flooding.status_code, same_network.status_code, another.status_code) == (429, 429, 200)
    assert [answer.status_code for answer in forged] == [401] * LIMIT + [429]


def half_sent_sign_in(gateway: GatewayServer, stack: ExitStack) -> socket.socket:
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", gateway.port), timeout=60))
    connection.sendall(b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    return connection


def test_half_sent_sign_ins_let_other_users_of_the_address_sign_in(gateway: GatewayServer) -> None:
    with ExitStack() as stack, gateway.client() as http:
        for _ in range(100):
            half_sent_sign_in(gateway, stack)
        assert http.post("/api/session", json={"token": "jane:1"}).status_code == 201


def test_a_half_sent_sign_in_ends(gateway: GatewayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "BODY_SECONDS", 0.2)
    with ExitStack() as stack:
        answer = half_sent_sign_in(gateway, stack).recv(65536)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"within 0.2 seconds" in answer
