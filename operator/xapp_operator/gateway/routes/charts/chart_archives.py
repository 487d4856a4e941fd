"""Uploaded charts, which are ChartArchives. Lists come from memory; writes use the caller's token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.chart_archive import PROVENANCE_MAX
from xapp_operator.api.json import JsonObject
from xapp_operator.common.text import format_list
from xapp_operator.config.settings import Settings
from xapp_operator.errors import ChartInUse, ChartInvalid, FieldError, SignatureInvalid
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.archive_store import ARCHIVE_SORTS, ArchiveEntry, ArchiveFilters, build_archive_entry
from xapp_operator.gateway.charts.archives import archive_not_found, create_archive, delete_archive
from xapp_operator.gateway.charts.uploads import StoredUpload, UploadedChart
from xapp_operator.gateway.deploy.forms import read_namespace
from xapp_operator.gateway.deploy.submission import (
    FILE_PART,
    PROVENANCE_PART,
    invalid_file_part,
    read_chart_file,
    read_provenance,
    require_provenance_of,
    with_field_error,
)
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.lists import pagination
from xapp_operator.gateway.http.openapi import (
    BODY_PROBLEMS,
    PRETTY_PARAMETER,
    QUERY_PROBLEMS,
    RequestRoute,
    document_filter,
    document_list,
    document_parameter,
    document_resource,
    document_responses,
    sorted_page_parameter_docs,
)
from xapp_operator.gateway.http.requests.multipart import PartRule, ReceivedParts, receive_parts
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.requests.validation import DNS_LABEL_RULE, form_invalid, namespace_errors
from xapp_operator.gateway.http.responses.json_responses import etag_response, json_response
from xapp_operator.gateway.routes.lists import StoreList
from xapp_operator.gateway.schemas.charts import ChartArchiveDetails, ChartArchiveRecord, ChartDescription
from xapp_operator.gateway.schemas.records import Page
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.kube.resources import CHART_ARCHIVES

router = APIRouter(prefix="/api/charts", tags=["Charts"], route_class=RequestRoute)

NAMESPACE_PART: Final = "namespace"
NAMESPACE_PART_MAX: Final = 1024
ARCHIVE_PATH_PARAMETERS: Final = (
    document_parameter("namespace", "Namespace of the ChartArchive.", location="path"),
    document_parameter("name", "Name of the ChartArchive.", location="path"),
)
PLACEHOLDER_NAMESPACE: Final = "default"
"""What a dry run without a namespace renders a chart with, as helm template does."""
UNCHECKED_PROVENANCE_WARNING: Final = (
    "the signature of the provenance file was not checked, because this cluster has no keys (XAPP_REQUIRE_SIGNATURES)"
)
_REQUEST_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": [FILE_PART],
                "additionalProperties": False,
                "properties": {
                    FILE_PART: {"type": "string", "format": "binary", "description": "The packaged chart (.tgz)."},
                    PROVENANCE_PART: {
                        "type": "string",
                        "format": "binary",
                        "description": "The provenance file (.prov) of the chart.",
                    },
                    NAMESPACE_PART: {
                        "type": "string",
                        "description": "Where to store it. Required, except for a dry run.",
                    },
                },
            }
        }
    },
}


async def _build_records(_gateway: Gateway, _caller: Caller, entries: Sequence[ArchiveEntry]) -> list[bytes]:
    return [entry.record_json for entry in entries]


_LIST: Final = StoreList(
    name="archives",
    resource=CHART_ARCHIVES,
    parameters=pagination.SORTED_LIST_PARAMETERS,
    filters=("namespace", "chart", "version", "search"),
    sorts=ARCHIVE_SORTS,
    read_filters=lambda query: ArchiveFilters(
        namespace=query.texts("namespace"),
        chart=query.texts("chart"),
        version=query.texts("version"),
        search=query.texts("search"),
    ),
    synced_store=lambda gateway: gateway.archives.synced_store(),
    build_records=_build_records,
)


@router.get(
    "",
    **document_list(
        "List uploaded charts",
        Page[ChartArchiveRecord],
        "One page.",
        paging=sorted_page_parameter_docs(ARCHIVE_SORTS),
        parameters=[
            document_filter("namespace", "Only charts of this namespace."),
            document_filter("chart", "Only charts of this name."),
            document_filter("version", "Only charts of this version."),
            document_filter("search", "Only charts with this text in a name or version; case-insensitive."),
        ],
    ),
)
async def list_archives(request: Request) -> Response:
    """Return one page of the ChartArchives that the caller may list. They show what their metadata say."""
    return await _LIST.page(request)


@router.post(
    "",
    summary="Upload a chart",
    openapi_extra={
        "parameters": [
            document_parameter("dryRun", "Only describe the chart.", schema={"type": "boolean", "default": False}),
            PRETTY_PARAMETER,
        ],
        "requestBody": _REQUEST_BODY,
    },
    responses=document_responses(
        (200, "The chart was stored already, or its description (`dryRun`).", ChartArchiveRecord | ChartDescription),  # type: ignore[arg-type]
        (201, "Stored, until somebody deletes it.", ChartArchiveRecord),
        problems={
            **BODY_PROBLEMS,
            404: "No such namespace.",
            409: "A ChartArchive of that name has another chart.",
            413: "The chart is too large.",
            415: "The request is not multipart/form-data.",
            422: "The chart or the namespace is invalid; see errors.",
            504: "Rendering took too long.",
        },
        headers={201: {"Location": "Path of the record."}},
    ),
    status_code=201,
)
async def upload_chart(request: Request) -> Response:
    """Store a packaged chart as a ChartArchive with the caller's token. A dry run describes it and stores nothing."""
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    settings, threads = gateway.settings, gateway.archive_threads

    async def check_permission(name: str, data: bytes) -> None:
        """Refuse before the chart is received, if its namespace comes first."""
        if name == NAMESPACE_PART and (namespace := read_namespace({"namespace": _decode(data)})) is not None:
            audit_notes(request).namespace = namespace
            await caller.require(Action.UPLOAD, namespace=namespace)

    rules = _part_rules(settings)
    async with (
        gateway.limits.uploads.wait(caller.user),
        receive_parts(request, rules=rules, folder=gateway.upload_folder, on_data_part=check_permission) as parts,
        gateway.limits.deployments.wait(caller.user),
    ):
        query = StrictQuery(request.scope["query_string"]).allow_only(("dryRun", "pretty"))
        dry_run, pretty = query.boolean("dryRun"), query.boolean("pretty")
        namespace = audit_notes(request).namespace = _read_namespace(gateway, parts, optional=dry_run)
        chart = await read_chart_file(parts.files[FILE_PART], settings=settings, threads=threads)
        audit_notes(request).name = chart.archive_name
        chart = replace(chart, provenance=read_provenance(parts))
        warnings = await _check(gateway, chart, namespace=namespace or PLACEHOLDER_NAMESPACE)
        if namespace is None or dry_run:
            return json_response(await gateway.describer.describe(chart, warnings=warnings), pretty=pretty)
        stored = await create_archive(gateway.archive_storage, caller.client, chart, namespace=namespace)
    return _stored_response(gateway, stored, pretty=pretty)


