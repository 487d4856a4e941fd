"""What most routes begin with: the xApp that the path names, for a caller who may have what is asked for.

Lives in the gateway, above authentication and the store, below the routes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound, NoXAppResource
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import SOURCE_LABELS, XAppEntry
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.kube.resources import XAPPS, Resource


@dataclass(frozen=True, slots=True)
class XAppContext:
    """One request about one xApp."""

    gateway: Gateway
    caller: Caller
    query: StrictQuery
    entry: XAppEntry


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


def require_managed_xapp(context: XAppContext) -> None:
    """Refuse an action on an xApp that no XApp stands for.

    Raises:
        LabelsOnly: for one that is known by its labels only; the message says how to adopt it.
    """
    if context.entry.source == SOURCE_LABELS:
        raise labels_only_error(context.gateway, context.entry)


def xapp_not_found(gateway: Gateway, *, namespace: str, name: str, hint: str) -> GatewayNotFound | NoXAppResource:
    """Return why no XApp can be acted on: it is known by its labels only, or there is none; then `else_do`."""
    entry = gateway.store.get(namespace, name)
    if entry is not None and entry.source == SOURCE_LABELS:
        return labels_only_error(gateway, entry)
    return GatewayNotFound(f"there is no xApp {quote_input(name)} in the namespace {quote_input(namespace)}: {hint}")


def labels_only_error(gateway: Gateway, entry: XAppEntry) -> NoXAppResource:
    """Return what tells that an xApp is known by its labels only, and what to do about it."""
    registered = gateway.registry.get(entry.namespace, entry.release)
    subject = (
        f"the xApp {quote_input(entry.name)} in the namespace {quote_input(entry.namespace)} is known by "
        "its labels only: "
    )
    if registered is not None and not registered.made_by_helm:
        return NoXAppResource(
            f"{subject}it was not installed with Helm, so there is no release to adopt; change it with the "
            "means by which "
            "it was made, or remove it and deploy its chart"
        )
    # What an XApp has left behind is its own still: helm's record names it.
    former_xapp = registered.first_value(lambda mark: mark.xapp) if registered is not None else ""
    named = f"named {former_xapp} " if former_xapp else ""
    return NoXAppResource(
        f"{subject}to adopt it, make an XApp {named}in this namespace with releaseName: {entry.release} and "
        "adopt: true; "
        "without that, change it with helm"
    )
