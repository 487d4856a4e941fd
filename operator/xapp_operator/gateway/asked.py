"""What most routes begin with: the xApp that the path names, for a caller who may have what is asked for.

Lives in the gateway, above authentication and the store, below the routes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from xapp_operator.errors import LabelsOnly, NotFoundHere
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.query import Query, shown
from xapp_operator.gateway.records import SOURCE_LABELS, Entry
from xapp_operator.gateway.runtime import Gateway, gateway_of
from xapp_operator.kube.resources import XAPPS, Resource


@dataclass(frozen=True, slots=True)
class Asked:
    """One request about one xApp."""

    gateway: Gateway
    caller: Caller
    query: Query
    entry: Entry


async def asked_xapp(
    request: HTTPConnection,
    *,
    verb: str = "get",
    resource: Resource = XAPPS,
    subresource: str | None = None,
    parameters: Collection[str] | None = (),
) -> Asked:
    """Return the xApp at `{namespace}/{name}` of the path; `parameters` are all that the query may have.

    With None the query is somebody else's, and not read.

    Raises:
        Unauthenticated: without a token that the cluster knows.
        AccessDenied: when the caller may not `verb` the resource in that namespace, or not get XApps there.
        MalformedRequest: for an unknown or repeated parameter.
        NotFoundHere: when there is no such xApp.
    """
    gateway = gateway_of(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.caller(request)
    await caller.require("get", namespace=namespace)
    if (verb, resource, subresource) != ("get", XAPPS, None):
        await caller.require(verb, namespace=namespace, resource=resource, subresource=subresource)
    query = Query(b"" if parameters is None else request.scope["query_string"]).only(parameters or ())
    gateway.require_synced()
    entry = gateway.store.get(namespace, name)
    if entry is None:
        raise NotFoundHere(
            f"there is no xApp {shown(name)} in the namespace {shown(namespace)}: GET /api/xapps lists what there is"
        )
    return Asked(gateway=gateway, caller=caller, query=query, entry=entry)


def require_xapp(asked: Asked) -> None:
    """Refuse an action on an xApp that no XApp stands for.

    Raises:
        LabelsOnly: for one that is known by its labels only; the message says how to adopt it.
    """
    if asked.entry.source == SOURCE_LABELS:
        raise labels_only(asked.gateway, asked.entry)


def not_there(gateway: Gateway, *, namespace: str, name: str, else_do: str) -> NotFoundHere | LabelsOnly:
    """Return why no XApp can be acted on: it is known by its labels only, or there is none; then `else_do`."""
    entry = gateway.store.get(namespace, name)
    if entry is not None and entry.source == SOURCE_LABELS:
        return labels_only(gateway, entry)
    return NotFoundHere(f"there is no xApp {shown(name)} in the namespace {shown(namespace)}: {else_do}")


def labels_only(gateway: Gateway, entry: Entry) -> LabelsOnly:
    """Return what tells that an xApp is known by its labels only, and what to do about it."""
    known = gateway.registry.get(entry.namespace, entry.release)
    told = f"the xApp {shown(entry.name)} in the namespace {shown(entry.namespace)} is known by its labels only: "
    if known is not None and not known.by_helm:
        return LabelsOnly(
            f"{told}it was not installed with Helm, so there is no release to adopt; change it with the means by which "
            "it was made, or remove it and deploy its chart"
        )
    # What an XApp has left behind is its own still: helm's record names it.
    former = known.said(lambda mark: mark.xapp) if known is not None else ""
    named = f"named {former} " if former else ""
    return LabelsOnly(
        f"{told}to adopt it, make an XApp {named}in this namespace with releaseName: {entry.release} and adopt: true; "
        "without that, change it with helm"
    )
