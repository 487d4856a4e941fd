"""Signing in and out, and the caller's identity.

A bearer token becomes a cookie that scripts cannot read, and a proof that no other server of the same host gets.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.common.text import rfc3339
from xapp_operator.errors import ContentTooLarge
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.auth.identities import Identity, review_identity
from xapp_operator.gateway.auth.session_cookies import (
    COOKIE_NAME,
    HOST_COOKIE_NAME,
    TOKEN_MAX_BYTES,
    clear_cookie_headers,
    jwt_expiry,
    set_session_cookie,
)
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.openapi import (
    NO_AUTHENTICATION,
    PRETTY_PARAMETER,
    QUERY_PROBLEMS,
    RequestRoute,
    document_responses,
    json_body,
)
from xapp_operator.gateway.http.requests.bodies import read_json_object
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.requests.validation import validate_body
from xapp_operator.gateway.http.responses.json_responses import json_response
from xapp_operator.gateway.schemas.session import CallerIdentity, SignedIn, SignInRequest
from xapp_operator.gateway.state import get_gateway

router = APIRouter(prefix="/api/session", tags=["Session"], route_class=RequestRoute)

BODY_MAX_BYTES: Final = 16 * 1024
BODY_SECONDS: Final = 10.0
"""Time for the body of a sign-in, which anyone can begin to send."""

NO_STORE_HEADERS: Final = {"Cache-Control": "no-store"}

_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999, the last that RFC 3339 can express; a token may claim any time."""

_ANONYMOUS: Final[JsonObject] = {"user": None, "groups": [], "auth": "none", "expiresAt": None}


@router.post(
    "",
    summary="Sign in",
    openapi_extra={
        **NO_AUTHENTICATION,
        "parameters": [PRETTY_PARAMETER],
        "requestBody": json_body(SignInRequest),
    },
    responses=document_responses(
        (201, "Signed in; the response sets the session cookie, unless authentication is turned off.", SignedIn),
        problems={
            400: "The body is not JSON, or a parameter is unknown or repeated.",
            401: "The cluster does not know the token, or it has expired.",
            403: "The request comes over plain HTTP from another machine, or from a page of another origin.",
            413: "The token is too long for a cookie: send it as Authorization: Bearer with each request.",
            422: "token is missing, or there are other fields.",
        },
    ),
    status_code=201,
)
async def sign_in(request: Request) -> Response:
    """Put a bearer token of the cluster into an encrypted cookie; the cookie counts only with the returned proof."""
    gateway = get_gateway(request)
    authenticator, has_sessions = gateway.authenticator, gateway.settings.auth != "none"
    is_secure = authenticator.require_session_allowed(request) if has_sessions else False
    query = StrictQuery(request.scope["query_string"]).allow_only(("pretty",))
    pretty, address = query.boolean("pretty"), authenticator.client_addresses.key_of(request)
    token = _read_token(await read_json_object(request, what="body", max_bytes=BODY_MAX_BYTES, seconds=BODY_SECONDS))
    if not has_sessions:
        return json_response({**_ANONYMOUS, "proof": None}, status=201, pretty=pretty, headers=NO_STORE_HEADERS)
    identity = await authenticator.identities.identify(gateway.kube.with_token(token), token, address=address)
    audit_notes(request).user = identity.user
    session = await authenticator.sessions.begin(token, user=identity.user)
    body: JsonObject = {**_identity_json(identity), "expiresAt": _time(session.expires), "proof": session.proof}
    response = json_response(body, status=201, pretty=pretty, headers=NO_STORE_HEADERS)
    set_session_cookie(response, session.cookie, seconds=session.seconds, secure=is_secure)
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
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    query = StrictQuery(request.scope["query_string"]).allow_only(("pretty",))
    if caller.mode == "none":
        identity = _ANONYMOUS
    else:
        identity = {**_identity_json(await review_identity(caller.client)), "expiresAt": _expires_at(caller)}
    return json_response(identity, pretty=query.boolean("pretty"), headers=NO_STORE_HEADERS)


@router.delete(
    "",
    summary="Sign out",
    responses=document_responses(
        (204, "The session has ended on every replica, and the cookie is cleared.", None),
        problems={**QUERY_PROBLEMS, 503: "Not possible now, so the session goes on: see Retry-After."},
    ),
    status_code=204,
)
async def sign_out(request: Request) -> Response:
    """End the session that signs this request in; the token itself stays valid until it expires.

    With a bearer token instead, there is no session to end.
    """
    gateway = get_gateway(request)
    caller = gateway.get_caller(request)
    await caller.authenticate()
    StrictQuery(request.scope["query_string"]).allow_only(())
    if caller.session is not None:
        await gateway.authenticator.sessions.end(caller.session)
    response = Response(status_code=204, headers=NO_STORE_HEADERS)
    for name in (COOKIE_NAME, HOST_COOKIE_NAME):
        if name in request.cookies:
            response.headers.append("Set-Cookie", clear_cookie_headers(name)["Set-Cookie"])
    return response


def _identity_json(identity: Identity) -> JsonObject:
    return {"user": identity.user, "groups": list[Json](identity.groups), "auth": "kubernetes"}


def _read_token(body: JsonObject) -> str:
    token = validate_body(body, SignInRequest).token
    if len(token.encode("utf-8", "surrogatepass")) > TOKEN_MAX_BYTES:
        raise ContentTooLarge.for_field(
            "token",
            f"has more than {TOKEN_MAX_BYTES:,} bytes, the limit for a cookie: send it as Authorization: Bearer with "
            "each request instead",
        )
    return token


def _expires_at(caller: Caller) -> str | None:
    """Return when the session or the token ends, whichever is first; None if neither says so."""
    session_end = None if caller.session is None else caller.session.expires
    known = [end for end in (session_end, jwt_expiry(caller.token)) if end is not None]
    return _time(min(known)) if known else None


def _time(seconds: int) -> str:
    return rfc3339(min(max(seconds, 0), _LAST_SECOND))
