"""Signing in and out, and the caller's identity. A bearer token becomes a cookie that scripts cannot read."""

from __future__ import annotations

import time
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.config import Settings
from xapp_operator.errors import ContentTooLarge
from xapp_operator.gateway.auth.session_cookies import (
    CLEAR_COOKIE_HEADERS,
    TOKEN_MAX_BYTES,
    jwt_expiry,
    set_session_cookie,
)
from xapp_operator.gateway.http.bodies import read_json_object
from xapp_operator.gateway.http.openapi import (
    NO_AUTHENTICATION,
    PRETTY_PARAMETER,
    QUERY_PROBLEMS,
    RequestRoute,
    document_responses,
    json_body,
)
from xapp_operator.gateway.http.query import StrictQuery
from xapp_operator.gateway.http.responses import json_response
from xapp_operator.gateway.http.validation import validate_body
from xapp_operator.gateway.schemas.session import CallerIdentity, SignInRequest
from xapp_operator.gateway.state import get_gateway
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SELF_SUBJECT_REVIEWS

router = APIRouter(prefix="/api/session", tags=["Session"], route_class=RequestRoute)

NO_STORE_HEADERS: Final = {"Cache-Control": "no-store"}

_ANONYMOUS: Final[JsonObject] = {"user": None, "groups": [], "auth": "none"}


@router.post(
    "",
    summary="Sign in",
    openapi_extra={
        **NO_AUTHENTICATION,
        "parameters": [PRETTY_PARAMETER],
        "requestBody": json_body(SignInRequest),
    },
    responses=document_responses(
        (201, "Signed in; the response sets the session cookie, unless authentication is turned off.", CallerIdentity),
        problems={
            400: "The body is not JSON, or a parameter is unknown or repeated.",
            401: "The cluster does not know the token.",
            413: "The token is too long for a cookie: send it as Authorization: Bearer with each request.",
            422: "token is missing, or there are other fields.",
        },
    ),
    status_code=201,
)
async def sign_in(request: Request) -> Response:
    """Put a bearer token of the cluster into an encrypted cookie."""
    gateway = get_gateway(request)
    query = StrictQuery(request.scope["query_string"]).allow_only(("pretty",))
    pretty, token = query.boolean("pretty"), _read_token(await read_json_object(request, what="body"))
    if gateway.settings.auth == "none":
        return json_response(_ANONYMOUS, status=201, pretty=pretty, headers=NO_STORE_HEADERS)
    identity = await _get_identity(gateway.kube.with_token(token))
    seconds = _seconds_left(token, gateway.settings)
    cookie = await gateway.authenticator.session_keys.seal(token, expires=int(time.time()) + seconds)
    response = json_response(identity, status=201, pretty=pretty, headers=NO_STORE_HEADERS)
    set_session_cookie(response, cookie, seconds=seconds, secure=_is_https(request, gateway.settings))
    return response


@router.get(
    "",
    summary="Who am I?",
    openapi_extra={"parameters": [PRETTY_PARAMETER]},
    responses=document_responses(
        (200, "The caller's name and groups in the cluster.", CallerIdentity),
        problems=QUERY_PROBLEMS,
    ),
)
async def who_am_i(request: Request) -> Response:
    """Return the caller's identity in the cluster."""
    caller = get_gateway(request).get_caller(request)
    await caller.authenticate()
    query = StrictQuery(request.scope["query_string"]).allow_only(("pretty",))
    identity = _ANONYMOUS if caller.mode == "none" else await _get_identity(caller.client)
    return json_response(identity, pretty=query.boolean("pretty"), headers=NO_STORE_HEADERS)


@router.delete(
    "",
    summary="Sign out",
    responses=document_responses(
        (204, "The cookie is cleared.", None),
        problems=QUERY_PROBLEMS,
    ),
    status_code=204,
)
async def sign_out(request: Request) -> Response:
    """Clear the session cookie; the token itself stays valid until it expires."""
    await get_gateway(request).get_caller(request).authenticate()
    StrictQuery(request.scope["query_string"]).allow_only(())
    return Response(status_code=204, headers={**NO_STORE_HEADERS, **CLEAR_COOKIE_HEADERS})


async def _get_identity(client: KubeClient) -> JsonObject:
    review = await client.create(
        SELF_SUBJECT_REVIEWS, {"apiVersion": SELF_SUBJECT_REVIEWS.api_version, "kind": SELF_SUBJECT_REVIEWS.kind}
    )
    info = obj(obj(review, "status"), "userInfo")
    groups = info.get("groups")
    group_names: list[Json] = [each for each in groups if isinstance(each, str)] if isinstance(groups, list) else []
    return {"user": text(info, "username"), "groups": group_names, "auth": "kubernetes"}


def _read_token(body: JsonObject) -> str:
    token = validate_body(body, SignInRequest).token
    if len(token.encode("utf-8", "surrogatepass")) > TOKEN_MAX_BYTES:
        raise ContentTooLarge.for_field(
            "token",
            f"has more than {TOKEN_MAX_BYTES:,} bytes, the limit for a cookie: send it as Authorization: Bearer with "
            "each request instead",
        )
    return token


def _seconds_left(token: str, settings: Settings) -> int:
    expiry = jwt_expiry(token)
    seconds_left = settings.session_max_seconds if expiry is None else expiry - int(time.time())
    return max(1, min(seconds_left, settings.session_max_seconds))


def _is_https(request: Request, settings: Settings) -> bool:
    """Return whether the browser certainly uses https, since it would return a Secure cookie only there."""
    if request.url.scheme == "https" or request.headers.get("origin", "").lower().startswith("https://"):
        return True
    return settings.trust_forwarded_proto and request.headers.get("x-forwarded-proto", "").lower() == "https"
