"""Lists of a real cluster: all pages, changes in time, and an API server that is away."""

from __future__ import annotations

import gc
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.gateway_client import GatewayClient, ready_status
from tests.localcluster import LocalCluster
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import install_crds
from tests.support.apiserver import NAMESPACES, XAPPS, ApiServer, JsonObject
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.openapi_contract import OpenApiContract
from tests.support.xapp_manifest import xapp_manifest

pytestmark = pytest.mark.integration

COUNT: Final = 250
PER_PAGE: Final = 7
VISIBLE_SECONDS: Final = 10.0
"""The design promises 2 s; the rest is for a busy machine."""
SORTS: Final = ("created", "name", "namespace", "owner", "version", "phase", "health", "updated")
SORTED_BY: Final = {"created": "createdAt", "updated": "updatedAt"}


@pytest.fixture(scope="module")
def services(gateway: GatewayServer, api: ApiServer) -> Iterator[GatewayClient]:
    """COUNT XApps in a namespace, a third of them with a status, all of them in the gateway's cache."""
    namespace = f"crowd-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": namespace}})

    def make(at: int) -> None:
        name = f"hello-{at}"
        spec = {"organization": f"{namespace}-{at % 5}", "version": f"0.{at % 12}.{at % 3}"}
        api.create(XAPPS.format(namespace), xapp_manifest(name, namespace=namespace, **spec))
        if at % 3 == 0:
            api.patch(f"{XAPPS.format(namespace)}/{name}/status", {"status": ready_status()})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(COUNT)))
    with gateway.client(event_hooks={"response": [OpenApiContract.from_gateway(gateway).check_response]}) as http:
        query = {"namespace": namespace, "health": "Healthy"}
        wait_until(
            lambda: http.get("/api/xapps", params=query).json()["total_count"] == -(-COUNT // 3),
            timeout=60,
            what="the crowd to be seen",
        )
        yield GatewayClient(http=http, api=api, namespace=namespace, uploads=gateway.gateway.upload_folder)
    api.delete(XAPPS.format(namespace))
    api.delete(f"{NAMESPACES}/{namespace}")


def walk_pages(services: GatewayClient, **query: Any) -> list[JsonObject]:
    """Return the records of all pages, found by following the links."""
    found: list[JsonObject] = []
    answer = services.http.get("/api/xapps", params={"per_page": PER_PAGE, **query})
    while True:
        page = answer.json()
        assert page["page"] == len(found) // PER_PAGE + 1
        assert page["last_page"] == -(-page["total_count"] // PER_PAGE)
        assert page["is_last_page"] == (page["page"] == page["last_page"])
        found += page["content"]
        following = answer.links.get("next")
        assert (following is None) == page["is_last_page"]
        if following is None:
            assert len(found) == page["total_count"]
            return found
        answer = services.http.get(following["url"])


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", SORTS)
def test_all_pages_contain_every_xapp_exactly_once_and_in_order(services: GatewayClient, sort: str, order: str) -> None:
    found = walk_pages(services, namespace=services.namespace, sort=sort, order=order)
    assert sorted(each["name"] for each in found) == sorted(f"hello-{at}" for at in range(COUNT))
    pairs = pairwise(found) if order == "asc" else pairwise(reversed(found))
    assert all(key(before, sort) < key(after, sort) for before, after in pairs)


def test_all_pages_over_all_namespaces_contain_every_xapp(services: GatewayClient) -> None:
    for search in ("hello-", "HELLO-"):
        found = walk_pages(services, search=search, organization=f"{services.namespace}-3")
        assert sorted(each["name"] for each in found) == sorted(f"hello-{at}" for at in range(3, COUNT, 5))


def test_a_walk_sees_every_xapp_once_while_all_of_them_change(services: GatewayClient) -> None:
    """Changes reach the gateway at any time; what it shows stays what it was."""
    query = {"namespace": services.namespace, "sort": "updated", "order": "desc"}
    before = walk_pages(services, **query)
    with ThreadPoolExecutor(4) as pool:
        paths = [f"{XAPPS.format(services.namespace)}/hello-{at}" for at in range(0, COUNT, 5)]
        changes = [pool.submit(services.api.patch, path, {"spec": {"owner": "joe"}}) for path in paths]
        try:
            found = walk_pages(services, **query, snapshot="new")
        finally:
            for change in changes:
                change.result()
            for path in paths:
                services.api.patch(path, {"spec": {"owner": "jane"}})
    restored = {"namespace": services.namespace, "owner": "jane"}
    wait_until(
        lambda: services.http.get("/api/xapps", params=restored).json()["total_count"] == COUNT,
        timeout=60,
        what="the owners of before",
    )
    assert sorted(each["name"] for each in found) == sorted(each["name"] for each in before)


def test_the_names_of_namespaces_can_be_walked(services: GatewayClient) -> None:
    first = services.http.get("/api/namespaces", params={"per_page": 1, "snapshot": "new"})
    later = services.http.get(first.links["next"]["url"])

    assert later.headers["snapshot"] == first.headers["snapshot"]
    assert later.json()["total_count"] == first.json()["total_count"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"phase": "Deployed"}, 84),
        ({"health": "Unknown"}, 166),
        ({"owner": "jane", "team": "ran"}, 250),
        ({"team": "x"}, 0),
    ],
)
def test_a_filter_counts_only_its_matches(services: GatewayClient, query: dict[str, str], count: int) -> None:
    page = services.http.get("/api/xapps", params={"namespace": services.namespace, **query}).json()
    assert page["total_count"] == count
    assert list(page) == ["page", "total_count", "last_page", "is_last_page", "content"]


