"""Threat: a registry answers with a megabyte of challenges, which takes minutes to parse."""

from __future__ import annotations

import pytest
from aiohttp import web

from tests.support.event_loop import LoopWork
from tests.unit.charts.http_site import Reply, WebServer
from xapp_operator.charts.chart_request import BasicCredentials, ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.sources.registry_auth import parse_challenges
from xapp_operator.errors import ChartNotFound, ChartSourceError

HEADERS, HEADER_LENGTH = 120, 8000


def request(server: WebServer, chart: str) -> ChartRequest:
    url, credentials = f"oci://{server.url().authority}/acme", BasicCredentials("jane", "pw")
    repository = Repository(url=url, credentials=credentials, allow_plain_http=True, namespace="noisy")
    return ChartRequest(repository=repository, chart=chart, version="0.1.0")


@pytest.mark.parametrize("unit", ["a", "basic ", 'a="', ",", "bearer,", 'a="\\"', "=", "bearer a=b,"])
async def test_many_long_challenges_are_refused(sources: ChartSources, server: WebServer, unit: str) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        response = web.Response(status=401)
        for _header in range(HEADERS):
            response.headers.add("WWW-Authenticate", "Bearer " + (unit * HEADER_LENGTH)[:HEADER_LENGTH])
        return response

    with LoopWork() as normal, pytest.raises(ChartNotFound):
        await sources.resolve(request(server, "missing"))
    for path in ("manifests/0.1.0", "tags/list"):
        server.routes[f"/v2/acme/hello/{path}"] = answer
    refusal = "does not respond with valid HTTP"  # the bound of the whole head comes first
    with LoopWork() as hostile, pytest.raises(ChartSourceError, match=refusal):
        await sources.resolve(request(server, "hello"))
    assert hostile.longest_seconds < normal.longest_seconds + 0.25


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (['Bearer realm="https://a/t",service="s"'], {"bearer": {"realm": "https://a/t", "service": "s"}}),
        (['Basic realm="a, Bearer b"'], {"basic": {"realm": "a, Bearer b"}}),
        (["Negotiate abc==, Basic realm=x"], {"negotiate": {"abc": "="}, "basic": {"realm": "x"}}),
        ([r'bearer realm = "q\"uoted" , scope=x'], {"bearer": {"realm": 'q"uoted', "scope": "x"}}),
        (["Basic", "basic realm=second"], {"basic": {}}),
        (['Bearer realm="never ends'], {"bearer": {}, "realm": {}}),
        (["", " , ,"], {}),
    ],
)
def test_challenges_are_read(values: list[str], expected: dict[str, dict[str, str]]) -> None:
    assert parse_challenges(values) == expected


async def test_a_link_header_of_brackets_is_no_next_page(sources: ChartSources, server: WebServer) -> None:
    server.routes["/v2/acme/hello/tags/list"] = Reply(b'{"tags": ["1.0.0"]}', headers={"Link": "<" * HEADER_LENGTH})
    repository = Repository(url=f"oci://{server.url().authority}/acme", namespace="noisy")
    assert [each.version for each in await sources.list_versions(repository, "hello")] == ["1.0.0"]
    assert server.count("/v2/acme/hello/tags/list") == 1