@router.get(
    "/{namespace}/{name}",
    **document_resource(
        "Show one uploaded chart",
        ChartArchiveDetails,
        "The record, and what uses it.",
        parameters=ARCHIVE_PATH_PARAMETERS,
        problems={404: "No such ChartArchive."},
    ),
)
async def show_archive(request: Request) -> Response:
    """Return one ChartArchive, without the chart itself."""
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request)
    await caller.require(Action.VIEW_CHART, namespace=namespace)
    pretty = StrictQuery(request.scope["query_string"]).allow_only(("pretty",)).boolean("pretty")
    gateway.require_synced()
    entry = gateway.archives.synced_store().get(namespace, name)
    if entry is None:
        raise archive_not_found(namespace, name)
    may_list = await caller.is_allowed("list", namespace=namespace)
    users = gateway.store.users_of_archive(namespace, name) if may_list else None
    return etag_response(request, entry.record_json[:-1] + b',"usedBy":' + orjson.dumps(users) + b"}", pretty=pretty)


@router.delete(
    "/{namespace}/{name}",
    summary="Delete an uploaded chart",
    openapi_extra={"parameters": list(ARCHIVE_PATH_PARAMETERS)},
    responses=document_responses(
        (204, "Deleted.", None),
        problems={**QUERY_PROBLEMS, 404: "No such ChartArchive.", 409: "XApps use it."},
    ),
    status_code=204,
)
async def remove_archive(request: Request) -> Response:
    """Delete a ChartArchive that no XApp uses, with the caller's token."""
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request)
    await caller.require(Action.DELETE_CHART, namespace=namespace)
    StrictQuery(request.scope["query_string"]).allow_only(())
    gateway.require_synced()
    users = gateway.store.users_of_archive(namespace, name)
    if users:
        may_list = await caller.is_allowed("list", namespace=namespace)
        named = f"by {format_list(users, total=len(users))}" if may_list else "by XApps that you may not list"
        raise ChartInUse(
            f"the chart archive {name} is used {named}: delete these XApps, or upgrade them to another chart, first"
        )
    await delete_archive(caller.client, namespace=namespace, name=name)
    return Response(status_code=204)


