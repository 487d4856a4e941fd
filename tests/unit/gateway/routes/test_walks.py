"""Walks through lists that change meanwhile, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.openapi_contract import OpenApiContract
from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.state import Gateway

COUNT = 60


def put(gateway: Gateway, at: int, *, phase: str = "Deployed") -> None:
    xapp = raw_xapp(f"x-{at:03}", namespace=f"ns-{at % 3}", status=ready_status(phase=phase))
    gateway.store.put(build_xapp_entry(xapp))


def fill(gateway: Gateway) -> None:
    for at in range(COUNT):
        put(gateway, at)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[GatewayServer]:
    settings, opened = offline_gateway(tmp_path)
    with serve_gateway(settings, opened) as one:
        one.run_in_loop(fill)
        yield one


@pytest.fixture
def http(filled: GatewayServer) -> Iterator[httpx.Client]:
    contract = OpenApiContract.from_gateway(filled)
    with filled.client(event_hooks={"response": [contract.check_response]}) as client:
        yield client


def next_page(answer: httpx.Response) -> str | None:
    following = answer.links.get("next")
    return None if following is None else following["url"]


@pytest.mark.parametrize("query", ["sort=name", "sort=phase&order=desc", "namespace=ns-0&namespace=ns-1&search=x-"])
def test_pages_of_a_walk_are_of_one_instant(filled: GatewayServer, http: httpx.Client, query: str) -> None:
    before = http.get(f"/api/xapps?{query}&per_page=100").json()["content"]
    answer = http.get(f"/api/xapps?{query}&per_page=7&snapshot=new")
    token, seen, totals = answer.headers["snapshot"], list[dict[str, Any]](), set[tuple[int, int]]()

    def churn(gateway: Gateway) -> None:
        step = len(seen)
        for at in range(COUNT):
            if (at + step) % 4 == 0:
                gateway.store.remove(f"ns-{at % 3}", f"x-{at:03}")
            else:
                put(gateway, at, phase=("Failed", "Degraded", "Pending")[(at + step) % 3])
        put(gateway, 500 + step)

    while True:
        assert answer.headers["snapshot"] == token
        body = answer.json()
        totals.add((body["total_count"], body["last_page"]))
        seen += body["content"]
        filled.run_in_loop(churn)
        following = next_page(answer)
        if following is None:
            break
        assert f"snapshot={token}" in following
        assert "snapshot=new" not in following
        answer = http.get(following)

    assert seen == before
    assert len(totals) == 1
    assert http.get(f"/api/xapps?{query}&per_page=100").json()["content"] != before
    again = http.get(f"/api/xapps?{query}&per_page=50&page=1&snapshot={token}&pretty=true")
    assert again.json()["content"] == before[:50]
    assert again.headers["etag"]


def test_a_snapshot_of_another_list_filter_or_order_is_400(http: httpx.Client) -> None:
    token = http.get("/api/xapps?sort=name&snapshot=new").headers["snapshot"]

    assert http.get(f"/api/xapps?sort=name&order=asc&page=2&per_page=5&snapshot={token}").status_code == 200
    for path in (
        "/api/xapps?",
        "/api/xapps?sort=phase",
        "/api/xapps?sort=name&order=desc",
        "/api/xapps?sort=name&search=x",
        "/api/xapps?sort=name&namespace=ns-1",
        "/api/repositories?sort=name",
        "/api/discovery/services?",
        "/api/xapps/ns-0/x-000/history?",
    ):
        answer = http.get(f"{path}&snapshot={token}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "snapshot"), path
    assert http.get("/api/xapps?snapshot=new&page=2").json()["errors"][0]["field"] == "snapshot"
    assert http.get(f"/api/xapps?sort=name&page=7&snapshot={token}").json()["errors"][0]["field"] == "page"


def test_an_unknown_snapshot_is_410_and_says_what_to_do(http: httpx.Client) -> None:
    answer = http.get("/api/xapps?snapshot=unknown")

    assert (answer.status_code, answer.json()["type"]) == (410, "urn:xapp-operator:problem:snapshot-expired")
    assert "snapshot=new" in answer.json()["detail"]


def test_without_a_snapshot_pages_are_live_and_nothing_is_kept(filled: GatewayServer, http: httpx.Client) -> None:
    answer = http.get("/api/xapps?snapshot=&per_page=5")
    assert "snapshot" not in answer.headers
    filled.run_in_loop(lambda gateway: put(gateway, 900))
    assert http.get(next_page(answer) or "").json()["total_count"] == COUNT + 1
    assert filled.run_in_loop(lambda gateway: (len(gateway.snapshots), gateway.store._history.kept_bytes)) == (0, 0)


@pytest.mark.parametrize(
    "path",
    ["/api/repositories", "/api/charts", "/api/discovery/services", "/api/xapps/ns-0/x-000/history"],
)
def test_every_list_from_memory_can_be_walked(http: httpx.Client, path: str) -> None:
    token = http.get(f"{path}?snapshot=new").headers["snapshot"]

    answer = http.get(f"{path}?snapshot={token}")
    assert (answer.status_code, answer.headers["snapshot"]) == (200, token)


def test_a_list_without_pages_has_no_walks(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    settings = settings.model_copy(update={"unpaginated_lists": ("xapps",)})
    with serve_gateway(settings, opened) as one, one.client() as http:
        assert http.get("/api/xapps?snapshot=new").status_code == 400
