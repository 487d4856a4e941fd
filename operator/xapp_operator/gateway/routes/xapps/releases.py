"""The Helm release of an xApp: history, rollback, manifest and notes."""

from __future__ import annotations

import asyncio
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
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.catalog.records import HandledRequest
from xapp_operator.gateway.deploy.preconditions import ExpectedXApp, patch_xapp
from xapp_operator.gateway.http.lists import pagination
from xapp_operator.gateway.http.lists.pagination import Walks, list_response, parse_list_request
from xapp_operator.gateway.http.openapi import (
    BODY_PROBLEMS,
    XAPP_PATH_PARAMETERS,
    RequestRoute,
    document_list,
    document_responses,
    json_body,
)
from xapp_operator.gateway.http.requests.bodies import read_json_object
from xapp_operator.gateway.http.requests.validation import validate_body
from xapp_operator.gateway.http.responses.json_responses import json_response
from xapp_operator.gateway.routes.xapps.dependencies import get_xapp_context, xapp_resource
from xapp_operator.gateway.routes.xapps.deployment_response import (
    IF_MATCH_PARAMETER,
    LOCATION_HEADERS,
    WRITE_PARAMETER_DOCS,
    WRITE_PARAMETERS,
    Completion,
    WriteOptions,
    deployment_response,
)
from xapp_operator.gateway.schemas.dry_runs import DryRun
from xapp_operator.gateway.schemas.records import Page, RevisionModel, XAppRecord
from xapp_operator.gateway.schemas.xapps import ReleaseManifest, ReleaseNotes, RollbackBody
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.actions import require_possible_rollback
from xapp_operator.gateway.xapps.context import XAppContext, xapp_not_found
from xapp_operator.gateway.xapps.release.dry_runs import describe_rollback
from xapp_operator.gateway.xapps.release_records import (
    get_deployed_release,
    get_masked_manifest,
    get_masked_notes,
    get_revision,
    list_revisions,
    revisions_in_status,
)

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

ROLLBACK_TOKEN_BYTES: Final = 4
REVISION_BYTES: Final = 2 * 1024
"""About how much memory a revision of the history takes."""

_RELEASE_PROBLEMS: Final = {404: "No such xApp, or no revision of it is deployed yet."}


@router.get(
    "/{namespace}/{name}/history",
    **document_list(
        "List the revisions of an xApp",
        Page[RevisionModel],
        "One page, newest first.",
        parameters=XAPP_PATH_PARAMETERS,
        problems={404: "No such xApp."},
    ),
)
async def history(request: Request) -> Response:
    """Return the revisions that are kept.

    For an xApp that is known by its labels only they come from Helm's Secrets, read with the caller's token, and have
    only number, status and time.
    """
    context = await get_xapp_context(request, parameters=pagination.LIST_PARAMETERS)
    page_request = parse_list_request(context.query, get_gateway(request).settings, name="history")
    revisions = await list_revisions(context.caller.client, context.entry)
    walks = Walks(
        get_gateway(request).snapshots,
        context.caller.user,
        key=("history", context.entry.uid),
        memory_bytes=REVISION_BYTES * len(revisions),
    )
    return list_response(request, context.query, page_request, revisions, to_json=orjson.dumps, walks=walks)


@router.post(
    "/{namespace}/{name}/rollback",
    summary="Roll back an xApp",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, *WRITE_PARAMETER_DOCS, IF_MATCH_PARAMETER],
        "requestBody": json_body(RollbackBody),
    },
    responses=document_responses(
        (200, "Rolled back and ready in time (`wait`), or what would change (`dryRun`).", XAppRecord | DryRun),  # type: ignore[arg-type]
        (202, "Accepted. The record at Location shows the progress.", XAppRecord),
        problems={
            **BODY_PROBLEMS,
            404: "No such xApp, or no such revision in its history.",
            409: "The xApp is known by its labels only or suspended, or the revision is in force.",
            412: "If-Match names another uid or generation.",
            422: "revision is missing or not a number.",
        },
        headers=LOCATION_HEADERS,
    ),
    status_code=202,
)
async def rollback(request: Request) -> Response:
    """Roll back to a revision, which is held until the spec changes. A dry run needs the right to get Secrets too."""
    context = await get_xapp_context(request, action=Action.ROLLBACK, parameters=WRITE_PARAMETERS)
    options = WriteOptions.from_query(context.query, get_gateway(request).settings)
    expected = ExpectedXApp.of(request)
    revision = validate_body(await read_json_object(request, what="body"), RollbackBody).revision
    context.require_xapp_resource()
    revisions = revisions_in_status(context.entry)
    if revision not in revisions:
        listed = ", ".join(map(str, revisions)) or "none yet"
        raise GatewayNotFound(
            f"revision {quote_input(str(revision))} is not in the history of the xApp "
            f"{quote_input(context.entry.name)}: choose one of the kept revisions ({listed})"
        )
    if options.dry_run:
        await context.caller.require(Action.RELEASE, namespace=context.namespace)
        expected.require(await context.get_xapp())
        client, entry = context.caller.client, context.entry
        target, deployed = await asyncio.gather(
            get_revision(client, entry, revision), get_deployed_release(client, entry)
        )
        return json_response(await describe_rollback(target, deployed), pretty=options.pretty)
    stored, handled = await _request_rollback(context, revision, expected=expected)
    return await deployment_response(request, stored, options, completion=Completion.rolled_back(revision, handled))


@xapp_resource(
    router,
    "/manifest",
    "Show the manifest of an xApp",
    ReleaseManifest,
    "The objects of the deployed revision, secrets masked.",
    action=Action.RELEASE,
    problems=_RELEASE_PROBLEMS,
)
async def manifest(context: XAppContext, _gateway: Gateway) -> bytes:
    """Return the deployed manifest; the caller needs the right to get Secrets."""
    return orjson.dumps({"manifest": await get_masked_manifest(context.caller.client, context.entry)})


@xapp_resource(
    router,
    "/notes",
    "Show the notes of an xApp",
    ReleaseNotes,
    "The notes of the deployed revision, known secrets masked.",
    action=Action.RELEASE,
    problems=_RELEASE_PROBLEMS,
)
async def notes(context: XAppContext, _gateway: Gateway) -> bytes:
    """Return the notes of the deployed revision; the caller needs the right to get Secrets."""
    return orjson.dumps({"notes": await get_masked_notes(context.caller.client, context.entry)})


async def _request_rollback(
    context: XAppContext, revision: int, *, expected: ExpectedXApp
) -> tuple[JsonObject, HandledRequest]:
    # The token makes a second request for the same revision a new value of the annotation.
    annotation = f"{revision}@{secrets.token_hex(ROLLBACK_TOKEN_BYTES)}"

    def change(current: JsonObject) -> JsonObject:
        require_possible_rollback(current, revision, name=context.entry.name)
        return {"metadata": {"annotations": {ANNOTATION_ROLLBACK_TO: annotation}}}

    try:
        stored = await patch_xapp(
            context.caller.client,
            namespace=context.namespace,
            name=context.entry.name,
            expected=expected,
            change=change,
        )
        return stored, HandledRequest("rollbackTo", annotation)
    except NotFound:
        raise xapp_not_found(context.namespace, context.entry.name) from None
