"""Authentication: the `Caller` of a request, their permissions, and the client that acts as them.

With `XAPP_AUTH=kubernetes` the caller is the user of the bearer token, or of the token in the session cookie. Writes
are made with the token, so RBAC, admission and the audit log see the user. Reads from memory need a
SelfSubjectAccessReview with the token. With `XAPP_AUTH=none`, allowed on loopback only, everyone acts as the gateway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from starlette.requests import HTTPConnection

from xapp_operator.config import Settings
from xapp_operator.domain.address_rule import is_loopback
from xapp_operator.errors import AccessDenied, RequestRefused, Unauthenticated, XAppError
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.session_cookies import CLEAR_COOKIE_HEADERS, read_session_cookie
from xapp_operator.gateway.auth.session_keys import SessionKeys
from xapp_operator.gateway.http.origins import SAFE_METHODS, proves_same_origin
from xapp_operator.gateway.http.problems import UNAUTHENTICATED_HEADERS
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS, Resource

_AUTHORIZATION: Final = "authorization"
_SCHEME: Final = "bearer"
_SESSION: Final = "xapp_operator.session"
"""Key of a request's scope: the token of its session, or the error of unsealing it."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a request; `client` acts as them."""

    client: KubeClient
    mode: Literal["kubernetes", "none"]
    access_reviews: AccessReviews
    token: str = ""

    async def is_allowed(
        self, verb: str, *, namespace: str | None, resource: Resource = XAPPS, subresource: str | None = None
    ) -> bool:
        """Tell whether the caller may `verb` the resource in a namespace, or in all of them."""
        if self.mode == "none":
            return True
        return await self.access_reviews.is_allowed(
            self.client, self.token, verb, resource=resource, namespace=namespace, subresource=subresource
        )

    async def require_allowed(
        self, verb: str, *, namespace: str | None, resource: Resource = XAPPS, subresource: str | None = None
    ) -> None:
        """Refuse what the caller may not do, whether the namespace exists or not.

        Raises:
            AccessDenied: names the missing permission.
        """
        if await self.is_allowed(verb, namespace=namespace, resource=resource, subresource=subresource):
            return
        what = f"{resource.group_resource}/{subresource}" if subresource is not None else resource.group_resource
        where = f"in the namespace {namespace}" if namespace is not None else "in all namespaces"
        raise AccessDenied(f"you may not {verb} {what} {where}: ask an administrator for a role with that permission")

    async def allowed_namespaces(
        self, verb: str, *, among: frozenset[str], resource: Resource = XAPPS
    ) -> frozenset[str] | None:
        """Return the namespaces of `among` in which the caller may `verb` the resource; None means all namespaces.

        Lists without a namespace filter use it to leave out what the caller may not see. Pass the same set object as
        long as no namespace comes or goes, as `ObjectStore.namespaces` is.

        Raises:
            Unauthenticated: when the API server does not accept the token.
        """
        if self.mode == "none":
            return None
        return await self.access_reviews.allowed_namespaces(
            self.client, self.token, verb, resource=resource, among=among
        )

    async def require_list_allowed(self, *, namespace: str | None, resource: Resource = XAPPS) -> None:
        """Refuse to list a namespace that the caller may not list; without a namespace, only authenticate them.

        A list of all namespaces leaves out what the caller may not see (`allowed_namespaces`).

        Raises:
            Unauthenticated: when the API server does not accept the token.
            AccessDenied: names the missing permission.
        """
        if namespace is None:
            await self.authenticate()
        else:
            await self.require_allowed("list", namespace=namespace, resource=resource)

    async def authenticate(self) -> None:
        """Have the token checked before the rest of the request is read.

        Raises:
            Unauthenticated: when the API server does not accept it.
        """
        await self.is_allowed("list", namespace=None)


class Authenticator:
    def __init__(self, settings: Settings, kube: KubeClient) -> None:
        self._kube = kube
        self._access_reviews = AccessReviews()
        self._gateway_caller = (
            Caller(client=kube, mode="none", access_reviews=self._access_reviews) if settings.auth == "none" else None
        )
        self.session_keys = SessionKeys(kube, settings)

    async def load_session(self, connection: HTTPConnection) -> None:
        """Unseal the session cookie of a request without an Authorization header, for `get_caller`.

        If the request is then answered with a 401, the response clears the cookie.
        """
        if self._gateway_caller is not None or _AUTHORIZATION in connection.headers:
            return
        session: str | XAppError
        try:
            cookie = read_session_cookie(connection.headers)
            if cookie is None:
                return
            session = await self.session_keys.unseal(cookie)
        except XAppError as error:
            session = error
        connection.scope[_SESSION] = session
        connection.scope[UNAUTHENTICATED_HEADERS] = CLEAR_COOKIE_HEADERS

    def get_caller(self, connection: HTTPConnection) -> Caller:
        """Return the caller, from the Authorization header or else from the session cookie.

        With `XAPP_AUTH=none` both are ignored.

        Raises:
            Unauthenticated: without a bearer token, or when the session has ended.
            RequestRefused: when a request that changes something is signed in by cookie and does not prove that it
                comes from a page of this gateway (CSRF).
        """
        if self._gateway_caller is not None:
            return self._gateway_caller
        token = self._header_token(connection) or self._session_token(connection)
        return Caller(
            client=self._kube.with_token(token), mode="kubernetes", access_reviews=self._access_reviews, token=token
        )

    def _header_token(self, connection: HTTPConnection) -> str | None:
        header = connection.headers.get(_AUTHORIZATION)
        if header is None:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != _SCHEME or not token.strip():
            raise _missing_token_error()
        return token.strip()

    def _session_token(self, connection: HTTPConnection) -> str:
        found = connection.scope.get(_SESSION)
        if isinstance(found, XAppError):
            raise found
        if not isinstance(found, str):
            raise _missing_token_error()
        if connection.scope.get("method") not in SAFE_METHODS and not proves_same_origin(connection.headers):
            raise RequestRefused(
                "a session cookie alone may not change anything: send the request from a page of this gateway, with "
                "the header X-Requested-With, or with a bearer token instead of the cookie"
            )
        return found


def _missing_token_error() -> Unauthenticated:
    return Unauthenticated("send a bearer token of the cluster: Authorization: Bearer <token>")


class UnsafeBindAddress(XAppError):
    """`XAPP_AUTH=none` with an address that other machines can reach."""

    title = "Unsafe configuration"
    permanent = True


def check_bind_address(settings: Settings) -> None:
    """Refuse `XAPP_AUTH=none` on an address that other machines can reach.

    Raises:
        UnsafeBindAddress: for `XAPP_AUTH=none` with an `XAPP_HOST` that is not loopback.
    """
    if settings.auth == "none" and not is_loopback(settings.host):
        raise UnsafeBindAddress(
            "XAPP_AUTH=none lets everyone act as the gateway, so XAPP_HOST must be a loopback address such as "
            "127.0.0.1: change one of the two settings"
        )
