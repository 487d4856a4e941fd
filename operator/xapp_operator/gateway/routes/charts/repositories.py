"""Saved chart repositories, their charts and versions. Lists come from memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.errors import ChartSourceError, SignatureInvalid
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.repository_store import (
    REPOSITORY_SORTS,
    RepositoryEntry,
    RepositoryFilters,
)
from xapp_operator.gateway.http.lists import pagination
from xapp_operator.gateway.http.lists.pagination import Walks, list_response, parse_list_request
from xapp_operator.gateway.http.openapi import (
    RequestRoute,
    document_filter,
    document_list,
    document_parameter,
    document_resource,
    sorted_page_parameter_docs,
)
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import etag_response
from xapp_operator.gateway.repositories.browsing import (
    chart_json,
    fetch_chart,
    list_chart_versions,
    load_index,
    search_charts,
    search_versions,
    version_json,
)
from xapp_operator.gateway.repositories.usage import repository_records
from xapp_operator.gateway.repositories.writes import (
    repository_not_found,
)
from xapp_operator.gateway.routes.lists import StoreList
from xapp_operator.gateway.schemas.charts import ChartDescription
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.schemas.repositories import (
    ChartRecord,
    ChartVersionRecord,
    RepositoryRecord,
)
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.kube.resources import CHART_REPOSITORIES

router = APIRouter(prefix="/api/repositories", tags=["Repositories"], route_class=RequestRoute)

VERSION_BYTES: Final = 2 * 1024
"""About how much memory a version of a chart takes."""

REPOSITORY_PARAMETERS: Final = (
    document_parameter("namespace", "Namespace of the repository.", location="path"),
    document_parameter("name", "Name of the repository.", location="path"),
)
RETRY: Final = "retry"
RETRY_PARAMETER: Final = document_parameter(
    RETRY,
    "Ask the repository even if it failed a moment ago. Otherwise the gateway repeats the error of a slow failure for "
    "as long as that took.",
    schema={"type": "boolean", "default": False},
)
_PARAMETERS: Final = (*pagination.LIST_PARAMETERS, RETRY)
BROWSING_PROBLEMS: Final = {
    422: "The saved credentials are missing or incomplete, or the address is not allowed.",
    502: "The repository does not answer or has no valid index, or the Kubernetes API failed.",
    504: "The repository did not answer in time.",
}


@dataclass(frozen=True, slots=True)
class _RepositoryContext:
    """A request of an authorised caller about a repository that exists."""

    gateway: Gateway
    caller: Caller
    query: StrictQuery
    saved: RepositoryEntry


async def _build_records(gateway: Gateway, caller: Caller, entries: Sequence[RepositoryEntry]) -> list[bytes]:
    gateway.require_synced()
    return await repository_records(gateway.store, caller, entries)


_LIST: Final = StoreList(
    name="repositories",
    resource=CHART_REPOSITORIES,
    parameters=pagination.SORTED_LIST_PARAMETERS,
    filters=("namespace", "search"),
    sorts=REPOSITORY_SORTS,
    read_filters=lambda query: RepositoryFilters(namespace=query.texts("namespace"), search=query.texts("search")),
    synced_store=lambda gateway: gateway.repositories.synced_store(),
    build_records=_build_records,
)


@router.get(
    "",
    **document_list(
        "List repositories",
        Page[RepositoryRecord],
        "One page.",
        paging=sorted_page_parameter_docs(REPOSITORY_SORTS),
        parameters=[
            document_filter("namespace", "Only repositories of this namespace."),
            document_filter("search", "Only repositories with this text in name or url; case-insensitive."),
        ],
    ),
)
async def list_repositories(request: Request) -> Response:
    """Return one page of the repositories that the caller may list."""
    return await _LIST.page(request)


@router.get(
    "/{namespace}/{name}",
    **document_resource(
        "Show one repository",
        RepositoryRecord,
        "The repository.",
        parameters=REPOSITORY_PARAMETERS,
        problems={404: "No such repository."},
    ),
)
async def show_repository(request: Request) -> Response:
    """Return one repository."""
    context = await _get_repository_context(request, parameters=("pretty",))
    [record] = await repository_records(context.gateway.store, context.caller, [context.saved])
    return etag_response(request, record, pretty=context.query.boolean("pretty"))


@router.get(
    "/{namespace}/{name}/charts",
    **document_list(
        "List the charts of a repository",
        Page[ChartRecord],
        "One page, by name.",
        parameters=[
            *REPOSITORY_PARAMETERS,
            document_filter("search", "Only charts with this text in name or description; case-insensitive."),
            RETRY_PARAMETER,
        ],
        problems={
            **BROWSING_PROBLEMS,
            404: "No such repository, or it is an OCI registry, which cannot list its charts.",
        },
    ),
)
async def list_charts(request: Request) -> Response:
    """Return one page of the charts in the repository's index."""
    context = await _get_repository_context(request, parameters=_PARAMETERS, filters=("search",))
    page_request = parse_list_request(context.query, context.gateway.settings, name="charts")
    index = await load_index(
        context.caller.client, context.gateway.chart_sources, context.saved, retry=context.query.boolean(RETRY)
    )
    searches = context.query.texts("search")
    names = await search_charts(index, searches)
    key = "charts", context.saved.uid, searches
    walks = Walks(context.gateway.snapshots, context.caller.user, key, memory_bytes=index.weight)
    return list_response(
        request, context.query, page_request, names, to_json=lambda name: chart_json(index, name), walks=walks
    )


