"""Services and their addresses, values, defaults and schema of an xApp; and changes of its values."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject
from xapp_operator.domain.values import patched
from xapp_operator.errors import FieldError, FormInvalid
from xapp_operator.gateway.accepted import LOCATION, PARAMETER_DOCS, PARAMETERS, Options, accepted
from xapp_operator.gateway.asked import Asked, asked_xapp, require_xapp
from xapp_operator.gateway.bodies import read_object
from xapp_operator.gateway.configuration import Change, change_values, configuration, preview_change
from xapp_operator.gateway.documented import CACHED, NOT_CHANGED, ONE_XAPP, PRETTY, UNAUTHENTICATED, answers
from xapp_operator.gateway.query import shown
from xapp_operator.gateway.responses import cacheable, json_response
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.schemas.config import ConfigDryRun, Configuration, NewValues
from xapp_operator.gateway.schemas.records import Record

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)

_CHANGED: Final = answers(
    (200, "Ready in time (`wait`); or what would change (`dryRun`).", Record | ConfigDryRun),  # type: ignore[arg-type]
    (202, "Accepted: its record, at Location, tells how it goes on. Also when nothing changes.", Record),
    problems={
        **UNAUTHENTICATED,
        400: "A parameter is wrong, or the body is no JSON.",
        404: "No such xApp.",
        409: "It is known by its labels only, is being removed, or is changed by somebody else all the time.",
        413: "The body, or the values that it makes, are too large.",
        422: "The chart's schema refuses the values (errors names them), or the chart cannot be had to check them.",
        504: "Rendering did not end in time.",
    },
    headers=LOCATION,
)


def _body(schema: dict[str, Any], *media: str) -> dict[str, Any]:
    return {"required": True, "content": {each: {"schema": schema} for each in media}}


@router.get(
    "/{namespace}/{name}/config",
    summary="Show the configuration of an xApp",
    openapi_extra={"parameters": [*ONE_XAPP, PRETTY]},
    responses=answers(
        (200, "Services with addresses, values, defaults and schema.", Configuration),
        NOT_CHANGED,
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter.", 404: "No such xApp."},
        headers={200: CACHED},
    ),
    response_model=None,
)
async def show_config(request: Request) -> Response:
    """Answer with where the xApp can be reached and what it is configured with; secrets are masked."""
    asked = await asked_xapp(request, parameters=("pretty",))
    return cacheable(request, await configuration(asked), pretty=asked.query.boolean("pretty"))


@router.put(
    "/{namespace}/{name}/config",
    summary="Replace the values of an xApp",
    openapi_extra={
        "parameters": [*ONE_XAPP, *PARAMETER_DOCS],
        "requestBody": _body(NewValues.model_json_schema(), "application/json"),
    },
    responses=_CHANGED,
    status_code=202,
    response_model=None,
)
async def replace_values(request: Request) -> Response:
    """Upgrade the xApp with these values in place of the present ones; its chart stays as it is."""
    asked, options, body = await _asked(request)
    values = _new_values(body)
    return await _answer(request, asked, options, lambda _: values)


@router.patch(
    "/{namespace}/{name}/config",
    summary="Change some values of an xApp",
    openapi_extra={
        "parameters": [*ONE_XAPP, *PARAMETER_DOCS],
        "requestBody": _body(
            {"type": "object", "description": "A JSON merge patch (RFC 7396) of the values themselves."},
            "application/merge-patch+json",
            "application/json",
        ),
    },
    responses=_CHANGED,
    status_code=202,
    response_model=None,
)
async def patch_values(request: Request) -> Response:
    """Upgrade the xApp with some values changed: null takes a value away, objects merge, all else replaces."""
    asked, options, patch = await _asked(request)
    return await _answer(request, asked, options, partial(patched, patch=patch))


async def _asked(request: Request) -> tuple[Asked, Options, JsonObject]:
    asked = await asked_xapp(request, verb="update", parameters=PARAMETERS)
    options = Options.of(asked.query, asked.gateway)
    body = await read_object(request, what="body", max_bytes=asked.gateway.settings.values_max_bytes)
    require_xapp(asked)
    return asked, options, body


async def _answer(request: Request, asked: Asked, options: Options, change: Change) -> Response:
    if options.dry_run:
        return json_response(await preview_change(asked, change), pretty=options.pretty)
    stored = await change_values(asked, change)
    return await accepted(request, asked.gateway, stored, options)


def _new_values(body: JsonObject) -> JsonObject:
    values = body.get("values")
    errors = [
        FieldError(shown(key).strip("'\""), "is no field here: send the values under values, and nothing else")
        for key in body
        if key != "values"
    ][:10]
    if not isinstance(values, dict):
        errors.append(FieldError("values", "is required, as an object: {} has the chart's own values count"))
    if errors or not isinstance(values, dict):
        raise FormInvalid(f"{errors[0].field} {errors[0].message}", errors=tuple(errors))
    return values
