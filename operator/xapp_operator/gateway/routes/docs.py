"""The interactive API documentation and the OpenAPI document. All assets are served from here.

The files of Swagger UI come from the package fastapi-offline.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.errors import GatewayNotFound
from xapp_operator.gateway.http.openapi import RequestRoute
from xapp_operator.gateway.http.responses.json_responses import json_response, wants_pretty
from xapp_operator.gateway.http.responses.streaming import ChunkedResponse

router = APIRouter(include_in_schema=False, route_class=RequestRoute)

COMMON_POLICY: Final = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What pages without scripts may do."""

_DOCS_FOLDERS: Final = ("/api/docs/", "/api/v1/docs/")
_EXPRESSIBLE_HOST: Final = re.compile(r"[a-z0-9.-]{1,253}(:[0-9]{1,5})?", re.IGNORECASE)
"""Hosts that a Content-Security-Policy can name (CSP 3, host-source). It cannot name IPv6 addresses."""
_OUR_FILES: Final = files("xapp_operator.gateway").joinpath("pages")
_SWAGGER_FILES: Final = files("fastapi_offline").joinpath("static")
_ASSETS: Final = {
    "start.js": (_OUR_FILES, "text/javascript"),
    "swagger-ui-bundle.js": (_SWAGGER_FILES, "text/javascript"),
    "swagger-ui.css": (_SWAGGER_FILES, "text/css"),
}


@router.get("/api/docs")
async def docs_page(request: Request) -> Response:
    """Return the interactive documentation."""
    headers = {
        "Content-Security-Policy": _docs_policy(request.headers.get("host", "")),
        "Cache-Control": "no-cache",
        "Referrer-Policy": "no-referrer",
    }
    return Response(_OUR_FILES.joinpath("docs.html").read_bytes(), media_type="text/html", headers=headers)


@router.get("/api/docs/{asset}")
async def docs_asset(request: Request) -> Response:
    """Return a script or style sheet of the documentation."""
    name = request.path_params["asset"]
    if name not in _ASSETS:
        raise GatewayNotFound("there is no such file: the documentation is at /api/v1/docs")
    content, media_type = _read_asset(name)
    return ChunkedResponse(content, media_type=media_type, headers={"Cache-Control": "public, max-age=3600"})


@cache
def _read_asset(name: str) -> tuple[bytes, str]:
    folder, media_type = _ASSETS[name]
    return folder.joinpath(name).read_bytes(), media_type


@router.get("/api/openapi.json")
async def openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    document: bytes = request.app.state.openapi
    return json_response(document, pretty=wants_pretty(request), headers={"Cache-Control": "no-cache"})


def _docs_policy(host: str) -> str:
    """Return the policy of the documentation page: its scripts and styles come from its own folder only.

    `'self'` would include the responses of xApps, which the gateway forwards on the same origin.
    """
    if _EXPRESSIBLE_HOST.fullmatch(host):
        assets, api = " ".join(f"{host}{folder}" for folder in _DOCS_FOLDERS), f"{host}/api/"
    else:
        assets = api = "'self'"
    return f"{COMMON_POLICY}; script-src {assets}; style-src {assets} 'unsafe-inline'; connect-src {api}"
