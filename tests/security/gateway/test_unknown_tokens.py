"""Clients that make up tokens: each token costs the API server an authentication, so the gateway asks it rarely."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.gateway import GatewayServer
from tests.support.stand_in_api import StandInApi, serve_api, serve_authenticating_gateway

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


def test_one_address_can_try_few_tokens_and_known_tokens_still_work(gateway: GatewayServer, api: StandInApi) -> None:
    with gateway.client() as http, ThreadPoolExecutor(8) as threads:
        assert get(http, "jane:1").status_code == 200
        flood = list(threads.map(lambda number: get(http, f"made-up-{number}"), range(10 * LIMIT)))
        known = get(http, "jane:1")
        new = get(http, "joe:1")
        signing_in = http.post("/api/session", json={"token": "another"})

    assert [answer.status_code for answer in flood].count(401) == LIMIT
    assert {answer.status_code for answer in flood} == {401, 429}
    assert api.requests["unknown tokens"] == LIMIT
    assert known.status_code == 200
    assert (new.status_code, new.headers["retry-after"]) == (429, "1")
    assert "XAPP_UNKNOWN_TOKENS_PER_ADDRESS" in new.json()["detail"]
    assert signing_in.status_code == 429


def test_clients_behind_a_trusted_proxy_are_told_apart(gateway: GatewayServer, api: StandInApi) -> None:
    transport = httpx.HTTPTransport(local_address="127.0.0.2")
    with gateway.client(transport=transport) as proxy, gateway.client() as direct:
        for number in range(LIMIT):
            get(proxy, f"made-up-{number}", **{"X-Forwarded-For": "198.51.100.7"})
        flooding = get(proxy, "joe:1", **{"X-Forwarded-For": "192.0.2.1, 198.51.100.7"})
        another = get(proxy, "joe:1", **{"X-Forwarded-For": "198.51.100.7, 198.51.100.8"})
        forged = [get(direct, f"forged-{n}", **{"X-Forwarded-For": f"203.0.113.{n}"}) for n in range(LIMIT + 1)]

    assert (flooding.status_code, another.status_code) == (429, 200)
    assert [answer.status_code for answer in forged] == [401] * LIMIT + [429]
