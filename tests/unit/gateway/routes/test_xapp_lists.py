"""The list of xApps and one xApp, over real HTTP on a store of 250."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.openapi_contract import OpenApiContract
from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.gateway.catalog.records import XAPP_SORTS, build_xapp_entry, version_sort_key
from xapp_operator.gateway.catalog.xapp_filters import FACETS
from xapp_operator.gateway.state import Gateway

COUNT = 250
FIELDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "created": lambda record: record["createdAt"],
    "name": lambda record: record["name"],
    "namespace": lambda record: record["namespace"],
    "organization": lambda record: record["organization"],
    "team": lambda record: record["team"],
    "owner": lambda record: record["owner"],
    "version": lambda record: version_sort_key(record["version"]),
    "phase": lambda record: record["phase"],
    "health": lambda record: record["health"],
    "updated": lambda record: record["updatedAt"],
}


def needs_person(record: dict[str, Any]) -> bool:
    return record["phase"] in ("Failed", "Degraded") or record["health"] == "Degraded"


def fill(gateway: Gateway) -> None:
    for at in range(COUNT):
        status = (
            ready_status(phase=("Deployed", "Degraded", "Failed")[at % 3], health=("Healthy", "Degraded")[at % 2])
            if at % 5
            else None
        )
        gateway.store.put(
            build_xapp_entry(
                raw_xapp(
                    f"acme-{at % 4}-ran-app-{at}",
                    namespace=f"ns-{at % 3}",
                    uid=f"{at * 7919 % 10007:05}",
                    spec={
                        "xAppName": f"App {at}",
                        "organization": f"acme {at % 4}",
                        "team": f"team-{at % 2}",
                        "owner": "jane" if at % 10 else "Jörg",
                        "version": f"0.{at % 12}.{at % 3}",
                    },
                    metadata={"creationTimestamp": f"2026-11-20T08:{at // 60:02}:{at % 30:02}Z"},
                    status=status,
                )
            )
        )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    settings, opened = offline_gateway(tmp_path_factory.mktemp("filled"))
    with serve_gateway(settings, opened) as one:
        one.run_in_loop(fill)
        yield one


@pytest.fixture
def http(filled: GatewayServer) -> Iterator[httpx.Client]:
    """A client whose responses are checked against the OpenAPI document."""
    contract = OpenApiContract.from_gateway(filled)
    with filled.client(event_hooks={"response": [contract.check_response]}) as client:
        yield client


def walk(http: httpx.Client, path: str) -> list[dict[str, Any]]:
    """Follow the next links from `path` to the end; check each page against its own metadata."""
    content: list[dict[str, Any]] = []
    page = 0
    while path:
        page += 1
        answer = http.get(path)
        body = answer.json()
        assert list(body) == ["page", "total_count", "last_page", "is_last_page", "content"]
        assert body["page"] == page
        content += body["content"]
        links = {rel: target for target, rel in re.findall(r'<([^>]+)>; rel="(\w+)"', answer.headers["link"])}
        assert ("next" in links) == (not body["is_last_page"]) == (page < body["last_page"])
        assert ("prev" in links) == (page > 1)
        path = links.get("next", "")
    assert len(content) == body["total_count"]
    return content


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", XAPP_SORTS)
def test_all_pages_contain_every_xapp_once_in_order(http: httpx.Client, sort: str, order: str) -> None:
    seen = walk(http, f"/api/xapps?per_page=7&sort={sort}&order={order}")

    assert len(seen) == COUNT == len({record["uid"] for record in seen})
    expected = sorted(seen, key=lambda record: (FIELDS[sort](record), record["uid"]), reverse=order == "desc")
    assert [record["uid"] for record in seen] == [record["uid"] for record in expected]


def test_without_parameters_the_oldest_ten_are_listed(http: httpx.Client) -> None:
    body = http.get("/api/xapps").json()

    assert (body["page"], body["total_count"], body["last_page"], body["is_last_page"]) == (1, 250, 25, False)
    assert body == http.get("/api/v1/xapps?page=1&per_page=10&sort=created&order=asc&pretty=false").json()


def test_the_documented_defaults_and_bounds_are_those_of_the_gateway(filled: GatewayServer, http: httpx.Client) -> None:
    parameters = OpenApiContract.from_gateway(filled).document["paths"]["/api/xapps"]["get"]["parameters"]
    schemas = {each["name"]: each["schema"] for each in parameters}
    defaults = {name: schema["default"] for name, schema in schemas.items() if "default" in schema}

    assert defaults.keys() == {"page", "pretty", "sort", "order"}
    assert http.get("/api/xapps", params=defaults).text == http.get("/api/xapps").text
    first, most = schemas["page"]["minimum"], schemas["search"]["maxItems"]
    for bounds, status in (((first, most), 200), ((first - 1, most), 400), ((first, most + 1), 400)):
        page, searches = bounds
        query = [("page", page), *[("search", "app")] * (searches - 1)]
        assert http.get("/api/xapps", params=query).status_code == status, bounds
    for name in ("sort", "order"):
        assert [http.get("/api/xapps", params={name: each}).status_code for each in schemas[name]["enum"]] == [
            200
        ] * len(schemas[name]["enum"])
        assert http.get("/api/xapps", params={name: "other"}).status_code == 400


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("namespace=ns-1", lambda record: record["namespace"] == "ns-1"),
        ("organization=acme%202", lambda record: record["organization"] == "acme 2"),
        ("organization=acme+2", lambda record: record["organization"] == "acme 2"),
        ("team=team-1", lambda record: record["team"] == "team-1"),
        ("owner=J%C3%B6rg", lambda record: record["owner"] == "Jörg"),
        ("phase=Failed", lambda record: record["phase"] == "Failed"),
        ("health=Unknown", lambda record: record["health"] == "Unknown"),
        ("source=xapp", lambda record: True),
        ("source=labels", lambda record: False),
        ("search=APP%2024", lambda record: "app 24" in record["xAppName"].lower()),
        ("search=team-1", lambda record: record["team"] == "team-1"),
        ("search=acme%203", lambda record: record["organization"] == "acme 3"),
        ("search=ns-1", lambda record: False),
        ("search=J%C3%B6rg", lambda record: record["owner"] == "Jörg"),
        ("search=install+succeeded", lambda record: record["message"] == "Helm install succeeded"),
        ("phase=Failed&phase=Degraded", lambda record: record["phase"] in ("Failed", "Degraded")),
        ("namespace=ns-0&namespace=ns-2&namespace=", lambda record: record["namespace"] in ("ns-0", "ns-2")),
        ("search=acme+3&search=acme+1", lambda record: record["organization"] in ("acme 1", "acme 3")),
        ("attention=true", needs_person),
        ("attention=false", lambda record: not needs_person(record)),
        ("attention=true&attention=false", lambda record: True),
        ("namespace=nowhere", lambda record: False),
        ("namespace=ns-1&phase=Failed&search=app", lambda r: (r["namespace"], r["phase"]) == ("ns-1", "Failed")),
        ("namespace=&phase=&search=", lambda record: True),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_filters_apply_to_all_pages(http: httpx.Client, query: str, fits: Any) -> None:
    everything = walk(http, "/api/xapps?per_page=100")
    expected = {record["uid"] for record in everything if fits(record)}

    assert {record["uid"] for record in walk(http, f"/api/xapps?{query}&per_page=9")} == expected


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=26",
        "page=-1",
        "page=1.5",
        "page=abc",
        "page=99999999999999999999",
        "page=" + "9" * 3000,
        "per_page=0",
        "per_page=101",
        "per_page=12345678901234567890",
        "page=1&page=2",
        "sort=name&sort=name",
        "attention=maybe",
        "colour=red",
        "sort=colour",
        "order=up",
        "phase=Sleeping",
        "phase=Failed&phase=Sleeping",
        "health=fine",
        "source=other",
        "search=%FF",
        "pretty=2",
        "page=%00",
    ],
)
def test_an_invalid_parameter_is_400_and_named(http: httpx.Client, query: str) -> None:
    answer = http.get(f"/api/xapps?{query}")

    assert answer.status_code == 400
    if "%FF" not in query:
        assert answer.json()["errors"][0]["field"] == query.partition("=")[0]


def test_facets_count_the_xapps_of_a_filtered_list(http: httpx.Client) -> None:
    listed = walk(http, "/api/xapps?namespace=ns-0&namespace=ns-1&per_page=100")
    found = http.get("/api/xapps/facets?facet=health,team,attention&namespace=ns-0&namespace=ns-1").json()

    assert list(found) == ["health", "team", "attention"]
    for facet in ("health", "team"):
        counts = Counter(record[facet] for record in listed)
        expected = [{"value": value, "count": counts[value]} for value in sorted(counts, key=lambda v: (-counts[v], v))]
        assert found[facet] == expected
    assert {"value": "true", "count": sum(map(needs_person, listed))} in found["attention"]
    assert http.get("/api/xapps/facets?health=Degraded&facet=health").json() == {
        "health": [{"value": "Degraded", "count": http.get("/api/xapps?health=Degraded").json()["total_count"]}]
    }


def test_facets_may_begin_with_a_prefix_and_are_all_counted_by_default(http: httpx.Client) -> None:
    assert http.get("/api/xapps/facets?prefix=J%C3%B6&facet=owner").json() == {
        "owner": [{"value": "Jörg", "count": 25}]
    }
    assert set(http.get("/api/xapps/facets").json()) == set(FACETS)
    answer = http.get("/api/xapps/facets?facet=phase")
    tag = answer.headers["etag"]
    assert http.get("/api/xapps/facets?facet=phase", headers={"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize("query", ["facet=colour", "facet=phase,phase", "facet=phase&facet=team", "facet=,", "page=1"])
def test_an_invalid_facet_is_400_and_named(http: httpx.Client, query: str) -> None:
    answer = http.get(f"/api/xapps/facets?{query}")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, query.partition("=")[0])


def test_an_unchanged_page_is_304(filled: GatewayServer, http: httpx.Client) -> None:
    tag = http.get("/api/xapps?page=2").headers["etag"]
    for sent in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = http.get("/api/xapps?page=2", headers={"If-None-Match": sent})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)

    assert http.get("/api/xapps?page=3", headers={"If-None-Match": tag}).status_code == 200
    assert http.get("/api/xapps?page=2&pretty=true", headers={"If-None-Match": tag}).status_code == 200
    newcomer = build_xapp_entry(raw_xapp("newcomer", metadata={"creationTimestamp": "2020-01-01T00:00:00Z"}))
    filled.run_in_loop(lambda gateway: gateway.store.put(newcomer))
    try:
        assert http.get("/api/xapps?page=2", headers={"If-None-Match": tag}).status_code == 200
    finally:
        filled.run_in_loop(lambda gateway: gateway.store.remove(*newcomer.key))
    assert http.get("/api/xapps?page=2", headers={"If-None-Match": tag}).status_code == 304


def test_pretty_responses_are_indented_but_equal(http: httpx.Client) -> None:
    plain, pretty = http.get("/api/xapps?per_page=3"), http.get("/api/xapps?per_page=3&pretty=true")

    assert pretty.text.startswith('{\n  "page": 1')
    assert plain.json() == pretty.json()
    assert b"\n" not in plain.content


def test_one_xapp_is_shown_with_its_details(http: httpx.Client) -> None:
    one = http.get("/api/xapps/ns-1/acme-1-ran-app-1").json()

    assert one["name"] == "acme-1-ran-app-1"
    assert one["conditions"][0]["type"] == "Ready"
    assert http.get("/api/xapps/ns-1/acme-1-ran-app-1?pretty=true").json() == one
    listed = http.get("/api/xapps?search=acme-1-ran-app-1&namespace=ns-1&sort=name").json()["content"][0]
    assert listed == {field: one[field] for field in listed}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/xapps/ns-1/nobody", 404),
        ("/api/xapps/nowhere/acme-1-ran-app-1", 404),
        ("/api/xapps/%00/%0a", 400),
        ("/api/xapps/ns-1/acme-1-ran-app-1?pretty=x", 400),
        ("/api/xapps/ns-1/acme-1-ran-app-1?page=1", 400),
    ],
)
def test_unknown_xapps_and_parameters_are_refused(http: httpx.Client, path: str, status: int) -> None:
    assert http.get(path).status_code == status


def test_an_unpaginated_list_is_a_bare_array(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    with (
        serve_gateway(settings.model_copy(update={"unpaginated_lists": ("xapps",)}), opened) as one,
        one.client() as http,
    ):
        assert http.get("/api/xapps").json() == []
        one.run_in_loop(fill)
        answer = http.get("/api/xapps?sort=name&order=desc&team=team-1")
        assert "link" not in answer.headers
        assert [record["name"] for record in answer.json()] == sorted(
            (record["name"] for record in answer.json()), reverse=True
        )
        assert len(answer.json()) == COUNT / 2
        for query in ("page=1", "per_page=10", "page=1&sort=name"):
            assert http.get(f"/api/xapps?{query}").status_code == 400


def test_before_the_first_sync_the_list_is_503_and_never_empty(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    with serve_gateway(settings, opened) as one, one.client() as http:
        one.run_in_loop(lambda gateway: gateway.cache.synced.clear())
        for path in ("/api/xapps", "/api/xapps/a/b", "/readyz"):
            answer = http.get(path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert http.get("/healthz").status_code == 200
