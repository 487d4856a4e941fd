"""One HTTP exchange that is forwarded in both directions as it arrives.

Nothing is retried, no redirect is followed, nothing is decompressed, and never more than a buffer is in memory: a side
that does not read slows down the other. It is used for the API server's service proxy and for direct connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Final

import aiohttp
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from xapp_operator.errors import UpstreamUnreachable

CONNECT_SECONDS: Final = 5.0
BUFFER_BYTES: Final = 64 * 1024
HEADER_LINE_BYTES: Final = 32 * 1024

_CALLER_HEADERS: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request to forward. `target` is the encoded path and query; no headers are added to `headers`.

    At most twice `buffer_bytes` of the response are in memory.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str]] = field(repr=False)
    body: AsyncIterable[bytes] | None = field(default=None, repr=False)
    buffer_bytes: int = BUFFER_BYTES

    def header(self, name: str) -> str:
        """Return the first header of that name, or an empty string."""
        return next((value for each, value in self.headers if each.lower() == name), "")


class ProxyResponse:
    """The response to a forwarded request: unchanged status and headers, and a body that is read as it arrives."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._body: bytes | None = None
        self.status = response.status
        self.headers: tuple[tuple[bytes, bytes], ...] = response.raw_headers

    def header(self, name: str) -> str:
        """Return the first header of that name, or an empty string."""
        return self._response.headers.get(name, "")

    async def read_if_at_most(self, max_bytes: int) -> bytes | None:
        """Return the whole body if its Content-Length is at most `max_bytes`; `chunks` still yields it.

        Raises:
            UpstreamUnreachable: when the connection breaks.
        """
        length = self._response.content_length
        if length is None or length > max_bytes:
            return None
        self._body = b"".join([chunk async for chunk in self.chunks()])
        return self._body

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives.

        Raises:
            UpstreamUnreachable: when the connection breaks before its end.
        """
        if self._body is not None:
            yield self._body
            return
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UpstreamUnreachable("the xApp's response broke off: see the logs of its pods") from error


@asynccontextmanager
async def send_proxy_request(
    session: aiohttp.ClientSession,
    request: ProxyRequest,
    *,
    origin: str,
    proxy: str | None = None,
    tls: SSLContext | None = None,
    server_hostname: str | None = None,
) -> AsyncIterator[ProxyResponse]:
    """Send `request` to `origin` (scheme and authority) and yield the response; leaving early aborts the connection.

    `session` creates responses of the class `AbortingResponse`.

    Raises:
        aiohttp.ClientError, TimeoutError, OSError: when there is no response.
    """
    response = await session.request(
        request.method,
        URL(origin + request.target, encoded=True),
        headers=CIMultiDict(request.headers),
        data=request.body,
        skip_auto_headers=_CALLER_HEADERS,
        allow_redirects=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        max_line_size=HEADER_LINE_BYTES,
        max_field_size=HEADER_LINE_BYTES,
        read_bufsize=request.buffer_bytes,
        auto_decompress=False,
        proxy=proxy,
        ssl=tls if tls is not None else True,
        server_hostname=server_hostname,
    )
    try:
        yield ProxyResponse(response)
    finally:
        response.close()


class AbortingResponse(aiohttp.ClientResponse):
    """A response that aborts its connection when it is closed before its end.

    aiohttp would close it gracefully: a body that nobody reads would never be finished, and the TLS shutdown might
    outlive the event loop.
    """

    _open_transport: asyncio.Transport | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Keep the transport: a failed connection drops its reference while unsent data is still pending."""
        self._open_transport = connection.transport
        return await super().start(connection)

    def close(self) -> None:
        """Abort the connection, unless the response was read to its end."""
        if self.connection is not None and self._open_transport is not None:
            self._open_transport.abort()
        super().close()
