"""The Helm release behind an xApp: history, rollback, manifest, notes."""

from __future__ import annotations

import secrets
from typing import Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import ANNOTATION_ROLLBACK_TO
from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound, NotFound
from xapp_operator.gateway.http import pagination
from xapp_operator.gateway.http.bodies import read_json_object, validate_body
from xapp_operator.gateway.http.list_responses import list_response, parse_list_request
from xapp_operator.gateway.http.openapi import (
    ETAG_HEADERS,
    NOT_MODIFIED,
    PAGE_HEADERS,
    PAGE_PARAMETER_DOCS,
    PRETTY_PARAMETER,
    UNAUTHENTICATED_PROBLEM,
    XAPP_PATH_PARAMETERS,
    document_responses,
)
from xapp_operator.gateway.http.responses import etag_response
from xapp_operator.gateway.http.routing import RequestRoute
from xapp_operator.gateway.routes.dependencies import get_xapp_context
from xapp_operator.gateway.routes.deployment_response import LOCATION_HEADERS, WriteOptions, deployment_response
from xapp_operator.gateway.schemas.records import Page, RevisionModel, XAppRecord
from xapp_operator.gateway.schemas.releases import ReleaseManifest, ReleaseNotes, RollbackBody
from xapp_operator.gateway.xapps.context import XAppContext, require_managed_xapp, xapp_not_found
from xapp_operator.gateway.xapps.release_records import (
    get_masked_manifest,
    get_masked_notes,
    list_revisions,
    revisions_in_status,
)
from xapp_operator.kube.resources import SECRETS, XAPPS

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

HISTORY_LIST_NAME: Final = "history"
ROLLBACK_TOKEN_BYTES: Final = 4

_PROBLEMS: Final = {**UNAUTHENTICATED_PROBLEM, 400: "An unknown or repeated parameter.", 404: "No such xApp."}
_RELEASE_PROBLEMS: Final = {**_PROBLEMS, 404: "No such xApp, or no revision of it is deployed yet."}


@router.get(
    "/{namespace}/{name}/history",
    summary="List the revisions of an xApp",
    openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, *PAGE_PARAMETER_DOCS]},
    responses=document_responses(
        (200, "One page, newest first. A bare array where pagination is turned off.", Page[RevisionModel]),
        NOT_MODIFIED,
        problems={**_PROBLEMS, 400: "A parameter that is unknown, repeated or out of its bounds."},
        headers=PAGE_HEADERS,
    ),
    response_model=None,
)
async def history(request: Request) -> Response:
    """Answer with the revisions that are kept.

    Of an xApp known by its labels, Helm's records are listed with the caller's token, and tell number, status and time.
    """
    context = await get_xapp_context(request, parameters=pagination.LIST_PARAMETERS)
    page_request = parse_list_request(context.query, context.gateway.settings, name=HISTORY_LIST_NAME)
    revisions = await list_revisions(context.caller.client, context.entry)
    return list_response(request, context.query, page_request, revisions, to_json=orjson.dumps)


@router.post(
    "/{namespace}/{name}/rollback",
    summary="Roll an xApp back",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, PRETTY_PARAMETER],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": RollbackBody.model_json_schema()}},
        },
    },
    responses=document_responses(
        (202, "Accepted: its record, at Location, tells how it goes on.", XAppRecord),
        problems={
            **_PROBLEMS,
            400: "The body is no JSON, or a parameter is unknown.",
            404: "No such xApp, or no such revision in its history.",
            409: "It is known by its labels only.",
            413: "The body is too large.",
            422: "revision is missing or no number.",
        },
        headers={202: LOCATION_HEADERS[202]},
    ),
    status_code=202,
    response_model=None,
)
async def rollback(request: Request) -> Response:
    """Have the operator bring a revision back; it holds until the spec changes."""
    context = await get_xapp_context(request, verb="patch", parameters=("pretty",))
    body = await read_json_object(request, what="body")
    revision = validate_body(body, RollbackBody, remedy='send {"revision": <its number>} and nothing else').revision
    require_managed_xapp(context)
    revisions = revisions_in_status(context.entry)
    if revision not in revisions:
        listed = ", ".join(map(str, revisions)) or "none yet"
        raise GatewayNotFound(
            f"revision {quote_input(str(revision))} is not in the history of the xApp "
            f"{quote_input(context.entry.name)}: "
            f"choose one of those that are kept ({listed})"
        )
    stored = await _request_rollback(context, revision)
    options = WriteOptions(dry_run=False, wait=None, pretty=context.query.boolean("pretty"))
    return await deployment_response(request, stored, options)


@router.get(
    "/{namespace}/{name}/manifest",
    summary="Show the manifest of an xApp",
    openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, PRETTY_PARAMETER]},
    responses=document_responses(
        (200, "The objects of the revision in force, secrets masked.", ReleaseManifest),
        NOT_MODIFIED,
        problems=_RELEASE_PROBLEMS,
        headers={200: ETAG_HEADERS},
    ),
    response_model=None,
)
async def manifest(request: Request) -> Response:
    """Answer with the manifest in force, read with the caller's token, who must be allowed to get Secrets."""
    context = await get_xapp_context(request, resource=SECRETS, parameters=("pretty",))
    body: JsonObject = {"manifest": await get_masked_manifest(context.caller.client, context.entry)}
    return etag_response(request, orjson.dumps(body), pretty=context.query.boolean("pretty"))


@router.get(
    "/{namespace}/{name}/notes",
    summary="Show the notes of an xApp",
    openapi_extra={"parameters": [*XAPP_PATH_PARAMETERS, PRETTY_PARAMETER]},
    responses=document_responses(
        (200, "The notes of the revision in force, known secrets masked.", ReleaseNotes),
        NOT_MODIFIED,
        problems=_RELEASE_PROBLEMS,
        headers={200: ETAG_HEADERS},
    ),
    response_model=None,
)
async def notes(request: Request) -> Response:
    """Answer with the notes in force, read with the caller's token, who must be allowed to get Secrets."""
    context = await get_xapp_context(request, resource=SECRETS, parameters=("pretty",))
    body: JsonObject = {"notes": await get_masked_notes(context.caller.client, context.entry)}
    return etag_response(request, orjson.dumps(body), pretty=context.query.boolean("pretty"))


async def _request_rollback(context: XAppContext, revision: int) -> JsonObject:
    # The token makes the same wish a new one, should it be asked for again after something else.
    annotation = f"{revision}@{secrets.token_hex(ROLLBACK_TOKEN_BYTES)}"
    change: JsonObject = {"metadata": {"annotations": {ANNOTATION_ROLLBACK_TO: annotation}}}
    entry = context.entry
    try:
        return await context.caller.client.patch(XAPPS, entry.name, change, namespace=entry.namespace)
    except NotFound:
        raise xapp_not_found(
            context.gateway, namespace=entry.namespace, name=entry.name, hint="GET /api/xapps lists what there is"
        ) from None
