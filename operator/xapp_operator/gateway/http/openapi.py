"""Routes and their documentation in the API's OpenAPI 3.1 document.

Handlers take a request, parse it strictly, and return a response. Parameters in signatures, which FastAPI would
resolve, would cost half of the time of a page of a list. So FastAPI cannot derive the documentation from them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.http.lists.pagination import SORT_ORDERS
from xapp_operator.gateway.http.requests.query import PARAMETERS_MAX
from xapp_operator.gateway.http.responses.problems import PROBLEM_MEDIA_TYPE
from xapp_operator.gateway.schemas.records import Problem


class RequestRoute(APIRoute):
    """A documented route that calls its handler with the request."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        return cast("Callable[[Request], Awaitable[Response]]", self.endpoint)


RouteResponses: TypeAlias = dict[int | str, dict[str, Any]]
"""The `responses` argument of a route."""

Parameter: TypeAlias = dict[str, Any]

_PROBLEM_REF: Final = {"schema": {"$ref": "#/components/schemas/Problem"}}
_COMMON_PROBLEMS: Final = {
    400: "The path changes its meaning when it is decoded or resolved.",
    403: "A permission is missing, or the request comes from a page of another origin.",
    429: "Too many requests of this kind are in progress, or too many unknown tokens came from this address.",
    421: "This gateway does not serve that Host.",
    431: "The request line and the headers together are too large, or there are too many headers.",
    500: "The gateway failed; its log has the reference.",
    502: "The Kubernetes API failed.",
    503: "Not ready: the caches are not filled yet, or the Kubernetes API does not respond.",
}


def document_parameter(
    name: str, description: str, *, schema: Mapping[str, object] | None = None, location: str = "query"
) -> Parameter:
    """Return the documentation of one parameter; a path parameter is required."""
    return {
        "name": name,
        "in": location,
        "required": location == "path",
        "description": description,
        "schema": dict(schema or {"type": "string"}),
    }


def document_filter(name: str, description: str, *, schema: Mapping[str, object] | None = None) -> Parameter:
    """Return the documentation of a filter, which may be given several times: any of its values counts."""
    items = dict(schema or {"type": "string"})
    return document_parameter(
        name,
        f"{description} Repeated: any of the values.",
        schema={"type": "array", "items": items, "maxItems": PARAMETERS_MAX},
    )


def if_match_parameter(noun: str) -> Parameter:
    """Return the documentation of `If-Match` of a change."""
    return document_parameter(
        "If-Match",
        f"Only if this is the `generation` of the {noun}, its `uid`, or both as in `<uid>/3`, in quotes or without; "
        "else 412.",
        location="header",
    )


def if_match_uid_parameter(noun: str) -> Parameter:
    """Return the documentation of `If-Match` of a deletion."""
    return document_parameter("If-Match", f"Only if this is the `uid` of the {noun}; else 412.", location="header")


PRETTY_PARAMETER: Final = document_parameter(
    "pretty", "Indent the response.", schema={"type": "boolean", "default": False}
)
XAPP_PATH_PARAMETERS: Final = (
    document_parameter("namespace", "Namespace of the xApp.", location="path"),
    document_parameter("name", "`name` of its record.", location="path"),
)

PAGE_PARAMETER_DOCS: Final = (
    document_parameter("page", "Number of the page, from 1.", schema={"type": "integer", "minimum": 1, "default": 1}),
    document_parameter("per_page", "Items on a page; bounds and default are configurable.", schema={"type": "integer"}),
    PRETTY_PARAMETER,
)
"""Parameters of a list that is read for each page."""
WALK_PARAMETER_DOCS: Final = (
    *PAGE_PARAMETER_DOCS,
    document_parameter(
        "snapshot",
        "`new` on the first page begins a walk: the header Snapshot and the links have a token, and pages with it are "
        "of the same instant.",
    ),
)
"""Parameters of a list from memory that has only one order."""


def sorted_page_parameter_docs(sorts: Sequence[str]) -> tuple[Parameter, ...]:
    """Return the parameters of a list that has several orders; the first of `sorts` is the default."""
    return (
        *WALK_PARAMETER_DOCS,
        document_parameter(
            "sort", "What to sort by, and then by uid.", schema={"enum": list(sorts), "default": sorts[0]}
        ),
        document_parameter("order", "asc or desc.", schema={"enum": list(SORT_ORDERS), "default": SORT_ORDERS[0]}),
    )


ETAG_HEADERS: Final = {"ETag": "Changes with the content; send it as If-None-Match."}
PAGE_HEADERS: Final = {200: {**ETAG_HEADERS, "Link": "The first, previous, next and last page (RFC 8288)."}}
WALK_HEADERS: Final = {200: {**PAGE_HEADERS[200], "Snapshot": "The token of a walk, with `snapshot` only."}}
NOT_MODIFIED: Final = (304, "The content still has the ETag that was sent.", None)


