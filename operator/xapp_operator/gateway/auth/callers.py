"""Authentication: the `Caller` of a request, their permissions, and the client that acts as them.

With `XAPP_AUTH=kubernetes` the caller is the user of the bearer token, or of the token in the session cookie, which
counts only together with the proof of the session. Writes are made with the token, so RBAC, admission and the audit log
see the user. Reads from memory need a SelfSubjectAccessReview with the token. With `XAPP_AUTH=none`, allowed on
loopback only, everyone acts as the gateway.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from starlette.requests import HTTPConnection

from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import is_loopback
from xapp_operator.errors import AccessDenied, InsecureSession, SessionProofRequired, Unauthenticated, XAppError
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.actions import Action, Permission, needed_permissions
from xapp_operator.gateway.auth.identities import Identities, Identity
from xapp_operator.gateway.auth.session_cookies import (
    COOKIE_NAME,
    HOST_COOKIE_NAME,
    Session,
    clear_cookie_headers,
    read_proof,
    read_session_cookies,
)
from xapp_operator.gateway.auth.sessions import Sessions
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.requests.client_addresses import ClientAddresses
from xapp_operator.gateway.http.requests.origins import is_https, is_loopback_connection, page_uses_https
from xapp_operator.gateway.http.responses.problems import UNAUTHENTICATED_HEADERS
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS, Resource

_AUTHORIZATION: Final = "authorization"
_SCHEME: Final = "bearer"
_BASIC_SCHEME: Final = "basic"
_SESSION: Final = "xapp_operator.session"
"""Key of a request's scope: its session, or the error of opening it."""

_IDENTITY_CHECK: Final = Permission("list", None)
"""Any review tells whether the API server accepts the token; lists need this one anyway."""

