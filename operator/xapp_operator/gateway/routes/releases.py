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
from xapp_operator.errors import NotFound, NotFoundHere
from xapp_operator.gateway import paging
from xapp_operator.gateway.accepted import LOCATION, Options, accepted
from xapp_operator.gateway.asked import Asked, asked_xapp, not_there, require_xapp
from xapp_operator.gateway.bodies import checked_body, read_object
from xapp_operator.gateway.documented import (
    CACHED,
    NOT_CHANGED,
    ONE_XAPP,
    PAGED,
    PLAIN_PAGE,
    PRETTY,
    UNAUTHENTICATED,
    answers,
)
from xapp_operator.gateway.pages import asked_page, sliced_answer
from xapp_operator.gateway.query import shown
from xapp_operator.gateway.release import known_revisions, revisions_of, shown_manifest, shown_notes
from xapp_operator.gateway.responses import cacheable
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.schemas.records import Page, Record, RevisionShape
from xapp_operator.gateway.schemas.releases import Manifest, Notes, Rollback
from xapp_operator.kube.resources import SECRETS, XAPPS

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=PlainRoute)

LIST_NAME: Final = "history"
TOKEN_BYTES: Final = 4

_REFUSALS: Final = {**UNAUTHENTICATED, 400: "An unknown or repeated parameter.", 404: "No such xApp."}
_OF_A_RELEASE: Final = {**_REFUSALS, 404: "No such xApp, or no revision of it is deployed yet."}


@router.get(
    "/{namespace}/{name}/history",
    summary="List the revisions of an xApp",
    openapi_extra={"parameters": [*ONE_XAPP, *PLAIN_PAGE]},
    responses=answers(
        (200, "One page, newest first. A bare array where pagination is turned off.", Page[RevisionShape]),
        NOT_CHANGED,
        problems={**_REFUSALS, 400: "A parameter that is unknown, repeated or out of its bounds."},
        headers=PAGED,
    ),
    response_model=None,
)
async def history(request: Request) -> Response:
    """Answer with the revisions that are kept.

    Of an xApp known by its labels, Helm's records are listed with the caller's token, and tell number, status and time.
    """
    asked = await asked_xapp(request, parameters=paging.PLAIN_PAGE_PARAMETERS)
    page = asked_page(asked.query, asked.gateway.settings, name=LIST_NAME)
    revisions = await revisions_of(asked.caller.client, asked.entry)
    return sliced_answer(request, asked.query, page, revisions, packed=orjson.dumps)


@router.post(
    "/{namespace}/{name}/rollback",
    summary="Roll an xApp back",
    openapi_extra={
        "parameters": [*ONE_XAPP, PRETTY],
        "requestBody": {"required": True, "content": {"application/json": {"schema": Rollback.model_json_schema()}}},
    },
    responses=answers(
        (202, "Accepted: its record, at Location, tells how it goes on.", Record),
        problems={
            **_REFUSALS,
            400: "The body is no JSON, or a parameter is unknown.",
            404: "No such xApp, or no such revision in its history.",
            409: "It is known by its labels only.",
            413: "The body is too large.",
            422: "revision is missing or no number.",
        },
        headers={202: LOCATION[202]},
    ),
    status_code=202,
    response_model=None,
)
async def rollback(request: Request) -> Response:
    """Have the operator bring a revision back; it holds until the spec changes."""
    asked = await asked_xapp(request, verb="patch", parameters=("pretty",))
    body = await read_object(request, what="body")
    wanted = checked_body(body, Rollback, ask='send {"revision": <its number>} and nothing else').revision
    require_xapp(asked)
    there = known_revisions(asked.entry)
    if wanted not in there:
        kept = ", ".join(map(str, there)) or "none yet"
        raise NotFoundHere(
            f"revision {shown(str(wanted))} is not in the history of the xApp {shown(asked.entry.name)}: "
            f"choose one of those that are kept ({kept})"
        )
    stored = await _ask_for(asked, wanted)
    options = Options(dry_run=False, wait=None, pretty=asked.query.boolean("pretty"))
    return await accepted(request, asked.gateway, stored, options)


@router.get(
    "/{namespace}/{name}/manifest",
    summary="Show the manifest of an xApp",
    openapi_extra={"parameters": [*ONE_XAPP, PRETTY]},
    responses=answers(
        (200, "The objects of the revision in force, secrets masked.", Manifest),
        NOT_CHANGED,
        problems=_OF_A_RELEASE,
        headers={200: CACHED},
    ),
    response_model=None,
)
async def manifest(request: Request) -> Response:
    """Answer with the manifest in force, read with the caller's token, who must be allowed to get Secrets."""
    asked = await asked_xapp(request, resource=SECRETS, parameters=("pretty",))
    body: JsonObject = {"manifest": await shown_manifest(asked.caller.client, asked.entry)}
    return cacheable(request, orjson.dumps(body), pretty=asked.query.boolean("pretty"))


@router.get(
    "/{namespace}/{name}/notes",
    summary="Show the notes of an xApp",
    openapi_extra={"parameters": [*ONE_XAPP, PRETTY]},
    responses=answers(
        (200, "The notes of the revision in force, known secrets masked.", Notes),
        NOT_CHANGED,
        problems=_OF_A_RELEASE,
        headers={200: CACHED},
    ),
    response_model=None,
)
async def notes(request: Request) -> Response:
    """Answer with the notes in force, read with the caller's token, who must be allowed to get Secrets."""
    asked = await asked_xapp(request, resource=SECRETS, parameters=("pretty",))
    body: JsonObject = {"notes": await shown_notes(asked.caller.client, asked.entry)}
    return cacheable(request, orjson.dumps(body), pretty=asked.query.boolean("pretty"))


async def _ask_for(asked: Asked, revision: int) -> JsonObject:
    # The token makes the same wish a new one, should it be asked for again after something else.
    wish = f"{revision}@{secrets.token_hex(TOKEN_BYTES)}"
    change: JsonObject = {"metadata": {"annotations": {ANNOTATION_ROLLBACK_TO: wish}}}
    entry = asked.entry
    try:
        return await asked.caller.client.patch(XAPPS, entry.name, change, namespace=entry.namespace)
    except NotFound:
        raise not_there(
            asked.gateway, namespace=entry.namespace, name=entry.name, else_do="GET /api/xapps lists what there is"
        ) from None
