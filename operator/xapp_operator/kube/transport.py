"""HTTP to one API server: connection pools, identities, timeouts and retries.

Two rules are kept here and nowhere else. A request with another user's token never travels over a connection that was
opened with our client certificate, and never carries our token. A write is retried only when the server cannot have
acted on it.
"""

from __future__ import annotations

import asyncio
import functools
import io
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from ssl import SSLContext
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from xapp_operator.api.names import GROUP
from xapp_operator.common.response_heads import bound_response_heads
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.errors import ApiUnavailable, Unauthenticated
from xapp_operator.kube.api_errors import FIRST_ERROR_STATUS, connection_error, error_from_response
from xapp_operator.kube.credentials import ClusterCredentials
from xapp_operator.kube.proxy.proxy_request import (
    CONNECT_SECONDS,
    AbortingResponse,
    ProxyRequest,
    ProxyResponse,
    send_proxy_request,
)
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest

CALL_TIMEOUT_SECONDS: Final = 30.0
ATTEMPTS: Final = 3
RETRY_FIRST_SECONDS: Final = 0.1
RETRY_AFTER_MAX_SECONDS: Final = 10.0
CALL_CONNECTIONS: Final = 100
READ_BUFFER_BYTES: Final = 256 * 1024
ERROR_BODY_MAX_BYTES: Final = 64 * 1024
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
OWN_PATHS: Final = ("/api/v1/", f"/apis/{GROUP}/", "/apis/coordination.k8s.io/")
"""What the API server serves itself: the Date of a response of an aggregated API is that of another server."""

_TOKEN_PATTERN: Final = re.compile("[!-~]+")


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """Who makes a request: this process, this process on behalf of a user, or the owner of another token."""

    token: str | None = field(default=None, repr=False)
    impersonated_user: str | None = None
    for_caller: bool = False
    """Whether somebody else, who alone sees its error, asked for the request. With a token that is always so."""
    may_write: Callable[[], bool] | None = field(default=None, repr=False, compare=False)
    """Returns whether requests that change something may be sent now; None: always."""

    @classmethod
    def from_token(cls, token: str) -> RequestIdentity:
        """Return the identity of the owner of a bearer token.

        Raises:
            Unauthenticated: when the text is not a token (RFC 6750, section 2.1: visible ASCII, no spaces).
        """
        if _TOKEN_PATTERN.fullmatch(token) is None:
            raise Unauthenticated("the bearer token is malformed: it must be visible ASCII without spaces")
        return cls(token=token, for_caller=True)

    def for_callers(self) -> RequestIdentity:
        """Return this identity for requests of others.

        Errors of other requests with our own credentials get into statuses, events and logs. They quote no object.
        """
        return replace(self, for_caller=True)

    def impersonating(self, user: str) -> RequestIdentity:
        """Return this identity acting as `user` (Impersonate-User)."""
        if not user or not user.isprintable():
            raise Unauthenticated("the user to impersonate is malformed: it must be printable text")
        return replace(self, impersonated_user=user)

    def writing_while(self, may_write: Callable[[], bool]) -> RequestIdentity:
        """Return this identity with a condition for its writes.

        An operator that was stopped while another one has taken over must not act on what it knew before.
        """
        return replace(self, may_write=may_write)

    def check_write(self, method: str) -> None:
        """Check that a request with `method` may be sent now.

        Raises:
            ApiUnavailable: when it may not.
        """
        if method not in SAFE_METHODS and self.may_write is not None and not self.may_write():
            raise ApiUnavailable("this operator has lost its Lease, so it writes nothing any more")

    @property
    def uses_own_credentials(self) -> bool:
        return self.token is None


OWN_IDENTITY: Final = RequestIdentity()


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request; `path` is already encoded, `timeout_seconds` bounds the whole call with its retries."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    timeout_seconds: float = CALL_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A complete response of any status."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def retry_after(self) -> float | None:
        """Return the Retry-After header in seconds, if the server sent one."""
        value = self.headers.get("Retry-After", "")
        return float(value) if value.isdecimal() else None