def key(record: JsonObject, sort: str) -> tuple[Any, str]:
    value = record[SORTED_BY.get(sort, sort)]
    return ([int(part) for part in value.split(".")] if sort == "version" else value), record["uid"]


def test_a_change_is_seen_in_time_wherever_it_is_made(client: GatewayClient) -> None:
    path = f"{XAPPS.format(client.namespace)}/hello"
    shown = f"/api/xapps/{client.namespace}/hello"
    listed = {"namespace": client.namespace}

    def seen(probe: Callable[[], bool], what: str) -> None:
        wait_until(probe, timeout=VISIBLE_SECONDS, what=what)

    client.api.create(XAPPS.format(client.namespace), xapp_manifest("hello", namespace=client.namespace))
    seen(lambda: client.http.get("/api/xapps", params=listed).json()["total_count"] == 1, "the new XApp")
    client.write_status(ready_status(), name="hello")
    seen(lambda: client.http.get("/api/xapps", params=listed).json()["content"][0]["ready"] is True, "the status")
    client.api.patch(path, {"spec": {"version": "0.3.0"}})
    seen(lambda: client.http.get(shown).json()["version"] == "0.3.0", "the new version")
    assert client.http.get(shown).json()["ready"] is False
    client.api.delete(path)
    seen(lambda: client.http.get("/api/xapps", params=listed).json()["total_count"] == 0, "the deletion")
    assert client.http.get(shown).status_code == 404


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # from uvloop, when the server stops
def test_during_an_outage_the_last_list_is_served_but_none_before_the_first_sync(
    private_cluster: Callable[[], LocalCluster], tmp_path: Path
) -> None:
    local = private_cluster()
    cluster = local.connect()
    install_crds(cluster)
    with ApiServer(cluster) as api, serve_gateway(settings_for(cluster, tmp_path / "one")) as known:
        wait_until(lambda: api.is_served(XAPPS.format("default")), timeout=60, what="the new kind to be served")
        api.create(XAPPS.format("default"), xapp_manifest("hello", namespace="default"))
        with known.client() as http:
            wait_until(lambda: http.get("/api/xapps").json()["total_count"] == 1, timeout=60, what="the XApp")
            local.stop_process("kube-apiserver")
            assert http.get("/api/xapps").json()["content"][0]["name"] == "hello"
            assert http.get("/readyz").status_code == 200
            body = {"name": "hello", "namespace": "default"}
            away = http.request("DELETE", "/api/deployment/xapp", json=body)
            assert (away.status_code, away.headers["content-type"]) == (503, "application/problem+json")
            with (
                serve_gateway(settings_for(cluster, tmp_path / "two"), wait_synced=False) as unknown,
                unknown.client() as second,
            ):
                for path in ("/api/xapps", "/api/xapps/default/hello", "/readyz"):
                    assert second.get(path).status_code == 503
                    assert second.get(path).headers["Retry-After"]
                assert second.get("/healthz").status_code == 200
            local.start_process("kube-apiserver")
            assert http.request("DELETE", "/api/deployment/xapp", json=body).status_code == 202
            wait_until(lambda: http.get("/api/xapps").json()["total_count"] == 0, timeout=60, what="the deletion")
    gc.collect()  # here, and not in a later test, which would fail
