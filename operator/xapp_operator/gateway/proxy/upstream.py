"""The two routes to an xApp's API: a direct connection to its Service, or the API server's service proxy.

In a pod the gateway connects to the address of the Service. Elsewhere only the API server can reach the pods, and
requests go through it with the caller's own token.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from socket import SOCK_STREAM
from typing import Final, Protocol, Self

import aiohttp
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus, WebSocketException

from xapp_operator.common.response_heads import bound_response_heads
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule, DeniedNetwork
from xapp_operator.errors import UpstreamTimeout, UpstreamUnreachable
from xapp_operator.gateway.proxy.paths import require_no_query, require_path_kept_by_api_server
from xapp_operator.gateway.proxy.targets import HostPort, ProxyTarget
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.proxy.proxy_request import AbortingResponse, ProxyRequest, send_proxy_request
from xapp_operator.kube.proxy.service_proxy import service_path
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest, open_websocket

_HINT: Final = "look at its health and the logs of its pods"


class UpstreamResponse(Protocol):
    """The response of an xApp: unchanged headers, and a body to read as it arrives."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]: ...

    def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body. Raises UpstreamUnreachable when the connection breaks."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a request: direct, or through the API server's proxy at `api_server_path`."""

    target: ProxyTarget
    api_server_path: str = ""


class Upstream:
    """Sends requests to xApps; `async with` opens and closes its connections."""

    def __init__(
        self,
        settings: Settings,
        *,
        in_pod: bool,
        find_address: Callable[[ProxyTarget], HostPort | None] = lambda target: target.address,
        address_rule: AddressRule | None = None,
        denied_networks: Callable[[], tuple[DeniedNetwork, ...]] = tuple,
    ) -> None:
        """Prepare; `find_address` locates Services, and `address_rule` says which addresses are allowed.

        The endpoints of a headless Service may be written by hand, so they must not be in `denied_networks` either.
        """
        self._connects_directly = settings.proxy == "service" or (settings.proxy == "auto" and in_pod)
        self._timeout_seconds = settings.proxy_timeout
        self._find_address = find_address
        self._address_rule = address_rule or AddressRule(allow_loopback=False)
        self._denied_networks = denied_networks
        self._tls = ssl.create_default_context()
        # Like the API server's proxy: no CA vouches for the certificates of Services.
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # One connection for each request: a reused one may be closed while a POST is written to it, and would bind a
        # caller to one of many pods.
        self._session = aiohttp.ClientSession(
            connector=bound_response_heads(aiohttp.TCPConnector(limit=0, force_close=True)),
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=AbortingResponse,
        )
        # aiohttp would send an idempotent request again, although the xApp may have handled it. It has no public option
        # against that.
        self._session._retry_connection = False
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._session is not None:
            await self._session.close()

    def route(self, target: ProxyTarget) -> Route:
        if self._connects_directly and self._find_address(target) is not None:
            return Route(target)
        path = service_path(target.namespace, target.service, target.port, https=target.https)
        return Route(target, api_server_path=path)

    @asynccontextmanager
    async def send(self, request: ProxyRequest, *, route: Route, client: KubeClient) -> AsyncIterator[UpstreamResponse]:
        """Send a request and yield its response; through the API server it is sent with the identity of `client`.

        Raises:
            UpstreamUnreachable: when the xApp cannot be reached.
            KubeError: when the API server refuses the request or does not answer.
            MalformedRequest: for a path that the API server would change.
        """
        if route.api_server_path:
            path, _, _ = request.target.partition("?")
            require_path_kept_by_api_server(path)
            # The API server would decompress a compressed response to rewrite it.
            headers = [each for each in request.headers if each[0].lower() != "accept-encoding"]
            api_server_request = replace(request, headers=(*headers, ("Accept-Encoding", "identity")))
            async with client.service_proxy().send(api_server_request, path=route.api_server_path) as response:
                yield response
            return
        if self._session is None:
            raise UpstreamUnreachable("the gateway is shutting down: try again")
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
            UpstreamUnreachable, KubeError, MalformedRequest: as `send`.
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
            raise UpstreamUnreachable(f"the Service {target.service} has no ready pod: {_HINT}") from None
        rule = self._address_rule
        if not _is_address(host):
            rule = replace(rule, denied=(*rule.denied, *self._denied_networks()))
        # The connection goes to the address that is checked here: the endpoints may change at any time.
        allowed = [str(each[4][0]) for each in found if rule.refusal_reason(str(each[4][0])) is None]
        if not allowed:
            raise UpstreamUnreachable(f"the Service {target.service} resolves to a forbidden address: {_HINT}")
        return random.choice(allowed), port  # noqa: S311 - spreads requests over pods


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def timeout_error(seconds: float) -> UpstreamTimeout:
    """Return the error for an xApp that did not start to respond within XAPP_PROXY_TIMEOUT."""
    return UpstreamTimeout(
        f"the xApp did not start to respond within {seconds:g} s: request less data, or raise XAPP_PROXY_TIMEOUT"
    )


def _unreachable_error(error: BaseException) -> UpstreamUnreachable:
    cause = getattr(error, "os_error", error)  # of a ClientConnectorError
    if isinstance(cause, ConnectionRefusedError):
        return UpstreamUnreachable(f"the xApp refuses connections at this port: {_HINT}")
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return UpstreamUnreachable(f"the xApp closed the connection without a response: {_HINT}")
    if isinstance(error, aiohttp.ClientConnectorError | TimeoutError):
        return UpstreamUnreachable(f"the gateway cannot connect to the xApp at this port: {_HINT}")
    return UpstreamUnreachable(f"the xApp does not speak HTTP at this port: {_HINT}")
