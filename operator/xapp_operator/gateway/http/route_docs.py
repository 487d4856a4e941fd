"""OpenAPI arguments of the common kinds of routes: a list, one resource, a JSON body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from xapp_operator.gateway.http.openapi import (
    ETAG_HEADERS,
    NOT_MODIFIED,
    PAGE_HEADERS,
    PAGE_PARAMETER_DOCS,
    PRETTY_PARAMETER,
    UNAUTHENTICATED_PROBLEM,
    Parameter,
    document_responses,
)

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
    paging: Sequence[Parameter] = PAGE_PARAMETER_DOCS,
    problems: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """Return the route arguments of a paginated list; `description` says what is on a page and in which order."""
    return {
        "summary": summary,
        "openapi_extra": {"parameters": [*paging, *parameters]},
        "responses": document_responses(
            (200, f"{description} A bare array if pagination is turned off.", page_model),
            NOT_MODIFIED,
            problems={**QUERY_PROBLEMS, **(problems or {})},
            headers=PAGE_HEADERS,
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
    return {"required": True, "content": {"application/json": {"schema": model.model_json_schema()}}}
