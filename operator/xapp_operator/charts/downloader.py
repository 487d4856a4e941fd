"""The HTTP client for charts, indexes and manifests; every download goes through it and follows the same rules.

- Each socket checks its address (`guarded_socket`), also after a redirect.
- Credentials and a disabled certificate check apply to one origin (scheme, host, port). They end at the first redirect
  that leaves it.
- The body is counted while it arrives, whatever Content-Length states. One timeout covers the whole download with its
  redirects, and a body that arrives too slowly ends it earlier.
- The head of a response is bounded too (`bound_response_heads`).
- Nothing comes from the environment: no proxy, no .netrc. No cookies are kept.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from http import HTTPStatus
from importlib.metadata import version
from typing import IO, Final, Self

import aiohttp
from aiohttp import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDictProxy
from yarl import URL

from xapp_operator.charts.chart_request import origin, plain_http_refused
from xapp_operator.common.response_heads import bound_response_heads
from xapp_operator.common.text import display_url, explain_disk_error, format_bytes
from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.errors import (
    AddressRefused,
    CertificateNotTrusted,
    ChartNotFound,
    ChartSourceError,
    SourceAccessDenied,
    SourceTimeout,
    SourceUnavailable,
)

MAX_REDIRECTS: Final = 5
_CHUNK_BYTES: Final = 64 * 1024
_REDIRECT_STATUSES: Final = frozenset((301, 302, 303, 307, 308))
_MIN_BODY_BYTES: Final = 10 * 1024
"""Bytes of a body that must arrive in any _BODY_SECONDS until it ends, because a slow download holds a slot."""
_BODY_SECONDS: Final = 10.0
_RESOLVER_THREADS: Final = 16
_MAX_TLS_CONTEXTS: Final = 32
_ACCESS_DENIED_STATUSES: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
NOT_FOUND_STATUSES: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
_RETRYABLE_STATUSES: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_USER_AGENT: Final = f"xapp-operator/{version('xapp-operator')}"


class BodyTooLarge(Exception):
    """The body exceeds the limit of the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginAccess:
    """Credentials and TLS settings for the origin of `origin_url`; over http only with `allow_plain_http`."""

    origin_url: URL
    authorization: str | None = field(default=None, repr=False)
    ca_bundle: str | None = field(default=None, repr=False)
    insecure: bool = False
    allow_plain_http: bool = False


@dataclass(frozen=True, slots=True)
class DownloadResponse:
    """A response; `url` is after redirects, `body` is empty unless the status is 200 and there is no output file."""

    status: int
    url: URL
    headers: CIMultiDictProxy[str]
    body: bytes


class SystemResolver(AbstractResolver):
    """The resolver of the system, in threads of its own: a name server that never answers blocks nothing else."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_RESOLVER_THREADS, thread_name_prefix="resolver")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        look_up = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return [
            ResolveResult(
                hostname=host,
                host=str(sockaddr[0]),
                port=port,
                family=found_family,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for found_family, _, protocol, _, sockaddr in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedResolver(AbstractResolver):
    """Resolves names with another resolver and returns only the addresses that the rule allows."""

    def __init__(self, resolver: AbstractResolver, *, rule: Callable[[], AddressRule]) -> None:
        self._resolver = resolver
        self._rule = rule

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the allowed addresses of a name. Raises AddressRefused when the name has only other addresses."""
        resolved = await self._resolver.resolve(host, port, family)
        rule = self._rule()
        allowed = [one for one in resolved if rule.refusal_reason(one["host"]) is None]
        if resolved and not allowed:
            raise _address_refused(host, rule.refusal_reason(resolved[0]["host"]) or "")
        return allowed

    async def close(self) -> None:
        await self._resolver.close()


class SocketRefused(OSError):
    """The address rule does not allow a connection to this address."""


def guarded_socket(rule: Callable[[], AddressRule], addr_info: AddrInfoType) -> socket.socket:
    """Return a socket for one result of getaddrinfo. Raises SocketRefused unless the rule allows its address."""
    family, kind, protocol, _, sockaddr = addr_info
    if reason := rule().refusal_reason(str(sockaddr[0])):
        raise SocketRefused(reason)
    return socket.socket(family, kind, protocol)


