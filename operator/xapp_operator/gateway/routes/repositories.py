"""Saved chart repositories, their charts and versions. The list comes from memory; every write is the caller's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway import paging
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.bodies import read_object
from xapp_operator.gateway.documented import PRETTY, UNAUTHENTICATED, answers, parameter
from xapp_operator.gateway.forms import namespace_in
from xapp_operator.gateway.problems import instance_of
from xapp_operator.gateway.query import Query
from xapp_operator.gateway.repository_browsing import chart_json, index_of, matching, version_json, versions_of
from xapp_operator.gateway.repository_store import SORTS, Filters, SavedRepository, saved_of
from xapp_operator.gateway.repository_writes import checked_repository, needs_secret, no_repository, remove, save
from xapp_operator.gateway.responses import cacheable, json_response
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import Gateway, gateway_of
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.schemas.repositories import ChartRecord, NewRepository, RepositoryRecord, VersionRecord
from xapp_operator.kube.resources import CHART_REPOSITORIES, SECRETS

router = APIRouter(prefix="/api/repositories", tags=["Repositories"], route_class=PlainRoute)

LIST_NAME: Final = "repositories"
CHARTS_LIST_NAME: Final = "charts"
VERSIONS_LIST_NAME: Final = "versions"

T = TypeVar("T")

_PAGE_DOCS: Final = (
    parameter("page", "Number of the page, from 1.", schema={"type": "integer", "minimum": 1, "default": 1}),
    parameter("per_page", "Items on a page; bounds and default are configurable.", schema={"type": "integer"}),
    PRETTY,
)
_SORT_DOCS: Final = (
    parameter("sort", "What to sort by; ends in the uid.", schema={"enum": list(SORTS), "default": SORTS[0]}),
    parameter("order", "Which way.", schema={"enum": list(paging.ORDERS), "default": paging.ORDERS[0]}),
)
_ONE: Final = (
    parameter("namespace", "Namespace of the repository.", where="path"),
    parameter("name", "Its name.", where="path"),
)
_CACHE_HEADERS: Final = {"ETag": "Changes with the answer; send it as If-None-Match."}
_PAGE_HEADERS: Final = {200: {**_CACHE_HEADERS, "Link": "first, prev, next and last page (RFC 8288)."}}
_NOT_CHANGED: Final = (304, "Not changed since the ETag that was sent.", None)
_BAD_QUERY: Final = {400: "A parameter that is unknown, repeated or out of its bounds."}
_BROWSING: Final = {
    **UNAUTHENTICATED,
    **_BAD_QUERY,
    422: "The saved credentials are missing or incomplete, or the address is one that no repository may have.",
    502: "The repository cannot be had, or what is there is none; or the Kubernetes API failed.",
    504: "The repository did not deliver in time.",
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request about one repository."""

    gateway: Gateway
    caller: Caller
    query: Query
    saved: SavedRepository


@router.get(
    "",
    summary="List repositories",
    openapi_extra={
        "parameters": [
            *_PAGE_DOCS,
            *_SORT_DOCS,
            parameter("namespace", "Only repositories of this namespace."),
            parameter("search", "Only repositories with this text in name or url; case is ignored."),
        ]
    },
    responses=answers(
        (200, "One page. A bare array where pagination is turned off.", Page[RepositoryRecord]),
        _NOT_CHANGED,
        problems={**UNAUTHENTICATED, **_BAD_QUERY},
        headers=_PAGE_HEADERS,
    ),
    response_model=None,
)
async def list_repositories(request: Request) -> Response:
    """Answer with one page of the repositories that the caller may list."""
    gateway = gateway_of(request)
    query = Query(request.scope["query_string"])
    caller, named = gateway.caller(request), query.text("namespace")
    if named is None:
        await caller.sign_in()
    else:
        await caller.require("list", namespace=named, resource=CHART_REPOSITORIES)
    query.only((*paging.PAGE_PARAMETERS, "namespace", "search"))
    rules = paging.PageRules.of(gateway.settings, name=LIST_NAME)
    asked = paging.read_page_request(query, rules=rules, sorts=SORTS)
    gateway.repositories.require_synced()
    store, within = gateway.repositories.store, None
    if named is None:
        within = await caller.namespaces("list", among=store.namespaces, resource=CHART_REPOSITORIES)
    found = store.found(Filters(named, query.text("search"), within), sort=asked.sort)
    at = paging.bounds(asked, total_count=len(found))
    content = store.page(found, at, descending=asked.descending)
    return _page(request, query, asked, at, content)


@router.post(
    "",
    summary="Save a repository",
    openapi_extra={
        "parameters": [PRETTY],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": NewRepository.model_json_schema()}},
        },
    },
    responses=answers(
        (201, "Saved. Credentials went into a Secret that goes with it; no answer shows them.", RepositoryRecord),
        problems={
            **UNAUTHENTICATED,
            400: "A parameter is wrong, or the body is no JSON.",
            404: "No such namespace.",
            409: "There is one of that name already, or the namespace is being deleted.",
            413: "The body is too large.",
            422: "A field breaks a rule; errors names the fields.",
        },
        headers={201: {"Location": "Path of the repository's record."}},
    ),
    status_code=201,
    response_model=None,
)
async def save_repository(request: Request) -> Response:
    """Write a ChartRepository and the Secret with its credentials, as the caller."""
    gateway = gateway_of(request)
    caller = gateway.caller(request)
    await caller.sign_in()
    body = await read_object(request, what="body")
    namespace = namespace_in(body)
    if namespace is not None:
        await caller.require("create", namespace=namespace, resource=CHART_REPOSITORIES)
        if needs_secret(body):
            await caller.require("create", namespace=namespace, resource=SECRETS)
    query = Query(request.scope["query_string"]).only(("pretty",))
    pretty = query.boolean("pretty")
    stored = await save(caller, checked_repository(body, settings=gateway.settings))
    gateway.repositories.put(stored)
    saved = saved_of(stored)
    location = f"/api/repositories/{saved.namespace}/{saved.name}"
    return json_response(saved.record, status=201, pretty=pretty, headers={"Location": location})


