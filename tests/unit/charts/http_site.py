"""Web servers on loopback that respond by path and record their requests."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestServer
from multidict import CIMultiDictProxy
from yarl import URL

from xapp_operator.charts.downloader import Downloader
from xapp_operator.domain.address_rule import AddressRule

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Reply:
    """A fixed response."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReceivedRequest:
    """One received request; `target` is unchanged byte for byte."""

    path: str
    target: str
    headers: CIMultiDictProxy[str]


class WebServer:
    """A server; `routes` maps paths to replies, and tests may change it while the server runs."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.routes: dict[str, Reply | Handler] = {}
        self.requests: list[ReceivedRequest] = []
        self._tls = tls
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._server = TestServer(app, host="127.0.0.1", scheme="https" if tls else "http")

    async def __aenter__(self) -> Self:
        await self._server.start_server(ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.close()

    def url(self, path: str = "/", *, host: str = "127.0.0.1") -> URL:
        return URL(f"{self._server.scheme}://{host}:{self._server.port}{path}")

    def count(self, path: str) -> int:
        """Return the number of requests for a path."""
        return sum(request.path == path for request in self.requests)

    def authorizations(self, path: str) -> list[str | None]:
        """Return the Authorization header of each request for a path."""
        return [request.headers.get("Authorization") for request in self.requests if request.path == path]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(ReceivedRequest(request.path, request.raw_path, request.headers))
        reply = self.routes.get(request.path, Reply(status=404))
        if isinstance(reply, Reply):
            return web.Response(body=reply.body, status=reply.status, headers=reply.headers)
        return await reply(request)


def redirect(to: str | URL, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": str(to)})


class StaticResolver(AbstractResolver):
    """A resolver that returns the address lists of a name one after the other, and then always the last."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = answers

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        answers = self._answers.get(host.partition(".")[0])
        if not answers:
            raise OSError(socket.EAI_NONAME, "no such name")
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        return


def downloader(
    *, timeout_seconds: float = 20.0, allow_loopback: bool = True, resolver: AbstractResolver | None = None
) -> Downloader:
    rule = AddressRule(allow_loopback=allow_loopback)
    return Downloader(timeout_seconds=timeout_seconds, address_rule=lambda: rule, resolver=resolver)
