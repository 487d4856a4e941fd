"""Charts and versions of saved repositories over real HTTP, from repositories on loopback, without an API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.openapi_contract import OpenApiContract
from tests.unit.charts.http_site import Reply, WebServer
from tests.unit.charts.sources.test_oci_registry import Registry
from xapp_operator.api.json import JsonObject
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.repository_store import (
    REPOSITORY_SORTS,
    RepositoryEntry,
    RepositoryFilters,
    build_repository_entry,
)

PATH = "/api/repositories/ric/acme"
DIGEST = "a" * 64


def raw_repository(name: str = "acme", url: str = "https://charts.example.com", **changes: JsonObject) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "namespace": "ric",
        "uid": f"uid-of-{name}",
        "generation": 2,
        "resourceVersion": "1",
        "creationTimestamp": "2026-11-20T08:00:00Z",
    }
    spec: JsonObject = {"url": url}
    return {
        "metadata": {**metadata, **changes.get("metadata", {})},
        "spec": {**spec, **changes.get("spec", {})},
        "status": changes.get("status", {}),
    }


@pytest.fixture(scope="module")
def browsing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """A gateway that may connect to loopback."""
    with asking(tmp_path_factory.mktemp("browsing"), seconds=60.0) as one:
        yield one


@contextmanager
def asking(folder: Path, *, seconds: float) -> Iterator[GatewayServer]:
    """Serve a gateway that may connect to loopback, with a timeout for repositories in seconds."""
    settings, opened = offline_gateway(folder)
    changes = {"allow_loopback_repositories": True, "fetch_timeout_seconds": seconds}
    with serve_gateway(settings.model_copy(update=changes), opened) as one:
        yield one


class Shelf:
    """One saved repository at a time, and a client whose responses are checked against the OpenAPI document."""

    def __init__(self, gateway: GatewayServer, http: httpx.Client) -> None:
        self._gateway = gateway
        self._http = http

    def save(self, url: str) -> None:
        saved = build_repository_entry(raw_repository(url=url))
        self._gateway.run_in_loop(lambda gateway: gateway.repositories.store.put(saved))

    async def get(self, path: str, **query: object) -> httpx.Response:
        return await asyncio.to_thread(self._http.get, f"{PATH}{path}", params=query)  # type: ignore[arg-type]

    async def content(self, path: str, **query: object) -> list[dict[str, Any]]:
        answer = await self.get(path, **query)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["content"]
        return found


@pytest.fixture
def shelf(browsing: GatewayServer) -> Iterator[Shelf]:
    with browsing.client(event_hooks={"response": [OpenApiContract.from_gateway(browsing).check_response]}) as http:
        yield Shelf(browsing, http)


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with WebServer() as one:
        yield one


def index(**charts: list[dict[str, str]]) -> Reply:
    entries = {name: [{"urls": ["a.tgz"], **each} for each in versions] for name, versions in charts.items()}
    return Reply(json.dumps({"apiVersion": "v1", "entries": entries}).encode())


async def test_charts_are_sorted_by_name_and_described_by_their_newest_release(shelf: Shelf, site: WebServer) -> None:
    site.routes["/index.yaml"] = index(
        zebra=[{"version": "1.0.0"}],
        hello=[
            {"version": "0.9.0", "description": "old"},
            {"version": "0.10.0", "description": "Says hello", "appVersion": "7", "icon": "https://example.com/i.png"},
            {"version": "1.0.0-rc.1", "description": "soon"},
        ],
        empty=[],
    )
    shelf.save(str(site.url("")))
    assert await shelf.content("/charts") == [
        {
            "name": "hello",
            "description": "Says hello",
            "versions": 3,
            "latest": "0.10.0",
            "appVersion": "7",
            "icon": "https://example.com/i.png",
        },
        {"name": "zebra", "description": None, "versions": 1, "latest": "1.0.0", "appVersion": None, "icon": None},
    ]
    assert [each["name"] for each in await shelf.content("/charts", search="SAYS")] == ["hello"]
    page = (await shelf.get("/charts", per_page=1, page=2)).json()
    assert ([each["name"] for each in page["content"]], page["total_count"], page["last_page"]) == (["zebra"], 2, 2)
    assert (await shelf.get("/charts", per_page=1, page=3)).status_code == 400
    assert site.count("/index.yaml") == 1


async def test_versions_are_listed_newest_first(shelf: Shelf, site: WebServer) -> None:
    site.routes["/index.yaml"] = index(
        hello=[
            {"version": "0.9.0", "created": "2026-01-02T03:04:05.123456789Z", "digest": DIGEST, "appVersion": "1"},
            {"version": "0.10.0", "created": "yesterday", "digest": "md5:1", "description": "x" * 5000},
            {"version": "0.10.0-rc.1"},
        ]
    )
    shelf.save(str(site.url("")))
    found = await shelf.content("/charts/hello/versions")
    assert [each["version"] for each in found] == ["0.10.0", "0.10.0-rc.1", "0.9.0"]
    assert found[2] == {
        "version": "0.9.0",
        "appVersion": "1",
        "created": "2026-01-02T03:04:05.123456789Z",
        "digest": f"sha256:{DIGEST}",
        "description": None,
    }
    assert (found[0]["created"], found[0]["digest"], len(found[0]["description"])) == (None, None, 1024)
    assert (await shelf.get("/charts/hello/versions", sort="name")).status_code == 400
    answer = await shelf.get("/charts/nothing/versions")
    assert answer.status_code == 404
    assert 'has no chart "nothing"' in answer.json()["detail"]


@pytest.mark.parametrize("count", [3, 1500])
async def test_a_search_finds_versions_of_every_age(shelf: Shelf, site: WebServer, count: int) -> None:
    many = [{"version": f"2.0.{at}"} for at in range(count)]
    site.routes["/index.yaml"] = index(
        hello=[{"version": "1.0.0-RC.1", "appVersion": "Kyiv"}, {"version": "1.0.0", "appVersion": "7"}, *many]
    )
    shelf.save(str(site.url("")))

    async def found(**query: object) -> list[str]:
        return [each["version"] for each in await shelf.content("/charts/hello/versions", **query)]

    assert await found(search="rc.1") == await found(search="KYIV") == ["1.0.0-RC.1"]
    assert await found(search="1.0.0") == ["1.0.0", "1.0.0-RC.1"]
    assert await found(search=["kyiv", f"2.0.{count - 1}"]) == [f"2.0.{count - 1}", "1.0.0-RC.1"]
    page = (await shelf.get("/charts/hello/versions", search="2.0.", per_page=1, page=2)).json()
    assert (page["total_count"], page["content"][0]["version"]) == (count, f"2.0.{count - 2}")
    assert await found(search="none") == []


@pytest.mark.parametrize("icon", ["javascript:alert(1)", "data:image/svg+xml,<svg/>", "//example.com", "http://a b"])
async def test_an_icon_that_is_no_http_url_is_left_out(shelf: Shelf, site: WebServer, icon: str) -> None:
    site.routes["/index.yaml"] = index(hello=[{"version": "1.0.0", "icon": icon}])
    shelf.save(str(site.url("")))
    assert (await shelf.content("/charts"))[0]["icon"] is None


async def test_a_search_covers_many_charts(shelf: Shelf, site: WebServer) -> None:
    site.routes["/index.yaml"] = index(**{f"chart-{at:04}": [{"version": "1.0.0"}] for at in range(1500)})
    shelf.save(str(site.url("")))
    assert [each["name"] for each in await shelf.content("/charts", search="T-149")] == [
        f"chart-{at}" for at in range(1490, 1500)
    ]


async def test_a_registry_lists_versions_but_no_charts(shelf: Shelf) -> None:
    async with Registry() as registry:
        for version in ("0.9.0", "0.10.0"):
            registry.push("team/hello", version)
        shelf.save(f"oci://127.0.0.1:{registry.url().port}/team")
        charts = await shelf.get("/charts")
        assert charts.status_code == 404
        assert "registry" in charts.json()["detail"]
        nothing = {"appVersion": None, "created": None, "digest": None, "description": None}
        assert await shelf.content("/charts/hello/versions") == [
            {"version": "0.10.0", **nothing},
            {"version": "0.9.0", **nothing},
        ]
        for name in ("other", "No-Name"):
            assert (await shelf.get(f"/charts/{name}/versions")).status_code == 404


@pytest.mark.parametrize(
    ("reply", "expected_detail"),
    [
        (Reply(status=500), "it is unavailable now"),
        (Reply(status=401), "access is denied"),
        (Reply(status=404), "this is not the URL of a chart repository"),
        (Reply(b"{"), "it is not YAML"),
    ],
)
@pytest.mark.parametrize("path", ["/charts", "/charts/hello/versions"])
async def test_a_failure_of_the_repository_is_502_with_its_cause(
    shelf: Shelf, site: WebServer, reply: Reply, expected_detail: str, path: str
) -> None:
    site.routes["/index.yaml"] = reply
    shelf.save(f"{site.url('')}?key=hunter2")
    answer = await shelf.get(path)
    assert answer.status_code == 502
    assert expected_detail in answer.json()["detail"]
    assert "hunter2" not in answer.text


async def test_an_unreachable_repository_is_502(shelf: Shelf, site: WebServer) -> None:
    shelf.save(str(site.url("")))
    await site.__aexit__(None, None, None)
    answer = await shelf.get("/charts")
    assert answer.status_code == 502
    assert "no connection (" in answer.json()["detail"]


async def test_a_repository_that_is_too_slow_is_504(site: WebServer, tmp_path: Path) -> None:
    over = asyncio.Event()

    async def never(_request: web.Request) -> web.StreamResponse:
        await over.wait()
        return web.Response()

    site.routes["/index.yaml"] = never
    with (
        asking(tmp_path, seconds=0.5) as impatient,
        impatient.client(event_hooks={"response": [OpenApiContract.from_gateway(impatient).check_response]}) as http,
    ):
        shelf = Shelf(impatient, http)
        shelf.save(str(site.url("")))
        answer = await shelf.get("/charts")
        over.set()
    assert answer.status_code == 504
    assert "took longer than 0.5 s" in answer.json()["detail"]


def test_a_refused_repository_address_is_422(gateway: GatewayServer) -> None:
    saved = build_repository_entry(raw_repository(url="http://169.254.169.254/latest"))
    gateway.run_in_loop(lambda one: one.repositories.store.put(saved))
    with gateway.client(event_hooks={"response": [OpenApiContract.from_gateway(gateway).check_response]}) as http:
        answer = http.get(f"{PATH}/charts")
        assert answer.status_code == 422
        assert "metadata address" in answer.json()["detail"]
        for path in ("", "/charts", "/charts/a/versions"):
            assert http.get(f"/api/repositories/ric/other{path}").status_code == 404


def test_a_status_of_an_older_generation_is_not_shown() -> None:
    condition: JsonObject = {"type": "Ready", "status": "True", "message": "the index lists 3 charts"}

    def record(observed: int, **metadata: str) -> dict[str, Any]:
        status: JsonObject = {"observedGeneration": observed, "charts": 3, "conditions": [condition]}
        found: dict[str, Any] = json.loads(
            build_repository_entry(raw_repository(status=status, metadata={**metadata})).record_json
        )
        return found

    assert (record(2)["ready"], record(2)["message"]) == (True, "the index lists 3 charts")
    assert (record(1)["ready"], record(1)["message"], record(1)["charts"]) == (False, None, 3)
    assert record(2, deletionTimestamp="2026-11-20T08:00:00Z")["ready"] is False


class TestStore:
    """The store stays sorted while repositories are added, changed and deleted."""

    def names(
        self,
        store: ObjectStore[RepositoryEntry],
        *,
        sort: str = "name",
        descending: bool = False,
        within: frozenset[str] | None = None,
        **filters: str,
    ) -> str:
        values = {name: (value,) for name, value in filters.items()}
        view = store.select(RepositoryFilters(**values), sort=sort, descending=descending, within=within)
        return "".join(json.loads(entry.record_json)["name"] for entry in view[:])

    def filled(self) -> ObjectStore[RepositoryEntry]:
        store: ObjectStore[RepositoryEntry] = ObjectStore(sorts=REPOSITORY_SORTS)
        for at, name in enumerate("cab"):
            metadata: JsonObject = {"namespace": f"ns-{at}", "creationTimestamp": f"2026-11-20T08:00:0{at}Z"}
            store.put(build_repository_entry(raw_repository(name, metadata=metadata)))
        return store

    def test_repositories_can_be_listed_in_every_order(self) -> None:
        store = self.filled()
        assert REPOSITORY_SORTS == ("created", "name")
        assert [self.names(store), self.names(store, sort="created")] == ["abc", "cab"]
        assert self.names(store, descending=True) == "cba"

    def test_repositories_that_a_caller_may_not_list_are_left_out(self) -> None:
        store = self.filled()
        assert store.namespaces == {"ns-0", "ns-1", "ns-2"}
        assert self.names(store, within=frozenset({"ns-0", "ns-2", "other"})) == "bc"
        assert self.names(store, within=frozenset()) == ""
        assert self.names(store, namespace="ns-1") == "a"

    def test_a_change_is_seen_in_cached_views(self) -> None:
        store = self.filled()
        assert self.names(store, search="EXAMPLE") == "abc"
        store.put(build_repository_entry(raw_repository("a", url="https://other.org", metadata={"namespace": "ns-1"})))
        store.remove("ns-0", "c")
        store.remove("ns-0", "c")
        assert self.names(store, search="EXAMPLE") == "b"
        assert self.names(store) == "ab"
        assert store.namespaces == {"ns-1", "ns-2"}

    def test_the_set_of_namespaces_is_reused_while_none_is_added_or_removed(self) -> None:
        store = self.filled()
        namespaces = store.namespaces
        store.put(build_repository_entry(raw_repository("a", url="https://other.org", metadata={"namespace": "ns-1"})))
        assert store.namespaces is namespaces

    def test_an_equal_object_is_no_change(self) -> None:
        store = self.filled()
        before, namespaces = store.version, store.namespaces
        store.put(
            build_repository_entry(
                raw_repository("a", metadata={"namespace": "ns-1", "creationTimestamp": "2026-11-20T08:00:01Z"})
            )
        )
        assert store.version == before
        assert store.namespaces is namespaces
