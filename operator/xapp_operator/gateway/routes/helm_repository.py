"""The ChartArchives of each namespace as a Helm repository. helm sends its password as Basic authentication."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.gateway.charts.archives import archive_not_found, open_archive
from xapp_operator.gateway.http.openapi import NOT_MODIFIED, QUERY_PROBLEMS, RequestRoute, document_responses
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import cache_headers, etag_response, not_modified
from xapp_operator.gateway.routes.charts import ARCHIVE_PATH_PARAMETERS
from xapp_operator.gateway.state import get_gateway
from xapp_operator.kube.resources import CHART_ARCHIVES

router = APIRouter(prefix="/api/charts", tags=["Charts"], route_class=RequestRoute)

INDEX_MEDIA_TYPE: Final = "application/yaml"
CHART_MEDIA_TYPE: Final = "application/gzip"


def _document_file(
    description: str, media_type: str, *, schema: dict[str, str], problems: dict[int, str]
) -> dict[int | str, dict[str, Any]]:
    responses = document_responses((200, description, None), NOT_MODIFIED, problems={**QUERY_PROBLEMS, **problems})
    responses[200]["content"] = {media_type: {"schema": schema}}
    responses[200]["headers"] = {"ETag": {"description": "Send it as If-None-Match.", "schema": {"type": "string"}}}
    return responses


class _ChartFileResponse(FileResponse):
    """The packed chart, read from disk as fast as the client takes it; the chart stays in the cache until then."""

    def __init__(self, chart: ChartFile, *, file_name: str, headers: dict[str, str]) -> None:
        self._chart = chart
        super().__init__(chart.path, media_type=CHART_MEDIA_TYPE, filename=file_name, headers=headers)


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
    await caller.require_allowed("list", namespace=namespace, resource=CHART_ARCHIVES)
    StrictQuery(request.scope["query_string"]).allow_only(())
    index = await gateway.indexes.get(gateway.archives.synced_store(), namespace=namespace)
    return etag_response(request, index, media_type=INDEX_MEDIA_TYPE)


@router.get(
    "/{namespace}/{name}.tgz",
    summary="Download an uploaded chart",
    openapi_extra={"parameters": list(ARCHIVE_PATH_PARAMETERS)},
    responses=_document_file(
        "The packaged chart.",
        CHART_MEDIA_TYPE,
        schema={"type": "string", "format": "binary"},
        problems={404: "No such ChartArchive.", 422: "It holds no valid chart, or another one than it declares."},
    ),
)
async def download_chart(request: Request) -> Response:
    """Return the packaged chart, read with the caller's token; also at /helmrepo/{namespace}/{name}.tgz."""
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request, basic=True)
    await caller.require_allowed("get", namespace=namespace, resource=CHART_ARCHIVES)
    StrictQuery(request.scope["query_string"]).allow_only(())
    entry = gateway.archives.synced_store().get(namespace, name)
    if entry is None:
        raise archive_not_found(namespace, name)
    unchanged = not_modified(request, entry.uid)
    if unchanged is not None:
        return unchanged
    chart = await open_archive(
        gateway.archive_storage, gateway.chart_sources, caller.client, namespace=namespace, name=name
    )
    return _ChartFileResponse(chart, file_name=f"{name}.tgz", headers=cache_headers(entry.uid))
