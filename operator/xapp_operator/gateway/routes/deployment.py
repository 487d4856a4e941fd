"""Deploy, upgrade in place, remove: the one place where a caller changes what runs."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.errors import NotFound
from xapp_operator.gateway.accepted import LOCATION, PARAMETER_DOCS, PARAMETERS, Options, accepted
from xapp_operator.gateway.asked import not_there
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.bodies import checked_body, read_object
from xapp_operator.gateway.documented import ONE_XAPP, PRETTY, UNAUTHENTICATED, answers
from xapp_operator.gateway.forms import FORM, namespace_in
from xapp_operator.gateway.multipart import Parts, received_parts
from xapp_operator.gateway.query import Query
from xapp_operator.gateway.records import entry_of
from xapp_operator.gateway.rendering import Preview
from xapp_operator.gateway.responses import json_response
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import Gateway, gateway_of
from xapp_operator.gateway.schemas.records import Deletion, DryRun, Record
from xapp_operator.gateway.submission import FILE, VALUES, Submission, checked_submission, form_in, part_rules
from xapp_operator.kube.resources import XAPPS

router = APIRouter(prefix="/api/deployment/xapp", tags=["Deployment"], route_class=PlainRoute)

_REFUSALS: Final = {
    **UNAUTHENTICATED,
    400: "A parameter is wrong, the body is broken, or xAppForm is missing or no JSON.",
    409: "The xApp exists already, or repoName is saved with another url.",
    413: "A part is over its cap.",
    415: "The request is not multipart/form-data.",
    422: "Form, values or chart break a rule, or a remote chart cannot be had (dry run); errors names the fields.",
    504: "Rendering did not end in time.",
}


def _body(*, required: tuple[str, ...]) -> dict[str, Any]:
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
                        FORM: {"$ref": "#/components/schemas/DeploymentForm"},
                        FILE: {**binary, "description": "The packed chart (.tgz), with method 'Upload Chart'."},
                        VALUES: {**binary, "description": "The values file (YAML)."},
                    },
                },
                "encoding": {FORM: {"contentType": "application/json"}},
            }
        },
    }


@router.post(
    "",
    summary="Deploy an xApp",
    openapi_extra={"parameters": [*PARAMETER_DOCS], "requestBody": _body(required=(FORM,))},
    responses=answers(
        (200, "Ready in time (`wait`); or the rendered chart (`dryRun`).", Record | DryRun),  # type: ignore[arg-type]
        (202, "Accepted: its record, at Location, tells how it goes on.", Record),
        problems=_REFUSALS,
        headers=LOCATION,
    ),
    status_code=202,
    response_model=None,
)
async def deploy(request: Request) -> Response:
    """Take a form, a chart and values, and write the XApp that they describe."""
    gateway = gateway_of(request)
    caller = gateway.caller(request)
    await caller.sign_in()
    async with received_parts(request, rules=part_rules(gateway.settings), folder=gateway.uploads) as parts:
        form = form_in(parts)
        namespace = namespace_in(form)
        if namespace is not None:
            await caller.require("create", namespace=namespace)
        options = _options(request, gateway)
        submission = await checked_submission(form, parts, settings=gateway.settings, threads=gateway.threads)
        if options.dry_run:
            return _previewed(await gateway.deployer.preview(caller, submission), options)
        stored = await gateway.deployer.create(caller, submission)
    return await accepted(request, gateway, stored, options)


@router.put(
    "/{namespace}/{name}",
    summary="Upgrade an xApp in place",
    openapi_extra={"parameters": [*ONE_XAPP, *PARAMETER_DOCS], "requestBody": _body(required=(FORM,))},
    responses=answers(
        (200, "Ready in time (`wait`); or the rendered chart (`dryRun`).", Record | DryRun),  # type: ignore[arg-type]
        (202, "Accepted: its record, at Location, tells how it goes on.", Record),
        problems={
            **_REFUSALS,
            404: "No such xApp.",
            409: "The xApp is known by its labels only, or repoName is saved with another url.",
        },
        headers=LOCATION,
    ),
    status_code=202,
    response_model=None,
)
async def upgrade(request: Request) -> Response:
    """Take the same parts as for a deployment; file and values that are left out stay as they are."""
    gateway = gateway_of(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.caller(request)
    await caller.require("update", namespace=namespace)
    async with received_parts(request, rules=part_rules(gateway.settings), folder=gateway.uploads) as parts:
        form = form_in(parts)
        options = _options(request, gateway)
        current = await _current(gateway, caller, namespace=namespace, name=name)
        submission = await _checked_upgrade(gateway, form, parts, current)
        if options.dry_run:
            return _previewed(await gateway.deployer.preview_upgrade(caller, current, submission), options)
        stored = await gateway.deployer.upgrade(caller, current, submission)
    return await accepted(request, gateway, stored, options)


@router.delete(
    "",
    summary="Remove an xApp",
    openapi_extra={
        "parameters": [PRETTY],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": Deletion.model_json_schema()}},
        },
    },
    responses=answers(
        (202, "It is being removed; asking again answers the same while it goes.", Record),
        problems={
            **UNAUTHENTICATED,
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
    gateway = gateway_of(request)
    caller = gateway.caller(request)
    await caller.sign_in()
    body = await read_object(request, what="body")
    namespace = namespace_in(body)
    if namespace is not None:
        await caller.require("delete", namespace=namespace)
    query = Query(request.scope["query_string"]).only(("pretty",))
    wanted = _deletion(body)
    pretty = query.boolean("pretty")
    try:
        going = await gateway.deployer.remove(caller, namespace=wanted.namespace, name=wanted.name)
    except NotFound:
        raise not_there(
            gateway, namespace=wanted.namespace, name=wanted.name, else_do="GET /api/xapps lists all"
        ) from None
    return json_response(entry_of(going).record, status=202, pretty=pretty)


def _options(request: Request, gateway: Gateway) -> Options:
    """Read the query before anything is written."""
    return Options.of(Query(request.scope["query_string"]).only(PARAMETERS), gateway)


async def _current(gateway: Gateway, caller: Caller, *, namespace: str, name: str) -> JsonObject:
    try:
        return await caller.client.get(XAPPS, name, namespace=namespace)
    except NotFound:
        raise not_there(gateway, namespace=namespace, name=name, else_do="deploy it with POST") from None


async def _checked_upgrade(gateway: Gateway, form: JsonObject, parts: Parts, current: JsonObject) -> Submission:
    values = obj(obj(current, "spec"), "values")
    return await checked_submission(
        form, parts, settings=gateway.settings, threads=gateway.threads, current_values=values
    )


def _previewed(preview: Preview, options: Options) -> Response:
    return json_response(preview.as_json(), pretty=options.pretty)


def _deletion(body: JsonObject) -> Deletion:
    return checked_body(body, Deletion, ask="send name and namespace of the xApp, as texts, and nothing else")