def _part_rules(settings: Settings) -> tuple[PartRule, ...]:
    return (
        PartRule(NAMESPACE_PART, NAMESPACE_PART_MAX),
        PartRule(FILE_PART, settings.chart_max_bytes, to_file=True),
        PartRule(PROVENANCE_PART, PROVENANCE_MAX),
    )


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _read_namespace(gateway: Gateway, parts: ReceivedParts, *, optional: bool) -> str | None:
    """Return the namespace; None only where it is `optional`.

    Raises:
        FormInvalid: for parts that are unknown, missing or invalid.
    """
    parts.require_expected_names()
    given = _decode(parts.data.get(NAMESPACE_PART, b""))
    namespace = read_namespace({"namespace": given})
    if namespace is not None:
        errors = list(namespace_errors(namespace, gateway.settings, field=NAMESPACE_PART))
    elif given:
        errors = [FieldError(NAMESPACE_PART, DNS_LABEL_RULE)]
    else:
        errors = [] if optional else [FieldError(NAMESPACE_PART, "is required: name the namespace for the chart")]
    if errors:
        raise form_invalid(errors)
    if FILE_PART not in parts.files:
        raise invalid_file_part("is required: send the packaged chart (.tgz)")
    return namespace


def _stored_response(gateway: Gateway, stored: StoredUpload, *, pretty: bool) -> Response:
    archive: JsonObject = {"metadata": stored.metadata}
    gateway.archives.put(archive)
    entry = build_archive_entry(archive)
    return json_response(
        entry.record_json,
        status=201 if stored.created else 200,
        pretty=pretty,
        headers={"Location": f"/api/charts/{entry.namespace}/{entry.name}"},
    )


async def _check(gateway: Gateway, chart: UploadedChart, *, namespace: str) -> tuple[str, ...]:
    """Check the signature and the templates of a chart, and return warnings."""
    provenance = None if chart.provenance is None else chart.provenance.encode()
    try:
        await gateway.signatures.check_uploaded(chart, namespace=namespace, provenance=provenance)
        require_provenance_of(chart)
        warnings = await gateway.renderer.check(chart.path, chart.info, namespace=namespace)
    except ChartInvalid as error:
        part = PROVENANCE_PART if isinstance(error, SignatureInvalid) else FILE_PART
        raise with_field_error(error, part) from None
    if provenance is None or gateway.settings.require_signatures:
        return warnings
    return (*warnings, UNCHECKED_PROVENANCE_WARNING)
