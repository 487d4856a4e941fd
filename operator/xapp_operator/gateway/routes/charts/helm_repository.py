"""The ChartArchives of each namespace as a Helm repository. helm sends its password as Basic authentication."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.archive_store import ArchiveEntry
from xapp_operator.gateway.charts.archives import archive_not_found, open_archive, read_provenance_file
from xapp_operator.gateway.charts.repository_index import chart_file_name
from xapp_operator.gateway.http.openapi import (
    NOT_MODIFIED,
    QUERY_PROBLEMS,
    RequestRoute,
    document_parameter,
    document_responses,
)
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import cache_headers, etag_response, not_modified
from xapp_operator.gateway.routes.charts.chart_archives import ARCHIVE_PATH_PARAMETERS
from xapp_operator.gateway.state import Gateway, get_gateway

router = APIRouter(prefix="/api/charts", tags=["Charts"], route_class=RequestRoute)

INDEX_MEDIA_TYPE: Final = "application/yaml"
CHART_MEDIA_TYPE: Final = "application/gzip"
PROVENANCE_MEDIA_TYPE: Final = "text/plain"

DOWNLOAD_SECONDS_MAX: Final = 600.0
"""Time to read a chart, which has at most 1 MiB."""


def _document_file(
    description: str, media_type: str, *, schema: dict[str, str], problems: dict[int, str]
) -> dict[int | str, dict[str, Any]]:
    responses = document_responses((200, description, None), NOT_MODIFIED, problems={**QUERY_PROBLEMS, **problems})
    responses[200]["content"] = {media_type: {"schema": schema}}
    responses[200]["headers"] = {"ETag": {"description": "Send it as If-None-Match.", "schema": {"type": "string"}}}
    return responses


class _ChartFileResponse(FileResponse):
    """The packed chart, read from disk as fast as the client takes it; the chart stays in the cache until then."""

    def __init__(self, chart: ChartFile, held: ExitStack, *, file_name: str, headers: dict[str, str]) -> None:
        self._chart = chart
        self._held = held
        super().__init__(chart.path, media_type=CHART_MEDIA_TYPE, filename=file_name, headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the chart; after DOWNLOAD_SECONDS_MAX the connection is closed instead."""
        with self._held, suppress(TimeoutError):
            async with asyncio.timeout(DOWNLOAD_SECONDS_MAX):
                await super().__call__(scope, receive, send)


@router.get(
    "/{namespace}/index.yaml",
    summary="Repository index",
    openapi_extra={"parameters": [ARCHIVE_PATH_PARAMETERS[0]]},
    responses=_document_file(
        "The index, for `helm repo add`.", INDEX_MEDIA_TYPE, schema={"type": "object"}, problems={}
    ),
)
async def repository_index(request: Request) -> Response:
    """Return the charts of a namespace as the index of a Helm repository; also at /helmrepo/{namespace}/index.yaml."""
    gateway = get_gateway(request)
    namespace = request.path_params["namespace"]
    caller = gateway.get_caller(request, basic=True)
    await caller.require(Action.LIST_CHARTS, namespace=namespace)
    StrictQuery(request.scope["query_string"]).allow_only(())
    index = await gateway.indexes.get(gateway.archives.synced_store(), namespace=namespace)
    return etag_response(request, index, media_type=INDEX_MEDIA_TYPE)


_CHART_RESPONSES: Final = _document_file(
    "The packaged chart.",
    CHART_MEDIA_TYPE,
    schema={"type": "string", "format": "binary"},
    problems={404: "No such ChartArchive.", 422: "It holds no valid chart, or another one than it declares."},
)
_PROVENANCE_RESPONSES: Final = _document_file(
    "The provenance file.",
    PROVENANCE_MEDIA_TYPE,
    schema={"type": "string"},
    problems={404: "No such ChartArchive, or it has no provenance file.", 422: "It holds no chart."},
)
_FILE_PARAMETERS: Final = [
    *ARCHIVE_PATH_PARAMETERS,
    document_parameter("file", "Name and version of the chart: `<chart>-<version>`.", location="path"),
]


@router.get(
    "/{namespace}/{name}.tgz",
    summary="Download an uploaded chart",
    openapi_extra={"parameters": list(ARCHIVE_PATH_PARAMETERS)},
    responses=_CHART_RESPONSES,
)
async def download_chart(request: Request) -> Response:
    """Return the packaged chart, read with the caller's token; also at /helmrepo/{namespace}/{name}.tgz."""
    return await _chart_response(request)


@router.get(
    "/{namespace}/{name}.tgz.prov",
    summary="Download a provenance file",
    openapi_extra={"parameters": list(ARCHIVE_PATH_PARAMETERS)},
    responses=_PROVENANCE_RESPONSES,
)
async def download_provenance(request: Request) -> Response:
    """Return the provenance file of a chart, read with the caller's token; also below /helmrepo/."""
    return await _provenance_response(request)


# The paths in the index: helm verifies a chart only under the file name that its provenance file has.
@router.get(
    "/{namespace}/{name}/{file}.tgz",
    summary="Download an uploaded chart under its file name",
    openapi_extra={"parameters": _FILE_PARAMETERS},
    responses=_CHART_RESPONSES,
)
async def download_chart_file(request: Request) -> Response:
    """Return the packaged chart, read with the caller's token; also below /helmrepo/."""
    return await _chart_response(request)


@router.get(
    "/{namespace}/{name}/{file}.tgz.prov",
    summary="Download a provenance file under its file name",
    openapi_extra={"parameters": _FILE_PARAMETERS},
    responses=_PROVENANCE_RESPONSES,
)
async def download_provenance_file(request: Request) -> Response:
    """Return the provenance file of a chart, read with the caller's token; also below /helmrepo/."""
    return await _provenance_response(request)


async def _chart_response(request: Request) -> Response:
    gateway, caller, entry = await _find_archive(request)
    unchanged = not_modified(request, entry.uid)
    if unchanged is not None:
        return unchanged
    file = request.path_params.get("file", entry.name)
    with ExitStack() as held:
        held.enter_context(gateway.limits.downloads.hold(caller.user))
        chart = await open_archive(
            gateway.archive_storage, gateway.chart_sources, caller.client, namespace=entry.namespace, name=entry.name
        )
        return _ChartFileResponse(chart, held.pop_all(), file_name=f"{file}.tgz", headers=cache_headers(entry.uid))


async def _provenance_response(request: Request) -> Response:
    gateway, caller, entry = await _find_archive(request)
    provenance = await read_provenance_file(
        gateway.archive_storage, caller.client, namespace=entry.namespace, name=entry.name
    )
    return etag_response(request, provenance, media_type=PROVENANCE_MEDIA_TYPE)


async def _find_archive(request: Request) -> tuple[Gateway, Caller, ArchiveEntry]:
    """Return what the gateway knows of the requested ChartArchive, once the caller may read it."""
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request, basic=True)
    await caller.require(Action.VIEW_CHART, namespace=namespace)
    StrictQuery(request.scope["query_string"]).allow_only(())
    entry = gateway.archives.synced_store().get(namespace, name)
    if entry is None:
        raise archive_not_found(namespace, name)
    file = request.path_params.get("file")
    if file is not None and f"{file}.tgz" != chart_file_name(entry):
        raise GatewayNotFound(
            f"the chart archive {quote_input(name)} in the namespace {quote_input(namespace)} has no file "
            f"{quote_input(file)}.tgz: use a path of the repository index"
        )
    return gateway, caller, entry
