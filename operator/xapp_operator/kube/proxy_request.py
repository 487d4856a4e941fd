"""One HTTP exchange that is passed on as it comes, in both directions, to whoever answers.

Lives in `kube` because the API server's service proxy needs it (`serviceproxy`); the gateway uses it for Services that
it reaches itself too. Nothing is repeated, no redirect is followed, nothing is unpacked and never more than a buffer is
held: a side that does not take what comes stops the other.
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
    """A request to pass on; `target` is path and query, already encoded, `headers` are all that there are.

    Of its answer twice `buffer_bytes` are held at most.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str]] = field(repr=False)
    body: AsyncIterable[bytes] | None = field(default=None, repr=False)
    buffer_bytes: int = BUFFER_BYTES

    def header(self, name: str) -> str:
        """Return the first header of that name, or an empty text."""
        return next((value for each, value in self.headers if each.lower() == name), "")


class ProxyResponse:
    """The answer to a passage: status and headers as they came, and a body that is read as it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._body: bytes | None = None
        self.status = response.status
        self.headers: tuple[tuple[bytes, bytes], ...] = response.raw_headers

    def header(self, name: str) -> str:
        """Return the first header of that name, or an empty text."""
        return self._response.headers.get(name, "")

    async def read_if_at_most(self, max_bytes: int) -> bytes | None:
        """Return the whole body when its announced length is at most `max_bytes`; `chunks` still yields it.

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
            raise UpstreamUnreachable("the xApp broke its answer off: see the logs of its pods") from error


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
    """Send `passage` to `origin` (scheme and authority), and give its answer to be read; leaving early hangs up.

    `session` makes responses of the class `AbruptResponse`.

    Raises:
        aiohttp.ClientError, TimeoutError, OSError: when there is no answer.
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
    """A response that breaks its connection off when it is closed before its end, or before its beginning.

    aiohttp would close politely: a body that nobody takes would never be done with, and the end of TLS might outlive
    the event loop.
    """

    _open_transport: asyncio.Transport | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Remember the transport: a connection that failed has forgotten it, and yet waits for what it wrote."""
        self._open_transport = connection.transport
        return await super().start(connection)

    def close(self) -> None:
        """Close; a response that was read to its end has given its connection back."""
        if self.connection is not None and self._open_transport is not None:
            self._open_transport.abort()
        super().close()
