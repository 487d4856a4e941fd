"""Who a token belongs to: one SelfSubjectReview per token, and few for tokens that the API server does not know.

Anyone can make up tokens, and each costs the API server an authentication. So an unknown token is remembered for some
seconds, an address may send only some of them in that time, and few are checked at a time. Beyond that, tokens of the
address wait for a check, one after another: behind a NodePort, a new user has the same address. Tokens that were
accepted before never wait for that.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
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

LATE_CHECK_SECONDS: Final = 0.1
"""Time between the checks of one address that has sent too many unknown tokens."""
LATE_CHECKS_WAITING_MAX: Final = 128
LATE_CHECK_WAIT_SECONDS_MAX: Final = 20.0


@dataclass(frozen=True, slots=True)
class Identity:
    """A user of the cluster."""

    user: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _KnownToken:
    identity: Identity
    reviewed_at: float


@dataclass(slots=True)
class _LateChecks:
    """The tokens of one address that wait for a check."""

    waiting: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Identities:
    """The users of tokens, by the digests of the tokens."""

    def __init__(self, *, unknown_per_address: int) -> None:
        """Allow `unknown_per_address` unknown tokens of one address in UNKNOWN_TOKEN_SECONDS."""
        self._unknown_per_address = unknown_per_address
        self._known: LRUCache[bytes, _KnownToken] = LRUCache(IDENTITY_CACHE_SIZE)
        self._unknown: TTLCache[bytes, None] = TTLCache(UNKNOWN_TOKEN_CACHE_SIZE, UNKNOWN_TOKEN_SECONDS)
        self._unknown_by_address: TTLCache[str, list[int]] = TTLCache(ADDRESS_CACHE_SIZE, UNKNOWN_TOKEN_SECONDS)
        self._late: dict[str, _LateChecks] = {}
        self._reviews: SingleFlight[bytes, Identity] = SingleFlight()
        self._checks = FairSlots(CHECKS_MAX)

    async def identify(self, client: KubeClient, token: str, *, address: str) -> Identity:
        """Return the user of `token`, with which `client` authenticates.

        `address` is the key of the caller's (`ClientAddresses.key_of`).

        Raises:
            Unauthenticated: when the API server does not accept the token, now or within UNKNOWN_TOKEN_SECONDS.
            TooManyUnknownTokens: when too many of the tokens from this address were unknown, and too many wait.
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
            await self._wait_for_late_check(address)
            if digest in self._unknown:
                raise unknown_token_error()
            unknown = self._unknown_by_address.setdefault(address, [0])
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

    async def _wait_for_late_check(self, address: str) -> None:
        late = self._late.setdefault(address, _LateChecks())
        if late.waiting >= LATE_CHECKS_WAITING_MAX:
            raise self._too_many_unknown()
        late.waiting += 1
        try:
            async with asyncio.timeout(LATE_CHECK_WAIT_SECONDS_MAX), late.turn:
                await asyncio.sleep(LATE_CHECK_SECONDS)
        except TimeoutError:
            raise self._too_many_unknown() from None
        finally:
            late.waiting -= 1
            if not late.waiting:
                del self._late[address]

    def _too_many_unknown(self) -> TooManyUnknownTokens:
        return TooManyUnknownTokens(
            f"more than {self._unknown_per_address} tokens from your address were unknown to the cluster in "
            f"{UNKNOWN_TOKEN_SECONDS:g} seconds (XAPP_UNKNOWN_TOKENS_PER_ADDRESS), and too many wait: try again later"
        )

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
