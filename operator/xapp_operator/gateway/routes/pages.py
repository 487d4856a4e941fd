"""The dashboard: index.html at every path that can be a page, and the files below `/assets/`.

They need no credentials and hold no data; the pages read all data through the API. Each response is sent from memory.
"""

from __future__ import annotations

import html
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from xapp_operator.errors import GatewayNotFound
from xapp_operator.gateway.http.openapi import RequestRoute
from xapp_operator.gateway.http.requests.paths import PAGE_PATH
from xapp_operator.gateway.http.responses.dashboard_files import DashboardFiles, accepts_gzip, new_nonce
from xapp_operator.gateway.http.responses.json_responses import not_modified
from xapp_operator.gateway.http.responses.streaming import ChunkedResponse
from xapp_operator.gateway.http.transport_security import insecure_text
from xapp_operator.gateway.routes.docs import COMMON_POLICY
from xapp_operator.gateway.state import get_gateway

ASSET_POLICY: Final = "default-src 'none'; script-src 'self'; frame-ancestors 'none'"
"""A worker has the policy of its own file, and may load further scripts."""

ASSET_CACHE_CONTROL: Final = "public, max-age=31536000, immutable"
"""The name of an asset contains a digest of its content, so it never changes."""

_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types xapp-dashboard"
)
_PLAIN_PAGE: Final = files("xapp_operator.gateway").joinpath("pages", "plain.html")
_WARNING_PLACE: Final = "<!-- warning -->"


class PageConvertor(Convertor[str]):
    """The paths of pages: not those of the API, files and probes; their first segment is not empty and has no dot."""

    regex = PAGE_PATH

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("page", PageConvertor())

router = APIRouter(include_in_schema=False, route_class=RequestRoute)
"""Must be the last router: its paths include everything that is left."""


@router.get("/assets/{asset:path}")
async def dashboard_asset(request: Request) -> Response:
    """Return a file of the dashboard, in gzip if the client accepts it."""
    dashboard = get_gateway(request).dashboard
    found = None if dashboard is None else dashboard.assets.get(request.path_params["asset"])
    if found is None:
        raise GatewayNotFound("there is no such file of the dashboard: load the page again")
    headers = {
        "Cache-Control": ASSET_CACHE_CONTROL,
        "Vary": "Accept-Encoding",
        "Content-Security-Policy": ASSET_POLICY,
    }
    content, tag = found.content, found.tag
    if found.compressed is not None and accepts_gzip(",".join(request.headers.getlist("accept-encoding"))):
        content, tag = found.compressed, found.compressed_tag
        headers["Content-Encoding"] = "gzip"
    headers["ETag"] = f'"{tag}"'
    return not_modified(request, tag, headers=headers) or ChunkedResponse(
        content, media_type=found.media_type, headers=headers
    )


@router.get("/{page:page}")
async def dashboard_page(request: Request) -> Response:
    """Return the dashboard: it finds the page of the path itself."""
    dashboard = get_gateway(request).dashboard
    return _plain_page(request) if dashboard is None else _dashboard_page(dashboard)


def _dashboard_page(dashboard: DashboardFiles) -> Response:
    nonce = new_nonce()
    headers = {
        "Content-Security-Policy": _PAGE_POLICY.format(nonce=nonce),
        # Stored, or confirmed by an entity tag, a page would come with the nonce of another response.
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    return Response(dashboard.page(nonce), media_type="text/html", headers=headers)


def _plain_page(request: Request) -> Response:
    """Return the page of a gateway without dashboard, with a warning if others can read along."""
    insecure = insecure_text(request, get_gateway(request).settings)
    warning = "" if insecure is None else f"<p><strong>Warning: {html.escape(insecure)}.</strong></p>"
    headers = {
        "Content-Security-Policy": COMMON_POLICY,
        "Cache-Control": "no-cache",
        "Referrer-Policy": "no-referrer",
    }
    page = _PLAIN_PAGE.read_text(encoding="utf-8").replace(_WARNING_PLACE, warning)
    return Response(page, media_type="text/html", headers=headers)
