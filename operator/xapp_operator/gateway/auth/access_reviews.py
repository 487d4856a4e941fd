"""What a token may do: SelfSubjectAccessReviews, each cached for some seconds.

A check of one namespace is one review. A list of namespaces takes one review for all namespaces, and only if that is
denied, one for each namespace that holds an object. Kubernetes has no cheaper way that is right for every authorizer: a
SelfSubjectRulesReview is also for one namespace, and may be incomplete.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from cachetools import LRUCache

from xapp_operator.common.parallel import run_parallel
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.errors import ApiOverloaded, ApiUnavailable
from xapp_operator.gateway.auth.identities import token_digest
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource

REVIEW_SECONDS: Final = 10.0
STALE_REVIEW_SECONDS: Final = 300.0
"""Reviews up to this age are used while the API server is away, so that the last known list stays readable.

Not when it refuses or delays requests (ApiOverloaded): a caller who lost a permission could keep it by overloading the
API server with their own requests.
"""
REVIEW_CACHE_SIZE: Final = 10_000
NAMESPACE_NAME_MAX: Final = 63
"""Characters of a namespace's name (RFC 1123); a review of a longer name is not cached."""
OBJECT_NAME_MAX: Final = 253
"""Characters of an XApp's name, with the same rule."""

NAMESPACE_ACCESS_CACHE_SIZE: Final = 256
REVIEW_CONCURRENCY: Final = 32
DENIED_RECHECKS_PER_SECOND: Final = 20
"""Rate at which denied namespaces are reviewed again (per token), within DENIED_RECHECK_SECONDS_MAX."""
DENIED_RECHECK_SECONDS_MAX: Final = 60.0

_NO_NAMESPACES: Final = frozenset[str]()


class _ReviewKey(NamedTuple):
    token_digest: bytes
    verb: str
    resource: str
    subresource: str | None
    namespace: str | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class _CachedReview:
    allowed: bool
    reviewed_at: float


@dataclass(frozen=True, slots=True)
class _NamespaceAccess:
    """The reviews of the namespaces `among` for one token.

    Namespaces `denied_once` may be new, with role bindings still to come. Namespaces `denied` were denied again; their
    last review was at `denied_reviewed_at`. Times are those of `time.monotonic`.
    """

    denied_reviewed_at: float
    reviewed_at: float = -math.inf
    among: frozenset[str] = _NO_NAMESPACES
    allowed: frozenset[str] = _NO_NAMESPACES
    denied_once: frozenset[str] = _NO_NAMESPACES
    denied: frozenset[str] = _NO_NAMESPACES