class ApiTransport:
    """The connection pools to one API server; every client made from one `KubeClient` shares them."""

    def __init__(
        self, credentials: ClusterCredentials, *, on_server_time: Callable[[float], None] | None = None
    ) -> None:
        """Connect with `credentials`.

        `on_server_time` is called with the time of the API server, in whole seconds since the epoch, when a response
        begins.
        """
        self.credentials = credentials
        self._on_server_time = on_server_time
        self._sessions: dict[tuple[SSLContext | None, bool], aiohttp.ClientSession] = {}
        self._closed = False

    async def close(self) -> None:
        """Close every connection; running requests fail with ApiUnavailable."""
        self._closed = True
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()

    async def send(self, request: ApiRequest, *, identity: RequestIdentity) -> ApiResponse:
        """Send `request` and return the complete response, whatever its status.

        A request that never reached the server is retried; a read also when its response was lost. After a 429, the
        retry waits for as long as the server asks, up to `RETRY_AFTER_MAX_SECONDS`.

        Raises:
            ApiUnavailable: when there is no response within `request.timeout_seconds`, or `identity` may not write now.
        """
        deadline = time.monotonic() + request.timeout_seconds
        attempt = 1
        refreshed = False
        while True:
            wait = Backoff(RETRY_FIRST_SECONDS, RETRY_AFTER_MAX_SECONDS).jittered(attempt)
            identity.check_write(request.method)
            try:
                response = await self._send_once(request, identity=identity, seconds=deadline - time.monotonic())
            except TimeoutError as error:
                raise connection_error(error) from error
            except (aiohttp.ClientError, OSError) as error:
                if attempt >= ATTEMPTS or not _is_retryable(request, error) or time.monotonic() + wait > deadline:
                    raise connection_error(error) from error
            else:
                if response.status == HTTPStatus.UNAUTHORIZED and identity.uses_own_credentials and not refreshed:
                    refreshed = True
                    await self.credentials.refresh()
                    continue
                retry_after = _retry_delay(request, response)
                if retry_after is None or attempt >= ATTEMPTS or time.monotonic() + retry_after > deadline:
                    return response
                wait = retry_after
            attempt += 1
            await asyncio.sleep(wait)

    @asynccontextmanager
    async def stream(
        self, request: ApiRequest, *, identity: RequestIdentity, read_timeout: float | None
    ) -> AsyncIterator[AsyncGenerator[bytes]]:
        """Send `request` and give the chunks of its response as they arrive.

        `read_timeout` is the longest allowed pause in seconds; None allows any pause.

        Raises:
            KubeError: for a status of 400 or more.
            ApiUnavailable: when there is no response. The chunks raise it too, when the connection breaks or pauses.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=read_timeout)
        for is_last in (False, True):
            try:
                response = await self._start_request(request, identity=identity, client_timeout=timeout, streaming=True)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise connection_error(error) from error
            self._note_server_time(request, response.status, response.headers)
            async with response:
                if response.status == HTTPStatus.UNAUTHORIZED and identity.uses_own_credentials and not is_last:
                    await self.credentials.refresh()
                    continue
                if response.status >= FIRST_ERROR_STATUS:
                    raise error_from_response(response.status, await _read_error_body(response), path=request.path)
                try:
                    async with aclosing(_read_chunks(response)) as chunks:
                        yield chunks
                finally:
                    response.close()
                return

    @asynccontextmanager
    async def proxy_request(self, request: ProxyRequest, *, identity: RequestIdentity) -> AsyncIterator[ProxyResponse]:
        """Send a request whose body and response are streamed, and give the response, whatever its status.

        Raises:
            aiohttp.ClientError, TimeoutError, OSError: when there is no response.
        """
        authorized = replace(request, headers=await self._with_identity_headers(request.headers, identity=identity))
        async with send_proxy_request(
            self._session(own_credentials=identity.uses_own_credentials, streaming=True),
            authorized,
            origin=self.credentials.server,
            proxy=self.credentials.proxy,
            server_hostname=self.credentials.tls_server_name,
        ) as response:
            yield response

    async def authorize_websocket(self, request: WebSocketRequest, *, identity: RequestIdentity) -> WebSocketRequest:
        """Return `request` with the credentials of `identity` and the TLS settings of this API server."""
        return replace(
            request,
            headers=await self._with_identity_headers(request.headers, identity=identity),
            tls=self.credentials.tls.context(own_credentials=identity.uses_own_credentials),
            server_hostname=self.credentials.tls_server_name or urlsplit(self.credentials.server).hostname,
            proxy=self.credentials.proxy,
        )

    async def _with_identity_headers(
        self, request_headers: Iterable[tuple[str, str]], *, identity: RequestIdentity
    ) -> tuple[tuple[str, str], ...]:
        headers = [(name, value) for name, value in request_headers if not _is_identity_header(name)]
        authorization = f"Bearer {identity.token}" if identity.token else await self.credentials.authorization()
        if authorization:
            headers.append(("Authorization", authorization))
        if identity.impersonated_user:
            headers.append(("Impersonate-User", identity.impersonated_user))
        return tuple(headers)

    async def _send_once(self, request: ApiRequest, *, identity: RequestIdentity, seconds: float) -> ApiResponse:
        timeout = aiohttp.ClientTimeout(total=max(seconds, 0.001), sock_connect=CONNECT_SECONDS)
        async with await self._start_request(
            request, identity=identity, client_timeout=timeout, streaming=False
        ) as response:
            self._note_server_time(request, response.status, response.headers)
            return ApiResponse(response.status, response.headers, await response.read())

    def _note_server_time(self, request: ApiRequest, status: int, headers: Mapping[str, str]) -> None:
        """Pass the Date of a response on (RFC 9110, section 6.6.1), unless another server may have set it.

        An error may be that of a proxy, or of a load balancer.
        """
        if self._on_server_time is None or status >= HTTPStatus.MULTIPLE_CHOICES:
            return
        if not request.path.startswith(OWN_PATHS):
            return
        told = _parse_date(headers.get("Date", ""))
        if told is not None:
            self._on_server_time(told)

    async def _start_request(
        self, request: ApiRequest, *, identity: RequestIdentity, client_timeout: aiohttp.ClientTimeout, streaming: bool
    ) -> aiohttp.ClientResponse:
        # Uncompressed: the operator runs near its API server, and decompression costs more than the bytes.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= dict(await self._with_identity_headers(request.headers.items(), identity=identity))
        return await self._session(own_credentials=identity.uses_own_credentials, streaming=streaming).request(
            request.method,
            URL(self.credentials.server + request.path, encoded=True).update_query(request.params),
            headers=headers,
            # A stream, because aiohttp warns about large bodies sent in one piece.
            data=None if request.body is None else io.BytesIO(request.body),
            timeout=client_timeout,
            allow_redirects=False,
            proxy=self.credentials.proxy,
            server_hostname=self.credentials.tls_server_name,
        )

    def _session(self, *, own_credentials: bool, streaming: bool) -> aiohttp.ClientSession:
        if self._closed:
            raise ApiUnavailable("the connection to the Kubernetes API was closed: this process is ending")
        # Keyed by the TLS context, so that a renewed certificate opens new connections. Streams have their own,
        # unbounded pool, so that they never use up the connections of ordinary calls.
        context = self.credentials.tls.context(own_credentials=own_credentials)
        key = (context, streaming)
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = aiohttp.ClientSession(
                connector=bound_response_heads(
                    aiohttp.TCPConnector(limit=0 if streaming else CALL_CONNECTIONS, ssl=context or True)
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                response_class=AbortingResponse,
                read_bufsize=READ_BUFFER_BYTES,
                auto_decompress=False,
            )
            # aiohttp would resend a PUT or DELETE that the server may have executed, and has no public option against
            # it. `send` decides what is safe to retry.
            session._retry_connection = False
        return session


@functools.lru_cache(maxsize=1)  # the responses of one second have the same one
def _parse_date(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def _is_identity_header(header: str) -> bool:
    # Headers forwarded from another request must not add to the identity chosen here.
    lower = header.lower()
    return lower in {"authorization", "cookie"} or lower.startswith(("impersonate-", "x-remote-"))


def _is_retryable(request: ApiRequest, error: BaseException) -> bool:
    if isinstance(error, aiohttp.ClientSSLError):
        return False
    return request.method in SAFE_METHODS or isinstance(error, aiohttp.ClientConnectorError)


def _retry_delay(request: ApiRequest, response: ApiResponse) -> float | None:
    # A 429 means that the request was not started, for every verb; a 503 may come from an aggregated API server that
    # has started it.
    repeatable = response.status == HTTPStatus.TOO_MANY_REQUESTS or (
        response.status == HTTPStatus.SERVICE_UNAVAILABLE and request.method in SAFE_METHODS
    )
    if not repeatable or response.retry_after is None:
        return None
    return min(response.retry_after, RETRY_AFTER_MAX_SECONDS) + random.uniform(0, RETRY_FIRST_SECONDS)  # noqa: S311


async def _read_chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise connection_error(error) from error


async def _read_error_body(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.content.read(ERROR_BODY_MAX_BYTES)
    except (aiohttp.ClientError, TimeoutError, OSError):
        return b""
