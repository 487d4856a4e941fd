"""What the caller may do."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import Json
from xapp_operator.common.text import quote_input
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.openapi import (
    PRETTY_PARAMETER,
    QUERY_PROBLEMS,
    RequestRoute,
    document_parameter,
    document_responses,
)
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.requests.validation import DNS_LABEL_RULE, is_dns_label
from xapp_operator.gateway.http.responses.json_responses import json_response
from xapp_operator.gateway.http.responses.problems import missing_rights_json
from xapp_operator.gateway.schemas.permissions import PermissionReport
from xapp_operator.gateway.state import get_gateway

router = APIRouter(prefix="/api/permissions", tags=["Session"], route_class=RequestRoute)

_HEADERS: Final = {"Cache-Control": "no-store"}


@router.get(
    "",
    summary="What may I do?",
    openapi_extra={
        "parameters": [
            document_parameter("namespace", "Rights in this namespace. Default: rights in all namespaces."),
            document_parameter("name", "Rights on the xApp of this name; Roles can name the objects that they allow."),
            PRETTY_PARAMETER,
        ]
    },
    responses=document_responses(
        (200, "Each action, and the rights that the caller lacks for it.", PermissionReport),
        problems=QUERY_PROBLEMS,
    ),
)
async def permissions(request: Request) -> Response:
    """Return which actions the caller may do. Nothing says whether the namespace or the xApp exists."""
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    query = StrictQuery(request.scope["query_string"]).allow_only(("namespace", "name", "pretty"))
    namespace, name = query.text("namespace"), query.text("name")
    if namespace is not None and not is_dns_label(namespace):
        raise MalformedRequest.for_field("namespace", f"{DNS_LABEL_RULE}, not {quote_input(namespace)}")
    if name is not None and namespace is None:
        raise MalformedRequest.for_field("name", "is the name of an xApp: send its namespace too")
    pretty = query.boolean("pretty")
    missing = await gateway.permissions.missing_by_action(caller, namespace=namespace, name=name)
    rights: list[Json] = [
        {"action": action.value, "allowed": not lacking, "missing": missing_rights_json(lacking)}
        for action, lacking in missing.items()
    ]
    return json_response({"rights": rights}, pretty=pretty, headers=_HEADERS)
