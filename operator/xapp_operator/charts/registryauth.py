"""How a registry lets one in: its challenges (RFC 7235) and the token flow of the distribution specification.

A registry answers 401 with either `Basic` or `Bearer realm=…`. For Bearer, a token is fetched from the realm with the
user's name and password. The realm is often another host than the registry (auth.docker.io for registry-1.docker.io),
and only the registry can name it; whoever controls the registry could ask for the password itself, so following it
gives nothing away as long as nobody on the way can forge the challenge. Hence the rules: the challenge counts only when
it comes from the registry itself, not from a place that it redirects to; the realm of a registry behind https must be
https; that of a plain registry on loopback must be on the same host. The address rule holds for the realm as for every
request. A ready-made bearer token goes to the registry alone, never to a realm.
"""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from yarl import URL

from xapp_operator.api.json import Json, integer, text
from xapp_operator.charts.http import Access, Answer, CapExceeded, Downloader, origin, unexpected
from xapp_operator.charts.model import BasicCredentials, Repository, TokenCredentials, parse_address
from xapp_operator.charts.wording import address
from xapp_operator.errors import AddressRefused, SourceUnavailable

_MAX_TOKEN_BYTES: Final = 256 * 1024
_DEFAULT_LIFETIME: Final = 60  # seconds, when the answer does not say
_MARGIN: Final = 5.0  # seconds before its end in which a token is not used any more
_MAX_TOKENS: Final = 1024
_OK: Final = 200
_UNAUTHORIZED: Final = 401
_SCHEME: Final = re.compile(r"(?:^|,)\s*(basic|bearer)(?=\s|,|$)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Permit:
    header: str = field(repr=False)
    until: float


class RegistryAuth:
    """Sends requests to registries, answers their challenges, and keeps the tokens for as long as they hold."""

    def __init__(self, downloader: Downloader, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._downloader = downloader
        self._clock = clock
        self._permits: OrderedDict[tuple[Repository, str], _Permit] = OrderedDict()

    async def get(
        self, url: URL, *, repository: Repository, name: str, max_bytes: int, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer to a GET for the repository `name` of a registry, with what it asks to be let in.

        Raises what `Downloader.get` raises, and ChartSourceError when the registry denies access.
        """
        access = Access(home=url.origin(), ca_bundle=repository.ca_bundle, insecure=repository.insecure_skip_tls_verify)
        key = (repository, name)
        permit = self._kept(key)
        for last in (False, True):
            answer = await self._downloader.get(
                url,
                access=replace(access, authorization=permit.header if permit else None),
                max_bytes=max_bytes,
                headers=headers,
            )
            if answer.status != _UNAUTHORIZED or last or origin(answer.url) != origin(url):
                return answer
            permit = await self._permit(answer, access, repository, name)
            self._permits[key] = permit
            if len(self._permits) > _MAX_TOKENS:
                self._permits.popitem(last=False)
        raise AssertionError("the second answer has been returned")

    def _kept(self, key: tuple[Repository, str]) -> _Permit | None:
        permit = self._permits.get(key)
        if permit and self._clock() < permit.until:
            return permit
        credentials = key[0].credentials
        return _Permit(credentials.header, until=0) if isinstance(credentials, TokenCredentials) else None

    async def _permit(self, answer: Answer, access: Access, repository: Repository, name: str) -> _Permit:
        challenges = _challenges(answer.headers.getall("WWW-Authenticate", []))
        credentials = repository.credentials
        if isinstance(credentials, TokenCredentials):
            raise unexpected(answer)
        if "bearer" in challenges:
            return await self._token(challenges["bearer"], access, credentials, name)
        if "basic" in challenges and credentials:
            return _Permit(credentials.header, until=float("inf"))
        raise unexpected(answer)

    async def _token(
        self, challenge: Mapping[str, str], access: Access, credentials: BasicCredentials | None, name: str
    ) -> _Permit:
        realm = _realm(challenge.get("realm", ""), registry=access.home)
        query = {"scope": challenge.get("scope") or f"repository:{name}:pull"}
        if service := challenge.get("service"):
            query["service"] = service
        begun = self._clock()
        try:
            answer = await self._downloader.get(
                realm.update_query(query),
                access=replace(
                    access,
                    home=realm.origin(),
                    authorization=credentials.header if credentials else None,
                    insecure=access.insecure and origin(realm) == origin(access.home),
                ),
                max_bytes=_MAX_TOKEN_BYTES,
            )
        except CapExceeded:
            raise _no_token(realm) from None
        if answer.status != _OK:
            raise unexpected(answer)
        try:
            said: Json = json.loads(answer.body)
        except ValueError:
            raise _no_token(realm) from None
        token = text(said, "token") or text(said, "access_token")
        if not token or not token.isascii() or not token.isprintable():
            raise _no_token(realm)
        lifetime = max(integer(said, "expires_in"), _DEFAULT_LIFETIME)
        return _Permit(TokenCredentials(token).header, until=begun + lifetime - _MARGIN)


def _challenges(values: list[str]) -> dict[str, dict[str, str]]:
    """Return the parameters of each challenge by its scheme, in lower case."""
    found: dict[str, dict[str, str]] = {}
    for value in values:
        schemes = list(_SCHEME.finditer(value))
        ends = [*(match.start() for match in schemes[1:]), len(value)]
        for match, end in zip(schemes, ends, strict=False):
            parameters = {
                name.lower(): plain or re.sub(r"\\(.)", r"\1", quoted_text)
                for name, quoted_text, plain in _PARAMETER.findall(value[match.end() : end])
            }
            found.setdefault(match.group(1).lower(), parameters)
    return found


def _realm(text_of_realm: str, *, registry: URL) -> URL:
    realm = parse_address(text_of_realm)
    same_plain_host = registry.scheme == "http" and realm.scheme in ("http", "https") and realm.host == registry.host
    if realm.scheme != "https" and not same_plain_host:
        raise AddressRefused(
            f"the registry {address(registry)} sends to {address(realm)} for a token, which is not https. "
            "Configure the token realm of the registry with https."
        )
    return realm


def _no_token(realm: URL) -> SourceUnavailable:
    return SourceUnavailable(f"{address(realm)} gave no token that can be used. It is tried again.")
