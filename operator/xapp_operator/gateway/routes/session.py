"""Sign in, who am I, sign out: a bearer token becomes a cookie that scripts cannot read."""

from __future__ import annotations

import time
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.config import Settings
from xapp_operator.errors import FieldError, TooLarge
from xapp_operator.gateway.bodies import checked_body, read_object
from xapp_operator.gateway.documented import NOBODY_SIGNS_IN, PRETTY, UNAUTHENTICATED, answers
from xapp_operator.gateway.query import Query
from xapp_operator.gateway.responses import json_response
from xapp_operator.gateway.routes.plain import PlainRoute
from xapp_operator.gateway.runtime import gateway_of
from xapp_operator.gateway.schemas.session import Identity, SignIn
from xapp_operator.gateway.session import TOKEN_MAX_BYTES, clear_cookie, expiry_of, set_cookie
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SELF_SUBJECT_REVIEWS

router = APIRouter(prefix="/api/session", tags=["Session"], route_class=PlainRoute)

NO_STORE: Final = {"Cache-Control": "no-store"}

_NOBODY: Final[JsonObject] = {"user": None, "groups": [], "auth": "none"}


@router.post(
    "",
    summary="Sign in",
    openapi_extra={
        **NOBODY_SIGNS_IN,
        "parameters": [PRETTY],
        "requestBody": {"required": True, "content": {"application/json": {"schema": SignIn.model_json_schema()}}},
    },
    responses=answers(
        (201, "Signed in: the answer sets the session cookie (none where nobody has to sign in).", Identity),
        problems={
            400: "The body is no JSON, or an unknown or repeated parameter.",
            401: "The cluster does not know the token.",
            413: "The token is too long for a cookie: send it as Authorization: Bearer with each request.",
            422: "token is missing, or there is more than that.",
        },
    ),
    status_code=201,
    response_model=None,
)
async def sign_in(request: Request) -> Response:
    """Keep a bearer token of the cluster in a sealed cookie."""
    gateway = gateway_of(request)
    query = Query(request.scope["query_string"]).only(("pretty",))
    pretty, token = query.boolean("pretty"), _token_in(await read_object(request, what="body"))
    if gateway.settings.auth == "none":
        return json_response(_NOBODY, status=201, pretty=pretty, headers=NO_STORE)
    identity = await _identity(gateway.kube.as_user(token))
    seconds = _seconds_left(token, gateway.settings)
    cookie = await gateway.authenticator.keys.seal(token, expires=int(time.time()) + seconds)
    answer = json_response(identity, status=201, pretty=pretty, headers=NO_STORE)
    set_cookie(answer, cookie, seconds=seconds, secure=_came_by_https(request, gateway.settings))
    return answer


@router.get(
    "",
    summary="Who am I?",
    openapi_extra={"parameters": [PRETTY]},
    responses=answers(
        (200, "Name and groups as the cluster knows them.", Identity),
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter."},
    ),
    response_model=None,
)
async def who_am_i(request: Request) -> Response:
    """Answer with whom the cluster takes the caller for."""
    caller = gateway_of(request).caller(request)
    await caller.sign_in()
    query = Query(request.scope["query_string"]).only(("pretty",))
    identity = _NOBODY if caller.mode == "none" else await _identity(caller.client)
    return json_response(identity, pretty=query.boolean("pretty"), headers=NO_STORE)


@router.delete(
    "",
    summary="Sign out",
    responses=answers(
        (204, "The cookie is cleared.", None),
        problems={**UNAUTHENTICATED, 400: "An unknown or repeated parameter."},
    ),
    status_code=204,
    response_model=None,
)
async def sign_out(request: Request) -> Response:
    """Have the browser forget its session; the token itself stays valid until it ends."""
    await gateway_of(request).caller(request).sign_in()
    Query(request.scope["query_string"]).only(())
    answer = Response(status_code=204, headers=NO_STORE)
    clear_cookie(answer)
    return answer


async def _identity(client: KubeClient) -> JsonObject:
    review = await client.create(
        SELF_SUBJECT_REVIEWS, {"apiVersion": SELF_SUBJECT_REVIEWS.api_version, "kind": SELF_SUBJECT_REVIEWS.kind}
    )
    info = obj(obj(review, "status"), "userInfo")
    groups = info.get("groups")
    known: list[Json] = [each for each in groups if isinstance(each, str)] if isinstance(groups, list) else []
    return {"user": text(info, "username"), "groups": known, "auth": "kubernetes"}


def _token_in(body: JsonObject) -> str:
    token = checked_body(body, SignIn, ask='send {"token": …} and nothing else').token
    if len(token.encode("utf-8", "surrogatepass")) > TOKEN_MAX_BYTES:
        message = (
            f"has more than {TOKEN_MAX_BYTES:,} bytes, the most that a cookie can hold: send it as Authorization: "
            "Bearer with each request instead"
        )
        raise TooLarge(f"token {message}", errors=(FieldError("token", message),))
    return token


def _seconds_left(token: str, settings: Settings) -> int:
    expiry = expiry_of(token)
    left = settings.session_max_seconds if expiry is None else expiry - int(time.time())
    return max(1, min(left, settings.session_max_seconds))


def _came_by_https(request: Request, settings: Settings) -> bool:
    """Tell whether the browser is on https, as far as that is known for sure: a cookie marked so is sent there only."""
    if request.url.scheme == "https" or request.headers.get("origin", "").lower().startswith("https://"):
        return True
    return settings.trust_forwarded_proto and request.headers.get("x-forwarded-proto", "").lower() == "https"
