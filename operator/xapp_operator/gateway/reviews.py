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
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from xapp_operator.errors import ApiUnavailable
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource

REVIEW_SECONDS: Final = 10.0
STALE_REVIEW_SECONDS: Final = 300.0
"""An answer this old still counts while the API server is away, so that its last known list can be read."""
REVIEWS_KEPT: Final = 10_000
NAMESPACE_MAX: Final = 63
"""Characters of the name of a namespace (RFC 1123); a request may say anything, and longer texts are not kept."""

SWEEPS_KEPT: Final = 256
SWEEP_CONCURRENCY: Final = 32
DENIED_PER_SECOND: Final = 20
"""Namespaces that were denied are asked about again so slowly (per token), but after DENIED_SECONDS_MAX all of them."""
DENIED_SECONDS_MAX: Final = 60.0

K = TypeVar("K")
V = TypeVar("V")
_NONE: Final = frozenset[str]()


class _Question(NamedTuple):
    token_digest: bytes
    verb: str
    resource: str
    subresource: str | None
    namespace: str | None


@dataclass(frozen=True, slots=True)
class _Answer:
    allowed: bool
    at: float


@dataclass(frozen=True, slots=True)
class _Sweep:
    """Which of the namespaces `among` were allowed at `at`.

    Those `denied_once` may have been made a moment ago, before RBAC knew of them; those `denied` were so again, and
    last asked about at `denied_at`.
    """

    among: frozenset[str]
    allowed: frozenset[str]
    denied_once: frozenset[str]
    denied: frozenset[str]
    at: float
    denied_at: float


class Reviews:
    """Answers to "may this token do that", asked of the API server at most once in REVIEW_SECONDS each."""

    def __init__(self) -> None:
        self._answers: OrderedDict[_Question, _Answer] = OrderedDict()
        self._asking: dict[_Question, asyncio.Task[bool]] = {}
        self._sweeps: OrderedDict[_Question, _Sweep] = OrderedDict()
        self._sweeping: dict[_Question, asyncio.Task[_Sweep]] = {}
        self._at_once = asyncio.Semaphore(SWEEP_CONCURRENCY)

    async def allowed(
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
        question = _Question(_digest(token), verb, resource.full_name, subresource, namespace)
        known = self._answers.get(question)
        now = time.monotonic()
        if known is not None and now - known.at < REVIEW_SECONDS:
            return known.allowed
        task = self._asking.get(question)
        if task is None:
            task = asyncio.create_task(self._ask(client, question, resource))
            self._asking[question] = task
            task.add_done_callback(lambda done: _forget(self._asking, question, done))
        try:
            return await asyncio.shield(task)
        except ApiUnavailable:
            if known is not None and now - known.at < STALE_REVIEW_SECONDS:
                return known.allowed
            raise

    async def namespaces(
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
        if await self.allowed(client, token, verb, resource=resource, namespace=None):
            return None
        question = _Question(_digest(token), verb, resource.full_name, None, None)
        known = self._sweeps.get(question)
        age = time.monotonic() - known.at if known is not None else math.inf
        if known is not None and age < REVIEW_SECONDS and (known.among is among or known.among >= among):
            self._sweeps.move_to_end(question)
            if age >= REVIEW_SECONDS / 2:
                self._begin_sweep(client, question, resource, among)
            return known.allowed
        while True:
            try:
                found = await asyncio.shield(self._begin_sweep(client, question, resource, among))
            except ApiUnavailable:
                if known is not None and age < STALE_REVIEW_SECONDS:
                    return known.allowed
                raise
            if found.among >= among:
                return found.allowed

    def _begin_sweep(
        self, client: KubeClient, question: _Question, resource: Resource, among: frozenset[str]
    ) -> asyncio.Task[_Sweep]:
        task = self._sweeping.get(question)
        if task is None:
            task = asyncio.create_task(self._sweep(client, question, resource, among))
            self._sweeping[question] = task
            task.add_done_callback(lambda done: _forget(self._sweeping, question, done))
        return task

    async def _ask(self, client: KubeClient, question: _Question, resource: Resource) -> bool:
        allowed = await client.allowed(
            resource, question.verb, namespace=question.namespace, subresource=question.subresource
        )
        if len(question.namespace or "") <= NAMESPACE_MAX:
            _keep(self._answers, question, _Answer(allowed=allowed, at=time.monotonic()), most=REVIEWS_KEPT)
        return allowed

    async def _sweep(
        self, client: KubeClient, question: _Question, resource: Resource, among: frozenset[str]
    ) -> _Sweep:
        now = time.monotonic()
        known = self._sweeps.get(question) or _Sweep(_NONE, _NONE, _NONE, _NONE, at=-math.inf, denied_at=now)
        # What was answered just now is not asked again only because some namespace has come or gone.
        recent = now - known.at < REVIEW_SECONDS / 2
        if recent:
            among |= known.among
        patient = now - known.denied_at < _patience(known.denied)
        denied = known.denied & among if patient else _NONE
        answered = denied | ((known.allowed | known.denied_once) & among if recent else _NONE)
        asked = among - answered
        given = await self._asked_each(client, question, resource, asked)
        allowed = given | (known.allowed & among if recent else _NONE)
        refused = asked - given
        again = refused & (known.denied_once | known.denied)
        sweep = _Sweep(
            among=among,
            allowed=known.allowed if allowed == known.allowed else allowed,
            denied_once=(refused - again) | (known.denied_once & among if recent else _NONE),
            denied=denied | again,
            at=known.at if recent else now,
            denied_at=known.denied_at if patient else now,
        )
        _keep(self._sweeps, question, sweep, most=SWEEPS_KEPT)
        return sweep

    async def _asked_each(
        self, client: KubeClient, question: _Question, resource: Resource, namespaces: Collection[str]
    ) -> frozenset[str]:
        found: list[str] = []
        left = iter(namespaces)

        async def work(left: Iterator[str]) -> None:
            for namespace in left:
                async with self._at_once:
                    if await client.allowed(resource, question.verb, namespace=namespace):
                        found.append(namespace)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(SWEEP_CONCURRENCY, len(namespaces))):
                    group.create_task(work(left))
        except* Exception as errors:
            raise _first(errors) from None
        return frozenset(found)


def _patience(denied: frozenset[str]) -> float:
    return min(max(REVIEW_SECONDS, len(denied) / DENIED_PER_SECOND), DENIED_SECONDS_MAX)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _keep(kept: OrderedDict[K, V], key: K, value: V, *, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)


def _forget(running: dict[K, asyncio.Task[V]], key: K, done: asyncio.Task[V]) -> None:
    running.pop(key, None)
    if not done.cancelled():
        done.exception()  # seen here too, should everybody who waited have left


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
