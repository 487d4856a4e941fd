"""HTTP to one API server: connection pools, identities, time-outs and repeats.

Lives below `client` so that the verbs of Kubernetes are written without a thought for connections. Two rules are kept
here and nowhere else: a request in another person's name never travels over a connection that was opened with our
client certificate, nor with our token; and a write is repeated only when the server cannot have acted on it.
"""

from __future__ import annotations

import asyncio
import io
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from ssl import SSLContext
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from xapp_operator.errors import ApiUnavailable, Unauthenticated
from xapp_operator.kube.credentials import Credentials
from xapp_operator.kube.failures import FIRST_ERROR_STATUS, from_answer, unreachable
from xapp_operator.kube.passage import CONNECT_SECONDS, AbruptResponse, Passage, Passed, passed
from xapp_operator.kube.sockets import Opening

CALL_SECONDS: Final = 30.0
ATTEMPTS: Final = 3
RETRY_FIRST_SECONDS: Final = 0.1
RETRY_AFTER_MAX_SECONDS: Final = 10.0
CALL_CONNECTIONS: Final = 100
READ_BUFFER_BYTES: Final = 256 * 1024
ERROR_BODY_MAX_BYTES: Final = 64 * 1024
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})

_TOKEN: Final = re.compile("[!-~]+")


@dataclass(frozen=True, slots=True)
class Identity:
    """In whose name a request is made: ours, ours on behalf of a user, or that of another person's token."""

    token: str | None = field(default=None, repr=False)
    impersonated: str | None = None

    @property
    def is_ours(self) -> bool:
        """Tell whether our own credentials are sent."""
        return self.token is None


OURS: Final = Identity()


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `path` is already encoded, `seconds` bounds the whole call with its repeats."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    seconds: float = CALL_SECONDS


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of any status; `retry_after` in seconds, where the server gave one."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def retry_after(self) -> float | None:
        value = self.headers.get("Retry-After", "")
        return float(value) if value.isdecimal() else None


class Stream:
    """An answer of less than 400 whose body is read as it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives.

        Raises:
            ApiUnavailable: when the connection breaks, or stays silent for longer than its read time-out.
        """
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(error) from error


