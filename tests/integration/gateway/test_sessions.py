"""Sessions with a real API server: who the caller is, how long, on which replicas, and how a session ends."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.gateway.caller_factory import ACCESS_REVIEWS, ACCOUNTS, BINDINGS, ROLES, CallerFactory
from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import SECRETS, ApiServer
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.openapi_contract import OpenApiContract
from xapp_operator.gateway.auth.session_cookies import jwt_expiry

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
    """Sign in; from then on the client sends the proof, as a page does."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = http.post(SESSION, json={"token": token}, headers=named)
    if answer.status_code == 201 and answer.json()["proof"] is not None:
        http.headers["X-Session-Proof"] = answer.json()["proof"]
    return answer


def session_headers(http: httpx.Client) -> dict[str, str]:
    """Return cookie and proof of a client that has signed in."""
    cookie = f"xapp_session={http.cookies['xapp_session']}"
    return {"Cookie": cookie, "X-Session-Proof": http.headers["X-Session-Proof"]}


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
    assert len(answer.json()["proof"]) >= 43
    assert answer.json()["proof"] not in answer.headers["Set-Cookie"]
    assert http.get(SESSION).json() == {name: value for name, value in answer.json().items() if name != "proof"}
    assert http.get("/api/xapps", params={"namespace": caller_factory.namespace}).status_code == 200
    assert http.get("/api/xapps", params={"namespace": "default"}).status_code == 403
    stolen = session_headers(http)
    left = http.delete(SESSION)
    assert left.status_code == 204
    assert "max-age=0" in attributes(left)
    assert http.get(SESSION).status_code == 401
    ended = http.get(SESSION, headers=stolen)
    assert (ended.status_code, ended.json()["type"]) == (401, "urn:xapp-operator:problem:session-ended")


def test_a_bearer_token_shows_when_it_expires_if_it_says_so(http: httpx.Client, token: str) -> None:
    shown = http.get(SESSION, headers={"Authorization": f"Bearer {token}"}).json()["expiresAt"]
    assert datetime.fromisoformat(shown).timestamp() == jwt_expiry(token)
    assert sign_in(http, token).json()["expiresAt"] == shown


def test_the_cookie_is_http_only_same_site_and_expires_with_the_token(http: httpx.Client, token: str) -> None:
    found = attributes(sign_in(http, token))
    (age,) = (int(each.removeprefix("max-age=")) for each in found if each.startswith("max-age="))

    assert {"httponly", "samesite=strict", "path=/"} < found
    assert 3000 < age <= 3600
    assert "secure" not in found
    assert not any(each.startswith("domain") for each in found)


def test_the_cookie_is_for_https_only_when_the_browser_uses_https(
    http: httpx.Client, token: str, replica: Callable[..., GatewayServer]
) -> None:
    origin = str(http.base_url).rstrip("/").replace("http:", "https:")

    def name_and_attributes(answer: httpx.Response) -> tuple[str, set[str]]:
        return answer.headers["Set-Cookie"].partition("=")[0], attributes(answer)

    name, found = name_and_attributes(sign_in(http, token, Origin=origin))
    assert (name, {"secure", "httponly", "samesite=strict", "path=/"} < found) == ("__Host-xapp_session", True)
    name, found = name_and_attributes(sign_in(http, token, X_Forwarded_Proto="https"))
    assert (name, "secure" in found) == ("xapp_session", False)
    with replica(trust_forwarded_proto=True, session_max_seconds=60).client() as behind:
        signed_in = sign_in(behind, token, X_Forwarded_Proto="https")
        name, found = name_and_attributes(signed_in)
        assert (name, {"secure", "max-age=60"} < found) == ("__Host-xapp_session", True)
        value = signed_in.headers["Set-Cookie"].partition("=")[2].partition(";")[0]
        behind.cookies.clear()
        for cookie, status in (("__Host-xapp_session", 200), ("xapp_session", 401)):
            headers = {"Cookie": f"{cookie}={value}", "X-Forwarded-Proto": "https"}
            assert behind.get(SESSION, headers=headers).status_code == status
        assert name_and_attributes(sign_in(behind, token))[0] == "xapp_session"


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
    headers = session_headers(http)
    api.delete(f"{ACCOUNTS.format(caller_factory.namespace)}/jane")

    def refused() -> httpx.Response | None:
        answer = http.get("/api/xapps", headers=headers)
        return answer if answer.status_code == 401 else None

    answer = wait_until(refused, timeout=60, what="the token to end")
    assert "max-age=0" in attributes(answer)


