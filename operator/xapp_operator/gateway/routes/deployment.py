"""Deploy, upgrade in place, remove: the one place where a caller changes what runs."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.errors import NotFound
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.deploy.forms import FORM_PART, read_namespace
from xapp_operator.gateway.deploy.rendering import Preview
from xapp_operator.gateway.deploy.submission import (
    FILE_PART,
    VALUES_PART,
    Submission,
    part_rules,
    read_form,
    validate_submission,
)
from xapp_operator.gateway.http.bodies import read_json_object, validate_body
from xapp_operator.gateway.http.multipart import ReceivedParts, receive_parts
from xapp_operator.gateway.http.openapi import (
    PRETTY_PARAMETER,
    UNAUTHENTICATED_PROBLEM,
    XAPP_PATH_PARAMETERS,
    document_responses,
)
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import json_response
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.routes.deployment_response import (
    LOCATION_HEADERS,
    WRITE_PARAMETER_DOCS,
    WRITE_PARAMETERS,
    WriteOptions,
    deployment_response,
)
from xapp_operator.gateway.schemas.records import DeletionRequest, DeploymentDryRun, XAppRecord
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.context import xapp_not_found
from xapp_operator.kube.resources import XAPPS

router = APIRouter(prefix="/api/deployment/xapp", tags=["Deployment"], route_class=RequestRoute)

_PROBLEMS: Final = {
    **UNAUTHENTICATED_PROBLEM,
    400: "A parameter is wrong, the body is broken, or xAppForm is missing or no JSON.",
    409: "The xApp exists already, or repoName is saved with another url.",
    413: "A part is over its cap.",
    415: "The request is not multipart/form-data.",
    422: "Form, values or chart break a rule, or a remote chart cannot be had (dry run); errors names the fields.",
    504: "Rendering did not end in time.",
}


def _request_body(*, required: tuple[str, ...]) -> dict[str, Any]:
    binary = {"type": "string", "format": "binary"}
    return {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": list(required),
                    "additionalProperties": False,
                    "properties": {
                        FORM_PART: {"$ref": "#/components/schemas/DeploymentForm"},
                        FILE_PART: {**binary, "description": "The packed chart (.tgz), with method 'Upload Chart'."},
                        VALUES_PART: {**binary, "description": "The values file (YAML)."},
                    },
                },
                "encoding": {FORM_PART: {"contentType": "application/json"}},
            }
        },
    }


@router.post(
    "",
    summary="Deploy an xApp",
    openapi_extra={"parameters": [*WRITE_PARAMETER_DOCS], "requestBody": _request_body(required=(FORM_PART,))},
    responses=document_responses(
        (200, "Ready in time (`wait`); or the rendered chart (`dryRun`).", XAppRecord | DeploymentDryRun),  # type: ignore[arg-type]
        (202, "Accepted: its record, at Location, tells how it goes on.", XAppRecord),
        problems=_PROBLEMS,
        headers=LOCATION_HEADERS,
    ),
    status_code=202,
    response_model=None,
)
async def deploy(request: Request) -> Response:
    """Take a form, a chart and values, and write the XApp that they describe."""
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    async with receive_parts(request, rules=part_rules(gateway.settings), folder=gateway.upload_folder) as parts:
        form = read_form(parts)
        namespace = read_namespace(form)
        if namespace is not None:
            await caller.require_allowed("create", namespace=namespace)
        options = _read_options(request, gateway)
        submission = await validate_submission(form, parts, settings=gateway.settings, threads=gateway.archive_threads)
        if options.dry_run:
            return _preview_response(await gateway.deployer.preview(caller, submission), options)
        stored = await gateway.deployer.create(caller, submission)
    return await deployment_response(request, stored, options)


@router.put(
    "/{namespace}/{name}",
    summary="Upgrade an xApp in place",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, *WRITE_PARAMETER_DOCS],
        "requestBody": _request_body(required=(FORM_PART,)),
    },
    responses=document_responses(
        (200, "Ready in time (`wait`); or the rendered chart (`dryRun`).", XAppRecord | DeploymentDryRun),  # type: ignore[arg-type]
        (202, "Accepted: its record, at Location, tells how it goes on.", XAppRecord),
        problems={
            **_PROBLEMS,
            404: "No such xApp.",
            409: "The xApp is known by its labels only, or repoName is saved with another url.",
        },
        headers=LOCATION_HEADERS,
    ),
    status_code=202,
    response_model=None,
)
async def upgrade(request: Request) -> Response:
    """Take the same parts as for a deployment; file and values that are left out stay as they are."""
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request)
    await caller.require_allowed("update", namespace=namespace)
    async with receive_parts(request, rules=part_rules(gateway.settings), folder=gateway.upload_folder) as parts:
        form = read_form(parts)
        options = _read_options(request, gateway)
        current = await _get_xapp(gateway, caller, namespace=namespace, name=name)
        submission = await _validate_upgrade(gateway, form, parts, current)
        if options.dry_run:
            return _preview_response(await gateway.deployer.preview_upgrade(caller, current, submission), options)
        stored = await gateway.deployer.upgrade(caller, current, submission)
    return await deployment_response(request, stored, options)


@router.delete(
    "",
    summary="Remove an xApp",
    openapi_extra={
        "parameters": [PRETTY_PARAMETER],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": DeletionRequest.model_json_schema()}},
        },
    },
    responses=document_responses(
        (202, "It is being removed; asking again answers the same while it goes.", XAppRecord),
        problems={
            **UNAUTHENTICATED_PROBLEM,
            400: "The body is no JSON.",
            404: "No such xApp.",
            409: "It is known by its labels only.",
            413: "The body is too large.",
            422: "name or namespace is missing or wrong.",
        },
    ),
    status_code=202,
    response_model=None,
)
async def remove(request: Request) -> Response:
    """Delete the XApp; its release goes with it, unless its deletionPolicy is Orphan."""
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    body = await read_json_object(request, what="body")
    namespace = read_namespace(body)
    if namespace is not None:
        await caller.require_allowed("delete", namespace=namespace)
    query = StrictQuery(request.scope["query_string"]).allow_only(("pretty",))
    deletion = _read_deletion(body)
    pretty = query.boolean("pretty")
    try:
        deleted = await gateway.deployer.delete(caller, namespace=deletion.namespace, name=deletion.name)
    except NotFound:
        raise xapp_not_found(
            gateway, namespace=deletion.namespace, name=deletion.name, hint="GET /api/xapps lists all"
        ) from None
    return json_response(build_xapp_entry(deleted).record_json, status=202, pretty=pretty)


def _read_options(request: Request, gateway: Gateway) -> WriteOptions:
    """Read the query before anything is written."""
    return WriteOptions.from_query(
        StrictQuery(request.scope["query_string"]).allow_only(WRITE_PARAMETERS), gateway.settings
    )


async def _get_xapp(gateway: Gateway, caller: Caller, *, namespace: str, name: str) -> JsonObject:
    try:
        return await caller.client.get(XAPPS, name, namespace=namespace)
    except NotFound:
        raise xapp_not_found(gateway, namespace=namespace, name=name, hint="deploy it with POST") from None


async def _validate_upgrade(
    gateway: Gateway, form: JsonObject, parts: ReceivedParts, current: JsonObject
) -> Submission:
    values = obj(obj(current, "spec"), "values")
    return await validate_submission(
        form, parts, settings=gateway.settings, threads=gateway.archive_threads, current_values=values
    )


def _preview_response(preview: Preview, options: WriteOptions) -> Response:
    return json_response(preview.as_json(), pretty=options.pretty)


def _read_deletion(body: JsonObject) -> DeletionRequest:
    return validate_body(
        body, DeletionRequest, remedy="send name and namespace of the xApp, as texts, and nothing else"
    )
