"""The front page, the interactive API documentation and the OpenAPI document. All assets are served from here.

The files of Swagger UI come from the package fastapi-offline.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.errors import GatewayNotFound
from xapp_operator.gateway.http.responses import json_response, wants_pretty
from xapp_operator.gateway.http.routing import RequestRoute

router = APIRouter(include_in_schema=False, route_class=RequestRoute)

_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ASSETS: Final = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
_START_SCRIPT_NAME: Final = "start.js"
_START_SCRIPT: Final = """\
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
"""
_DOCS_HTML: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>xapp-operator API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_FRONT_HTML: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>xapp-operator</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>xapp-operator</h1>
<p>The gateway of an operator that deploys, monitors, upgrades and removes xApps.</p>
<ul>
<li><a href="api/xapps?pretty=true">The xApps</a>, as JSON</li>
<li><a href="api/v1/docs">Interactive API documentation</a></li>
<li><a href="api/v1/openapi.json">OpenAPI 3.1 document</a></li>
<li><a href="healthz">Alive?</a> <a href="readyz">Ready?</a> <a href="metrics">Metrics</a></li>
</ul>
</body>
</html>
"""


@router.get("/", response_model=None)
async def front_page(_request: Request) -> Response:
    """Return the front page."""
    return _html_response(_FRONT_HTML)


@router.get("/api/docs", response_model=None)
async def docs_page(_request: Request) -> Response:
    """Return the interactive documentation."""
    return _html_response(_DOCS_HTML)


@router.get("/api/docs/{asset}", response_model=None)
async def docs_asset(request: Request) -> Response:
    """Return a script or style sheet of the documentation."""
    name = request.path_params["asset"]
    if name == _START_SCRIPT_NAME:
        return _asset_response(_START_SCRIPT.encode(), "text/javascript")
    if name not in _ASSETS:
        raise GatewayNotFound("there is no such file: the documentation is at /api/v1/docs")
    return _asset_response(files("fastapi_offline").joinpath("static", name).read_bytes(), _ASSETS[name])


@router.get("/api/openapi.json", response_model=None)
async def openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    document: bytes = request.app.state.openapi
    return json_response(document, pretty=wants_pretty(request), headers={"Cache-Control": "no-cache"})


def _html_response(html: str) -> Response:
    return Response(
        html,
        media_type="text/html",
        headers={
            "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
            "Cache-Control": "no-cache",
            "Referrer-Policy": "no-referrer",
        },
    )


def _asset_response(content: bytes, media_type: str) -> Response:
    return Response(content, media_type=media_type, headers={"Cache-Control": "public, max-age=3600"})
