"""Actions on an xApp, such as retry and suspend."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.deploy.preconditions import ExpectedXApp
from xapp_operator.gateway.http.openapi import (
    BODY_PROBLEMS,
    PRETTY_PARAMETER,
    XAPP_PATH_PARAMETERS,
    RequestRoute,
    document_responses,
    json_body,
)
from xapp_operator.gateway.http.requests.bodies import read_json_object
from xapp_operator.gateway.http.requests.validation import validate_body
from xapp_operator.gateway.routes.xapps.dependencies import get_xapp_context
from xapp_operator.gateway.routes.xapps.deployment_response import (
    IF_MATCH_PARAMETER,
    LOCATION_HEADERS,
    WAIT_PARAMETER,
    Completion,
    WriteOptions,
    deployment_response,
)
from xapp_operator.gateway.schemas.records import XAppRecord
from xapp_operator.gateway.schemas.xapps import ActionBody
from xapp_operator.gateway.state import get_gateway
from xapp_operator.gateway.xapps.actions import RECONCILE, SUSPEND, TEST, request_action, require_known_action

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)


@router.post(
    "/{namespace}/{name}/actions",
    summary="Act on an xApp",
    openapi_extra={
        "parameters": [*XAPP_PATH_PARAMETERS, WAIT_PARAMETER, IF_MATCH_PARAMETER, PRETTY_PARAMETER],
        "requestBody": json_body(ActionBody),
    },
    responses=document_responses(
        (
            200,
            "Done in time (`wait`): the xApp is ready or suspended, its tests have ended, or the operator has looked.",
            XAppRecord,
        ),
        (202, "Accepted. The record at Location shows the progress.", XAppRecord),
        problems={
            **BODY_PROBLEMS,
            404: "No such xApp.",
            409: "The xApp is known by its labels only, or the action has no effect on it now; detail says why.",
            412: "If-Match names another uid or generation.",
            422: "action is missing or unknown; errors names the actions that there are.",
        },
        headers=LOCATION_HEADERS,
    ),
    status_code=202,
)
async def act(request: Request) -> Response:
    """Ask the operator to look again, retry, upgrade in any case or run the tests, or suspend or resume the xApp."""
    context = await get_xapp_context(request, action=Action.ACT, parameters=("wait", "pretty"))
    options = WriteOptions.from_query(context.query, get_gateway(request).settings)
    expected = ExpectedXApp.of(request)
    action = validate_body(await read_json_object(request, what="body"), ActionBody).action
    require_known_action(action)
    context.require_xapp_resource()
    stored, handled = await request_action(context, action, expected=expected)
    if action == SUSPEND:
        completion = Completion.suspended(stored)
    elif action == TEST and handled is not None:
        completion = Completion.tested(stored, handled)
    elif action == RECONCILE and handled is not None:
        completion = Completion.observed(handled)
    else:
        completion = Completion.ready(stored, handled=handled)
    return await deployment_response(request, stored, options, completion=completion)
