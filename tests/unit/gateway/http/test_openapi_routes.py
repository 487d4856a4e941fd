"""What the documentation of a route says: its parameters, the statuses of its problems, the headers of its response.

These call the functions themselves. The document of a gateway, in `test_openapi`, is built once and then shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from xapp_operator.gateway.http.openapi import (
    BODY_PROBLEMS,
    NO_AUTHENTICATION,
    PAGE_PARAMETER_DOCS,
    QUERY_PROBLEMS,
    WALK_PARAMETER_DOCS,
    XAPP_PATH_PARAMETERS,
    build_openapi,
    document_filter,
    document_list,
    document_parameter,
    document_resource,
    document_responses,
    if_match_parameter,
    if_match_uid_parameter,
    json_body,
    sorted_page_parameter_docs,
)

OF_EVERY_ROUTE = {
    400: "The path changes its meaning",
    403: "A permission is missing",
    421: "This gateway does not serve that Host",
    429: "Too many requests of this kind",
    431: "The request line and the headers together",
    500: "The gateway failed",
    502: "The Kubernetes API failed",
    503: "Not ready",
}
OF_A_QUERY = {**OF_EVERY_ROUTE, 400: "A parameter is unknown", 401: "Neither a bearer token nor a session"}


class Page(BaseModel):
    size: int


def check_problems(responses: dict[int | str, dict[str, Any]], expected: dict[int, str]) -> None:
    problems = {status: each for status, each in responses.items() if int(status) >= 400}
    assert list(problems) == sorted(expected)
    for status, start in expected.items():
        assert problems[status]["description"].startswith(start)
        assert problems[status]["content"] == {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        }


def names(parameters: Any) -> list[str]:
    return [each["name"] for each in parameters]


def test_a_parameter_is_a_text_in_the_query_unless_said_otherwise() -> None:
    assert document_parameter("a", "A.") == {
        "name": "a",
        "in": "query",
        "required": False,
        "description": "A.",
        "schema": {"type": "string"},
    }
    number = document_parameter("b", "B.", schema={"type": "integer"}, location="path")
    assert (number["in"], number["required"], number["schema"]) == ("path", True, {"type": "integer"})
    assert [(each["name"], each["required"]) for each in XAPP_PATH_PARAMETERS] == [("namespace", True), ("name", True)]
    assert document_filter("c", "C.")["schema"] == {"type": "array", "items": {"type": "string"}, "maxItems": 50}
    assert document_filter("c", "C.", schema={"enum": ["x"]})["schema"]["items"] == {"enum": ["x"]}


@pytest.mark.parametrize("document", [if_match_parameter, if_match_uid_parameter])
def test_if_match_is_an_optional_header(document: Callable[[str], dict[str, Any]]) -> None:
    parameter = document("XApp")
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("If-Match", "header", False)
    assert "of the XApp" in parameter["description"]


def test_the_parameters_of_a_page_have_their_defaults() -> None:
    schemas = {each["name"]: each["schema"] for each in sorted_page_parameter_docs(("created", "name"))}
    assert schemas == {
        "page": {"type": "integer", "minimum": 1, "default": 1},
        "per_page": {"type": "integer"},
        "pretty": {"type": "boolean", "default": False},
        "snapshot": {"type": "string"},
        "sort": {"enum": ["created", "name"], "default": "created"},
        "order": {"enum": ["asc", "desc"], "default": "asc"},
    }
    assert names(PAGE_PARAMETER_DOCS) == ["page", "per_page", "pretty"]
    assert names(WALK_PARAMETER_DOCS) == ["page", "per_page", "pretty", "snapshot"]


def test_every_route_has_the_problems_of_all() -> None:
    responses = document_responses((200, "Here.", Page), (204, "Gone.", None), problems={})
    assert responses[200] == {"description": "Here.", "model": Page}
    assert responses[204] == {"description": "Gone."}
    check_problems(responses, OF_EVERY_ROUTE)
    own = document_responses((200, "Here.", None), problems={400: "Own.", 404: "Not here."}, headers={200: {"A": "B."}})
    check_problems(own, {**OF_EVERY_ROUTE, 400: "Own.", 404: "Not here."})
    assert own[200] == {"description": "Here.", "headers": {"A": {"description": "B.", "schema": {"type": "string"}}}}


def test_the_problems_of_a_query_and_of_a_body() -> None:
    check_problems(document_responses(problems=QUERY_PROBLEMS), OF_A_QUERY)
    of_a_body = {**OF_A_QUERY, 400: "A parameter is invalid, or the body", 413: "The body is too large"}
    check_problems(document_responses(problems=BODY_PROBLEMS), of_a_body)
    assert NO_AUTHENTICATION == {"security": []}


def test_a_list_from_memory_is_walked_and_another_is_not() -> None:
    own = document_parameter("own", "Own.")
    walk = document_list("List.", Page, "All.", parameters=(own,))
    assert (walk["summary"], names(walk["openapi_extra"]["parameters"])) == (
        "List.",
        ["page", "per_page", "pretty", "snapshot", "own"],
    )
    assert walk["responses"][200]["model"] is Page
    assert walk["responses"][200]["description"] == "All. A bare array if pagination is turned off."
    assert walk["responses"][304] == {"description": "The content still has the ETag that was sent."}
    assert set(walk["responses"][200]["headers"]) == {"ETag", "Link", "Snapshot"}
    check_problems(walk["responses"], {**OF_A_QUERY, 410: "The snapshot is gone"})

    pages = document_list(
        "List.", Page, "All.", paging=PAGE_PARAMETER_DOCS, problems={404: "Not here."}, headers={"Last": "The last."}
    )
    assert names(pages["openapi_extra"]["parameters"]) == ["page", "per_page", "pretty"]
    assert set(pages["responses"][200]["headers"]) == {"ETag", "Link", "Last"}
    check_problems(pages["responses"], {**OF_A_QUERY, 404: "Not here."})


def test_a_resource_has_an_etag() -> None:
    found = document_resource("One.", Page, "It.", parameters=XAPP_PATH_PARAMETERS, problems={404: "Not here."})
    assert (found["summary"], names(found["openapi_extra"]["parameters"])) == ("One.", ["namespace", "name", "pretty"])
    assert found["responses"][200]["model"] is Page
    assert set(found["responses"][200]["headers"]) == {"ETag"}
    assert 304 in found["responses"]
    check_problems(found["responses"], {**OF_A_QUERY, 404: "Not here."})


def test_a_json_body_is_required() -> None:
    body = json_body(Page)
    assert (body["required"], list(body["content"])) == (True, ["application/json"])
    assert body["content"]["application/json"]["schema"]["required"] == ["size"]


def test_callers_sign_in_only_where_there_is_a_cookie() -> None:
    app = FastAPI(title="T", version="1", description="D.", openapi_tags=[{"name": "x"}])
    signed = build_openapi(app, session_cookie="c", schemas={"Own": {"type": "string"}})
    assert signed["openapi"] == "3.1.0"
    assert signed["info"] == {"title": "T", "version": "1", "description": "D."}
    assert signed["tags"] == [{"name": "x"}]
    assert signed["security"] == [{"bearer": []}, {"session": [], "sessionProof": []}]
    schemes = signed["components"]["securitySchemes"]
    assert {name: (each["type"], each.get("in"), each.get("name")) for name, each in schemes.items()} == {
        "bearer": ("http", None, None),
        "session": ("apiKey", "cookie", "c"),
        "sessionProof": ("apiKey", "header", "X-Session-Proof"),
    }
    assert signed["components"]["schemas"]["Own"] == {"type": "string"}
    assert signed["components"]["schemas"]["Problem"]["type"] == "object"
    open_to_all = build_openapi(app, session_cookie=None, schemas={})
    assert "security" not in open_to_all
    assert "securitySchemes" not in open_to_all["components"]
