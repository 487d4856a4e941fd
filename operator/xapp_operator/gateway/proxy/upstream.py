"""The two ways to an xApp's own API: to the Service itself, or through the API server's service proxy.

Lives in the gateway; streams are `kube.passage`'s and `kube.sockets`'. In a pod the gateway connects to the address of
the Service, which the cluster's network takes to a pod; elsewhere only the API server can reach the pods, and it is
asked with the caller's own token.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from socket import SOCK_STREAM
from types import TracebackType
from typing import Final, Protocol, Self

import aiohttp
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus, WebSocketException

from xapp_operator.config import Settings
from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.errors import UpstreamTimeout, UpstreamUnreachable
from xapp_operator.gateway.proxy.paths import require_no_query, require_path_kept_by_api_server
from xapp_operator.gateway.proxy.targets import HostPort, ProxyTarget
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.proxy_request import AbortingResponse, ProxyRequest, send_proxy_request
from xapp_operator.kube.service_proxy import service_path
from xapp_operator.kube.websocket_client import WebSocketRequest, open_websocket

_HINT: Final = "see GET …/health and the logs of its pods"


class UpstreamResponse(Protocol):
    """What an xApp answers: headers as they came, and a body to be read as it comes."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]: ...

    def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body. Raises UpstreamUnreachable when it breaks off."""
        ...


AddressLookup = Callable[[ProxyTarget], HostPort | None]


def service_address(target: ProxyTarget) -> HostPort | None:
    """Return where to connect to for a Service: its cluster address, or the name of a headless one."""
    return target.address


@dataclass(frozen=True, slots=True)
class Route:
    """How one request gets to its target; `inner` is what the API server puts before paths, if it is on the way."""

    target: ProxyTarget
    api_server_path: str = ""


class Upstream:
    """Sends requests to xApps; `async with` holds its connections."""

    def __init__(
        self,
        settings: Settings,
        *,
        in_pod: bool,
        find_address: AddressLookup = service_address,
        address_rule: AddressRule | None = None,
    ) -> None:
        """Prepare; `locate` and `rule` say where Services are and which addresses they may have."""
        self._connects_directly = settings.proxy == "service" or (settings.proxy == "auto" and in_pod)
        self._timeout_seconds = settings.proxy_timeout
        self._find_address = find_address
        self._address_rule = address_rule or AddressRule(allow_loopback=False)
        self._tls = ssl.create_default_context()
        # As the API server's own proxy: nobody vouches for the certificates of Services.
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # A connection for each request: a kept one may be closed at the moment when a POST is written to it, and
        # would tie a caller to one pod of many.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=AbortingResponse,
        )
        self._session._retry_connection = False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def route(self, target: ProxyTarget) -> Route:
        """Return how `target` is reached."""
        if self._connects_directly and self._find_address(target) is not None:
            return Route(target)
        path = service_path(target.namespace, target.service, target.port, https=target.https)
        return Route(target, api_server_path=path)

    @asynccontextmanager
    async def send(self, request: ProxyRequest, *, route: Route, client: KubeClient) -> AsyncIterator[UpstreamResponse]:
        """Pass a request on, as `client` where the API server is on the way, and give its answer to be read.

        Raises:
            UpstreamUnreachable: when the xApp cannot be reached.
            KubeError: when the API server does not let the request through, or does not answer.
            MalformedRequest: for a path that the API server would change.
        """
        if route.api_server_path:
            path, _, _ = request.target.partition("?")
            require_path_kept_by_api_server(path)
            # What a browser would get compressed here, the API server would unpack to rewrite it.
            headers = [each for each in request.headers if each[0].lower() != "accept-encoding"]
            api_server_request = replace(request, headers=(*headers, ("Accept-Encoding", "identity")))
            async with client.service_proxy().send(api_server_request, path=route.api_server_path) as response:
                yield response
            return
        if self._session is None:
            raise UpstreamUnreachable("the gateway is ending: ask again")
        host, port = await self._resolve(route.target)
        async with AsyncExitStack() as stack:
            exchange = send_proxy_request(
                self._session,
                request,
                origin=f"{route.target.scheme}://{f'[{host}]' if ':' in host else host}:{port}",
                tls=self._tls if route.target.https else None,
                server_hostname=route.target.host if route.target.https else None,
            )
            try:
                direct_response = await stack.enter_async_context(exchange)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _unreachable_error(error) from error
            yield direct_response

    async def open_websocket(self, request: WebSocketRequest, *, route: Route, client: KubeClient) -> ClientConnection:
        """Open a WebSocket to the target.

        Raises:
            InvalidStatus: when the xApp answers with anything but 101.
            UpstreamUnreachable, KubeError, MalformedRequest: as for `passed`.
        """
        try:
            if route.api_server_path:
                require_path_kept_by_api_server(request.path)
                require_no_query(request.query)
                return await client.service_proxy().open_websocket(
                    request, path=route.api_server_path, seconds=self._timeout_seconds
                )
            tls = self._tls if route.target.https else None
            direct_request = replace(
                request, address=await self._resolve(route.target), tls=tls, server_hostname=route.target.host
            )
            return await open_websocket(direct_request, seconds=self._timeout_seconds)
        except InvalidStatus:
            raise
        except TimeoutError:
            raise timeout_error(self._timeout_seconds) from None
        except (WebSocketException, OSError) as error:
            raise _unreachable_error(error) from error

    async def _resolve(self, target: ProxyTarget) -> HostPort:
        address = self._find_address(target)
        if address is None:
            raise UpstreamUnreachable(f"the Service {target.service} has no address yet: {_HINT}")
        host, port = address
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
        except OSError:
            raise UpstreamUnreachable(
                f"the Service {target.service} has no pod that is ready to answer: {_HINT}"
            ) from None
        allowed = [str(each[4][0]) for each in found if self._address_rule.refusal_reason(str(each[4][0])) is None]
        if not allowed:
            raise UpstreamUnreachable(f"the Service {target.service} leads to an address that no pod may have: {_HINT}")
        return random.choice(allowed), port  # noqa: S311 - spreads requests over pods


def timeout_error(seconds: float) -> UpstreamTimeout:
    """Return the error for an xApp that has not begun to answer within XAPP_PROXY_TIMEOUT."""
    return UpstreamTimeout(
        f"the xApp did not begin to answer within {seconds:g} s: ask for less, or raise XAPP_PROXY_TIMEOUT"
    )


def _unreachable_error(error: BaseException) -> UpstreamUnreachable:
    cause = getattr(error, "os_error", error)  # of a ClientConnectorError
    if isinstance(cause, ConnectionRefusedError):
        return UpstreamUnreachable(f"the xApp refuses connections at this port: {_HINT}")
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return UpstreamUnreachable(f"the xApp closed the connection without an answer: {_HINT}")
    if isinstance(error, aiohttp.ClientConnectorError | TimeoutError):
        return UpstreamUnreachable(f"the xApp cannot be connected to at this port: {_HINT}")
    return UpstreamUnreachable(f"the xApp does not answer as HTTP at this port: {_HINT}")