RECHECK_MAX_AGE_SECONDS: Final = 1.0
"""Checks of long responses repeat reviews that are older, so that responses of one caller share a review."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a request; `client` acts as them."""

    client: KubeClient
    mode: Literal["kubernetes", "none"]
    access_reviews: AccessReviews
    token: str = ""
    session: Session | None = None
    sessions: Sessions | None = None
    address: str = ""
    identities: Identities | None = None

    @property
    def user(self) -> str:
        """Return the name of the user once they are authenticated; before, and for XAPP_AUTH=none, an empty string."""
        return self.identities.user_of(self.token) if self.identities is not None else ""

    @property
    def is_authenticated(self) -> bool:
        """Return whether the token has been accepted; always true for XAPP_AUTH=none."""
        return self.mode == "none" or bool(self.user)

    async def identify(self) -> Identity:
        """Return the user of the token.

        Raises:
            Unauthenticated: when the API server does not accept the token.
            TooManyUnknownTokens: when it is unknown, as many others from this address were.
        """
        if self.identities is None:
            return Identity("")
        return await self.identities.identify(self.client, self.token, address=self.address)

    async def allows(self, permission: Permission, *, max_age_seconds: float | None = None) -> bool:
        """Tell whether the caller has a permission. A Role may grant one on all objects, or on some by name."""
        if self.mode == "none":
            return True
        await self.identify()
        try:
            for name in dict.fromkeys((None, permission.name)):
                if await self.access_reviews.is_allowed(
                    self.client,
                    self.token,
                    permission.verb,
                    resource=permission.resource,
                    namespace=permission.namespace,
                    subresource=permission.subresource,
                    name=name,
                    max_age_seconds=max_age_seconds,
                ):
                    return True
        except Unauthenticated:
            if self.identities is not None:
                self.identities.forget(self.token)
            raise
        return False

    async def is_allowed(
        self, verb: str, *, namespace: str | None, resource: Resource = XAPPS, subresource: str | None = None
    ) -> bool:
        """Tell whether the caller may `verb` the resource in a namespace, or in all of them."""
        return await self.allows(Permission(verb, namespace, resource, subresource))

    async def missing(self, *permissions: Permission, max_age_seconds: float | None = None) -> tuple[Permission, ...]:
        """Return those of `permissions` that the caller does not have."""
        return tuple([each for each in permissions if not await self.allows(each, max_age_seconds=max_age_seconds)])

    async def require_permissions(self, *permissions: Permission, max_age_seconds: float | None = None) -> None:
        """Refuse what the caller may not do, whether the namespace exists or not.

        Raises:
            AccessDenied: has and names all missing permissions.
        """
        missing = await self.missing(*permissions, max_age_seconds=max_age_seconds)
        if missing:
            raise _access_denied(missing)

    async def require(self, *actions: Action, namespace: str | None, name: str | None = None) -> None:
        """Refuse actions for which the caller lacks a right; see `require_permissions`. `name` is an xApp's."""
        await self.require_permissions(*needed_permissions(*actions, namespace=namespace, name=name))

    async def require_allowed(self, verb: str, *, namespace: str | None, resource: Resource = XAPPS) -> None:
        """Refuse a verb on a resource; see `require_permissions`."""
        await self.require_permissions(Permission(verb, namespace, resource))

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
        await self.identify()
        return await self.access_reviews.allowed_namespaces(
            self.client, self.token, verb, resource=resource, among=among
        )

    async def require_list_allowed(self, *, namespaces: Collection[str], resource: Resource = XAPPS) -> None:
        """Refuse to list a namespace that the caller may not list; without a namespace, only authenticate them.

        A list of all namespaces leaves out what the caller may not see (`allowed_namespaces`).

        Raises:
            Unauthenticated: when the API server does not accept the token.
            AccessDenied: names the missing permission.
        """
        if not namespaces:
            await self.authenticate()
        elif len(namespaces) > 1 and await self.is_allowed("list", namespace=None, resource=resource):
            return
        await self.require_permissions(*(Permission("list", namespace, resource) for namespace in namespaces))

    async def authenticate(self) -> None:
        """Have the token checked before the rest of the request is read.

        Raises:
            Unauthenticated: when the API server does not accept it.
        """
        await self.allows(_IDENTITY_CHECK)

    async def recheck(self, *permissions: Permission) -> None:
        """Check again what a long response or a WebSocket was allowed by; without permissions, only who the caller is.

        Raises:
            SessionEnded: when the session has expired or was signed out.
            Unauthenticated: when the API server no longer accepts the token.
            AccessDenied: when a permission was revoked.
            ApiUnavailable: when none of that can be known.
        """
        if self.mode == "none":
            return
        if self.session is not None and self.sessions is not None:
            await self.sessions.require_open(self.session)
        if permissions:
            await self.require_permissions(*permissions, max_age_seconds=RECHECK_MAX_AGE_SECONDS)
        else:
            await self.allows(_IDENTITY_CHECK, max_age_seconds=RECHECK_MAX_AGE_SECONDS)


def _access_denied(missing: Sequence[Permission]) -> AccessDenied:
    places = dict.fromkeys(each.namespace for each in missing)
    parts = [
        f"{_join([each.what for each in missing if each.namespace == place])} "
        + (f"in the namespace {place}" if place is not None else "in all namespaces")
        for place in places
    ]
    hint = "ask an administrator for a role with " + ("that permission" if len(missing) == 1 else "these permissions")
    return AccessDenied(
        f"you may not {_join(parts)}: {hint}", missing=tuple(dict.fromkeys(each.as_missing() for each in missing))
    )


def _join(parts: Sequence[str]) -> str:
    return " or ".join(parts)


