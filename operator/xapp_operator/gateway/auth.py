"""Who asks, and what they may do: every handler gets a `Caller`, and every write goes through that caller's client.

With `XAPP_AUTH=kubernetes` a request is what its bearer token is to the API server: writes carry the token, so that
RBAC, admission and the audit log see the person, and reads from the cache are allowed by a SelfSubjectAccessReview with
it, whose answer is kept for some seconds. With `XAPP_AUTH=none` everybody who reaches the gateway (on loopback only) is
the gateway itself. Lives in the gateway, the only place that knows requests.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from starlette.requests import Request

from xapp_operator.config import Settings
from xapp_operator.errors import AccessDenied, ApiUnavailable, Unauthenticated, XAppError
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS, Resource

REVIEW_SECONDS: Final = 10.0
STALE_REVIEW_SECONDS: Final = 300.0
"""An answer this old still counts while the API server is away, so that its last known list can be read."""
REVIEWS_KEPT: Final = 10_000

_SCHEME: Final = "bearer"


class _Question(NamedTuple):
    token_digest: bytes
    verb: str
    resource: str
    subresource: str | None
    namespace: str | None


@dataclass(slots=True)
class _Answer:
    allowed: bool
    at: float


class Reviews:
    """Answers to "may this token do that", asked of the API server at most once in REVIEW_SECONDS each."""

    def __init__(self) -> None:
        self._answers: OrderedDict[_Question, _Answer] = OrderedDict()
        self._asking: dict[_Question, asyncio.Task[bool]] = {}

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
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        question = _Question(digest, verb, resource.full_name, subresource, namespace)
        known = self._answers.get(question)
        now = time.monotonic()
        if known is not None and now - known.at < REVIEW_SECONDS:
            return known.allowed
        task = self._asking.get(question)
        if task is None:
            task = asyncio.create_task(self._ask(client, question, resource))
            self._asking[question] = task
            task.add_done_callback(lambda done: self._asked(question, done))
        try:
            return await asyncio.shield(task)
        except ApiUnavailable:
            if known is not None and now - known.at < STALE_REVIEW_SECONDS:
                return known.allowed
            raise

    def _asked(self, question: _Question, done: asyncio.Task[bool]) -> None:
        self._asking.pop(question, None)
        if not done.cancelled():
            done.exception()  # seen here too, should everybody who waited have left

    async def _ask(self, client: KubeClient, question: _Question, resource: Resource) -> bool:
        allowed = await client.allowed(
            resource, question.verb, namespace=question.namespace, subresource=question.subresource
        )
        self._answers[question] = _Answer(allowed=allowed, at=time.monotonic())
        self._answers.move_to_end(question)
        if len(self._answers) > REVIEWS_KEPT:
            self._answers.popitem(last=False)
        return allowed


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `client` acts as them; `user` is their name where it is known."""

    client: KubeClient
    mode: Literal["kubernetes", "none"]
    reviews: Reviews
    token: str = ""
    user: str | None = None

    async def may(
        self, verb: str, *, namespace: str | None, resource: Resource = XAPPS, subresource: str | None = None
    ) -> bool:
        """Tell whether they may `verb` the resource (`pods`, `log`) in a namespace, or in all of them."""
        if self.mode == "none":
            return True
        return await self.reviews.allowed(
            self.client, self.token, verb, resource=resource, namespace=namespace, subresource=subresource
        )

    async def require(
        self, verb: str, *, namespace: str | None, resource: Resource = XAPPS, subresource: str | None = None
    ) -> None:
        """Refuse what they may not do, whether the namespace exists or not.

        Raises:
            AccessDenied: naming the right that is missing.
        """
        if await self.may(verb, namespace=namespace, resource=resource, subresource=subresource):
            return
        what = f"{resource.full_name}/{subresource}" if subresource is not None else resource.full_name
        where = f"in the namespace {namespace}" if namespace is not None else "in all namespaces"
        raise AccessDenied(f"you may not {verb} {what} {where}: ask an administrator for a role with that right")

    async def sign_in(self) -> None:
        """Have the token checked before anything of the request is read.

        Raises:
            Unauthenticated: when the API server does not know it.
        """
        await self.may("list", namespace=None)


class Authenticator:
    """Makes the caller of a request."""

    def __init__(self, settings: Settings, kube: KubeClient) -> None:
        self._kube = kube
        self._reviews = Reviews()
        self._nobody = Caller(client=kube, mode="none", reviews=self._reviews) if settings.auth == "none" else None

    def caller(self, request: Request) -> Caller:
        """Return who asks; with `XAPP_AUTH=none` an Authorization header is not looked at.

        Raises:
            Unauthenticated: without a bearer token.
        """
        if self._nobody is not None:
            return self._nobody
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != _SCHEME or not token:
            raise Unauthenticated("send a bearer token of the cluster: Authorization: Bearer <token>")
        return Caller(client=self._kube.as_user(token), mode="kubernetes", reviews=self._reviews, token=token)


class UnsafeBinding(XAppError):
    """`XAPP_AUTH=none` on an address that others can reach."""

    title = "Unsafe configuration"
    permanent = True


def check_binding(settings: Settings) -> None:
    """Refuse to serve everybody as ourselves where others can reach us.

    Raises:
        UnsafeBinding: for `XAPP_AUTH=none` with an `XAPP_HOST` that is not loopback.
    """
    if settings.auth == "none" and not is_loopback(settings.host):
        raise UnsafeBinding(
            "XAPP_AUTH=none lets everybody act as the gateway, so XAPP_HOST must be a loopback address such as "
            "127.0.0.1: change one of the two"
        )


def is_loopback(host: str) -> bool:
    """Tell whether a host is a loopback name or address, by its text alone."""
    name = host.lower().rstrip(".").removeprefix("[").removesuffix("]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
