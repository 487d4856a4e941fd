"""Deploying, upgrading and deleting XApps."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.api.models import METHOD_REMOTE, METHOD_UPLOAD
from xapp_operator.errors import NotFound
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.deploy.forms import FORM_PART, read_namespace
from xapp_operator.gateway.deploy.new_repository import REPOSITORY_PART, read_repository_part, repository_actions
from xapp_operator.gateway.deploy.preconditions import ExpectedXApp, ExpectedXAppUid
from xapp_operator.gateway.deploy.submission import (
    FILE_PART,
    PROVENANCE_PART,
    VALUES_PART,
    Submission,
    part_rules,
    read_form,
    validate_submission,
)
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.openapi import (
    BODY_PROBLEMS,
    PRETTY_PARAMETER,
    UNAUTHENTICATED_PROBLEM,
    XAPP_PATH_PARAMETERS,
    RequestRoute,
    document_parameter,
    document_responses,
    if_match_uid_parameter,
    inline_definitions,
    json_body,
)
from xapp_operator.gateway.http.requests.bodies import decode_json_object, read_json_object
from xapp_operator.gateway.http.requests.multipart import ReceivedParts, receive_parts
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.requests.validation import validate_body
from xapp_operator.gateway.http.responses.json_responses import json_response
from xapp_operator.gateway.routes.xapps.dependencies import missing_resource_error
from xapp_operator.gateway.routes.xapps.deployment_response import (
    IF_MATCH_PARAMETER,
    LOCATION_HEADERS,
    WRITE_PARAMETER_DOCS,
    WRITE_PARAMETERS,
    WriteOptions,
    deletion_response,
    deployment_response,
)
from xapp_operator.gateway.schemas.dry_runs import DryRun
from xapp_operator.gateway.schemas.records import DeletionRequest, RemovalPreview, XAppRecord
from xapp_operator.gateway.schemas.repositories import NewRepository
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.release.dry_runs import (
    ReleaseToAdopt,
    describe_adoption,
    describe_new,
    describe_upgrade,
)
from xapp_operator.gateway.xapps.removal_preview import preview_removal
from xapp_operator.kube.resources import XAPPS

router = APIRouter(prefix="/api/deployment/xapp", tags=["Deployment"], route_class=RequestRoute)

_PROBLEMS: Final = {
    **UNAUTHENTICATED_PROBLEM,
    400: "A parameter is invalid, the body is malformed, or xAppForm is missing or not JSON.",
    409: "The xApp already exists, or repoName is saved with another url.",
    413: "A part is too large.",
    415: "The request is not multipart/form-data.",
    422: "Form, values or chart are invalid, or a remote chart is not available (dry run); see errors.",
    504: "Rendering took too long.",
}
_SUCCESSES: Final = (
    (200, "Ready in time (`wait`), or the rendered chart (`dryRun`).", XAppRecord | DryRun),
    (202, "Accepted. The record at Location shows the progress.", XAppRecord),
)


_REMOVED: Final = XAppRecord | RemovalPreview

_BINARY: Final = {"type": "string", "format": "binary"}
_UPGRADE_PARTS: Final = {
    FORM_PART: {"$ref": "#/components/schemas/DeploymentForm"},
    FILE_PART: {**_BINARY, "description": "The chart archive (.tgz) for the method 'Upload Chart'."},
    VALUES_PART: {**_BINARY, "description": "The values file (YAML)."},
    PROVENANCE_PART: {**_BINARY, "description": "The provenance file (.prov) of the chart archive."},
}
_DEPLOYMENT_PARTS: Final = {**_UPGRADE_PARTS, REPOSITORY_PART: inline_definitions(NewRepository.model_json_schema())}


def _multipart_body(parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    schema = {"type": "object", "required": [FORM_PART], "additionalProperties": False, "properties": parts}
    in_json = {name: {"contentType": "application/json"} for name in parts if name in (FORM_PART, REPOSITORY_PART)}
    return {"required": True, "content": {"multipart/form-data": {"schema": schema, "encoding": in_json}}}


@router.post(
    "",
    summary="Deploy an xApp",
    openapi_extra={"parameters": [*WRITE_PARAMETER_DOCS], "requestBody": _multipart_body(_DEPLOYMENT_PARTS)},
    responses=document_responses(
        *_SUCCESSES,  # type: ignore[arg-type]
        problems=_PROBLEMS,
        headers=LOCATION_HEADERS,
    ),
    status_code=202,
)
async def deploy(request: Request) -> Response:
    """Create the XApp that a form, a chart and a values file describe."""
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()

    async def check_permission(name: str, data: bytes) -> None:
        """Refuse before the chart is received."""
        if name != FORM_PART:
            return
        form = decode_json_object(data, what=name)
        namespace = audit_notes(request).namespace = read_namespace(form)
        if namespace is not None:
            deploy_action = Action.ADOPT if form.get("adopt") is True else Action.DEPLOY
            chart_actions = _chart_actions(form, is_uploaded=form.get("method") == METHOD_UPLOAD)
            await caller.require(deploy_action, *chart_actions, namespace=namespace)

    async with (
        gateway.limits.uploads.wait(caller.user),
        receive_parts(
            request,
            rules=part_rules(gateway.settings, with_repository=True),
            folder=gateway.upload_folder,
            on_data_part=check_permission,
        ) as parts,
        gateway.limits.deployments.wait(caller.user),
    ):
        form = read_form(parts)
        await _require_repository_rights(caller, form, parts)
        options = _read_options(request, gateway)
        submission = await validate_submission(form, parts, settings=gateway.settings, threads=gateway.archive_threads)
        audit_notes(request).name = submission.form.name
        if options.dry_run:
            return json_response(await _describe_deployment(gateway, caller, submission), pretty=options.pretty)
        if options.wait is not None:
            await caller.require(Action.VIEW, namespace=submission.form.spec.namespace, name=submission.form.name)
        stored = await gateway.deployer.create(caller, submission)
    return await deployment_response(request, stored, options)


async def _describe_deployment(gateway: Gateway, caller: Caller, submission: Submission) -> bytes:
    form = submission.form
    if not form.spec.adopt:
        return await describe_new(await gateway.deployer.preview(caller, submission))
    adopted = await ReleaseToAdopt.read(caller.client, form.spec, form.name)
    rendered = await gateway.deployer.preview(caller, submission, adopts=adopted.record is not None)
    return await describe_adoption(rendered, adopted)


@router.put(
    "/{namespace}/{name}",
    summary="Upgrade an xApp in place",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, *WRITE_PARAMETER_DOCS, IF_MATCH_PARAMETER],
        "requestBody": _multipart_body(_UPGRADE_PARTS),
    },
    responses=document_responses(
        *_SUCCESSES,  # type: ignore[arg-type]
        problems={
            **_PROBLEMS,
            404: "No such xApp.",
            409: "The xApp is known by its labels only, or repoName is saved with another url.",
            412: "If-Match names another uid or generation.",
        },
        headers=LOCATION_HEADERS,
    ),
    status_code=202,
)
async def upgrade(request: Request) -> Response:
    """Upgrade an XApp with the same parts as a deployment; without file or values the current ones are kept."""
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request)
    await caller.require(Action.UPGRADE, namespace=namespace, name=name)
    async with (
        gateway.limits.uploads.wait(caller.user),
        receive_parts(request, rules=part_rules(gateway.settings), folder=gateway.upload_folder) as parts,
        gateway.limits.deployments.wait(caller.user),
    ):
        form = read_form(parts)
        await caller.require(*_chart_actions(form, is_uploaded=FILE_PART in parts.files), namespace=namespace)
        options, expected = _read_options(request, gateway), ExpectedXApp.of(request)
        try:
            current = await caller.client.get(XAPPS, name, namespace=namespace)
        except NotFound:
            raise missing_resource_error(gateway, namespace=namespace, name=name) from None
        expected.require(current)
        submission = await validate_submission(
            form,
            parts,
            settings=gateway.settings,
            threads=gateway.archive_threads,
            current_values=obj(obj(current, "spec"), "values"),
        )
        if options.dry_run:
            rendered = await gateway.deployer.preview_upgrade(caller, current, submission)
            known = (obj(obj(current, "spec"), "values"),)
            entry = gateway.store.get(namespace, name)
            described = await describe_upgrade(caller.client, entry, rendered, known=known)
            return json_response(described, pretty=options.pretty)
        stored = await gateway.deployer.upgrade(caller, current, submission, expected=expected)
    return await deployment_response(request, stored, options)


@router.delete(
    "",
    summary="Delete an xApp",
    openapi_extra={
        "parameters": [
            document_parameter(
                "dryRun",
                "Only show what would be deleted; change nothing.",
                schema={"type": "boolean", "default": False},
            ),
            document_parameter(
                "wait",
                "Wait at most this many seconds until the xApp is gone: 200 if it is, 202 if not. A removal that is "
                "stalled is not waited for.",
                schema={"type": "number", "minimum": 0},
            ),
            if_match_uid_parameter("xApp"),
            PRETTY_PARAMETER,
        ],
        "requestBody": json_body(DeletionRequest),
    },
    responses=document_responses(
        (200, "The xApp is gone, with its last record (`wait`), or what would be deleted (`dryRun`).", _REMOVED),  # type: ignore[arg-type]
        (202, "The xApp is being deleted; repeated requests get the same response until it is gone.", XAppRecord),
        problems={
            **BODY_PROBLEMS,
            404: "No such xApp.",
            409: "The xApp is known by its labels only.",
            412: "If-Match names another uid.",
            422: "name or namespace is missing or invalid.",
        },
    ),
    status_code=202,
)
async def remove(request: Request) -> Response:
    """Delete the XApp, and its release unless the deletionPolicy is Orphan."""
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    body = await read_json_object(request, what="body")
    namespace = audit_notes(request).namespace = read_namespace(body)
    if namespace is not None:
        name = body.get("name")
        await caller.require(
            Action.UNINSTALL, namespace=namespace, name=name if isinstance(name, str) and name else None
        )
    query = StrictQuery(request.scope["query_string"]).allow_only(WRITE_PARAMETERS)
    options, expected = WriteOptions.from_query(query, gateway.settings), ExpectedXAppUid.of(request)
    deletion = validate_body(body, DeletionRequest)
    audit_notes(request).name = deletion.name
    try:
        deleted = await gateway.deployer.delete(
            caller,
            namespace=deletion.namespace,
            name=deletion.name,
            expected=expected,
            dry_run=options.dry_run,
        )
    except NotFound:
        raise missing_resource_error(gateway, namespace=deletion.namespace, name=deletion.name) from None
    if options.dry_run:
        preview = await preview_removal(caller, deleted, registry=gateway.registry, store=gateway.store)
        return json_response(preview, pretty=options.pretty)
    return await deletion_response(request, deleted, options)


def _chart_actions(form: JsonObject, *, is_uploaded: bool) -> tuple[Action, ...]:
    """Return what the chart of a deployment needs, whether or not the form is valid."""
    if is_uploaded:
        return (Action.UPLOAD,)
    return (Action.VIEW_REPOSITORY,) if form.get("method") == METHOD_REMOTE else ()


async def _require_repository_rights(caller: Caller, form: JsonObject, parts: ReceivedParts) -> None:
    """Refuse who may not save the new repository of the request; a dry run connects with its credentials too."""
    namespace = read_namespace(form)
    if namespace is not None:
        await caller.require(*repository_actions(read_repository_part(parts)), namespace=namespace)


def _read_options(request: Request, gateway: Gateway) -> WriteOptions:
    query = StrictQuery(request.scope["query_string"]).allow_only(WRITE_PARAMETERS)
    return WriteOptions.from_query(query, gateway.settings)
