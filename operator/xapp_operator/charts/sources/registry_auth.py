"""Authentication at OCI registries: challenges (RFC 7235) and the token flow of the distribution specification.

A registry responds 401 with `Basic` or `Bearer realm=…`. For Bearer, the client gets a token from the realm with the
user's name and password. The realm is often another host than the registry (auth.docker.io for registry-1.docker.io),
and only the registry can name it. A malicious registry could ask for the password directly, so following the realm
reveals nothing more, as long as nobody else can forge the challenge. Hence these rules:

- A challenge counts only when the registry itself sends it, not a host that it redirects to.
- The realm of a registry on https must be https; the realm of a plain registry on loopback must be on the same host.
- The address rule applies to the realm as to every request.
- A configured bearer token goes to the registry only, never to a realm.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

import orjson
from cachetools import TLRUCache
from yarl import URL

from xapp_operator.api.json import Json, integer, text
from xapp_operator.charts.chart_request import (
    BasicCredentials,
    Repository,
    TokenCredentials,
    origin,
    parse_repository_url,
)
from xapp_operator.charts.downloader import (
    BodyTooLarge,
    Downloader,
    DownloadResponse,
    OriginAccess,
    unexpected_status,
)
from xapp_operator.charts.sources.chart_source import origin_access
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.text import display_url
from xapp_operator.errors import AddressRefused, ChartSourceError, SourceUnavailable

_MAX_TOKEN_BYTES: Final = 256 * 1024
_DEFAULT_TOKEN_SECONDS: Final = 60  # when the response has no expires_in
_EXPIRY_MARGIN_SECONDS: Final = 5.0  # a token is not used in its last seconds
_MAX_TOKENS: Final = 1024
_MAX_CHALLENGE_CHARACTERS: Final = 16 * 1024
"""Characters of all WWW-Authenticate headers of a response; a registry needs some hundred."""
_CHALLENGE_PART: Final = re.compile(
    r"""[\s,]*+(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]++)"""
    r"""(?:\s*+=\s*+(?:"(?P<quoted>(?:[^"\\]++|\\.)*+)"|(?P<plain>[^\s,"]++)))?"""
)
"""A scheme, or a parameter of the scheme before it (RFC 9110, section 11.3). Possessive: linear time."""
_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class _CachedToken:
    authorization: str = field(repr=False)
    expires_at: float


class RegistryAuthenticator:
    """Sends requests to registries, answers their challenges, and caches the tokens until they expire."""

    def __init__(self, downloader: Downloader, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._downloader = downloader
        self._clock = clock
        self._tokens: TLRUCache[tuple[Repository, str], _CachedToken] = TLRUCache(
            _MAX_TOKENS, ttu=lambda _key, token, _now: token.expires_at, timer=clock
        )

    async def get(
        self, url: URL, *, repository: Repository, name: str, max_bytes: int, headers: Mapping[str, str] | None = None
    ) -> DownloadResponse:
        """Return the response to a GET for the repository `name` of a registry, with the credentials it asks for.

        An empty `name` stands for the registry as a whole.

        Raises what `Downloader.get` raises, and ChartSourceError when the registry denies access.
        """
        access = origin_access(repository, url.origin())
        key = (repository, name)
        token = self._usable_token(key)
        for is_last in (False, True):
            response = await self._downloader.get(
                url,
                access=replace(access, authorization=token.authorization if token else None),
                max_bytes=max_bytes,
                headers=headers,
            )
            if response.status != HTTPStatus.UNAUTHORIZED or is_last or origin(response.url) != origin(url):
                return response
            token = await self._answer_challenge(response, access, repository, name)
            self._tokens[key] = token
        raise AssertionError("the second response was returned")

    def _usable_token(self, key: tuple[Repository, str]) -> _CachedToken | None:
        if token := self._tokens.get(key):
            return token
        credentials = key[0].credentials
        if isinstance(credentials, TokenCredentials):
            return _CachedToken(credentials.authorization, expires_at=math.inf)
        return None

    async def _answer_challenge(
        self, response: DownloadResponse, access: OriginAccess, repository: Repository, name: str
    ) -> _CachedToken:
        challenges = parse_challenges(response.headers.getall("WWW-Authenticate", []))
        credentials = repository.credentials
        if isinstance(credentials, TokenCredentials):
            raise unexpected_status(response)
        if "bearer" in challenges:
            return await self._fetch_token(challenges["bearer"], access, credentials, name)
        if "basic" in challenges and credentials:
            return _CachedToken(credentials.authorization, expires_at=math.inf)
        raise unexpected_status(response)

    async def _fetch_token(
        self, challenge: Mapping[str, str], access: OriginAccess, credentials: BasicCredentials | None, name: str
    ) -> _CachedToken:
        realm = _parse_realm(challenge.get("realm", ""), registry=access.origin_url)
        query = {}
        if scope := challenge.get("scope") or (f"repository:{name}:pull" if name else ""):
            query["scope"] = scope
        if service := challenge.get("service"):
            query["service"] = service
        started = self._clock()
        try:
            response = await self._downloader.get(
                realm.update_query(query),
                access=replace(
                    access,
                    origin_url=realm.origin(),
                    authorization=credentials.authorization if credentials else None,
                    insecure=access.insecure and origin(realm) == origin(access.origin_url),
                ),
                max_bytes=_MAX_TOKEN_BYTES,
            )
        except BodyTooLarge:
            raise _invalid_token_response(realm) from None
        if response.status != HTTPStatus.OK:
            raise unexpected_status(response)
        try:
            body: Json = await run_sized(len(response.body), orjson.loads, response.body)
        except ValueError:
            raise _invalid_token_response(realm) from None
        token = text(body, "token") or text(body, "access_token")
        if not token or not token.isascii() or not token.isprintable():
            raise _invalid_token_response(realm)
        lifetime = max(integer(body, "expires_in"), _DEFAULT_TOKEN_SECONDS)
        return _CachedToken(
            TokenCredentials(token).authorization, expires_at=started + lifetime - _EXPIRY_MARGIN_SECONDS
        )


def parse_challenges(values: list[str]) -> dict[str, dict[str, str]]:
    """Return the parameters of each challenge by its scheme, both in lower case; the first of a scheme counts.

    Raises ChartSourceError (permanent) when the headers are longer than any registry needs.
    """
    if sum(map(len, values)) > _MAX_CHALLENGE_CHARACTERS:
        raise ChartSourceError(
            f"the registry sends more than {_MAX_CHALLENGE_CHARACTERS:,} characters of WWW-Authenticate headers. "
            "Check the host and port of the registry.",
            permanent=True,
        )
    found: dict[str, dict[str, str]] = {}
    for value in values:
        parameters: dict[str, str] = {}
        position = 0
        while match := _CHALLENGE_PART.match(value, position):
            position = match.end()
            name, quoted, plain = match.group("name", "quoted", "plain")
            if quoted is None and plain is None:
                parameters = {}
                found.setdefault(name.lower(), parameters)
            else:
                parameters[name.lower()] = plain if quoted is None else _ESCAPED.sub(r"\1", quoted)
    return found


def _parse_realm(realm_text: str, *, registry: URL) -> URL:
    realm = parse_repository_url(realm_text)
    same_plain_host = registry.scheme == "http" and realm.scheme in ("http", "https") and realm.host == registry.host
    if realm.scheme != "https" and not same_plain_host:
        raise AddressRefused(
            f"the registry {display_url(registry)} sends clients to {display_url(realm)} for a token, which is not "
            "https. Configure an https token realm in the registry."
        )
    return realm


def _invalid_token_response(realm: URL) -> SourceUnavailable:
    return SourceUnavailable(f"{display_url(realm)} returned no usable token. This may be temporary.")
