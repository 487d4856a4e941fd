"""Who a token belongs to: one SelfSubjectReview per token, and few for tokens that the API server does not know.

Anyone can make up tokens, and each costs the API server an authentication. So an unknown token is remembered for some
seconds, an address may send only some of them in that time, and few are checked at a time. Tokens that were accepted
before are never refused for that, even if they come from the same address, as behind a NodePort.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache, TTLCache

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.errors import AccessDenied, ApiUnavailable, TooManyUnknownTokens, Unauthenticated
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SELF_SUBJECT_REVIEWS

IDENTITY_SECONDS: Final = 300.0
IDENTITY_CACHE_SIZE: Final = 10_000
UNKNOWN_TOKEN_SECONDS: Final = 10.0
UNKNOWN_TOKEN_CACHE_SIZE: Final = 10_000
ADDRESS_CACHE_SIZE: Final = 10_000
CHECKS_MAX: Final = 8
"""Tokens of unknown value that are checked at a time, shared fairly by address."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A user of the cluster."""

    user: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _KnownToken:
    identity: Identity
    reviewed_at: float


class Identities:
    """The users of tokens, by the digests of the tokens."""

    def __init__(self, *, unknown_per_address: int) -> None:
        """Allow `unknown_per_address` unknown tokens of one address in UNKNOWN_TOKEN_SECONDS."""
        self._unknown_per_address = unknown_per_address
        self._known: LRUCache[bytes, _KnownToken] = LRUCache(IDENTITY_CACHE_SIZE)
        self._unknown: TTLCache[bytes, None] = TTLCache(UNKNOWN_TOKEN_CACHE_SIZE, UNKNOWN_TOKEN_SECONDS)
        self._unknown_by_address: TTLCache[str, list[int]] = TTLCache(ADDRESS_CACHE_SIZE, UNKNOWN_TOKEN_SECONDS)
        self._reviews: SingleFlight[bytes, Identity] = SingleFlight()
        self._checks = FairSlots(CHECKS_MAX)

    async def identify(self, client: KubeClient, token: str, *, address: str) -> Identity:
        """Return the user of `token`, with which `client` authenticates; `address` is that of the caller.

        Raises:
            Unauthenticated: when the API server does not accept the token, now or within UNKNOWN_TOKEN_SECONDS.
            TooManyUnknownTokens: when too many of the tokens from this address were unknown.
            ApiUnavailable: when the API server does not respond and the token was never accepted.
        """
        digest = token_digest(token)
        known = self._known.get(digest)
        if known is not None and time.monotonic() - known.reviewed_at < IDENTITY_SECONDS:
            return known.identity
        if digest in self._unknown:
            raise unknown_token_error()
        try:
            if known is not None:
                return await self._reviews.run(digest, lambda: self._review(client, digest))
            return await self._identify_new(client, digest, address=address)
        except ApiUnavailable:
            if known is not None:
                return known.identity
            raise

    async def _identify_new(self, client: KubeClient, digest: bytes, *, address: str) -> Identity:
        unknown = self._unknown_by_address.setdefault(address, [0])
        if unknown[0] >= self._unknown_per_address:
            raise TooManyUnknownTokens(
                f"more than {self._unknown_per_address} tokens from your address were unknown to the cluster in "
                f"{UNKNOWN_TOKEN_SECONDS:g} seconds (XAPP_UNKNOWN_TOKENS_PER_ADDRESS): try again later"
            )
        unknown[0] += 1  # also while the check runs, so that simultaneous ones count
        is_unknown = False
        try:
            async with self._checks.slot(address):
                return await self._reviews.run(digest, lambda: self._review(client, digest))
        except Unauthenticated:
            is_unknown = True
            raise
        finally:
            if not is_unknown:
                unknown[0] -= 1

    def user_of(self, token: str) -> str:
        """Return the user of a token that has been identified, or an empty string."""
        known = self._known.get(token_digest(token))
        return known.identity.user if known is not None else ""

    def forget(self, token: str) -> None:
        """Note that the API server no longer accepts a token."""
        digest = token_digest(token)
        self._known.pop(digest, None)
        self._unknown[digest] = None

    async def _review(self, client: KubeClient, digest: bytes) -> Identity:
        try:
            identity = await review_identity(client)
        except Unauthenticated:
            self._known.pop(digest, None)
            self._unknown[digest] = None
            raise unknown_token_error() from None
        except AccessDenied:
            # The role system:basic-user has been taken away. The rights of the token still decide what it may do.
            identity = Identity(f"token:{digest.hex()[:16]}")
        self._known[digest] = _KnownToken(identity, reviewed_at=time.monotonic())
        return identity


async def review_identity(client: KubeClient) -> Identity:
    """Return who the API server says the caller is."""
    body: JsonObject = {"apiVersion": SELF_SUBJECT_REVIEWS.api_version, "kind": SELF_SUBJECT_REVIEWS.kind}
    info = obj(obj(await client.create(SELF_SUBJECT_REVIEWS, body), "status"), "userInfo")
    groups: Json = info.get("groups")
    names = [each for each in groups if isinstance(each, str)] if isinstance(groups, list) else []
    return Identity(text(info, "username"), tuple(names))


def token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def unknown_token_error() -> Unauthenticated:
    return Unauthenticated("the cluster does not accept this token: sign in again, or send a valid bearer token")