class Transport:
    """The connection pools to one API server, shared by every client made from one `KubeClient`."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self._sessions: dict[tuple[SSLContext | None, bool], aiohttp.ClientSession] = {}
        self._closed = False

    async def close(self) -> None:
        """Close every connection; running requests end with ApiUnavailable."""
        self._closed = True
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()

    async def call(self, request: Request, *, identity: Identity) -> Answer:
        """Send `request` and return its whole answer, whatever its status.

        A request that never reached the server is repeated; a read also when its answer was lost. An answer 429 is
        repeated after the time that the server asks for, up to `RETRY_AFTER_MAX_SECONDS`.

        Raises:
            ApiUnavailable: when there is no answer in `request.seconds`.
        """
        deadline = time.monotonic() + request.seconds
        attempt = 1
        refreshed = False
        while True:
            wait = RETRY_FIRST_SECONDS * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - jitter
            try:
                answer = await self._once(request, identity=identity, seconds=deadline - time.monotonic())
            except TimeoutError as error:
                raise unreachable(error) from error
            except (aiohttp.ClientError, OSError) as error:
                if attempt >= ATTEMPTS or not _repeatable(request, error) or time.monotonic() + wait > deadline:
                    raise unreachable(error) from error
            else:
                if answer.status == HTTPStatus.UNAUTHORIZED and identity.is_ours and not refreshed:
                    refreshed = True
                    await self.credentials.refresh()
                    continue
                asked = _asked_to_wait(request, answer)
                if asked is None or attempt >= ATTEMPTS or time.monotonic() + asked > deadline:
                    return answer
                wait = asked
            attempt += 1
            await asyncio.sleep(wait)

    @asynccontextmanager
    async def stream(self, request: Request, *, identity: Identity, silence: float | None) -> AsyncIterator[Stream]:
        """Send `request` and give its answer to be read as it comes.

        `silence` is the longest pause, in seconds; None for an answer that may be silent for as long as it likes.

        Raises:
            KubeError: for a status of 400 or more.
            ApiUnavailable: when there is no answer.
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence)
        for is_last in (False, True):
            try:
                response = await self._send(request, identity=identity, limits=limits, streaming=True)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise unreachable(error) from error
            async with response:
                if response.status == HTTPStatus.UNAUTHORIZED and identity.is_ours and not is_last:
                    await self.credentials.refresh()
                    continue
                if response.status >= FIRST_ERROR_STATUS:
                    raise from_answer(response.status, await _read_error(response), path=request.path)
                try:
                    yield Stream(response)
                finally:
                    response.close()
                return

    @asynccontextmanager
    async def passed(self, passage: Passage, *, identity: Identity) -> AsyncIterator[Passed]:
        """Pass on a request that is streamed both ways, and give its answer of any status to be read.

        Raises:
            aiohttp.ClientError, TimeoutError, OSError: when there is no answer.
        """
        dressed = replace(passage, headers=await self._headers(passage.headers, identity=identity))
        async with passed(
            self._session(ours=identity.is_ours, streaming=True),
            dressed,
            origin=self.credentials.server,
            proxy=self.credentials.proxy,
            server_hostname=self.credentials.tls_server_name,
        ) as answer:
            yield answer

    async def dressed(self, opening: Opening, *, identity: Identity) -> Opening:
        """Return a WebSocket to be opened with what proves `identity`, and with the TLS of this API server."""
        tls = self.credentials.tls.own if identity.is_ours else self.credentials.tls.bare
        return replace(
            opening,
            headers=await self._headers(opening.headers, identity=identity),
            tls=tls,
            server_hostname=self.credentials.tls_server_name or urlsplit(self.credentials.server).hostname,
            proxy=self.credentials.proxy,
        )

    async def _headers(self, given: Iterable[tuple[str, str]], *, identity: Identity) -> tuple[tuple[str, str], ...]:
        headers = [(name, value) for name, value in given if not _tells_who(name)]
        authorization = f"Bearer {identity.token}" if identity.token else await self.credentials.authorization()
        if authorization:
            headers.append(("Authorization", authorization))
        if identity.impersonated:
            headers.append(("Impersonate-User", identity.impersonated))
        return tuple(headers)

    async def _once(self, request: Request, *, identity: Identity, seconds: float) -> Answer:
        limits = aiohttp.ClientTimeout(total=max(seconds, 0.001), sock_connect=CONNECT_SECONDS)
        async with await self._send(request, identity=identity, limits=limits, streaming=False) as response:
            return Answer(response.status, response.headers, await response.read())

    async def _send(
        self, request: Request, *, identity: Identity, limits: aiohttp.ClientTimeout, streaming: bool
    ) -> aiohttp.ClientResponse:
        # Uncompressed: an operator is near its API server, and inflating costs more than the bytes.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= dict(await self._headers(request.headers.items(), identity=identity))
        return await self._session(ours=identity.is_ours, streaming=streaming).request(
            request.method,
            URL(self.credentials.server + request.path, encoded=True).update_query(request.params),
            headers=headers,
            # A stream, because aiohttp warns of large bodies that are sent in one piece.
            data=None if request.body is None else io.BytesIO(request.body),
            timeout=limits,
            allow_redirects=False,
            proxy=self.credentials.proxy,
            server_hostname=self.credentials.tls_server_name,
        )

    def _session(self, *, ours: bool, streaming: bool) -> aiohttp.ClientSession:
        if self._closed:
            raise ApiUnavailable("the connection to the Kubernetes API was closed: this process is ending")
        # Keyed by the TLS context: a renewed certificate opens new connections. Watches have a pool of their own,
        # unbounded, so that long streams can never use up the connections of ordinary calls.
        context = self.credentials.tls.own if ours else self.credentials.tls.bare
        key = (context, streaming)
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0 if streaming else CALL_CONNECTIONS, ssl=context or True),
                cookie_jar=aiohttp.DummyCookieJar(),
                response_class=AbruptResponse,
                read_bufsize=READ_BUFFER_BYTES,
                auto_decompress=False,
            )
            # What is safe to repeat is decided above: aiohttp would send a PUT or DELETE twice that may have been done.
            session._retry_connection = False
        return session


def _tells_who(header: str) -> bool:
    # Headers that were passed on from somebody else's request must not add to the identity that is chosen here.
    lower = header.lower()
    return lower in {"authorization", "cookie"} or lower.startswith(("impersonate-", "x-remote-"))


def _repeatable(request: Request, error: BaseException) -> bool:
    if isinstance(error, aiohttp.ClientSSLError):
        return False
    return request.method in SAFE_METHODS or isinstance(error, aiohttp.ClientConnectorError)


def _asked_to_wait(request: Request, answer: Answer) -> float | None:
    # 429 means "not begun" for every verb; a 503 may come from an aggregated server that has begun.
    repeatable = answer.status == HTTPStatus.TOO_MANY_REQUESTS or (
        answer.status == HTTPStatus.SERVICE_UNAVAILABLE and request.method in SAFE_METHODS
    )
    if not repeatable or answer.retry_after is None:
        return None
    return min(answer.retry_after, RETRY_AFTER_MAX_SECONDS) + random.uniform(0, RETRY_FIRST_SECONDS)  # noqa: S311


async def _read_error(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.content.read(ERROR_BODY_MAX_BYTES)
    except (aiohttp.ClientError, TimeoutError, OSError):
        return b""


def identity_of(token: str) -> Identity:
    """Return the identity of the holder of a bearer token.

    Raises:
        Unauthenticated: for a text that can be no token (RFC 6750, section 2.1: visible ASCII, no spaces).
    """
    if _TOKEN.fullmatch(token) is None:
        raise Unauthenticated("the bearer token is malformed: it must be visible ASCII without spaces")
    return Identity(token=token)


def impersonated(identity: Identity, user: str) -> Identity:
    """Return `identity` acting as `user` (Impersonate-User)."""
    if not user or not user.isprintable():
        raise Unauthenticated("the user to impersonate is malformed: it must be printable text")
    return replace(identity, impersonated=user)
