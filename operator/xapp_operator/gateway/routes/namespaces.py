"""The namespaces that a caller can choose."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.http import pagination
from xapp_operator.gateway.http.openapi import RequestRoute, document_list, document_parameter
from xapp_operator.gateway.http.pagination import compute_page_bounds, page_response, parse_list_request
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.schemas.permissions import NamespaceRecord
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.state import get_gateway

router = APIRouter(prefix="/api/namespaces", tags=["Deployment"], route_class=RequestRoute)

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
    matches = await gateway.namespaces.search(caller, gateway.store, query.text("search") or "")
    bounds = compute_page_bounds(page_request, total_count=len(matches.names))
    choices = await gateway.namespaces.describe(
        caller,
        gateway.store,
        matches.names[bounds.start : bounds.stop],
        action=action,
        unlisted=matches.unlisted,
    )
    return page_response(request, query, page_request, bounds, [each.to_json() for each in choices])
