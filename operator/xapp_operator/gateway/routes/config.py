"""Services and their addresses, values, defaults and schema of an xApp; and changes of its values."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject
from xapp_operator.common.text import escape_input
from xapp_operator.domain.values import apply_merge_patch
from xapp_operator.errors import FieldError, FormInvalid
from xapp_operator.gateway.http.bodies import read_json_object
from xapp_operator.gateway.http.openapi import (
    ETAG_HEADERS,
    NOT_MODIFIED,
    PRETTY_PARAMETER,
    UNAUTHENTICATED_PROBLEM,
    XAPP_PATH_PARAMETERS,
    document_responses,
)
from xapp_operator.gateway.http.responses import etag_response, json_response
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.routes.dependencies import get_xapp_context
from xapp_operator.gateway.routes.deployment_response import (
    LOCATION_HEADERS,
    WRITE_PARAMETER_DOCS,
    WRITE_PARAMETERS,
    WriteOptions,
    deployment_response,
)
from xapp_operator.gateway.schemas.config import ConfigDryRun, ValuesRequest, XAppConfiguration
from xapp_operator.gateway.schemas.records import XAppRecord
from xapp_operator.gateway.xapps.configuration import (
    ValuesChange,
    change_values,
    get_configuration,
    preview_values_change,
)
from xapp_operator.gateway.xapps.context import XAppContext, require_managed_xapp

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

_CHANGE_RESPONSES: Final = document_responses(
    (200, "Ready in time (`wait`); or what would change (`dryRun`).", XAppRecord | ConfigDryRun),  # type: ignore[arg-type]
    (202, "Accepted: its record, at Location, tells how it goes on. Also when nothing changes.", XAppRecord),
    problems={
        **UNAUTHENTICATED_PROBLEM,
        400: "A parameter is wrong, or the body is no JSON.",
        404: "No such xApp.",
        409: "It is known by its labels only, is being removed, or is changed by somebody else all the time.",
        413: "The body, or the values that it makes, are too large.",
        422: "The chart's schema refuses the values (errors names them), or the chart cannot be had to check them.",
        504: "Rendering did not end in time.",
    },
    headers=LOCATION_HEADERS,
)


def _request_body(schema: dict[str, Any], *media_types: str) -> dict[str, Any]:
    return {"required": True, "content": {each: {"schema": schema} for each in media_types}}


@router.get(
    "/{namespace}/{name}/config",
    summary="Show the configuration of an xApp",
    openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, PRETTY_PARAMETER]},
    responses=document_responses(
        (200, "Services with addresses, values, defaults and schema.", XAppConfiguration),
        NOT_MODIFIED,
        problems={**UNAUTHENTICATED_PROBLEM, 400: "An unknown or repeated parameter.", 404: "No such xApp."},
        headers={200: ETAG_HEADERS},
    ),
    response_model=None,
)
async def show_config(request: Request) -> Response:
    """Answer with where the xApp can be reached and what it is configured with; secrets are masked."""
    context = await get_xapp_context(request, parameters=("pretty",))
    return etag_response(request, await get_configuration(context), pretty=context.query.boolean("pretty"))


@router.put(
    "/{namespace}/{name}/config",
    summary="Replace the values of an xApp",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, *WRITE_PARAMETER_DOCS],
        "requestBody": _request_body(ValuesRequest.model_json_schema(), "application/json"),
    },
    responses=_CHANGE_RESPONSES,
    status_code=202,
    response_model=None,
)
async def replace_values(request: Request) -> Response:
    """Upgrade the xApp with these values in place of the present ones; its chart stays as it is."""
    context, options, body = await _read_change(request)
    values = _values_in_body(body)
    return await _change_values(request, context, options, lambda _: values)


@router.patch(
    "/{namespace}/{name}/config",
    summary="Change some values of an xApp",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, *WRITE_PARAMETER_DOCS],
        "requestBody": _request_body(
            {"type": "object", "description": "A JSON merge patch (RFC 7396) of the values themselves."},
            "application/merge-patch+json",
            "application/json",
        ),
    },
    responses=_CHANGE_RESPONSES,
    status_code=202,
    response_model=None,
)
async def patch_values(request: Request) -> Response:
    """Upgrade the xApp with some values changed: null takes a value away, objects merge, all else replaces."""
    context, options, patch = await _read_change(request)
    return await _change_values(request, context, options, partial(apply_merge_patch, patch=patch))


async def _read_change(request: Request) -> tuple[XAppContext, WriteOptions, JsonObject]:
    context = await get_xapp_context(request, verb="update", parameters=WRITE_PARAMETERS)
    options = WriteOptions.from_query(context.query, context.gateway.settings)
    body = await read_json_object(request, what="body", max_bytes=context.gateway.settings.values_max_bytes)
    require_managed_xapp(context)
    return context, options, body


async def _change_values(
    request: Request, context: XAppContext, options: WriteOptions, change: ValuesChange
) -> Response:
    if options.dry_run:
        return json_response(await preview_values_change(context, change), pretty=options.pretty)
    stored = await change_values(context, change)
    return await deployment_response(request, stored, options)


def _values_in_body(body: JsonObject) -> JsonObject:
    values = body.get("values")
    errors = [
        FieldError(escape_input(key), "is no field here: send the values under values, and nothing else")
        for key in body
        if key != "values"
    ][:10]
    if not isinstance(values, dict):
        errors.append(FieldError("values", "is required, as an object: {} has the chart's own values count"))
    if errors or not isinstance(values, dict):
        raise FormInvalid(f"{errors[0].field} {errors[0].message}", errors=tuple(errors))
    return values
