"""What a token may do: the API server's answers, asked for at most once in some seconds each.

Lives in the gateway beside `auth`, which turns the answers into refusals. A question about one namespace is one
SelfSubjectAccessReview. "Which namespaces" is one for all of them, and only where that says no, one for each namespace
that holds something: RBAC has no cheaper question that is also right for every authorizer (a SelfSubjectRulesReview is
for one namespace too, and may be incomplete).
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from cachetools import LRUCache

from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.errors import ApiUnavailable
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource

REVIEW_SECONDS: Final = 10.0
STALE_REVIEW_SECONDS: Final = 300.0
"""An answer this old still counts while the API server is away, so that its last known list can be read."""
REVIEW_CACHE_SIZE: Final = 10_000
NAMESPACE_NAME_MAX: Final = 63
"""Characters of the name of a namespace (RFC 1123); a request may say anything, and longer texts are not kept."""

NAMESPACE_ACCESS_CACHE_SIZE: Final = 256
REVIEW_CONCURRENCY: Final = 32
DENIED_RECHECKS_PER_SECOND: Final = 20
"""Namespaces that were denied are asked about again so slowly (per token), but after DENIED_SECONDS_MAX all of them."""
DENIED_RECHECK_SECONDS_MAX: Final = 60.0

_NO_NAMESPACES: Final = frozenset[str]()


class _ReviewKey(NamedTuple):
    token_digest: bytes
    verb: str
    resource: str
    subresource: str | None
    namespace: str | None


@dataclass(frozen=True, slots=True)
class _CachedReview:
    allowed: bool
    reviewed_at: float


@dataclass(frozen=True, slots=True)
class _NamespaceAccess:
    """Which of the namespaces `among` were allowed at `at`.

    Those `denied_once` may have been made a moment ago, before RBAC knew of them; those `denied` were so again, and
    last asked about at `denied_at`.
    """

    among: frozenset[str]
    allowed: frozenset[str]
    denied_once: frozenset[str]
    denied: frozenset[str]
    reviewed_at: float
    denied_reviewed_at: float


class AccessReviews:
    """Answers to "may this token do that", asked of the API server at most once in REVIEW_SECONDS each."""

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
    ) -> bool:
        """Tell whether the API server allows it; `namespace` None asks for all namespaces.

        Raises:
            Unauthenticated: when the API server does not know the token.
            ApiUnavailable: when it does not answer, and has not within STALE_REVIEW_SECONDS.
        """
        key = _ReviewKey(_token_digest(token), verb, resource.group_resource, subresource, namespace)
        known = self._reviews.get(key)
        now = time.monotonic()
        if known is not None and now - known.reviewed_at < REVIEW_SECONDS:
            return known.allowed
        try:
            return await self._running_reviews.run(key, lambda: self._review(client, key, resource))
        except ApiUnavailable:
            if known is not None and now - known.reviewed_at < STALE_REVIEW_SECONDS:
                return known.allowed
            raise

    async def allowed_namespaces(
        self, client: KubeClient, token: str, verb: str, *, resource: Resource, among: frozenset[str]
    ) -> frozenset[str] | None:
        """Return in which of the namespaces `among` the token may `verb` the resource; None for all there are.

        Namespaces that were asked about just before may be in it too. The very same set is returned as long as nothing
        changes. A right that was taken counts for REVIEW_SECONDS at most; one that was given is seen as soon, or where
        there are many namespaces within DENIED_SECONDS_MAX.

        Raises:
            Unauthenticated: when the API server does not know the token.
            ApiUnavailable: when it does not answer, and has not within STALE_REVIEW_SECONDS.
        """
        if await self.is_allowed(client, token, verb, resource=resource, namespace=None):
            return None
        key = _ReviewKey(_token_digest(token), verb, resource.group_resource, None, None)
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
            except ApiUnavailable:
                if known is not None and age < STALE_REVIEW_SECONDS:
                    return known.allowed
                raise
            if found.among >= among:
                return found.allowed

    async def _review(self, client: KubeClient, key: _ReviewKey, resource: Resource) -> bool:
        allowed = await client.is_allowed(resource, key.verb, namespace=key.namespace, subresource=key.subresource)
        if len(key.namespace or "") <= NAMESPACE_NAME_MAX:
            self._reviews[key] = _CachedReview(allowed=allowed, reviewed_at=time.monotonic())
        return allowed

    async def _review_namespaces(
        self, client: KubeClient, key: _ReviewKey, resource: Resource, among: frozenset[str]
    ) -> _NamespaceAccess:
        now = time.monotonic()
        known = self._namespace_access.get(key) or _NamespaceAccess(
            _NO_NAMESPACES,
            _NO_NAMESPACES,
            _NO_NAMESPACES,
            _NO_NAMESPACES,
            reviewed_at=-math.inf,
            denied_reviewed_at=now,
        )
        # What was answered just now is not asked again only because some namespace has come or gone.
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
        found: list[str] = []
        left = iter(namespaces)

        async def work(left: Iterator[str]) -> None:
            for namespace in left:
                async with self._review_semaphore:
                    if await client.is_allowed(resource, key.verb, namespace=namespace):
                        found.append(namespace)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(REVIEW_CONCURRENCY, len(namespaces))):
                    group.create_task(work(left))
        except* Exception as errors:
            raise _first_exception(errors) from None
        return frozenset(found)


def _denied_recheck_seconds(denied: frozenset[str]) -> float:
    return min(max(REVIEW_SECONDS, len(denied) / DENIED_RECHECKS_PER_SECOND), DENIED_RECHECK_SECONDS_MAX)


def _token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _first_exception(errors: BaseExceptionGroup[Exception]) -> Exception:
    first = errors.exceptions[0]
    return _first_exception(first) if isinstance(first, BaseExceptionGroup) else first