class Downloader:
    """Downloads over one HTTP session; used with `async with`."""

    def __init__(
        self,
        *,
        timeout_seconds: float,
        address_rule: Callable[[], AddressRule],
        resolver: AbstractResolver | None = None,
        body_seconds: float = _BODY_SECONDS,
    ) -> None:
        """Prepare; `address_rule` is asked for each connection, and 10 KiB of a body must arrive in `body_seconds`."""
        self._timeout = timeout_seconds
        self._body_seconds = body_seconds
        self._rule = address_rule
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = bound_response_heads(
            aiohttp.TCPConnector(
                resolver=GuardedResolver(self._resolver or SystemResolver(), rule=self._rule),
                socket_factory=partial(guarded_socket, self._rule),
            )
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None),
            headers={"User-Agent": _USER_AGENT},
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()
            self._session = None

    async def get(
        self,
        url: URL,
        *,
        access: OriginAccess,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        output: IO[bytes] | None = None,
    ) -> DownloadResponse:
        """Return the response to a GET after redirects, whatever its status; `output` receives the body, if given.

        Raises BodyTooLarge for a body of more than `max_bytes`, AddressRefused, and SourceUnavailable for other
        failures.
        """
        start, same_origin = url, True
        try:
            async with asyncio.timeout(self._timeout):
                for _ in range(MAX_REDIRECTS + 1):
                    same_origin = same_origin and origin(url) == origin(access.origin_url)
                    response = await self._get_once(
                        url, access, headers or {}, max_bytes, output, same_origin=same_origin
                    )
                    if response.status not in _REDIRECT_STATUSES:
                        return response
                    url = _redirect_target(response)
        except TimeoutError:
            raise SourceTimeout(
                f"the download of {display_url(start)} took longer than {self._timeout:g} s. "
                "If the repository is always slow, raise XAPP_FETCH_TIMEOUT_SECONDS."
            ) from None
        raise ChartSourceError(
            f"{display_url(url)} is redirect {MAX_REDIRECTS + 1}, and at most {MAX_REDIRECTS} are allowed. "
            "Use the URL that the redirects lead to.",
            permanent=True,
        )

    async def _get_once(
        self,
        url: URL,
        access: OriginAccess,
        headers: Mapping[str, str],
        max_bytes: int,
        output: IO[bytes] | None,
        *,
        same_origin: bool,
    ) -> DownloadResponse:
        if self._session is None:
            raise RuntimeError("the downloader is used outside its 'async with' block")
        request_headers = {"Accept-Encoding": "identity", **headers}
        if same_origin and access.authorization:
            if url.scheme == "http" and not access.allow_plain_http:
                raise plain_http_refused(url)
            request_headers["Authorization"] = access.authorization
        tls = await _tls_option(access.ca_bundle, insecure=access.insecure and same_origin)
        try:
            async with self._session.get(url, headers=request_headers, allow_redirects=False, ssl=tls) as response:
                has_body = response.status == HTTPStatus.OK
                body = await self._read_body(response, max_bytes, output) if has_body else b""
                return DownloadResponse(status=response.status, url=url, headers=response.headers, body=body)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise _download_error(url, error) from None

    async def _read_body(self, response: aiohttp.ClientResponse, max_bytes: int, output: IO[bytes] | None) -> bytes:
        if (response.content_length or 0) > max_bytes:
            raise BodyTooLarge
        parts = bytearray()
        received = 0
        while block := await self._read_block(response):
            received += len(block)
            if received > max_bytes:
                raise BodyTooLarge
            if output is None:
                parts += block
            else:
                _write(output, block)
        return bytes(parts)

    async def _read_block(self, response: aiohttp.ClientResponse) -> bytes:
        """Return the next bytes of the body, at least _MIN_BODY_BYTES unless it ends."""
        block = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds) as timeout:
                while len(block) < _MIN_BODY_BYTES and (chunk := await response.content.read(_CHUNK_BYTES)):
                    block += chunk
        except TimeoutError:
            if not timeout.expired():
                raise
            raise SourceTimeout(
                f"{display_url(response.url)} sends less than {format_bytes(_MIN_BODY_BYTES)} in "
                f"{self._body_seconds:g} s, so the download was ended. This may be temporary."
            ) from None
        return bytes(block)


