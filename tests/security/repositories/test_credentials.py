"""Threat: a tenant sends another tenant's credentials, or any other Secret, to a server of their own."""

from __future__ import annotations

import pytest
from aiohttp import web

from tests.unit.charts.http_site import Reply, WebServer, redirect
from xapp_operator.charts.chart_request import BasicCredentials, ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.errors import AddressRefused, XAppError

JANE = BasicCredentials("jane", "s3cr3t")
INDEX = "apiVersion: v1\nentries: {{hello: [{{version: 0.1.0, urls: ['{0}']}}]}}\n"


@pytest.mark.parametrize("scheme", ["http", "oci"])
async def test_credentials_are_not_sent_over_plain_http(sources: ChartSources, server: WebServer, scheme: str) -> None:
    async def challenge(_: web.Request) -> web.StreamResponse:
        return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})

    server.routes["/v2/acme/hello/manifests/0.1.0"] = challenge
    url = f"{scheme}://{server.url().authority}/acme"
    request = ChartRequest(repository=Repository(url=url, credentials=JANE), chart="hello", version="0.1.0")
    with pytest.raises(AddressRefused, match=r"is not https, so the credentials .* \(allowPlainHTTP of"):
        await sources.resolve(request)
    assert not [each for each in server.requests if "Authorization" in each.headers]


@pytest.mark.parametrize("leave_by", ["redirect of the index", "archive URL", "redirect of the archive"])
async def test_credentials_do_not_leave_their_origin(sources: ChartSources, server: WebServer, leave_by: str) -> None:
    async with WebServer() as evil:
        elsewhere = str(evil.url("/stolen.tgz"))
        archive = elsewhere if leave_by == "archive URL" else "hello-0.1.0.tgz"
        server.routes["/index.yaml"] = Reply(INDEX.format(archive).encode())
        server.routes["/hello-0.1.0.tgz"] = redirect(elsewhere)
        if leave_by == "redirect of the index":
            server.routes["/index.yaml"] = redirect(elsewhere)
        repository = Repository(url=str(server.url("")), credentials=JANE, allow_plain_http=True)
        with pytest.raises(XAppError):
            await sources.resolve(ChartRequest(repository=repository, chart="hello", version="0.1.0"))
        assert evil.requests
        assert not [each for each in evil.requests if "Authorization" in each.headers]
        assert set(server.authorizations("/index.yaml")) == {JANE.authorization}


async def test_a_registry_cannot_name_a_token_server_on_another_host_without_https(
    sources: ChartSources, server: WebServer
) -> None:
    async with WebServer() as evil:
        realm = str(evil.url("/token", host="localhost"))

        async def challenge(_: web.Request) -> web.StreamResponse:
            return web.Response(status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}"'})

        server.routes["/v2/acme/hello/manifests/0.1.0"] = challenge
        url = f"oci://{server.url().authority}/acme"
        repository = Repository(url=url, credentials=JANE, allow_plain_http=True)
        with pytest.raises(AddressRefused, match="which is not https"):
            await sources.resolve(ChartRequest(repository=repository, chart="hello", version="0.1.0"))
        assert evil.requests == []
