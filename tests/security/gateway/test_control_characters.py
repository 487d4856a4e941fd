"""Threat: control characters in names break logs, terminals and stores, or make one name look like another.

The tables come from the models: the CRDs, the form and the OpenAPI document. A new field is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.support.apiserver import ApiServer, JsonObject
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract
from xapp_operator.gateway.deploy.forms import form_schema

pytestmark = pytest.mark.integration

CONTROLS: Final = ("\0", "\n", "\x1b", "\x7f", "\x85", "\u2028", "\u202e")
CRDS: Final = sorted((Path(__file__).parents[3] / "crds").glob("xapp-operator.io_*.yaml"))
FREE_TEXTS: Final = frozenset({"values"})
MULTILINE: Final = frozenset({"caBundle", "provenance"})


def string_fields(schema: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every text in a schema; `[]` is the item of a list."""
    for option in schema.get("anyOf", ()):
        yield from string_fields(option, path)
    if schema.get("type") == "string":
        yield path
    for name, member in schema.get("properties", {}).items():
        if name not in FREE_TEXTS | MULTILINE:
            yield from string_fields(member, (*path, name))
    if "items" in schema:
        yield from string_fields(schema["items"], (*path, "[]"))


def sample(schema: JsonObject) -> Any:
    """Return a value of the right type."""
    schema = next((each for each in schema.get("anyOf", ()) if each.get("type") != "null"), schema)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        members = schema.get("properties", {})
        return {name: sample(members[name]) for name in schema.get("required", ())}
    return {"string": "x", "array": [], "integer": 1, "boolean": False, "number": 1}.get(kind or "", "x")


def with_text(value: Any, schema: JsonObject, path: tuple[str, ...], text: str) -> Any:
    """Return `value` with `text` at `path`; what has to be beside it is added."""
    if not path:
        return text
    schema = next((each for each in schema.get("anyOf", ()) if each.get("type") != "null"), schema)
    if path[0] == "[]":
        return [with_text(sample(schema["items"]), schema["items"], path[1:], text)]
    member = schema["properties"][path[0]]
    below = value.get(path[0]) if isinstance(value, dict) else None
    return {**value, path[0]: with_text(sample(member) if below is None else below, member, path[1:], text)}


def shown(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[]", "[0]")


CRD_FIELDS: Final = [
    (file.name, field)
    for file in CRDS
    for definition in [yaml.safe_load(file.read_text())]
    for field in string_fields(
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], ("spec",)
    )
]


@pytest.mark.parametrize("file", [each.name for each in CRDS])
def test_the_api_server_refuses_them_in_every_field(api: ApiServer, namespace: str, file: str) -> None:
    definition = yaml.safe_load((CRDS[0].parent / file).read_text())["spec"]
    schema = definition["versions"][0]["schema"]["openAPIV3Schema"]
    kind, plural = definition["names"]["kind"], definition["names"]["plural"]
    collection = f"/apis/{definition['group']}/v1alpha1/namespaces/{namespace}/{plural}"
    base = {
        "apiVersion": f"{definition['group']}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "control"},
        "spec": sample(schema["properties"]["spec"]),
    }
    fields = [field for name, field in CRD_FIELDS if name == file]
    assert fields
    taken = [
        f"{shown(field)} {control!r}"
        for field in fields
        for control in CONTROLS
        if shown(field) not in api.refused_fields(collection, with_text(base, schema, field, f"a{control}b"))
    ]
    assert taken == []


def test_a_form_refuses_them_in_every_field(client: GatewayClient) -> None:
    schema = form_schema()
    remote = client.remote_form("https://charts.example")
    taken = []
    for field in string_fields(schema):
        for control in CONTROLS:
            answer = client.post_deployment(with_text(remote, schema, field, f"a{control}b"))
            named = [each["field"] for each in answer.json().get("errors", ())]
            if answer.status_code != 422 or f"xAppForm.{shown(field)}" not in named:
                taken.append(f"{shown(field)} {control!r}")
    assert taken == []
    assert client.existing_objects()["xapps"] == []


def operations(document: JsonObject) -> Iterator[tuple[str, str, JsonObject]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "/proxy/" not in path and "/api/{" not in path:
                yield path, method, operation


@pytest.fixture
def document(gateway: GatewayServer) -> JsonObject:
    return OpenApiContract.from_gateway(gateway).document


def test_every_json_body_refuses_them_in_every_field(client: GatewayClient, document: JsonObject) -> None:
    client.deploy()
    checked = []
    for path, method, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        schema = content["schema"]
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        target = re.sub(r"\{[^}]+\}", "x", path.replace("{namespace}", client.namespace).replace("{name}", XAPP_NAME))
        for field in string_fields(schema):
            body = {
                **sample(schema),
                **({"namespace": client.namespace} if "namespace" in schema["properties"] else {}),
            }
            for control in CONTROLS:
                answer = client.http.request(method, target, json=with_text(body, schema, field, f"a{control}b"))
                assert answer.status_code == 422, (path, method, field, control, answer.text)
                assert shown(field) in [each["field"] for each in answer.json()["errors"]], (path, field, answer.text)
            checked.append((path, shown(field)))
    assert ("/api/repositories", "username") in checked
    assert ("/api/deployment/xapp", "name") in checked


def test_every_query_parameter_refuses_them(client: GatewayClient, document: JsonObject) -> None:
    client.deploy()
    checked = []
    for path, method, operation in operations(document):
        names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
        if method != "get" or "{chart}" in path or "repositories/{" in path:
            continue
        target = re.sub(r"\{[^}]+\}", "x", path.replace("{namespace}", client.namespace).replace("{name}", XAPP_NAME))
        for name in names:
            for control in ("%00", "%0A", "%E2%80%AE"):
                answer = client.http.get(f"{target}?{name}=a{control}b")
                assert answer.status_code == 400, (path, name, control, answer.text)
                assert [each["field"] for each in answer.json()["errors"]] == [name]
                checked.append((path, name))
        if names:
            assert client.http.get(f"{target}?a%00b=1").status_code == 400
    assert ("/api/xapps", "search") in checked


@pytest.mark.parametrize(
    "values", ['"a\\0b": 1', '{a: {"b\\u202ec": x}}', '"a\\nb": 1', 'a: "\\0"', 'a: ["\\e[31m"]'], ids=ascii
)
def test_values_refuse_them(client: GatewayClient, values: str) -> None:
    client.deploy()
    answers = [
        client.post_deployment(client.remote_form("https://charts.example", team="two"), values=values),
        client.put_deployment(client.deployment_form(), values=values),
        *(
            client.http.request(
                method, f"/api/xapps/{client.namespace}/{XAPP_NAME}/config", json=body, params={"dryRun": dry_run}
            )
            for dry_run in ("false", "true")
            for decoded in [yaml.safe_load(values)]
            for method, body in (("PUT", {"values": decoded}), ("PATCH", decoded))
        ),
    ]
    for answer in answers:
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["field"].startswith("values.")
        assert answer.json()["errors"][0]["field"].isprintable()
    assert "values" not in client.xapp()["spec"]


def test_values_may_have_several_lines(client: GatewayClient) -> None:
    client.deploy(values="config: |\n  a\n  \tb\n")
    assert client.xapp()["spec"]["values"] == {"config": "a\n\tb\n"}
