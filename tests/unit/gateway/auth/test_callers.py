"""Who the caller of a request is: the header, the session cookie, the rights that are asked for."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.requests import HTTPConnection

from tests.unit.gateway.auth.review_server import FakeReviewServer, caller, review_server
from tests.unit.gateway.auth.secret_server import secret_server
from xapp_operator.config.settings import Settings
from xapp_operator.errors import (
    AccessDenied,
    InsecureSession,
    KubeError,
    SessionEnded,
    SessionProofRequired,
    Unauthenticated,
)
from xapp_operator.gateway.auth import session_secret, sessions
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.actions import Action, Permission
from xapp_operator.gateway.auth.callers import Authenticator, Caller
from xapp_operator.gateway.auth.identities import Identities, Identity
from xapp_operator.gateway.auth.session_cookies import COOKIE_NAME, HOST_COOKIE_NAME
from xapp_operator.gateway.auth.sessions import NewSession
from xapp_operator.gateway.http.audit import audit_notes
from xapp_operator.gateway.http.responses.problems import UNAUTHENTICATED_HEADERS
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import PODS, SECRETS

OBJECT_NAME_MAX = 253

LOCAL = ("127.0.0.1", 40000)
REMOTE = ("192.0.2.1", 40000)


def connection(
    *, scheme: str = "http", client: tuple[str, int] = LOCAL, host: str = "localhost", **headers: str
) -> HTTPConnection:
    named = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    return HTTPConnection({"type": "http", "scheme": scheme, "client": client, "headers": raw, "state": {}})


@pytest.fixture
async def kube(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KubeClient]:
    """An API server that stores the session keys."""
    for module in (session_secret, sessions):
        monkeypatch.setattr(module, "STATE_SECONDS", 0.01)
    async with secret_server(tmp_path) as (_, client):
        yield client


@pytest.fixture
async def reviewing(tmp_path: Path) -> AsyncIterator[tuple[FakeReviewServer, KubeClient]]:
    async with review_server(tmp_path) as both:
        yield both


@pytest.mark.parametrize("header", ["Bearer abc", "bearer  abc ", "BEARER abc"])
def test_the_token_is_that_of_the_authorization_header(kube: KubeClient, header: str) -> None:
    request = connection(authorization=header, client=REMOTE)
    who = Authenticator(Settings(), kube).get_caller(request)
    assert audit_notes(request).caller is who
    assert (who.token, who.mode, who.session, who.address) == ("abc", "kubernetes", None, "192.0.2.1")
    assert not who.is_authenticated


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer  ", "abc", "Token abc", "Basic YTphYmM="])
def test_any_other_header_is_refused(kube: KubeClient, header: str) -> None:
    with pytest.raises(Unauthenticated, match="send a bearer token"):
        Authenticator(Settings(), kube).get_caller(connection(authorization=header))


def test_a_password_counts_as_a_token_only_where_a_route_allows_it(kube: KubeClient) -> None:
    authenticator = Authenticator(Settings(), kube)

    def token_of(header: str) -> str:
        return authenticator.get_caller(connection(authorization=header), basic=True).token

    assert token_of(f"Basic {base64.b64encode(b'jane:abc:d').decode()}") == "abc:d"
    assert token_of("Bearer abc") == "abc"
    for wrong in ("jane", "jane:", "jäne:abc"):
        with pytest.raises(Unauthenticated):
            token_of(f"Basic {base64.b64encode(wrong.encode()).decode()}")
    for garbled in ("Basic a$", "Basic amFuZTphYmM=!"):
        with pytest.raises(Unauthenticated):
            token_of(garbled)


async def test_without_authentication_everyone_is_the_gateway(kube: KubeClient) -> None:
    authenticator = Authenticator(Settings(auth="none"), kube)
    request = connection(authorization="Bearer abc", cookie=f"{COOKIE_NAME}=x")
    await authenticator.load_session(request)
    who = authenticator.get_caller(request)

    assert audit_notes(request).caller is who
    assert (who.mode, who.token, who.user, who.is_authenticated) == ("none", "", "", True)
    assert who.client.credentials is kube.credentials
    assert await who.identify() == Identity("")
    assert await who.allowed_namespaces("list", among=frozenset("ab")) is None
    await who.require(Action.DEPLOY, namespace="a")
    await who.require_list_allowed(namespaces=())
    await who.recheck(Permission("list", "a"))


async def signed_in(authenticator: Authenticator) -> NewSession:
    return await authenticator.sessions.begin("abc", user="jane")


async def test_a_cookie_with_its_proof_signs_a_request_in(kube: KubeClient) -> None:
    authenticator = Authenticator(Settings(), kube)
    new = await signed_in(authenticator)
    request = connection(cookie=f"{COOKIE_NAME}={new.cookie}", x_session_proof=new.proof)
    await authenticator.load_session(request)
    session = authenticator.get_session(request)
    who = authenticator.get_caller(request)

    assert session is not None
    assert (who.token, who.session, who.sessions) == ("abc", session, authenticator.sessions)
    assert (session.token, session.expires - session.issued_at) == ("abc", new.seconds)
    await authenticator.sessions.end(session)
    with pytest.raises(SessionEnded):
        await who.recheck()


async def test_a_cookie_that_does_not_count_is_an_error_of_the_request(kube: KubeClient) -> None:
    authenticator = Authenticator(Settings(), kube)
    new = await signed_in(authenticator)
    good, bad = f"{COOKIE_NAME}={new.cookie}", f"{COOKIE_NAME}=1.gAAAA{'A' * 195}"

    async def refusal(cookie: str) -> tuple[type[Exception], bool]:
        """Return the error, and whether the response clears the cookie."""
        request = connection(cookie=cookie)
        await authenticator.load_session(request)
        assert authenticator.get_session(request) is None
        with pytest.raises(Unauthenticated) as raised:
            authenticator.get_caller(request)
        return raised.type, UNAUTHENTICATED_HEADERS in request.scope

    assert await refusal(bad) == (SessionEnded, True)
    assert await refusal(f"{bad}; {bad}1") == (SessionEnded, False)
    assert await refusal(good) == (SessionProofRequired, False)
    assert await refusal("other=1") == (Unauthenticated, False)
    assert await refusal(f"{COOKIE_NAME}=") == (SessionEnded, True)


async def test_a_header_counts_and_not_the_cookie_beside_it(kube: KubeClient) -> None:
    authenticator = Authenticator(Settings(), kube)
    request = connection(authorization="Bearer xyz", cookie=f"{COOKIE_NAME}=1.gAAAA{'A' * 195}")
    await authenticator.load_session(request)

    assert authenticator.get_caller(request).token == "xyz"
    assert UNAUTHENTICATED_HEADERS not in request.scope


@pytest.mark.parametrize(
    ("request_", "settings", "names"),
    [
        (connection(), {}, {COOKIE_NAME, HOST_COOKIE_NAME}),
        (connection(client=REMOTE), {}, {HOST_COOKIE_NAME}),
        (connection(host="gateway.example.com"), {}, {HOST_COOKIE_NAME}),
        (connection(client=REMOTE), {"insecure_sessions": True}, {COOKIE_NAME, HOST_COOKIE_NAME}),
        (connection(scheme="https"), {}, {HOST_COOKIE_NAME}),
        (connection(scheme="https"), {"insecure_sessions": True}, {HOST_COOKIE_NAME}),
        (connection(x_forwarded_proto="HTTPS"), {"trust_forwarded_proto": True}, {HOST_COOKIE_NAME}),
        (connection(x_forwarded_proto="https"), {}, {COOKIE_NAME, HOST_COOKIE_NAME}),
    ],
)
async def test_the_cookie_of_plain_http_counts_only_where_nobody_reads_along(
    kube: KubeClient, request_: HTTPConnection, settings: dict[str, object], names: set[str]
) -> None:
    authenticator = Authenticator(Settings().model_copy(update=settings), kube)
    new = await signed_in(authenticator)
    counting = set()
    for name in (COOKIE_NAME, HOST_COOKIE_NAME):
        headers = [*request_.scope["headers"], (b"cookie", f"{name}={new.cookie}".encode())]
        sent = HTTPConnection({**request_.scope, "headers": [*headers, (b"x-session-proof", new.proof.encode())]})
        await authenticator.load_session(sent)
        if authenticator.get_session(sent) is not None:
            counting.add(name)
    assert counting == names


def test_signing_in_over_plain_http_is_refused_from_other_machines(kube: KubeClient) -> None:
    strict = Authenticator(Settings(), kube)
    with pytest.raises(InsecureSession, match="XAPP_INSECURE_SESSIONS"):
        strict.require_session_allowed(connection(client=REMOTE))
    assert strict.require_session_allowed(connection()) is False
    assert strict.require_session_allowed(connection(client=REMOTE, scheme="https")) is True
    assert strict.require_session_allowed(connection(client=REMOTE, origin="https://gateway")) is True
    insecure = Authenticator(Settings(insecure_sessions=True), kube)
    assert insecure.require_session_allowed(connection(client=REMOTE)) is False
    behind_proxy = Authenticator(Settings(trust_forwarded_proto=True), kube)
    assert behind_proxy.require_session_allowed(connection(client=REMOTE, x_forwarded_proto="https")) is True


async def test_a_session_whose_keys_cannot_be_read_is_no_error_of_the_caller(tmp_path: Path) -> None:
    async with secret_server(tmp_path) as (server, kube):
        server.status = 403
        authenticator = Authenticator(Settings(), kube)
        request = connection(cookie=f"{COOKIE_NAME}=1.gAAAA{'A' * 195}")
        await authenticator.load_session(request)
        with pytest.raises(KubeError, match="the gateway may not get or create the Secret"):
            authenticator.get_caller(request)


async def test_all_missing_permissions_are_named_with_their_places(
    reviewing: tuple[FakeReviewServer, KubeClient],
) -> None:
    server, kube = reviewing
    server.allowed = False
    who = caller(kube, AccessReviews())
    with pytest.raises(AccessDenied) as raised:
        await who.require_permissions(
            Permission("get", "a", PODS, "log"), Permission("list", "a", SECRETS), Permission("list", None)
        )
    assert raised.value.message == (
        "you may not get pods/log or list secrets in the namespace a or list xapps.xapp-operator.io in all "
        "namespaces: ask an administrator for a role with these permissions"
    )
    assert [(each.verb, each.group, each.resource, each.subresource) for each in raised.value.missing] == [
        ("get", "", "pods", "log"),
        ("list", "", "secrets", None),
        ("list", "xapp-operator.io", "xapps", None),
    ]
    with pytest.raises(AccessDenied, match=r"for a role with that permission$"):
        await who.require_allowed("get", namespace="a")


async def test_a_list_of_some_namespaces_needs_the_right_in_each_or_in_all(
    reviewing: tuple[FakeReviewServer, KubeClient],
) -> None:
    server, kube = reviewing
    server.allowed, server.only = False, {"a", "b"}
    who = caller(kube, AccessReviews())
    await who.require_list_allowed(namespaces=("a", "b"))
    await who.require_list_allowed(namespaces=("b",))
    await who.require_list_allowed(namespaces=())
    with pytest.raises(AccessDenied, match="in the namespace c"):
        await who.require_list_allowed(namespaces=("a", "c"))

    server.status = 401
    with pytest.raises(Unauthenticated):
        await caller(kube, AccessReviews()).require_list_allowed(namespaces=())
    server.status = 201
    server.allowed = True
    server.reviewed.clear()
    await caller(kube, AccessReviews()).require_list_allowed(namespaces=("a", "b"))
    await caller(kube, AccessReviews()).require_list_allowed(namespaces=("a",))
    assert [each.get("namespace") for each in server.reviewed] == [None, "a"]


async def test_a_role_may_grant_a_right_on_one_object_by_name(reviewing: tuple[FakeReviewServer, KubeClient]) -> None:
    server, kube = reviewing
    server.allowed = False
    who = caller(kube, AccessReviews())
    longest = "x" * OBJECT_NAME_MAX
    for name in ("one", longest, longest + "x"):
        for _ in range(2):
            assert not await who.allows(Permission("get", "a", name=name))
    names = [each.get("name") for each in server.reviewed]
    assert names == [None, "one", longest, longest + "x", longest + "x"]  # the last is not cached


async def test_a_token_that_a_review_refuses_is_unknown_from_then_on(
    reviewing: tuple[FakeReviewServer, KubeClient],
) -> None:
    server, kube = reviewing
    who = replace(caller(kube, AccessReviews()), identities=Identities(unknown_per_address=10))
    await who.authenticate()
    assert (who.user, who.is_authenticated) == ("system:serviceaccount:abc:jane", True)
    server.status = 401
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            await who.allows(Permission("get", "a"))
    assert (who.user, len(server.reviewed)) == ("", 2)


async def test_a_recheck_of_a_bearer_token_needs_no_session(
    reviewing: tuple[FakeReviewServer, KubeClient],
) -> None:
    server, kube = reviewing
    who = Authenticator(Settings(), kube).get_caller(connection(authorization="Bearer abc"))
    await who.recheck(Permission("get", "a"))
    assert [each["verb"] for each in server.reviewed] == ["get"]


async def test_a_recheck_without_permissions_notices_a_refused_token(
    reviewing: tuple[FakeReviewServer, KubeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, kube = reviewing
    monkeypatch.setattr("xapp_operator.gateway.auth.callers.RECHECK_MAX_AGE_SECONDS", 0.0)
    who: Caller = caller(kube, AccessReviews())
    await who.authenticate()
    await who.recheck()
    assert [each["verb"] for each in server.reviewed] == ["list", "list"]
    server.status = 401
    with pytest.raises(Unauthenticated):
        await who.recheck()


async def test_who_asks_for_the_namespaces_of_a_list_is_known_then(
    reviewing: tuple[FakeReviewServer, KubeClient],
) -> None:
    _, kube = reviewing
    who = replace(caller(kube, AccessReviews()), identities=Identities(unknown_per_address=10))
    await who.allowed_namespaces("list", among=frozenset({"a"}))
    assert (who.user, who.is_authenticated) == ("system:serviceaccount:abc:jane", True)
