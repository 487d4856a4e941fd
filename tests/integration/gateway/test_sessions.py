"""Sessions with a real API server: who the caller is, how long, on which replicas, and how a session ends."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.gateway.caller_factory import ACCOUNTS, CallerFactory
from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import SECRETS, ApiServer
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.openapi_contract import OpenApiContract
from xapp_operator.gateway.auth import session_keys

pytestmark = pytest.mark.integration

SESSION = "/api/session"
SYSTEM = "xapp-operator-system"


@pytest.fixture
def token(caller_factory: CallerFactory) -> str:
    """The token of a caller who may view a namespace."""
    return caller_factory.create_account("jane", "view")


@pytest.fixture
def http(authenticated_gateway: GatewayServer) -> Iterator[httpx.Client]:
    """A browser: it keeps cookies."""
    with authenticated_gateway.client(
        event_hooks={"response": [OpenApiContract.from_gateway(authenticated_gateway).check_response]}
    ) as client:
        yield client


@pytest.fixture
def replica(
    cluster: Cluster, authenticated_gateway: GatewayServer, tmp_path: Path
) -> Iterator[Callable[..., GatewayServer]]:
    """Starts further gateways like the guarded one, with other settings."""
    with ExitStack() as running:

        def made(**changes: object) -> GatewayServer:
            same = {"KUBECONFIG": authenticated_gateway.gateway.settings.kubeconfig, "auth": "kubernetes"}
            folder = tmp_path / secrets.token_hex(4)
            return running.enter_context(serve_gateway(settings_for(cluster, folder, **same, **changes)))

        yield made


def sign_in(http: httpx.Client, token: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post(SESSION, json={"token": token}, headers=named)


def attributes(answer: httpx.Response) -> set[str]:
    return {each.strip().lower() for each in answer.headers["Set-Cookie"].split(";")[1:]}


def test_a_user_signs_in_reads_and_signs_out(http: httpx.Client, caller_factory: CallerFactory, token: str) -> None:
    answer = sign_in(http, token)
    user = f"system:serviceaccount:{caller_factory.namespace}:jane"

    assert answer.status_code == 201
    assert answer.json()["user"] == user
    assert answer.json()["auth"] == "kubernetes"
    assert f"system:serviceaccounts:{caller_factory.namespace}" in answer.json()["groups"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert token not in answer.headers["Set-Cookie"]
    assert http.get(SESSION).json() == answer.json()
    assert http.get("/api/xapps", params={"namespace": caller_factory.namespace}).status_code == 200
    assert http.get("/api/xapps", params={"namespace": "default"}).status_code == 403
    assert http.delete(SESSION).status_code == 403
    left = http.delete(SESSION, headers={"Origin": str(http.base_url).rstrip("/")})
    assert left.status_code == 204
    assert "max-age=0" in attributes(left)
    assert http.get(SESSION).status_code == 401


def test_the_cookie_is_http_only_same_site_and_expires_with_the_token(http: httpx.Client, token: str) -> None:
    found = attributes(sign_in(http, token))
    (age,) = (int(each.removeprefix("max-age=")) for each in found if each.startswith("max-age="))

    assert {"httponly", "samesite=strict", "path=/"} < found
    assert 3000 < age <= 3600
    assert "secure" not in found
    assert not any(each.startswith("domain") for each in found)


def test_the_cookie_is_secure_when_the_browser_uses_https(
    http: httpx.Client, token: str, replica: Callable[..., GatewayServer]
) -> None:
    origin = str(http.base_url).rstrip("/").replace("http:", "https:")

    assert "secure" in attributes(sign_in(http, token, Origin=origin))
    assert "secure" not in attributes(sign_in(http, token, X_Forwarded_Proto="https"))
    with replica(trust_forwarded_proto=True, session_max_seconds=60).client() as behind:
        found = attributes(sign_in(behind, token, X_Forwarded_Proto="https"))
        assert {"secure", "max-age=60"} < found
        assert "secure" not in attributes(sign_in(behind, token))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"no JSON", 400),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"token": 1}', 422),
        (b'{"token": ""}', 422),
        (b'{"token": "a", "more": 1}', 422),
        (b'{"token": "a", "token": "b"}', 422),
        (b'{"token": "not-known"}', 401),
        (b'{"token": "two words"}', 401),
        (b'{"token": "\\u00e4"}', 401),
        (b'{"token": "%b"}' % (b"x" * 3001), 413),
        (b'{"token": "%b"}' % (b"x" * 70000), 413),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_an_invalid_token_creates_no_session(http: httpx.Client, body: bytes, status: int) -> None:
    answer = http.post(SESSION, content=body)

    assert answer.status_code == status
    assert "Set-Cookie" not in answer.headers
    assert ("Authorization: Bearer" in answer.json()["detail"]) == (len(body) == 3014)


def test_a_cross_origin_page_creates_no_session(http: httpx.Client, token: str) -> None:
    answer = sign_in(http, token, Origin="https://elsewhere.example.com")
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


def test_a_header_wins_over_the_cookie(http: httpx.Client, caller_factory: CallerFactory, token: str) -> None:
    sign_in(http, token)
    other = {"Authorization": f"Bearer {caller_factory.create_account('john')}"}

    assert http.get(SESSION, headers=other).json()["user"].endswith(":john")
    for wrong in ("Bearer not-known", "Basic YTpi"):
        refused = http.get(SESSION, headers={"Authorization": wrong})
        assert refused.status_code == 401
        assert "Set-Cookie" not in refused.headers
    assert http.get(SESSION).json()["user"].endswith(":jane")


def test_a_garbled_cookie_is_refused_and_cleared(http: httpx.Client, token: str) -> None:
    cookie = sign_in(http, token).cookies["xapp_session"]
    http.cookies.clear()
    for wrong in (cookie[:-2], cookie[::-1], "A" * 200, ""):
        answer = http.get("/api/xapps", headers={"Cookie": f"xapp_session={wrong}"})
        assert answer.status_code == 401
        assert {"max-age=0", "path=/"} < attributes(answer)


def test_a_session_ends_when_the_cluster_rejects_its_token(
    http: httpx.Client, api: ApiServer, caller_factory: CallerFactory, token: str
) -> None:
    sign_in(http, token)
    cookie = http.cookies["xapp_session"]
    api.delete(f"{ACCOUNTS.format(caller_factory.namespace)}/jane")

    def refused() -> httpx.Response | None:
        answer = http.get("/api/xapps", headers={"Cookie": f"xapp_session={cookie}"})
        return answer if answer.status_code == 401 else None

    answer = wait_until(refused, timeout=60, what="the token to end")
    assert "max-age=0" in attributes(answer)


def test_every_replica_with_the_keys_accepts_a_session(
    api: ApiServer, token: str, replica: Callable[..., GatewayServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"session-{secrets.token_hex(4)}"
    path = f"{SECRETS.format(SYSTEM)}/{name}"
    one, two = replica(session_secret=name), replica(session_secret=name)
    try:
        with one.client() as first, two.client() as second:
            sign_in(first, token)
            cookie = {"Cookie": f"xapp_session={first.cookies['xapp_session']}"}
            assert second.get(SESSION, headers=cookie).status_code == 200
            data = api.get(path)["data"]
            assert len(data) == 1
            assert len(base64.b64decode(next(iter(data.values())))) == 32

            monkeypatch.setattr(session_keys, "KEY_REFRESH_SECONDS", 0.0)
            newer = str(int(next(iter(data))) + 1)
            api.patch(path, {"data": {newer: base64.b64encode(secrets.token_bytes(32)).decode()}})
            sign_in(first, token)
            rotated = {"Cookie": f"xapp_session={first.cookies['xapp_session']}"}
            assert rotated != cookie
            for each in (cookie, rotated):
                assert second.get(SESSION, headers=each).status_code == 200

            api.patch(path, {"data": {next(iter(data)): None}})
            assert second.get(SESSION, headers=cookie).status_code == 401
            assert second.get(SESSION, headers=rotated).status_code == 200
            api.delete(path)
            assert second.get(SESSION, headers=rotated).status_code == 401
            assert sign_in(second, token).status_code == 201
    finally:
        api.delete(path)


def test_a_missing_namespace_for_the_keys_is_reported_and_tokens_still_work(
    token: str, replica: Callable[..., GatewayServer]
) -> None:
    with replica(session_namespace="nowhere-at-all").client() as http:
        answer = sign_in(http, token)
        assert answer.status_code == 502
        assert "XAPP_SESSION_NAMESPACE" in answer.json()["detail"]
        assert http.get(SESSION, headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_sessions_are_404_without_authentication(gateway: GatewayServer) -> None:
    with gateway.client(event_hooks={"response": [OpenApiContract.from_gateway(gateway).check_response]}) as http:
        nobody: dict[str, Any] = {"user": None, "groups": [], "auth": "none"}
        assert http.get(SESSION).json() == nobody
        signed_in = sign_in(http, "anything")
        assert (signed_in.status_code, signed_in.json()) == (201, nobody)
        assert "Set-Cookie" not in signed_in.headers
        assert http.get("/api/xapps", headers={"Cookie": "xapp_session=garbled"}).status_code == 200
        assert http.delete(SESSION).status_code == 204


def test_keys_tokens_and_cookies_are_not_logged(
    api: ApiServer, token: str, replica: Callable[..., GatewayServer], capfd: pytest.CaptureFixture[str]
) -> None:
    name = f"session-{secrets.token_hex(4)}"
    path = f"{SECRETS.format(SYSTEM)}/{name}"
    try:
        with replica(session_secret=name).client() as http:
            sign_in(http, token)
            cookie = http.cookies["xapp_session"]
            http.get(SESSION)
            http.post("/api/repositories", json={"name": "x"})
            http.get(SESSION, headers={"Cookie": f"xapp_session={cookie[:-1]}"})
        keys = api.get(path)["data"].values()
        output = capfd.readouterr()
        for secret in (token, cookie, cookie[:-1], *keys):
            assert secret not in output.out + output.err
        assert re.search("session keys created", output.out + output.err)
    finally:
        api.delete(path)


def test_the_role_of_the_gateway_grants_only_the_session_secret(api: ApiServer, user_roles: None) -> None:
    role = api.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/roles/xapp-gateway-session")
    named = [rule.get("resourceNames") for rule in role["rules"] if "get" in rule["verbs"]]
    assert named == [["xapp-gateway-session"]]