class Authenticator:
    def __init__(self, settings: Settings, kube: KubeClient) -> None:
        self._kube = kube
        self._access_reviews = AccessReviews()
        self.identities = Identities(unknown_per_address=settings.unknown_tokens_per_address)
        self.client_addresses = ClientAddresses.from_settings(settings)
        self._gateway_caller = (
            Caller(client=kube.for_callers(), mode="none", access_reviews=self._access_reviews)
            if settings.auth == "none"
            else None
        )
        self._trusts_forwarded_proto = settings.trust_forwarded_proto
        self._allows_insecure_sessions = settings.insecure_sessions
        self.sessions = Sessions(kube, settings)

    async def load_session(self, connection: HTTPConnection) -> None:
        """Open the session of a request without an Authorization header, for `get_caller`.

        If the request is then answered with a 401, the response clears the cookie. But not if only the proof is
        missing: pages on other ports of this host can send the cookie, and would sign the user out. And not if there
        are several: other servers of the host can plant cookies that the server cannot tell from the user's.
        """
        if self._gateway_caller is not None or _AUTHORIZATION in connection.headers:
            return
        found = read_session_cookies(connection.headers, names=self._cookie_names(connection))
        if found is None:
            return
        name, cookies = found
        session: Session | XAppError
        try:
            session = await self.sessions.open_any(cookies, proof=read_proof(connection))
        except XAppError as error:
            session = error
        connection.scope[_SESSION] = session
        if len(cookies) == 1 and not isinstance(session, SessionProofRequired):
            connection.scope[UNAUTHENTICATED_HEADERS] = clear_cookie_headers(name)

    def get_session(self, connection: HTTPConnection) -> Session | None:
        """Return the session that signs a request in, or None without a valid one."""
        found = connection.scope.get(_SESSION)
        return found if isinstance(found, Session) else None

    def require_session_allowed(self, connection: HTTPConnection) -> bool:
        """Refuse to sign in where others can read along; return whether the cookie is for https.

        Raises:
            InsecureSession: for plain http from another machine, unless XAPP_INSECURE_SESSIONS allows it.
        """
        if is_https(connection, trust_forwarded_proto=self._trusts_forwarded_proto) or page_uses_https(connection):
            return True
        if self._allows_plain_http(connection):
            return False
        raise InsecureSession(
            "sessions need https, except on this machine: use https, send the token as Authorization: Bearer with each "
            "request, or let an administrator set XAPP_INSECURE_SESSIONS"
        )

    def _cookie_names(self, connection: HTTPConnection) -> tuple[str, ...]:
        if is_https(connection, trust_forwarded_proto=self._trusts_forwarded_proto):
            return (HOST_COOKIE_NAME,)
        return (COOKIE_NAME, HOST_COOKIE_NAME) if self._allows_plain_http(connection) else (HOST_COOKIE_NAME,)

    def _allows_plain_http(self, connection: HTTPConnection) -> bool:
        return self._allows_insecure_sessions or is_loopback_connection(connection)

    def get_caller(self, connection: HTTPConnection, *, basic: bool = False) -> Caller:
        """Return the caller, from the Authorization header or else from the session cookie.

        With `XAPP_AUTH=none` both are ignored. With `basic`, the password of Basic authentication is a token too, for
        helm. A browser sends such a password by itself, so only routes that change nothing allow it.

        Raises:
            Unauthenticated: without a bearer token or a session, when the session has ended, or without its proof.
        """
        if self._gateway_caller is not None:
            audit_notes(connection).caller = self._gateway_caller
            return self._gateway_caller
        token = self._header_token(connection, basic=basic)
        session = self._require_session(connection) if token is None else None
        token = token or (session.token if session is not None else "")
        caller = Caller(
            client=self._kube.with_token(token),
            mode="kubernetes",
            access_reviews=self._access_reviews,
            token=token,
            session=session,
            sessions=self.sessions,
            address=self.client_addresses.key_of(connection),
            identities=self.identities,
        )
        audit_notes(connection).caller = caller
        return caller

    def _header_token(self, connection: HTTPConnection, *, basic: bool) -> str | None:
        header = connection.headers.get(_AUTHORIZATION)
        if header is None:
            return None
        scheme, _, token = header.partition(" ")
        if basic and scheme.lower() == _BASIC_SCHEME:
            scheme, token = _SCHEME, _basic_password(token)
        if scheme.lower() != _SCHEME or not token.strip():
            raise _missing_token_error()
        return token.strip()

    def _require_session(self, connection: HTTPConnection) -> Session:
        found = connection.scope.get(_SESSION)
        if isinstance(found, XAppError):
            raise found
        if not isinstance(found, Session):
            raise _missing_token_error()
        return found


def _basic_password(credentials: str) -> str:
    """Return the password of Basic credentials (RFC 7617), or an empty text."""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode("ascii").partition(":")[2]
    except ValueError:
        return ""


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