@router.get(
    "/{namespace}/{name}/charts/{chart}/versions",
    **document_list(
        "List the versions of a chart",
        Page[ChartVersionRecord],
        "One page, newest version first.",
        parameters=[
            *REPOSITORY_PARAMETERS,
            document_parameter("chart", "Name of the chart.", location="path"),
            document_filter("search", "Only versions with this text in version or appVersion; case-insensitive."),
            RETRY_PARAMETER,
        ],
        problems={**BROWSING_PROBLEMS, 404: "No such repository, or it has no such chart."},
    ),
)
async def list_versions(request: Request) -> Response:
    """Return one page of a chart's versions."""
    context = await _get_repository_context(request, parameters=_PARAMETERS, filters=("search",))
    page_request = parse_list_request(context.query, context.gateway.settings, name="versions")
    chart, retry = request.path_params["chart"], context.query.boolean(RETRY)
    all_versions = await list_chart_versions(
        context.caller.client, context.gateway.chart_sources, context.saved, chart, retry=retry
    )
    searches = context.query.texts("search")
    versions = await search_versions(all_versions, searches)
    key = "versions", context.saved.uid, chart, searches
    memory_bytes = VERSION_BYTES * len(versions)
    walks = Walks(context.gateway.snapshots, context.caller.user, key, memory_bytes=memory_bytes)
    return list_response(request, context.query, page_request, versions, to_json=version_json, walks=walks)


@router.get(
    "/{namespace}/{name}/charts/{chart}/versions/{version}",
    **document_resource(
        "Describe a version of a chart",
        ChartDescription,
        "What the chart is.",
        parameters=[
            *REPOSITORY_PARAMETERS,
            document_parameter("chart", "Name of the chart.", location="path"),
            document_parameter("version", "A version of the list; not a range.", location="path"),
            RETRY_PARAMETER,
        ],
        problems={
            **BROWSING_PROBLEMS,
            404: "No such repository, or it has no such version of the chart.",
            422: "The archive is not a valid chart, the saved credentials are missing or incomplete, or the address is "
            "not allowed.",
        },
    ),
)
async def describe_version(request: Request) -> Response:
    """Download one version of a chart and describe it, as a dry run of an upload does."""
    context = await _get_repository_context(request, parameters=("pretty", RETRY))
    retry = context.query.boolean(RETRY)
    gateway, caller, saved = context.gateway, context.caller, context.saved
    chart, version = request.path_params["chart"], request.path_params["version"]
    async with gateway.limits.deployments.wait(caller.user):
        resolved, file = await fetch_chart(caller.client, gateway.chart_sources, saved, chart, version, retry=retry)
        warnings: tuple[str, ...] = ()
        try:
            await gateway.signatures.check_remote(resolved)
        except (SignatureInvalid, ChartSourceError) as error:
            warnings = (error.message,)
        problems = await gateway.describer.find_problems(file, namespace=saved.namespace)
        body = await gateway.describer.describe(file, warnings=(*warnings, *problems))
    return etag_response(request, body, pretty=context.query.boolean("pretty"))


async def _get_repository_context(
    request: Request, *, parameters: Sequence[str], filters: Sequence[str] = ()
) -> _RepositoryContext:
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request)
    await caller.require(Action.VIEW_REPOSITORY, namespace=namespace)
    query = StrictQuery(request.scope["query_string"]).allow_only(parameters, repeatable=filters)
    saved = gateway.repositories.synced_store().get(namespace, name)
    if saved is None:
        raise repository_not_found(namespace, name)
    return _RepositoryContext(gateway=gateway, caller=caller, query=query, saved=saved)