def document_responses(
    *successes: tuple[int, str, type[BaseModel] | None],
    problems: Mapping[int, str],
    headers: Mapping[int, Mapping[str, str]] | None = None,
) -> RouteResponses:
    """Return the responses of a route: each success as (status, description, model), and the problems.

    `headers` describes headers by status. The problems that every route may have are added.
    """
    responses: RouteResponses = {}
    for status, description, model in successes:
        responses[status] = {"description": description} | ({"model": model} if model is not None else {})
    for status, description in sorted({**_COMMON_PROBLEMS, **problems}.items()):
        responses[status] = {"description": description, "content": {PROBLEM_MEDIA_TYPE: _PROBLEM_REF}}
    for status, named in (headers or {}).items():
        responses[status]["headers"] = {
            name: {"description": description, "schema": {"type": "string"}} for name, description in named.items()
        }
    return responses


UNAUTHENTICATED_PROBLEM: Final = {401: "Neither a bearer token nor a session, or one that the cluster does not accept."}
NO_AUTHENTICATION: Final[dict[str, Any]] = {"security": []}
"""For `openapi_extra` of a route without authentication."""


def build_openapi(app: FastAPI, *, session_cookie: str | None, schemas: Mapping[str, object]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of `app`.

    Args:
        app: the routes.
        session_cookie: name of the session cookie; None where callers do not sign in.
        schemas: further components, by name.
    """
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        openapi_version="3.1.0",
        tags=app.openapi_tags,
        routes=app.routes,
    )
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(
        {"Problem": inline_definitions(Problem.model_json_schema(mode="serialization")), **schemas}
    )
    if session_cookie is not None:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer", "description": "A bearer token of the cluster."},
            "session": {
                "type": "apiKey",
                "in": "cookie",
                "name": session_cookie,
                "description": "Set by POST /api/session. Over https, its name begins with __Host-.",
            },
            "sessionProof": {
                "type": "apiKey",
                "in": "header",
                "name": "X-Session-Proof",
                "description": "The `proof` in the response of POST /api/session; the cookie counts only with it. "
                "Browsers send it for a WebSocket as the subprotocol proof.session.xapp-operator.io.<proof>.",
            },
        }
        document["security"] = [{"bearer": []}, {"session": [], "sessionProof": []}]
    return document


def inline_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON schema of pydantic with every reference replaced by its definition.

    `$defs` would not be those of the document.
    """
    definitions = schema.pop("$defs", {})

    def resolve(value: Any) -> Any:
        if isinstance(value, list):
            return [resolve(item) for item in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            others = {key: member for key, member in value.items() if key != "$ref"}
            return {**resolve(definitions[reference.rpartition("/")[2]]), **others}
        return {key: resolve(member) for key, member in value.items()}

    inlined_schema: dict[str, Any] = resolve(schema)
    return inlined_schema


SNAPSHOT_PROBLEM: Final = {410: "The snapshot is gone: begin again with snapshot=new."}
QUERY_PROBLEMS: Final = {**UNAUTHENTICATED_PROBLEM, 400: "A parameter is unknown, repeated or invalid."}
BODY_PROBLEMS: Final = {
    **UNAUTHENTICATED_PROBLEM,
    400: "A parameter is invalid, or the body is not JSON.",
    413: "The body is too large.",
}


def document_list(
    summary: str,
    page_model: type[BaseModel],
    description: str,
    *,
    parameters: Sequence[Parameter] = (),
    paging: Sequence[Parameter] = WALK_PARAMETER_DOCS,
    problems: Mapping[int, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the route arguments of a paginated list.

    `description` says what is on a page and in which order; `headers` are further ones of its response.
    """
    walks = any(parameter["name"] == "snapshot" for parameter in paging)
    page_headers = WALK_HEADERS if walks else PAGE_HEADERS
    return {
        "summary": summary,
        "openapi_extra": {"parameters": [*paging, *parameters]},
        "responses": document_responses(
            (200, f"{description} A bare array if pagination is turned off.", page_model),
            NOT_MODIFIED,
            problems={**QUERY_PROBLEMS, **(SNAPSHOT_PROBLEM if walks else {}), **(problems or {})},
            headers={200: {**page_headers[200], **(headers or {})}},
        ),
    }


def document_resource(
    summary: str,
    model: type[BaseModel],
    description: str,
    *,
    parameters: Sequence[Parameter],
    problems: Mapping[int, str],
) -> dict[str, Any]:
    """Return the route arguments of one resource that is served with an ETag; `parameters` are those of the path."""
    return {
        "summary": summary,
        "openapi_extra": {"parameters": [*parameters, PRETTY_PARAMETER]},
        "responses": document_responses(
            (200, description, model),
            NOT_MODIFIED,
            problems={**QUERY_PROBLEMS, **problems},
            headers={200: ETAG_HEADERS},
        ),
    }


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the `requestBody` of a route that takes a JSON object."""
    schema = inline_definitions(model.model_json_schema())
    return {"required": True, "content": {"application/json": {"schema": schema}}}