class AccessReviews:
    """Access reviews, each made at most once in REVIEW_SECONDS."""

    def __init__(self) -> None:
        self._reviews: LRUCache[_ReviewKey, _CachedReview] = LRUCache(REVIEW_CACHE_SIZE)
        self._running_reviews: SingleFlight[_ReviewKey, bool] = SingleFlight()
        self._namespace_access: LRUCache[_ReviewKey, _NamespaceAccess] = LRUCache(NAMESPACE_ACCESS_CACHE_SIZE)
        self._running_namespace_reviews: SingleFlight[_ReviewKey, _NamespaceAccess] = SingleFlight()
        self._review_semaphore = asyncio.Semaphore(REVIEW_CONCURRENCY)

    async def is_allowed(
        self,
        client: KubeClient,
        token: str,
        verb: str,
        *,
        resource: Resource,
        namespace: str | None,
        subresource: str | None = None,
        name: str | None = None,
        max_age_seconds: float | None = None,
    ) -> bool:
        """Tell whether the API server allows it; `namespace` None means all namespaces, `name` None any object.

        A review that is older than `max_age_seconds`, by default REVIEW_SECONDS, is repeated.

        Raises:
            Unauthenticated: when the API server does not accept the token.
            ApiUnavailable: when it does not respond and there is no review of the last STALE_REVIEW_SECONDS.
            ApiOverloaded: when it refuses to answer now.
        """
        key = _ReviewKey(token_digest(token), verb, resource.group_resource, subresource, namespace, name)
        known = self._reviews.get(key)
        now = time.monotonic()
        max_age = REVIEW_SECONDS if max_age_seconds is None else max_age_seconds
        if known is not None and now - known.reviewed_at < max_age:
            return known.allowed
        try:
            return await self._running_reviews.run(key, lambda: self._review(client, key, resource))
        except ApiOverloaded:
            raise
        except ApiUnavailable:
            if known is not None and now - known.reviewed_at < STALE_REVIEW_SECONDS:
                return known.allowed
            raise

    async def allowed_namespaces(
        self, client: KubeClient, token: str, verb: str, *, resource: Resource, among: frozenset[str]
    ) -> frozenset[str] | None:
        """Return the namespaces of `among` in which the token may `verb` the resource; None means all namespaces.

        The result may also contain namespaces of an earlier call. It is the same set object as long as nothing changes.
        A revoked permission counts for REVIEW_SECONDS at most; a new one is seen as soon, or, with many namespaces,
        within DENIED_RECHECK_SECONDS_MAX.

        Raises:
            Unauthenticated: when the API server does not accept the token.
            ApiUnavailable: when it does not respond and there is no review of the last STALE_REVIEW_SECONDS.
        """
        if await self.is_allowed(client, token, verb, resource=resource, namespace=None):
            return None
        key = _ReviewKey(token_digest(token), verb, resource.group_resource, None, None)
        known = self._namespace_access.get(key)
        age = time.monotonic() - known.reviewed_at if known is not None else math.inf

        async def review() -> _NamespaceAccess:
            return await self._review_namespaces(client, key, resource, among)

        if known is not None and age < REVIEW_SECONDS and (known.among is among or known.among >= among):
            if age >= REVIEW_SECONDS / 2:
                self._running_namespace_reviews.start(key, review)
            return known.allowed
        while True:
            try:
                found = await self._running_namespace_reviews.run(key, review)
            except ApiOverloaded:
                raise
            except ApiUnavailable:
                if known is not None and age < STALE_REVIEW_SECONDS:
                    return known.allowed
                raise
            if found.among >= among:
                return found.allowed

    async def _review(self, client: KubeClient, key: _ReviewKey, resource: Resource) -> bool:
        allowed = await client.is_allowed(
            resource, key.verb, namespace=key.namespace, subresource=key.subresource, name=key.name
        )
        if len(key.namespace or "") <= NAMESPACE_NAME_MAX and len(key.name or "") <= OBJECT_NAME_MAX:
            self._reviews[key] = _CachedReview(allowed=allowed, reviewed_at=time.monotonic())
        return allowed

    async def _review_namespaces(
        self, client: KubeClient, key: _ReviewKey, resource: Resource, among: frozenset[str]
    ) -> _NamespaceAccess:
        now = time.monotonic()
        known = self._namespace_access.get(key) or _NamespaceAccess(denied_reviewed_at=now)
        # A namespace that comes or goes does not cause new reviews of the others.
        recent = now - known.reviewed_at < REVIEW_SECONDS / 2
        if recent:
            among |= known.among
        keep_denied = now - known.denied_reviewed_at < _denied_recheck_seconds(known.denied)
        denied = known.denied & among if keep_denied else _NO_NAMESPACES
        answered = denied | ((known.allowed | known.denied_once) & among if recent else _NO_NAMESPACES)
        unanswered = among - answered
        newly_allowed = await self._review_each(client, key, resource, unanswered)
        allowed = newly_allowed | (known.allowed & among if recent else _NO_NAMESPACES)
        newly_denied = unanswered - newly_allowed
        denied_again = newly_denied & (known.denied_once | known.denied)
        access = _NamespaceAccess(
            among=among,
            allowed=known.allowed if allowed == known.allowed else allowed,
            denied_once=(newly_denied - denied_again) | (known.denied_once & among if recent else _NO_NAMESPACES),
            denied=denied | denied_again,
            reviewed_at=known.reviewed_at if recent else now,
            denied_reviewed_at=known.denied_reviewed_at if keep_denied else now,
        )
        self._namespace_access[key] = access
        return access

    async def _review_each(
        self, client: KubeClient, key: _ReviewKey, resource: Resource, namespaces: Collection[str]
    ) -> frozenset[str]:
        async def review(namespace: str) -> bool:
            async with self._review_semaphore:
                return await client.is_allowed(resource, key.verb, namespace=namespace)

        allowed = await run_parallel(review, namespaces, at_once=REVIEW_CONCURRENCY)
        return frozenset(each for each, is_allowed in zip(namespaces, allowed, strict=True) if is_allowed)


def _denied_recheck_seconds(denied: frozenset[str]) -> float:
    return min(max(REVIEW_SECONDS, len(denied) / DENIED_RECHECKS_PER_SECOND), DENIED_RECHECK_SECONDS_MAX)
