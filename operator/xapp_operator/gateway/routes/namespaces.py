"""The namespaces that a caller can choose."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.http.lists import pagination
from xapp_operator.gateway.http.lists.pagination import (
    SequenceSnapshot,
    Walks,
    compute_page_bounds,
    page_response,
    parse_list_request,
)
from xapp_operator.gateway.http.openapi import RequestRoute, document_list, document_parameter
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.schemas.permissions import NamespaceRecord
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.state import get_gateway

router = APIRouter(prefix="/api/namespaces", tags=["Deployment"], route_class=RequestRoute)

NAME_BYTES: Final = 128
"""About how much memory a name takes."""
_ACTIONS: Final = tuple(action.value for action in Action)


@router.get(
    "",
    **document_list(
        "List namespaces",
        Page[NamespaceRecord],
        "One page, by name.",
        parameters=[
            document_parameter(
                "action",
                "What to do there; allowed says whether the caller may.",
                schema={"enum": list(_ACTIONS), "default": Action.DEPLOY.value},
            ),
            document_parameter(
                "search",
                "Only names with this text. A whole name that is not listed comes first, whether or not it exists.",
            ),
        ],
    ),
)
async def list_namespaces(request: Request) -> Response:
    """Return one page of the namespaces that the caller may know of."""
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    query = StrictQuery(request.scope["query_string"]).allow_only((*pagination.LIST_PARAMETERS, "action", "search"))
    page_request = parse_list_request(query, gateway.settings, name="namespaces")
    action = Action(query.choice("action", _ACTIONS) or Action.DEPLOY)
    gateway.require_synced()
    search = query.text("search") or ""
    matches = await gateway.namespaces.search(caller, gateway.store, search)
    # A walk keeps the names. What the caller may do there is looked up for each page.
    walks = Walks(
        gateway.snapshots,
        caller.user,
        key=("namespaces", action, search),
        memory_bytes=NAME_BYTES * len(matches.names),
    )
    token, found = walks.open(page_request, SequenceSnapshot(matches.names, str.encode))
    bounds = compute_page_bounds(page_request, total_count=len(found.items))
    choices = await gateway.namespaces.describe(
        caller,
        gateway.store,
        found.items[bounds.start : bounds.stop],
        action=action,
        unlisted=matches.unlisted,
    )
    return page_response(request, query, page_request, bounds, [each.to_json() for each in choices], snapshot=token)
