"""Dependencies of the routes: what most of them resolve before anything else."""

from __future__ import annotations

from collections.abc import Collection

from starlette.requests import HTTPConnection

from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.state import get_gateway
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.kube.resources import XAPPS, Resource


async def get_xapp_context(
    request: HTTPConnection,
    *,
    verb: str = "get",
    resource: Resource = XAPPS,
    subresource: str | None = None,
    parameters: Collection[str] | None = (),
) -> XAppContext:
    """Return the xApp at `{namespace}/{name}` of the path; `parameters` are all that the query may have.

    With None the query is somebody else's, and not read.

    Raises:
        Unauthenticated: without a token that the cluster knows.
        AccessDenied: when the caller may not `verb` the resource in that namespace, or not get XApps there.
        MalformedRequest: for an unknown or repeated parameter.
        NotFoundHere: when there is no such xApp.
    """
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request)
    await caller.require_allowed("get", namespace=namespace)
    if (verb, resource, subresource) != ("get", XAPPS, None):
        await caller.require_allowed(verb, namespace=namespace, resource=resource, subresource=subresource)
    query = StrictQuery(b"" if parameters is None else request.scope["query_string"]).allow_only(parameters or ())
    gateway.require_synced()
    entry = gateway.store.get(namespace, name)
    if entry is None:
        raise GatewayNotFound(
            f"there is no xApp {quote_input(name)} in the namespace {quote_input(namespace)}: GET /api/xapps "
            "lists what there is"
        )
    return XAppContext(gateway=gateway, caller=caller, query=query, entry=entry)
