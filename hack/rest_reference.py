"""The pages of the REST API, from its OpenAPI document: the operations, and the models of requests and responses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from markdown_lines import cell, head, one_line, table

from xapp_operator.config.settings import Settings
from xapp_operator.gateway.app import describe_api

METHODS = ("get", "post", "put", "patch", "delete", "options")
SOURCE = "the OpenAPI document of the gateway"
MODELS = "models.md"
PAGE_PREFIX = "Page_"
Schema = Mapping[str, Any]


def rest_pages() -> dict[str, list[str]]:
    """Return the lines of each page, by the name of its file."""
    document = json.loads(describe_api(Settings(auth="kubernetes")))
    schemas = document["components"]["schemas"]
    return {"rest.md": _operations_page(document), MODELS: _models_page(schemas)}


def _operations_page(document: Mapping[str, Any]) -> list[str]:
    lines = head(
        "Operations of the REST API",
        source=SOURCE,
        text="[REST API](../api.md) explains the API by examples. This page lists each operation with its parameters. "
        f"[Models of the REST API]({MODELS}) lists what requests and responses consist of. The gateway serves the "
        "complete OpenAPI document at `/api/v1/openapi.json`, and pages of it at `/api/v1/docs`. Each path also works "
        "below `/api/v1`.",
    )
    for tag in document["tags"]:
        lines += [f"## {tag['name']}", "", tag["description"], ""]
        for path, item in document["paths"].items():
            operations = {method: item[method] for method in METHODS if method in item}
            tagged = {method: each for method, each in operations.items() if tag["name"] in each["tags"]}
            lines += _forwarded(path, tagged) if path.endswith("/{path}") else _operations(path, tagged)
    return lines


def _operations(path: str, operations: Mapping[str, Any]) -> list[str]:
    parts = [_operation(each["summary"], method, path, each) for method, each in operations.items()]
    return [line for lines in parts for line in lines]


def _forwarded(path: str, operations: Mapping[str, Any]) -> list[str]:
    """Describe once the operations of a path whose requests the gateway forwards, whatever their method."""
    if not operations:
        return []
    target = operations["get"]["summary"].partition(" from ")[2]
    return _operation(f"Forward to {target}", ", ".join(operations), path, operations["get"])


def _operation(title: str, methods: str, path: str, operation: Mapping[str, Any]) -> list[str]:
    description = one_line(operation.get("description", ""))
    lines = [f"### {title}", "", f"{methods.upper()} `{path}`", "", *([description, ""] if description else [])]
    rows = [
        (f"`{each['name']}`", each["in"], _kind(each["schema"]), one_line(each.get("description", "")))
        for each in operation.get("parameters", ())
    ]
    if rows:
        lines += table(("parameter", "in", "type", "meaning"), rows)
    for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body: `{media_type}`.", ""]
        fields = list(_fields(body.get("schema", {}), page=MODELS))
        lines += table(("field", "type", "meaning"), fields) if fields else []
    answers = [
        f"{code}: {one_line(each['description'])}{_content(each)}"
        for code, each in operation["responses"].items()
        if code < "4"
    ]
    refusals = [f"{code}" for code in operation["responses"] if "4" <= code < "a"]
    return [*lines, *(f"- {cell(answer)}" for answer in answers), f"- Problems: {', '.join(refusals)}", ""]


def _content(answer: Mapping[str, Any]) -> str:
    """Return the models of an answer, if it has some."""
    kinds = [_kind(each.get("schema", {}), page=MODELS) for each in answer.get("content", {}).values()]
    named = [kind for kind in dict.fromkeys(kinds) if "](" in kind]
    return f" Body: {' or '.join(named)}." if named else ""


def _models_page(schemas: Mapping[str, Schema]) -> list[str]:
    lines = head(
        "Models of the REST API",
        source=SOURCE,
        text="What requests and responses of the [operations](rest.md) consist of. Fields are always there, unless "
        "they are called optional. [Lists](../api.md#lists) describes a page, and [Errors](../api.md#errors) a "
        "problem.",
    )
    for name in sorted(schemas):
        schema = schemas[name]
        if name.startswith((PAGE_PREFIX, "RootModel_")):
            continue
        description = one_line(schema.get("description", ""))
        lines += [f"## {name}", "", *([description, ""] if description else [])]
        if "properties" in schema:
            lines += table(("field", "type", "meaning"), list(_fields(schema)))
        else:
            lines += [_kind(schema), ""]
    return lines


def _fields(schema: Schema, *, prefix: str = "", page: str = "") -> Iterator[tuple[str, str, str]]:
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in required else ", optional"
        yield f"`{prefix}{name}`", _kind(field, page=page) + optional, one_line(field.get("description", ""))
        inner = field.get("items", field) if field.get("type") == "array" else field
        if "properties" in inner:
            within = f"{prefix}{name}[]." if field.get("type") == "array" else f"{prefix}{name}."
            yield from _fields(inner, prefix=within, page=page)


def _kind(schema: Schema, *, page: str = "") -> str:
    members = schema.get("additionalProperties")
    if "$ref" in schema:
        kind = _link(schema["$ref"].rpartition("/")[2], page=page)
    elif "anyOf" in schema:
        kind = " or ".join(_kind(each, page=page) for each in schema["anyOf"])
    elif "enum" in schema or "const" in schema:
        kind = ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    elif schema.get("type") == "array":
        kind = f"list of {_kind(schema['items'], page=page)}"
    elif isinstance(members, dict):
        kind = f"map of {_kind(members, page=page)}"
    else:
        default = f", default `{json.dumps(schema['default'])}`" if schema.get("default") is not None else ""
        kind = str(schema.get("type", "any")) + default
    return kind


def _link(name: str, *, page: str) -> str:
    if name.startswith(PAGE_PREFIX):
        return f"a page of {_link(name.removeprefix(PAGE_PREFIX).rstrip('_'), page=page)}"
    if name.startswith("RootModel_list_"):
        return f"list of {_link(name.removeprefix('RootModel_list_').rstrip('_'), page=page)}"
    return f"[{name}]({page}#{name.lower()})"