@pytest.fixture
def shared_secret(api: ApiServer, user_roles: None) -> Iterator[str]:
    """The name of a Secret for the sessions of one test; the gateway has the rights that it has on its own Secret."""
    name = f"session-{secrets.token_hex(4)}"
    rules = api.get(f"{ROLES.format(SYSTEM)}/xapp-gateway-session")["rules"]
    named = [{**rule, "resourceNames": [name]} for rule in rules if "resourceNames" in rule]
    subject = {"kind": "ServiceAccount", "name": "xapp-gateway", "namespace": SYSTEM}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    api.create(ROLES.format(SYSTEM), {"metadata": {"name": name}, "rules": named})
    api.create(BINDINGS.format(SYSTEM), {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
    attributes = {"resource": "secrets", "verb": "patch", "namespace": SYSTEM, "name": name}
    spec = {"user": f"system:serviceaccount:{SYSTEM}:xapp-gateway", "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    wait_until(
        lambda: api.create(ACCESS_REVIEWS, review)["status"]["allowed"], timeout=60, what="the rights on the Secret"
    )
    yield name
    for path in (SECRETS, ROLES, BINDINGS):
        api.delete(f"{path.format(SYSTEM)}/{name}")


def test_two_replicas_share_sessions_and_keys_that_rotate(
    api: ApiServer, token: str, replica: Callable[..., GatewayServer], shared_secret: str
) -> None:
    path = f"{SECRETS.format(SYSTEM)}/{shared_secret}"
    one, two = replica(session_secret=shared_secret), replica(session_secret=shared_secret)
    with one.client() as first, two.client() as second:
        sign_in(first, token)
        before = session_headers(first)
        assert second.get(SESSION, headers=before).status_code == 200
        ((name, key),) = api.get(path)["data"].items()
        assert len(base64.b64decode(key)) == 32

        # The same key, as if it had been made two days ago.
        old = str(int(name) - 2 * 24 * 3600)
        api.patch(path, {"data": {name: None, old: key}})
        wait_until(lambda: second.get(SESSION, headers=before).status_code == 401, timeout=60, what="the key to go")
        names = set(api.get(path)["data"])
        assert len(names - {old}) == 1
        sign_in(first, token)
        after = session_headers(first)
        assert after["Cookie"].startswith(f"xapp_session={max(map(int, names))}.")
        assert second.get(SESSION, headers=after).status_code == 200
        assert set(api.get(path)["data"]) == names

        api.delete(path)
        wait_until(lambda: second.get(SESSION, headers=after).status_code == 401, timeout=60, what="sessions to end")
        assert sign_in(second, token).status_code == 201


def test_no_replica_accepts_a_session_after_the_answer_to_its_sign_out(
    token: str, replica: Callable[..., GatewayServer], shared_secret: str
) -> None:
    one, two = replica(session_secret=shared_secret), replica(session_secret=shared_secret)
    with one.client() as first, two.client() as second:
        sign_in(first, token)
        ended = session_headers(first)
        sign_in(second, token)
        other = session_headers(second)
        for http in (first, second):
            assert http.get(SESSION, headers=ended).status_code == 200
        assert first.delete(SESSION, headers=ended).status_code == 204
        for http in (second, first):
            answer = http.get(SESSION, headers=ended)
            assert (answer.status_code, answer.json()["title"]) == (401, "Session ended")
        assert second.get(SESSION, headers=other).status_code == 200


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
        nobody: dict[str, Any] = {"user": None, "groups": [], "auth": "none", "expiresAt": None}
        assert http.get(SESSION).json() == nobody
        signed_in = sign_in(http, "anything")
        assert (signed_in.status_code, signed_in.json()) == (201, {**nobody, "proof": None})
        assert "Set-Cookie" not in signed_in.headers
        assert http.get("/api/xapps", headers={"Cookie": "xapp_session=garbled"}).status_code == 200
        assert http.delete(SESSION).status_code == 204


def test_keys_tokens_cookies_and_proofs_are_not_logged(
    api: ApiServer,
    token: str,
    replica: Callable[..., GatewayServer],
    shared_secret: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with replica(session_secret=shared_secret).client() as http:
        sign_in(http, token)
        headers = session_headers(http)
        cookie, proof = headers["Cookie"].partition("=")[2], headers["X-Session-Proof"]
        http.get(SESSION)
        http.post("/api/repositories", json={"name": "x"})
        http.get(SESSION, headers={"Cookie": f"xapp_session={cookie[:-1]}"})
        http.delete(SESSION)
    keys = api.get(f"{SECRETS.format(SYSTEM)}/{shared_secret}")["data"].values()
    output = capfd.readouterr()
    for secret in (token, cookie, cookie[:-1], proof, *keys):
        assert secret not in output.out + output.err
    assert re.search("session keys created", output.out + output.err)


def test_the_role_of_the_gateway_grants_only_the_session_secret(api: ApiServer, user_roles: None) -> None:
    role = api.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/roles/xapp-gateway-session")
    named = [(rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"] if rule["verbs"] != ["create"]]
    assert named == [(["xapp-gateway-session"], ["get", "patch"])]