def _write(output: IO[bytes], block: bytes) -> None:
    try:
        output.write(block)
    except OSError as error:
        place = "the folder for temporary files (TMPDIR) of the process"
        raise SourceUnavailable(explain_disk_error("a download cannot be stored", error, place=place)) from None


def unexpected_status(response: DownloadResponse) -> ChartSourceError:
    """Return the error for a response whose status the caller cannot use."""
    where = f"{display_url(response.url)} returned status {response.status}"
    if response.status in _ACCESS_DENIED_STATUSES:
        return SourceAccessDenied(
            f"{where}: access is denied. Set secretRef of the ChartRepository to credentials that may read it."
        )
    if response.status in NOT_FOUND_STATUSES:
        return ChartNotFound(f"{where}: it does not exist. Check the URL, and whether the chart was removed.")
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR or response.status in _RETRYABLE_STATUSES:
        return SourceUnavailable(f"{where}: it is unavailable now. This may be temporary.")
    return ChartSourceError(f"{where}, so it is not a chart. Check the URL of the repository.", permanent=True)


def _redirect_target(response: DownloadResponse) -> URL:
    target = response.headers.get("Location", "")
    try:
        # A signed URL must stay the same byte for byte, so only text that is not a valid URL is percent-encoded.
        is_encoded = target.isascii() and target.isprintable() and " " not in target
        url = response.url.join(URL(target, encoded=is_encoded)).with_user(None).with_fragment(None)
    except ValueError:
        url = URL()
    if not target or url.scheme not in ("http", "https") or not url.host:
        raise SourceUnavailable(
            f"{display_url(response.url)} redirects to a URL that is not http. This may be temporary."
        )
    if response.url.scheme == "https" and url.scheme == "http":
        raise AddressRefused(
            f"{display_url(response.url)} redirects from https to http, where others could read and change the chart. "
            "Use a URL that stays with https."
        )
    return url


async def _tls_option(ca_bundle: str | None, *, insecure: bool) -> ssl.SSLContext | bool:
    if insecure:
        return False
    return await asyncio.to_thread(_tls_context, ca_bundle) if ca_bundle else True


@lru_cache(maxsize=_MAX_TLS_CONTEXTS)
def _tls_context(ca_bundle: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cadata=ca_bundle)
    except (ssl.SSLError, ValueError, TypeError):
        raise ChartSourceError(
            "the CA bundle of the repository is not a PEM certificate. Correct the Secret in caSecretRef.",
            permanent=True,
        ) from None
    return context


def _download_error(url: URL, error: Exception) -> ChartSourceError:
    where = display_url(url)
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, SocketRefused):
        return _address_refused(url.host or "", str(error.os_error))
    if isinstance(error, aiohttp.InvalidURL):
        return AddressRefused(f"{where} is not a valid URL. Correct it.")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        problem = "its host name cannot be resolved. Check the name"
    elif isinstance(error, aiohttp.ClientConnectorCertificateError):
        return CertificateNotTrusted(
            f"{where} is not available: its certificate is not trusted. Set caSecretRef of the ChartRepository to its "
            "CA. This may be temporary."
        )
    elif isinstance(error, aiohttp.ClientSSLError):
        problem = "the TLS handshake failed. Check that the port uses https"
    elif isinstance(error, aiohttp.ClientConnectorError):
        # The text of the error has the address that the name resolves to, which not everybody may know.
        reason = os.strerror(error.os_error.errno) if error.os_error.errno else "failed"
        problem = f"no connection ({reason.lower()}). Check host and port"
    elif isinstance(error, aiohttp.ClientPayloadError):
        problem = "the response was incomplete. Check the server"
    else:
        problem = "the server does not respond with valid HTTP. Check host and port"
    return SourceUnavailable(f"{where} is not available: {problem}. This may be temporary.")


def _address_refused(host: str, reason: str) -> AddressRefused:
    setting = "XAPP_ALLOW_LOOPBACK_REPOSITORIES" if "loopback" in reason else "XAPP_REPOSITORY_DENIED_NETWORKS"
    return AddressRefused(
        f"the host {host} is refused: it has {reason}, and a chart repository must not have one. "
        f"Use a repository with another address, or ask the administrator about {setting}."
    )
