"""One revision of the release of an xApp, the diff of two, and the tests of its chart."""

from __future__ import annotations

import asyncio
import re
from typing import Final

import orjson
from fastapi import APIRouter
from pydantic import RootModel
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import encode_json
from xapp_operator.common.text import quote_input
from xapp_operator.errors import GatewayNotFound, MalformedRequest, NextRequest
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.http.openapi import (
    XAPP_PATH_PARAMETERS,
    RequestRoute,
    document_parameter,
    document_resource,
)
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.responses.json_responses import etag_response
from xapp_operator.gateway.routes.xapps.dependencies import get_xapp_context, xapp_resource
from xapp_operator.gateway.schemas.releases import ReleaseTest, RevisionDetails, RevisionDiff
from xapp_operator.gateway.state import Gateway, get_gateway
from xapp_operator.gateway.xapps.context import XAppContext, xapp_path
from xapp_operator.gateway.xapps.helm_tests import get_test_report
from xapp_operator.gateway.xapps.release.revisions import DIFF_PARTS, revision_json, revisions_diff
from xapp_operator.gateway.xapps.release_records import get_revision, require_deployed_release

router = APIRouter(prefix="/api/xapps", tags=["xApps"], route_class=RequestRoute)

_REVISION: Final = re.compile(r"[1-9][0-9]{0,8}")
_REVISION_PARAMETER: Final = document_parameter(
    "revision", "Number of a revision in the history.", schema={"type": "integer", "minimum": 1}, location="path"
)
_REVISION_PROBLEMS: Final = {404: "No such xApp, or no such revision in its history."}


@router.get(
    "/{namespace}/{name}/history/{revision}",
    **document_resource(
        "Show a revision",
        RevisionDetails,
        "Values, manifest and notes of the revision, secrets masked.",
        parameters=(*XAPP_PATH_PARAMETERS, _REVISION_PARAMETER),
        problems=_REVISION_PROBLEMS,
    ),
)
async def show_revision(request: Request) -> Response:
    """Return what Helm keeps of a revision; the caller needs the right to get and list Secrets."""
    context = await get_xapp_context(request, action=Action.RELEASE, parameters=("pretty",))
    release = await get_revision(context.caller.client, context.entry, _revision(request, context, "revision"))
    body = await asyncio.to_thread(lambda: encode_json(revision_json(release)))
    return etag_response(request, body, pretty=context.query.boolean("pretty"))


@router.get(
    "/{namespace}/{name}/history/{revision}/diff/{other}",
    **document_resource(
        "Compare two revisions",
        RevisionDiff,
        "Unified diffs from the first revision to the other one, secrets masked.",
        parameters=(
            *XAPP_PATH_PARAMETERS,
            _REVISION_PARAMETER,
            {**_REVISION_PARAMETER, "name": "other", "description": "Number of the revision to compare with."},
            document_parameter("of", f"What to compare, separated by commas: {', '.join(DIFF_PARTS)}. Default: all."),
        ),
        problems=_REVISION_PROBLEMS,
    ),
)
async def compare_revisions(request: Request) -> Response:
    """Return the diffs of values, manifest and notes; the caller needs the right to get and list Secrets.

    Equal secrets have equal masks in one response, so a changed secret shows as a change.
    """
    context = await get_xapp_context(request, action=Action.RELEASE, parameters=("of", "pretty"))
    parts, client = _parts(context.query), context.caller.client
    numbers = _revision(request, context, "revision"), _revision(request, context, "other")
    async with get_gateway(request).limits.deployments.wait(context.caller.user):
        before, after = await asyncio.gather(*(get_revision(client, context.entry, number) for number in numbers))
        body = await asyncio.to_thread(lambda: encode_json(revisions_diff(before, after, parts)))
    return etag_response(request, body, pretty=context.query.boolean("pretty"))


@xapp_resource(
    router,
    "/tests",
    "Show the tests of an xApp",
    RootModel[list[ReleaseTest]],
    "The tests of the chart by name, at most 50.",
    action=Action.RELEASE,
    problems={404: "No such xApp, or no revision of it is deployed yet."},
)
async def tests(context: XAppContext, gateway: Gateway) -> bytes:
    """Return how the tests of the deployed revision ended, and their logs for callers who may read logs."""
    release = await require_deployed_release(context.caller.client, context.entry)
    with gateway.limits.logs.hold(context.caller.user):
        return orjson.dumps(await get_test_report(context, release))


def _revision(request: Request, context: XAppContext, parameter: str) -> int:
    written = request.path_params[parameter]
    if _REVISION.fullmatch(written) is None:
        raise GatewayNotFound(f"there is no revision {quote_input(written)}: choose one of the history").with_next(
            NextRequest("GET", xapp_path(context.entry.namespace, context.entry.name, "history"))
        )
    return int(written)


def _parts(query: StrictQuery) -> frozenset[str]:
    given = query.text("of")
    if given is None:
        return frozenset(DIFF_PARTS)
    parts = given.split(",")
    unknown = [part for part in parts if part not in DIFF_PARTS]
    if unknown or len(set(parts)) != len(parts):
        raise MalformedRequest.for_field(
            "of", f"must be some of {', '.join(DIFF_PARTS)}, each once, separated by commas, not {quote_input(given)}"
        )
    return frozenset(parts)
