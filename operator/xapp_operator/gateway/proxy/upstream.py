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

from xapp_operator.charts.addresses import AddressRule
from xapp_operator.config import Settings
from xapp_operator.errors import UpstreamSilent, UpstreamUnreachable
from xapp_operator.gateway.proxy.paths import require_exact, require_no_query
from xapp_operator.gateway.proxy.targets import Address, Target
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.passage import AbruptResponse, Passage, passed
from xapp_operator.kube.serviceproxy import service_path
from xapp_operator.kube.sockets import Opening, open_socket

_SEE: Final = "see GET …/health and the logs of its pods"


class Answer(Protocol):
    """What an xApp answers: headers as they came, and a body to be read as it comes."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]: ...

    def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body. Raises UpstreamUnreachable when it breaks off."""
        ...


Locate = Callable[[Target], Address | None]


def located(target: Target) -> Address | None:
    """Return where to connect to for a Service: its cluster address, or the name of a headless one."""
    return target.address


@dataclass(frozen=True, slots=True)
class Way:
    """How one request gets to its target; `inner` is what the API server puts before paths, if it is on the way."""

    target: Target
    inner: str = ""


class Upstream:
    """Sends requests to xApps; `async with` holds its connections."""

    def __init__(
        self, settings: Settings, *, in_pod: bool, locate: Locate = located, rule: AddressRule | None = None
    ) -> None:
        """Prepare; `locate` and `rule` say where Services are and which addresses they may have."""
        self._direct = settings.proxy == "service" or (settings.proxy == "auto" and in_pod)
        self._seconds = settings.proxy_timeout
        self._locate = locate
        self._rule = rule or AddressRule(allow_loopback=False)
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
            response_class=AbruptResponse,
        )
        self._session._retry_connection = False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def way(self, target: Target) -> Way:
        """Return how `target` is reached."""
        if self._direct and self._locate(target) is not None:
            return Way(target)
        path = service_path(target.namespace, target.service, target.port, https=target.https)
        return Way(target, inner=path)

    @asynccontextmanager
    async def passed(self, passage: Passage, *, way: Way, client: KubeClient) -> AsyncIterator[Answer]:
        """Pass a request on, as `client` where the API server is on the way, and give its answer to be read.

        Raises:
            UpstreamUnreachable: when the xApp cannot be reached.
            KubeError: when the API server does not let the request through, or does not answer.
            MalformedRequest: for a path that the API server would change.
        """
        if way.inner:
            path, _, _ = passage.target.partition("?")
            require_exact(path)
            # What a browser would get compressed here, the API server would unpack to rewrite it.
            headers = [each for each in passage.headers if each[0].lower() != "accept-encoding"]
            whole = replace(passage, headers=(*headers, ("Accept-Encoding", "identity")))
            async with client.service_proxy().passed(whole, path=way.inner) as proxied:
                yield proxied
            return
        if self._session is None:
            raise UpstreamUnreachable("the gateway is ending: ask again")
        host, port = await self._resolved(way.target)
        async with AsyncExitStack() as stack:
            exchange = passed(
                self._session,
                passage,
                origin=f"{way.target.scheme}://{f'[{host}]' if ':' in host else host}:{port}",
                tls=self._tls if way.target.https else None,
                server_hostname=way.target.host if way.target.https else None,
            )
            try:
                answer = await stack.enter_async_context(exchange)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _unreachable(error) from error
            yield answer

    async def socket(self, opening: Opening, *, way: Way, client: KubeClient) -> ClientConnection:
        """Open a WebSocket to the target.

        Raises:
            InvalidStatus: when the xApp answers with anything but 101.
            UpstreamUnreachable, KubeError, MalformedRequest: as for `passed`.
        """
        try:
            if way.inner:
                require_exact(opening.path)
                require_no_query(opening.query)
                return await client.service_proxy().socket(opening, path=way.inner, seconds=self._seconds)
            tls = self._tls if way.target.https else None
            whole = replace(opening, address=await self._resolved(way.target), tls=tls, server_hostname=way.target.host)
            return await open_socket(whole, seconds=self._seconds)
        except InvalidStatus:
            raise
        except TimeoutError:
            raise silent(self._seconds) from None
        except (WebSocketException, OSError) as error:
            raise _unreachable(error) from error

    async def _resolved(self, target: Target) -> Address:
        located = self._locate(target)
        if located is None:
            raise UpstreamUnreachable(f"the Service {target.service} has no address yet: {_SEE}")
        host, port = located
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
        except OSError:
            raise UpstreamUnreachable(
                f"the Service {target.service} has no pod that is ready to answer: {_SEE}"
            ) from None
        allowed = [str(each[4][0]) for each in found if self._rule.refusal(str(each[4][0])) is None]
        if not allowed:
            raise UpstreamUnreachable(f"the Service {target.service} leads to an address that no pod may have: {_SEE}")
        return random.choice(allowed), port  # noqa: S311 - spreads requests over pods


def silent(seconds: float) -> UpstreamSilent:
    """Return the error for an xApp that has not begun to answer within XAPP_PROXY_TIMEOUT."""
    return UpstreamSilent(
        f"the xApp did not begin to answer within {seconds:g} s: ask for less, or raise XAPP_PROXY_TIMEOUT"
    )


def _unreachable(error: BaseException) -> UpstreamUnreachable:
    cause = getattr(error, "os_error", error)  # of a ClientConnectorError
    if isinstance(cause, ConnectionRefusedError):
        return UpstreamUnreachable(f"the xApp refuses connections at this port: {_SEE}")
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return UpstreamUnreachable(f"the xApp closed the connection without an answer: {_SEE}")
    if isinstance(error, aiohttp.ClientConnectorError | TimeoutError):
        return UpstreamUnreachable(f"the xApp cannot be connected to at this port: {_SEE}")
    return UpstreamUnreachable(f"the xApp does not answer as HTTP at this port: {_SEE}")
