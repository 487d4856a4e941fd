"""The OpenAPI 3.1 document is complete, and the docs pages load nothing from other hosts."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from fastapi.routing import APIWebSocketRoute
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from tests.localcluster.waiting import wait_until
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.app import describe_api
from xapp_operator.gateway.http.openapi import RequestRoute, inline_definitions
from xapp_operator.gateway.routes import ROUTERS
from xapp_operator.telemetry.metrics import METRICS

OUR_PATHS = {
    "/api/xapps": {"get"},
    "/api/xapps/{namespace}/{name}": {"get"},
    "/api/deployment/xapp": {"post", "delete"},
    "/api/deployment/xapp/{namespace}/{name}": {"put"},
    "/healthz": {"get"},
    "/readyz": {"get"},
}


@pytest.fixture
def document(http: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/api/v1/openapi.json").json()
    return found


def test_every_route_is_described(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    described = {path: set(operations) for path, operations in document["paths"].items()}
    assert {path: described.get(path) for path in OUR_PATHS} == OUR_PATHS


def test_every_operation_documents_its_parameters_and_responses(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["tags"], where
            in_path = set(re.findall(r"{(\w+)}", path))
            parameters = operation.get("parameters", [])
            assert in_path == {each["name"] for each in parameters if each["in"] == "path"}, where
            assert in_path == {each["name"] for each in parameters if each["required"]}, where
            assert all(each["schema"].keys() & {"type", "enum"} for each in parameters), where
            assert operation.get("requestBody", {"required": True})["required"] is True, where
            for status, answer in operation["responses"].items():
                assert answer["description"], f"{where} {status}"
                if status != "default" and int(status) >= 400:
                    # A proxied body may be of any type.
                    expected = ["application/problem+json", *(["*/*"] if "default" in operation["responses"] else [])]
                    assert list(answer["content"]) == expected, f"{where} {status}"


@pytest.mark.parametrize(
    ("method", "path", "own"),
    [
        ("get", "/api/xapps", {200, 304, 401, 410}),
        ("get", "/api/xapps/{namespace}/{name}/events", {200, 304, 401, 404, 410}),
        ("get", "/api/repositories/{namespace}/{name}/charts", {200, 304, 401, 404, 410, 422, 504}),
        ("get", "/api/xapps/{namespace}/{name}", {200, 304, 401, 404}),
        ("post", "/api/session", {201, 401, 413, 422}),
        ("delete", "/api/charts/{namespace}/{name}", {204, 401, 404, 409}),
        ("get", "/healthz", {200}),
    ],
)
def test_an_operation_has_its_own_statuses_and_those_of_all(
    document: dict[str, Any], method: str, path: str, own: set[int]
) -> None:
    of_all = {400, 403, 421, 429, 431, 500, 502, 503}
    assert {int(each) for each in document["paths"][path][method]["responses"]} == of_all | own


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/api/xapps", {"ETag", "Link", "Snapshot", "Last-Event-ID"}),
        ("/api/namespaces", {"ETag", "Link", "Snapshot"}),
        ("/api/xapps/{namespace}/{name}/events", {"ETag", "Link"}),
        ("/api/xapps/{namespace}/{name}", {"ETag"}),
        ("/healthz", set()),
    ],
)
def test_the_headers_of_a_response_are_described(document: dict[str, Any], path: str, headers: set[str]) -> None:
    described = document["paths"][path]["get"]["responses"]["200"].get("headers", {})
    assert described.keys() == headers
    assert all(each["description"] and each["schema"] == {"type": "string"} for each in described.values())


def test_only_a_walk_takes_and_loses_a_snapshot(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        operation = operations.get("get", {"responses": {}})
        has_snapshot = "snapshot" in {each["name"] for each in operation.get("parameters", [])}
        assert has_snapshot == ("Snapshot" in operation["responses"].get("200", {}).get("headers", {})), path
        if has_snapshot:
            assert "snapshot=new" in operation["responses"]["410"]["description"], path


def test_the_schema_of_a_json_body_is_whole(document: dict[str, Any]) -> None:
    schemas = {
        path: operation["requestBody"]["content"]["application/json"]["schema"]
        for path, operations in document["paths"].items()
        for operation in operations.values()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    }
    assert len(schemas) > 5
    for path, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], "$ref" in json.dumps(schema)) == ("object", False), path
    actions = Draft202012Validator(schemas["/api/xapps/{namespace}/{name}/actions"])
    assert [actions.is_valid(each) for each in ({"action": "retry"}, {"action": "nap"}, {})] == [True, False, False]


def test_a_schema_has_its_definitions_in_place_of_their_references() -> None:
    class Leaf(BaseModel):
        """A leaf."""

        size: int

    class Branch(BaseModel):
        first: Leaf = Field(description="The first one.")
        leaves: list[Leaf]
        either: int | Leaf | None = None

    leaf = {
        "description": "A leaf.",
        "properties": {"size": {"title": "Size", "type": "integer"}},
        "required": ["size"],
        "title": "Leaf",
        "type": "object",
    }
    assert inline_definitions(Branch.model_json_schema()) == {
        "properties": {
            "first": {**leaf, "description": "The first one."},
            "leaves": {"items": leaf, "title": "Leaves", "type": "array"},
            "either": {"anyOf": [{"type": "integer"}, leaf, {"type": "null"}], "default": None, "title": "Either"},
        },
        "required": ["first", "leaves"],
        "title": "Branch",
        "type": "object",
    }


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    references = set(re.findall(r'"\$ref":\s*"([^"]+)"', json.dumps(document)))
    assert len(references) > 10
    for reference in references:
        found: Any = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        assert found


def test_every_schema_is_valid(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_no_route_leaves_parsing_to_the_framework() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    assert len(routes) > len(ROUTERS)
    for route in routes:
        assert isinstance(route, RequestRoute | APIWebSocketRoute), route


def test_the_document_is_built_once_for_all_gateways_of_a_process() -> None:
    assert describe_api(Settings(auth="none")) is describe_api(Settings(auth="none", port=1))


def test_operation_ids_are_unique(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for each in document["paths"].values() for operation in each.values()]
    assert {"list_xapps", "deploy"} <= set(names)
    assert len(names) == len(set(names))


def test_every_response_without_parameters_matches_its_schema(gateway: GatewayServer) -> None:
    contract = OpenApiContract.from_gateway(gateway)
    with gateway.client(event_hooks={"response": [contract.check_response]}) as http:
        seen = [
            *map(http.get, ("/api/xapps", "/healthz", "/readyz", "/api/xapps/a/b", "/api/xapps?page=0")),
            http.get("/api/xapps", headers={"If-None-Match": "*"}),
            http.get("/api/xapps?snapshot=gone"),
            http.get("/api/xapps", headers={"Host": "evil.example.com"}),
            http.post("/api/deployment/xapp", content=b"{}"),
            http.delete("/api/deployment/xapp"),
            http.post("/api/repositories", content=b"x" * 3_000_000),
            http.post("/api/xapps/a/b/actions", headers={"Origin": "http://evil.example.com"}),
        ]
    assert {each.status_code for each in seen} == {200, 304, 400, 403, 404, 410, 413, 415, 421}


def test_the_docs_pages_load_nothing_from_other_hosts(http: httpx.Client) -> None:
    for path in ("/", "/api/v1/docs", "/api/docs"):
        page = http.get(path)
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert "://" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        addresses = {each for each in re.findall(r'(?:src|href)="([^"]+)"', page.text) if not each.startswith("data:")}
        assert addresses
        for address in addresses:
            assert http.get(str(page.url.join(address))).status_code == 200, address


def test_the_docs_page_is_complete(http: httpx.Client) -> None:
    bundle = http.get("/api/v1/docs/swagger-ui-bundle.js")
    start = http.get("/api/v1/docs/start.js")

    assert "SwaggerUIBundle" in bundle.text
    assert "javascript" in bundle.headers["content-type"]
    assert 'url: "openapi.json"' in start.text
    assert "validatorUrl: null" in start.text


@pytest.mark.parametrize("name", ["nope.js", "..%2f..%2fcore.py", "%2e%2e/core.py", "redoc.standalone.js"])
def test_only_the_files_of_the_page_are_served(http: httpx.Client, name: str) -> None:
    assert http.get(f"/api/v1/docs/{name}").status_code in {400, 404}


def test_metrics_count_requests_by_route_not_by_path(http: httpx.Client) -> None:
    http.get("/api/xapps/some/where")
    http.post("/api/xapps/some/where/actions", json={"action": "retry"})
    # The response may arrive before the request is counted.
    last = b'method="POST",route="/api/xapps/{namespace}/{name}/actions"'
    wait_until(lambda: last in METRICS.render(), timeout=60, what="the last request to be counted")
    text = METRICS.render().decode()

    assert 'method="GET",route="/api/xapps/{namespace}/{name}"' in text
    assert "some/where" not in text
