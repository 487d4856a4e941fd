"""Saved chart repositories, their charts and versions. The list comes from memory; every write is the caller's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway import paging
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.bodies import read_object
from xapp_operator.gateway.documented import (
    CACHED,
    NOT_CHANGED,
    PAGED,
    PLAIN_PAGE,
    PRETTY,
    UNAUTHENTICATED,
    answers,
    parameter,
    sorted_page,
)
from xapp_operator.gateway.forms import namespace_in
from xapp_operator.gateway.pages import asked_page, page_answer, sliced_answer
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

_ONE: Final = (
    parameter("namespace", "Namespace of the repository.", where="path"),
    parameter("name", "Its name.", where="path"),
)
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
            *sorted_page(SORTS),
            parameter("namespace", "Only repositories of this namespace."),
            parameter("search", "Only repositories with this text in name or url; case is ignored."),
        ]
    },
    responses=answers(
        (200, "One page. A bare array where pagination is turned off.", Page[RepositoryRecord]),
        NOT_CHANGED,
        problems={**UNAUTHENTICATED, **_BAD_QUERY},
        headers=PAGED,
    ),
    response_model=None,
)
async def list_repositories(request: Request) -> Response:
    """Answer with one page of the repositories that the caller may list."""
    gateway = gateway_of(request)
    query = Query(request.scope["query_string"])
    caller, named = gateway.caller(request), query.text("namespace")
    await caller.require_list(namespace=named, resource=CHART_REPOSITORIES)
    query.only((*paging.PAGE_PARAMETERS, "namespace", "search"))
    asked = asked_page(query, gateway.settings, name=LIST_NAME, sorts=SORTS)
    gateway.repositories.require_synced()
    store, within = gateway.repositories.store, None
    if named is None:
        within = await caller.namespaces("list", among=store.namespaces, resource=CHART_REPOSITORIES)
    found = store.found(Filters(named, query.text("search"), within), sort=asked.sort)
    at = paging.bounds(asked, total_count=len(found))
    return page_answer(request, query, asked, at, store.page(found, at, descending=asked.descending))


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
        NOT_CHANGED,
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter.", 404: "No such repository."},
        headers={200: CACHED},
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
            *PLAIN_PAGE,
            parameter("search", "Only charts with this text in name or description; case is ignored."),
        ]
    },
    responses=answers(
        (200, "One page, by name. A bare array where pagination is turned off.", Page[ChartRecord]),
        NOT_CHANGED,
        problems={**_BROWSING, 404: "No such repository; or it is a registry (oci://), which cannot list its charts."},
        headers=PAGED,
    ),
    response_model=None,
)
async def list_charts(request: Request) -> Response:
    """Answer with one page of the charts in the repository's index."""
    asked = await _asked(request, parameters=(*paging.PLAIN_PAGE_PARAMETERS, "search"))
    page = asked_page(asked.query, asked.gateway.settings, name=CHARTS_LIST_NAME)
    index = await index_of(asked.caller.client, asked.gateway.charts, asked.saved)
    names = await matching(index, asked.query.text("search"))
    return sliced_answer(request, asked.query, page, names, packed=lambda name: chart_json(index, name))


@router.get(
    "/{namespace}/{name}/charts/{chart}/versions",
    summary="List the versions of a chart",
    openapi_extra={"parameters": [*_ONE, parameter("chart", "Name of the chart.", where="path"), *PLAIN_PAGE]},
    responses=answers(
        (200, "One page, the newest version first. A bare array where pagination is turned off.", Page[VersionRecord]),
        NOT_CHANGED,
        problems={**_BROWSING, 404: "No such repository, or it has no such chart."},
        headers=PAGED,
    ),
    response_model=None,
)
async def list_versions(request: Request) -> Response:
    """Answer with one page of a chart's versions."""
    asked = await _asked(request, parameters=paging.PLAIN_PAGE_PARAMETERS)
    page = asked_page(asked.query, asked.gateway.settings, name=VERSIONS_LIST_NAME)
    chart = request.path_params["chart"]
    versions = await versions_of(asked.caller.client, asked.gateway.charts, asked.saved, chart)
    return sliced_answer(request, asked.query, page, versions, packed=version_json)


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
