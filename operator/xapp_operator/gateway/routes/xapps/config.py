"""The configuration of an xApp, and changes of its values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.domain.chart_values.values import apply_merge_patch
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.deploy.preconditions import ExpectedXApp
from xapp_operator.gateway.deploy.values_input import SentValues, read_values
from xapp_operator.gateway.http.openapi import (
    BODY_PROBLEMS,
    XAPP_PATH_PARAMETERS,
    RequestRoute,
    document_resource,
    document_responses,
    json_body,
)
from xapp_operator.gateway.http.requests.bodies import read_body, read_json_object
from xapp_operator.gateway.http.requests.media_types import YAML_MEDIA_TYPE, accepts_yaml, sends_yaml
from xapp_operator.gateway.http.requests.validation import validate_body
from xapp_operator.gateway.http.responses.json_responses import etag_response, json_response
from xapp_operator.gateway.routes.xapps.dependencies import get_xapp_context, xapp_resource
from xapp_operator.gateway.routes.xapps.deployment_response import (
    IF_MATCH_PARAMETER,
    LOCATION_HEADERS,
    WRITE_PARAMETER_DOCS,
    WRITE_PARAMETERS,
    WriteOptions,
    deployment_response,
)
from xapp_operator.gateway.schemas.charts import ChartDescription
from xapp_operator.gateway.schemas.dry_runs import DryRun
from xapp_operator.gateway.schemas.records import XAppRecord
from xapp_operator.gateway.schemas.xapps import ValuesRequest, XAppConfiguration, XAppSpecification
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.config.configuration import ConfigurationSources, get_configuration, get_values_text
from xapp_operator.gateway.xapps.config.spec import get_spec
from xapp_operator.gateway.xapps.config.values_changes import (
    ChangeArguments,
    ValuesChange,
    change_values,
    preview_values_change,
)
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.release.chart import describe_xapp_chart

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

_CHANGE_RESPONSES: Final = document_responses(
    (200, "Ready in time (`wait`), or what would change (`dryRun`).", XAppRecord | DryRun),  # type: ignore[arg-type]
    (202, "Accepted, also when nothing changes. The record at Location shows the progress.", XAppRecord),
    problems={
        **BODY_PROBLEMS,
        404: "No such xApp.",
        409: "The xApp is known by its labels only, is being deleted, or keeps being changed by others.",
        412: "If-Match names another uid or generation.",
        413: "The body or the resulting values are too large.",
        422: "The chart's schema rejects the values (see errors), or the chart to check them with is not available.",
        504: "Rendering took too long.",
    },
    headers=LOCATION_HEADERS,
)
_YAML_TEXT: Final = {"schema": {"type": "string"}}
_VALUES_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {**json_body(ValuesRequest)["content"], YAML_MEDIA_TYPE: _YAML_TEXT},
}
_MERGE_PATCH: Final = {
    "schema": {"type": "object", "description": "A JSON merge patch (RFC 7396) of the values themselves."}
}


_SHOW_CONFIG: Final = document_resource(
    "Show the configuration of an xApp",
    XAppConfiguration,
    "Services with addresses, values, defaults and schema; as application/yaml the user's values alone.",
    parameters=XAPP_PATH_PARAMETERS,
    problems={404: "No such xApp."},
)
_SHOW_CONFIG["responses"][200]["content"] = {YAML_MEDIA_TYPE: _YAML_TEXT}


@router.get("/{namespace}/{name}/config", **_SHOW_CONFIG)
async def show_config(request: Request) -> Response:
    """Return the xApp's services with their addresses and its values; secrets are masked.

    With `Accept: application/yaml`, only the user's values: as they were written, with comments and order.
    """
    gateway = get_gateway(request)
    context = await get_xapp_context(request, parameters=("pretty",))
    if accepts_yaml(request):
        text = await get_values_text(context)
        return etag_response(request, text.encode(), media_type=f"{YAML_MEDIA_TYPE}; charset=utf-8", vary=("Accept",))
    sources = ConfigurationSources(
        advertise=gateway.advertise,
        proxy=gateway.proxy,
        own_apis=gateway.own_apis,
        loader=gateway.chart_loader,
        describer=gateway.describer,
        values=gateway.value_sources,
    )
    body = await get_configuration(context, sources)
    return etag_response(request, body, pretty=context.query.boolean("pretty"), vary=("Accept",))


@xapp_resource(
    router,
    "/chart",
    "Describe the chart of an xApp",
    ChartDescription,
    "What the chart is, secrets in its values masked.",
    problems={
        404: "No such xApp, or nothing is known of its chart.",
        422: "The chart is not available and no revision is deployed.",
    },
)
async def show_chart(context: XAppContext, gateway: Gateway) -> bytes:
    """Return the description of the chart that the spec asks for, or of the deployed one if its archive is missing."""
    async with gateway.limits.deployments.wait(context.caller.user):
        return await describe_xapp_chart(context, loader=gateway.chart_loader, describer=gateway.describer)


@xapp_resource(
    router,
    "/spec",
    "Show the spec of an xApp",
    XAppSpecification,
    "The deployment form as it is stored, and the parts that are sent beside it.",
    problems={409: "The xApp is known by its labels only."},
)
async def show_spec(context: XAppContext, _gateway: Gateway) -> bytes:
    """Return the deployment form as it is stored, from which an upgrade begins; secrets in the values are masked."""
    return await get_spec(context)


@router.put(
    "/{namespace}/{name}/config",
    summary="Replace the values of an xApp",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, *WRITE_PARAMETER_DOCS, IF_MATCH_PARAMETER],
        "requestBody": _VALUES_BODY,
    },
    responses=_CHANGE_RESPONSES,
    status_code=202,
)
async def replace_values(request: Request) -> Response:
    """Upgrade the xApp with these values instead of the current ones; the chart stays the same."""
    max_bytes = get_gateway(request).settings.values_max_bytes

    async def read_change() -> ValuesChange:
        if sends_yaml(request):
            text = await read_body(request, what="values", max_bytes=max_bytes)
            return lambda current: read_values(text, source="values", max_bytes=max_bytes, current=current)
        body = await read_json_object(request, what="body", max_bytes=max_bytes)
        values = validate_body(body, ValuesRequest, unchecked=("values",)).values
        return lambda _: SentValues(values)

    return await _change_values(request, read_change)


@router.patch(
    "/{namespace}/{name}/config",
    summary="Change some values of an xApp",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, *WRITE_PARAMETER_DOCS, IF_MATCH_PARAMETER],
        "requestBody": {
            "required": True,
            "content": {"application/merge-patch+json": _MERGE_PATCH, "application/json": _MERGE_PATCH},
        },
    },
    responses=_CHANGE_RESPONSES,
    status_code=202,
)
async def patch_values(request: Request) -> Response:
    """Upgrade the xApp with some values changed: null removes a value, objects are merged, others replaced."""
    max_bytes = get_gateway(request).settings.values_max_bytes

    async def read_change() -> ValuesChange:
        patch = await read_json_object(request, what="body", max_bytes=max_bytes)
        return lambda current: SentValues(apply_merge_patch(current, patch))

    return await _change_values(request, read_change)


async def _change_values(request: Request, read_change: Callable[[], Awaitable[ValuesChange]]) -> Response:
    gateway = get_gateway(request)
    context = await get_xapp_context(request, action=Action.CONFIGURE, parameters=WRITE_PARAMETERS)
    options = WriteOptions.from_query(context.query, gateway.settings)
    arguments = ChangeArguments(
        deployer=gateway.deployer,
        max_bytes=gateway.settings.values_max_bytes,
        expected=ExpectedXApp.of(request),
    )
    async with gateway.limits.uploads.wait(context.caller.user):
        change = await read_change()
        context.require_xapp_resource()
        async with gateway.limits.deployments.wait(context.caller.user):
            if options.dry_run:
                return json_response(await preview_values_change(context, change, arguments), pretty=options.pretty)
            stored = await change_values(context, change, arguments)
    return await deployment_response(request, stored, options)