@router.get(
    "/{namespace}/{name}",
    summary="Show one repository",
    openapi_extra={"parameters": [*_ONE, PRETTY]},
    responses=answers(
        (200, "The repository.", RepositoryRecord),
        _NOT_CHANGED,
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter.", 404: "No such repository."},
        headers={200: _CACHE_HEADERS},
    ),
    response_model=None,
)
async def show_repository(request: Request) -> Response:
    """Answer with one repository."""
    asked = await _asked(request, parameters=("pretty",))
    return cacheable(request, asked.saved.record, pretty=asked.query.boolean("pretty"))


@router.delete(
    "/{namespace}/{name}",
    summary="Remove a repository",
    openapi_extra={"parameters": list(_ONE)},
    responses=answers(
        (204, "Removed, and its credentials with it. XApps stay as they are.", None),
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter.", 404: "No such repository."},
    ),
    status_code=204,
    response_model=None,
)
async def remove_repository(request: Request) -> Response:
    """Delete the ChartRepository, as the caller."""
    gateway = gateway_of(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.caller(request)
    await caller.require("delete", namespace=namespace, resource=CHART_REPOSITORIES)
    Query(request.scope["query_string"]).only(())
    await remove(caller.client, namespace=namespace, name=name)
    return Response(status_code=204)


@router.get(
    "/{namespace}/{name}/charts",
    summary="List the charts of a repository",
    openapi_extra={
        "parameters": [
            *_ONE,
            *_PAGE_DOCS,
            parameter("search", "Only charts with this text in name or description; case is ignored."),
        ]
    },
    responses=answers(
        (200, "One page, by name. A bare array where pagination is turned off.", Page[ChartRecord]),
        _NOT_CHANGED,
        problems={**_BROWSING, 404: "No such repository; or it is a registry (oci://), which cannot list its charts."},
        headers=_PAGE_HEADERS,
    ),
    response_model=None,
)
async def list_charts(request: Request) -> Response:
    """Answer with one page of the charts in the repository's index."""
    asked = await _asked(request, parameters=(*paging.PLAIN_PAGE_PARAMETERS, "search"))
    page = _page_request(asked, CHARTS_LIST_NAME)
    index = await index_of(asked.caller.client, asked.gateway.charts, asked.saved)
    names = await matching(index, asked.query.text("search"))
    return _sliced(request, asked.query, page, names, lambda name: chart_json(index, name))


@router.get(
    "/{namespace}/{name}/charts/{chart}/versions",
    summary="List the versions of a chart",
    openapi_extra={"parameters": [*_ONE, parameter("chart", "Name of the chart.", where="path"), *_PAGE_DOCS]},
    responses=answers(
        (200, "One page, the newest version first. A bare array where pagination is turned off.", Page[VersionRecord]),
        _NOT_CHANGED,
        problems={**_BROWSING, 404: "No such repository, or it has no such chart."},
        headers=_PAGE_HEADERS,
    ),
    response_model=None,
)
async def list_versions(request: Request) -> Response:
    """Answer with one page of a chart's versions."""
    asked = await _asked(request, parameters=paging.PLAIN_PAGE_PARAMETERS)
    page = _page_request(asked, VERSIONS_LIST_NAME)
    chart = request.path_params["chart"]
    versions = await versions_of(asked.caller.client, asked.gateway.charts, asked.saved, chart)
    return _sliced(request, asked.query, page, versions, version_json)


async def _asked(request: Request, *, parameters: Sequence[str]) -> _Asked:
    gateway = gateway_of(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.caller(request)
    await caller.require("get", namespace=namespace, resource=CHART_REPOSITORIES)
    query = Query(request.scope["query_string"]).only(parameters)
    gateway.repositories.require_synced()
    saved = gateway.repositories.store.get(namespace, name)
    if saved is None:
        raise no_repository(namespace, name)
    return _Asked(gateway=gateway, caller=caller, query=query, saved=saved)


def _page_request(asked: _Asked, list_name: str) -> paging.PageRequest:
    """Read the query before anybody else is asked."""
    rules = paging.PageRules.of(asked.gateway.settings, name=list_name)
    return paging.read_page_request(asked.query, rules=rules, sorts=("",))


def _sliced(
    request: Request, query: Query, asked: paging.PageRequest, items: Sequence[T], packed: Callable[[T], bytes]
) -> Response:
    at = paging.bounds(asked, total_count=len(items))
    return _page(request, query, asked, at, [packed(item) for item in items[at.start : at.stop]])


def _page(
    request: Request, query: Query, asked: paging.PageRequest, at: paging.PageBounds, content: list[bytes]
) -> Response:
    if asked.per_page is None:
        return cacheable(request, paging.bare_array(content), pretty=asked.pretty)
    link = paging.link_header(at, path=instance_of(request), query=query)
    return cacheable(request, paging.envelope(at, content), pretty=asked.pretty, headers={"Link": link})
