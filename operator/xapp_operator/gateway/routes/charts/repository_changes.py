"""Saving, changing and removing chart repositories. Writes use the caller's token."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.catalog.repository_store import build_repository_entry
from xapp_operator.gateway.deploy.forms import read_namespace
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.openapi import (
    BODY_PROBLEMS,
    PRETTY_PARAMETER,
    QUERY_PROBLEMS,
    RequestRoute,
    document_parameter,
    document_responses,
    if_match_parameter,
    if_match_uid_parameter,
    json_body,
)
from xapp_operator.gateway.http.requests.bodies import read_json_object
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import json_response
from xapp_operator.gateway.repositories.browsing import reload_index
from xapp_operator.gateway.repositories.changes import prepare_update, request_refresh, update_repository
from xapp_operator.gateway.repositories.checks import check_repository
from xapp_operator.gateway.repositories.preconditions import ExpectedRepository, ExpectedRepositoryUid
from xapp_operator.gateway.repositories.usage import repository_records
from xapp_operator.gateway.repositories.writes import (
    create_repository,
    delete_repository,
    needs_secret,
    validate_repository,
)
from xapp_operator.gateway.routes.charts.repositories import BROWSING_PROBLEMS, REPOSITORY_PARAMETERS
from xapp_operator.gateway.schemas.repositories import (
    RepositoryChange,
    RepositoryCheck,
    RepositoryRecord,
    RepositoryRequest,
)
from xapp_operator.gateway.state import get_gateway

router = APIRouter(prefix="/api/repositories", tags=["Repositories"], route_class=RequestRoute)

_CHECK_PARAMETERS: Final = ("dryRun", "pretty")
_CHECK_PARAMETER: Final = document_parameter(
    "dryRun", "Only ask whether the repository can be used.", schema={"type": "boolean", "default": False}
)


@router.post(
    "",
    summary="Save a repository",
    openapi_extra={
        "parameters": [_CHECK_PARAMETER, PRETTY_PARAMETER],
        "requestBody": json_body(RepositoryRequest),
    },
    responses=document_responses(
        (200, "The repository can be used (`dryRun`); nothing is saved.", RepositoryCheck),
        (201, "Saved. Credentials are in a Secret that is deleted with it; no response shows them.", RepositoryRecord),
        problems={
            **BODY_PROBLEMS,
            404: "No such namespace.",
            409: "A repository of that name exists already, or the namespace is being deleted.",
            422: "A field is invalid, or the repository refuses (`dryRun`); errors names the fields.",
            504: "The repository did not answer in time (`dryRun`).",
        },
        headers={201: {"Location": "Path of the repository's record."}},
    ),
    status_code=201,
)
async def save_repository(request: Request) -> Response:
    """Create a ChartRepository and the Secret with its credentials, with the caller's token.

    With `dryRun`, the repository is asked with these credentials, and nothing is saved.
    """
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    body = await read_json_object(request, what="body")
    namespace = audit_notes(request).namespace = read_namespace(body)
    if namespace is not None:
        credentials = (Action.STORE_CREDENTIALS,) if needs_secret(body) else ()
        await caller.require(Action.ADD_REPOSITORY, *credentials, namespace=namespace)
    query = StrictQuery(request.scope["query_string"]).allow_only(_CHECK_PARAMETERS)
    pretty, dry_run = query.boolean("pretty"), query.boolean("dryRun")
    repository = validate_repository(body, settings=gateway.settings)
    stored = await create_repository(caller, repository, dry_run=dry_run)
    if dry_run:
        return json_response(await check_repository(caller.client, gateway.chart_sources, repository), pretty=pretty)
    gateway.repositories.put(stored)
    saved = build_repository_entry(stored)
    location = f"/api/repositories/{saved.namespace}/{saved.name}"
    [record] = await repository_records(gateway.store, caller, [saved])
    return json_response(record, status=201, pretty=pretty, headers={"Location": location})


@router.put(
    "/{namespace}/{name}",
    summary="Change a repository",
    openapi_extra={
        "parameters": [*REPOSITORY_PARAMETERS, _CHECK_PARAMETER, if_match_parameter("repository"), PRETTY_PARAMETER],
        "requestBody": json_body(RepositoryChange),
    },
    responses=document_responses(
        (200, "Changed, or what the repository answered (`dryRun`).", RepositoryRecord | RepositoryCheck),  # type: ignore[arg-type]
        problems={
            **BODY_PROBLEMS,
            404: "No such repository.",
            409: "Somebody has changed the repository at the same time.",
            412: "If-Match names another uid or generation.",
            422: "A field is invalid, or the repository refuses (`dryRun`); errors names the fields.",
            504: "The repository did not answer in time (`dryRun`).",
        },
    ),
)
async def change_repository(request: Request) -> Response:
    """Replace the settings of a ChartRepository with the caller's token; credentials that are left out are kept."""
    gateway, caller = get_gateway(request), get_gateway(request).get_caller(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    await caller.require(Action.CHANGE_REPOSITORY, namespace=namespace)
    body = await read_json_object(request, what="body")
    if needs_secret(body):
        await caller.require(Action.STORE_CREDENTIALS, namespace=namespace)
    query = StrictQuery(request.scope["query_string"]).allow_only(_CHECK_PARAMETERS)
    pretty, dry_run = query.boolean("pretty"), query.boolean("dryRun")
    update = await prepare_update(
        caller,
        body,
        namespace=namespace,
        name=name,
        expected=ExpectedRepository.of(request),
        settings=gateway.settings,
    )
    stored = await update_repository(caller.client, update, dry_run=dry_run)
    if dry_run:
        checked = await check_repository(caller.client, gateway.chart_sources, update.request, update.spec)
        return json_response(checked, pretty=pretty)
    gateway.repositories.put(stored)
    [record] = await repository_records(gateway.store, caller, [build_repository_entry(stored)])
    return json_response(record, pretty=pretty)


@router.post(
    "/{namespace}/{name}/refresh",
    summary="Read a repository again",
    openapi_extra={"parameters": [*REPOSITORY_PARAMETERS, PRETTY_PARAMETER]},
    responses=document_responses(
        (202, "The operator reads the repository again; lastFetched of its record shows when.", RepositoryRecord),
        problems={**QUERY_PROBLEMS, **BROWSING_PROBLEMS, 404: "No such repository."},
    ),
    status_code=202,
)
async def refresh_repository(request: Request) -> Response:
    """Read the index again, whatever its age: here at once, with the caller's token, and in the operator."""
    gateway, caller = get_gateway(request), get_gateway(request).get_caller(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    await caller.require(Action.CHANGE_REPOSITORY, namespace=namespace)
    pretty = StrictQuery(request.scope["query_string"]).allow_only(("pretty",)).boolean("pretty")
    stored = await request_refresh(caller.client, namespace=namespace, name=name)
    gateway.repositories.put(stored)
    saved = build_repository_entry(stored)
    await reload_index(caller.client, gateway.chart_sources, saved)
    [record] = await repository_records(gateway.store, caller, [saved])
    return json_response(record, status=202, pretty=pretty)


@router.delete(
    "/{namespace}/{name}",
    summary="Delete a repository",
    openapi_extra={"parameters": [*REPOSITORY_PARAMETERS, if_match_uid_parameter("repository")]},
    responses=document_responses(
        (204, "Deleted, and its credentials with it. XApps are not changed.", None),
        problems={**QUERY_PROBLEMS, 404: "No such repository.", 412: "If-Match names another uid."},
    ),
    status_code=204,
)
async def remove_repository(request: Request) -> Response:
    """Delete the ChartRepository with the caller's token."""
    gateway = get_gateway(request)
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    caller = gateway.get_caller(request)
    await caller.require(Action.REMOVE_REPOSITORY, namespace=namespace)
    StrictQuery(request.scope["query_string"]).allow_only(())
    expected = ExpectedRepositoryUid.of(request)
    await delete_repository(caller.client, namespace=namespace, name=name, expected=expected)
    return Response(status_code=204)
