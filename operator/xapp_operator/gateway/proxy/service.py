"""What the routes of the proxy do: pick the target, take a place among those at a time, open the way.

Lives in the gateway, above the ways to xApps (`upstream`) and what passes (`exchange`, `sockets`).
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http import HTTPStatus

import orjson
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from xapp_operator.api.json import JsonObject
from xapp_operator.config import Settings
from xapp_operator.errors import XAppError
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.proxy.exchange import Intake, Passing, begun
from xapp_operator.gateway.proxy.headers import body_length, forwarded
from xapp_operator.gateway.proxy.paths import Split, query_of
from xapp_operator.gateway.proxy.redirects import Place
from xapp_operator.gateway.proxy.sockets import bridged, subprotocols_of
from xapp_operator.gateway.proxy.targets import Target
from xapp_operator.gateway.proxy.upstream import Upstream, Way
from xapp_operator.gateway.slots import Slots
from xapp_operator.kube.passage import Passage
from xapp_operator.kube.sockets import Opening


@dataclass(frozen=True, slots=True)
class Errand:
    """One request for one target: who asks, and where the xApp's part of the path begins."""

    caller: Caller
    target: Target
    split: Split


class XAppProxy:
    """Passes requests on to xApps, so many at a time."""

    def __init__(self, settings: Settings, upstream: Upstream) -> None:
        self._seconds = settings.proxy_timeout
        self._trusts_proto = settings.trust_forwarded_proto
        most = settings.proxy_concurrency
        self._slots = Slots(
            most,
            refusal=f"{most} requests are being passed on to xApps, as many as may be at a time: ask again in a "
            "second, or raise XAPP_PROXY_CONCURRENCY",
        )
        self.upstream = upstream

    async def answer(self, request: Request, errand: Errand, *, method: str) -> Response:
        """Pass a request on and return the answer as it begins; its body follows when it is sent.

        Raises:
            UpstreamUnreachable, UpstreamSilent: when the xApp does not answer.
            KubeError, MalformedRequest: when the API server does not let the request through, or would change it.
            TooManyAtOnce: when all places are taken.
        """
        async with AsyncExitStack() as stack:
            stack.enter_context(self._slots.taken())
            length = body_length(request.scope["headers"])
            intake = Intake(request.receive, has_body=length != 0)
            stack.push_async_callback(intake.stop)
            intake.start()
            way, place = self._way(request, errand)
            passage = Passage(
                method=method,
                target=_with_query(errand.split.path, request),
                headers=self._headers(request, place, length=length),
                body=intake.body() if length != 0 else None,
            )
            opening = self.upstream.passed(passage, way=way, client=errand.caller.client)
            answer = await begun(stack.enter_async_context(opening), intake, seconds=self._seconds)
            head = method == "HEAD"
            return Passing(answer, place=place, intake=intake, stack=stack.pop_all(), head=head)

    async def bridge(self, websocket: WebSocket, errand: Errand) -> None:
        """Open a WebSocket to the xApp, accept the caller's, and pass messages on until either is closed.

        Raises:
            InvalidStatus: when the xApp answers with anything but a WebSocket.
            UpstreamUnreachable, KubeError, MalformedRequest, TooManyAtOnce: as for `answer`.
        """
        with self._slots.taken():
            way, place = self._way(websocket, errand)
            headers = self._headers(websocket, place, length=None)
            opening = Opening(
                host=errand.target.host,
                port=errand.target.number,
                path=errand.split.path,
                query=query_of(websocket.scope["query_string"]),
                headers=[each for each in headers if each[0] != "Host"],
                subprotocols=subprotocols_of(websocket.scope["subprotocols"]),
            )
            upstream = await self.upstream.socket(opening, way=way, client=errand.caller.client)
            await bridged(websocket, upstream)

    async def fetch_json(
        self, caller: Caller, target: Target, path: str, *, seconds: float, max_bytes: int
    ) -> JsonObject | None:
        """Return the JSON object at `path` (encoded, with its query) of an xApp, or None where there is none.

        None also stands for an answer that is no JSON object, is larger than `max_bytes`, or is not there in
        `seconds`.
        """
        headers = [("Host", target.authority), ("Accept", "application/json"), ("Accept-Encoding", "identity")]
        passage = Passage(method="GET", target=path, headers=headers)
        found = b""
        try:
            async with asyncio.timeout(seconds), AsyncExitStack() as stack:
                stack.enter_context(self._slots.taken())
                opening = self.upstream.passed(passage, way=self.upstream.way(target), client=caller.client)
                answer = await stack.enter_async_context(opening)
                if answer.status != HTTPStatus.OK:
                    return None
                async for chunk in answer.chunks():
                    found += chunk
                    if len(found) > max_bytes:
                        return None
        except (XAppError, TimeoutError):
            return None
        try:
            read = orjson.loads(found)
        except ValueError:
            return None
        return read if isinstance(read, dict) else None

    def _way(self, connection: HTTPConnection, errand: Errand) -> tuple[Way, Place]:
        way = self.upstream.way(errand.target)
        host = connection.headers.get("host", "").lower()
        split = errand.split
        return way, Place(errand.target, prefix=split.prefix, path=split.path, public=(host,), inner=way.inner)

    def _headers(self, connection: HTTPConnection, place: Place, *, length: int | None) -> list[tuple[str, str]]:
        told = self._trusts_proto and connection.headers.get("x-forwarded-proto", "").lower() == "https"
        headers = forwarded(
            connection.scope["headers"],
            host=place.target.authority,
            client=connection.client.host if connection.client else "unknown",
            scheme="https" if told or connection.scope["scheme"] in {"https", "wss"} else "http",
            public_host=connection.headers.get("host", ""),
            prefix=place.prefix,
        )
        return [*headers, ("Content-Length", str(length))] if length else headers


def _with_query(path: str, request: Request) -> str:
    query = query_of(request.scope["query_string"])
    return f"{path}?{query}" if query else path
