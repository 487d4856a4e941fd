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
from xapp_operator.gateway.catalog.store_history import HISTORY_BYTES_MAX
from xapp_operator.gateway.state import Gateway

COUNT = 60
PHASES = ("Failed", "Degraded", "Pending")


def put(gateway: Gateway, at: int, *, phase: str = "Deployed", revisions: int = 1) -> None:
    status = ready_status(phase=phase)
    # These are in no list, but in the memory of the gateway.
    status["history"] = [{"revision": 1, "status": "deployed", "action": "Install"}] * revisions
    gateway.store.put(build_xapp_entry(raw_xapp(f"x-{at:03}", namespace=f"ns-{at % 3}", status=status)))


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
                put(gateway, at, phase=PHASES[(at + step) % len(PHASES)])
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


def test_too_many_changes_in_a_namespace_end_its_walks_and_no_others(filled: GatewayServer, http: httpx.Client) -> None:
    calm_before = http.get("/api/xapps?namespace=ns-1&sort=name&per_page=100").json()["content"]
    large = range(0, COUNT, 3)  # of ns-0

    def change(gateway: Gateway, phase: str) -> int:
        for at in large:
            put(gateway, at, phase=phase, revisions=10_000)
        return gateway.store._history.kept_bytes

    filled.run_in_loop(lambda gateway: change(gateway, "Failed"))
    wild = http.get("/api/xapps?namespace=ns-0&sort=name&per_page=5&snapshot=new")
    calm = http.get("/api/xapps?namespace=ns-1&sort=name&per_page=5&snapshot=new")
    filled.run_in_loop(lambda gateway: put(gateway, 1, phase="Failed"))
    kept = filled.run_in_loop(lambda gateway: change(gateway, "Degraded"))

    assert kept <= HISTORY_BYTES_MAX
    assert http.get(next_page(wild) or "").status_code == 410
    seen = calm.json()["content"]
    while (following := next_page(calm)) is not None:
        calm = http.get(following)
        seen += calm.json()["content"]
    assert seen == calm_before


def test_the_walk_that_is_used_is_kept_while_a_caller_begins_more_and_entries_change(
    filled: GatewayServer, http: httpx.Client
) -> None:
    most = 3
    # Callers who cannot be told apart have all places.
    filled.run_in_loop(lambda gateway: setattr(gateway.snapshots, "_per_caller", most))
    path = "/api/xapps?sort=name"
    before = http.get(f"{path}&per_page=100").json()["content"]
    used, unused = (http.get(f"{path}&per_page=5&snapshot=new") for _ in range(2))
    for at in range(2 * most):
        filled.run_in_loop(lambda gateway, at=at: put(gateway, at, phase="Failed"))  # type: ignore[misc]
        assert http.get(used.links["last"]["url"]).json()["content"] == before[-5:]
        http.get(f"{path}&per_page=5&snapshot=new")

    assert http.get(next_page(unused) or "").status_code == 410
    assert filled.run_in_loop(lambda gateway: len(gateway.snapshots)) == most
    assert http.get(next_page(used) or "").json()["content"] == before[5:10]


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
