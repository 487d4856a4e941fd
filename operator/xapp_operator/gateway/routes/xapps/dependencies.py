"""What the routes about an existing xApp share.

To add `GET /api/xapps/{namespace}/{name}/something`, decorate a function with `xapp_resource`. Routes with other
methods start with `get_xapp_context`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from xapp_operator.errors import GatewayNotFound, NoXAppResource
from xapp_operator.gateway.auth.actions import Action, needed_permissions
from xapp_operator.gateway.catalog.records import SOURCE_LABELS
from xapp_operator.gateway.http.openapi import XAPP_PATH_PARAMETERS, document_resource
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import etag_response
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.context import XAppContext, labels_only_error, xapp_not_found


async def get_xapp_context(
    connection: HTTPConnection,
    *,
    action: Action = Action.VIEW,
    parameters: Collection[str] | None = (),
) -> XAppContext:
    """Return the xApp at `{namespace}/{name}` of the path, for a caller who may do `action`.

    `parameters` are the query parameters that the route knows; None leaves the query unread.

    Raises:
        Unauthenticated: without a token that the cluster knows.
        AccessDenied: when the caller lacks a right that the action needs.
        MalformedRequest: for an unknown or repeated parameter.
        GatewayNotFound: when there is no such xApp.
    """
    gateway = get_gateway(connection)
    namespace, name = connection.path_params["namespace"], connection.path_params["name"]
    caller = gateway.get_caller(connection)
    permissions = needed_permissions(action, namespace=namespace, name=name)
    await caller.require_permissions(*permissions)
    query = StrictQuery(b"" if parameters is None else connection.scope["query_string"]).allow_only(parameters or ())
    gateway.require_synced()
    entry = gateway.store.get(namespace, name)
    if entry is None:
        raise xapp_not_found(namespace, name)
    return XAppContext(
        caller=caller,
        permissions=permissions,
        query=query,
        entry=entry,
        registry=gateway.registry,
        host=connection.headers.get("host", ""),
    )


def missing_resource_error(gateway: Gateway, *, namespace: str, name: str) -> GatewayNotFound | NoXAppResource:
    """Return the error for an XApp that the API server does not have: perhaps its labels are known."""
    entry = gateway.store.get(namespace, name)
    if entry is not None and entry.source == SOURCE_LABELS:
        return labels_only_error(gateway.registry, entry)
    return xapp_not_found(namespace, name)


BuildXAppResource: TypeAlias = Callable[[XAppContext, Gateway], Awaitable[bytes]]
"""Returns the JSON of something that an xApp has."""


def xapp_resource(
    router: APIRouter,
    path: str,
    summary: str,
    model: type[BaseModel],
    description: str,
    *,
    action: Action = Action.VIEW,
    problems: Mapping[int, str] | None = None,
) -> Callable[[BuildXAppResource], BuildXAppResource]:
    """Serve the decorated function at `/{namespace}/{name}` + `path`, with an ETag; its docstring is documentation.

    `action` is what the caller must be allowed to do.
    """

    def register(build: BuildXAppResource) -> BuildXAppResource:
        async def endpoint(request: Request) -> Response:
            context = await get_xapp_context(request, action=action, parameters=("pretty",))
            body = await build(context, get_gateway(request))
            return etag_response(request, body, pretty=context.query.boolean("pretty"))

        router.add_api_route(
            "/{namespace}/{name}" + path,
            endpoint,
            methods=["GET"],
            name=build.__name__,
            description=inspect.getdoc(build),
            **document_resource(
                summary,
                model,
                description,
                parameters=XAPP_PATH_PARAMETERS,
                problems={404: "No such xApp.", **(problems or {})},
            ),
        )
        return build

    return register
