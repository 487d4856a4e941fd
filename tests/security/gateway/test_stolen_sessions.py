"""Threat: a session cookie is stolen. Browsers send it to every port of a host, and so to xApps on NodePorts.

`tests/integration/gateway/test_permission_matrix` shows that a cookie without its proof is a 401 in every route.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.proxy.conftest import non_loopback_address
from tests.localcluster import Cluster
from tests.localcluster.pki import Authority
from tests.security.gateway.session_client import SignedInClient, sign_in
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.xapp_server import XAppServer

pytestmark = pytest.mark.integration

MARKER = "session.xapp-operator.io"
PROOF = "proof.session.xapp-operator.io."


def test_an_xapp_gets_neither_the_cookie_nor_the_proof(session: SignedInClient, xapp_server: XAppServer) -> None:
    with session.http() as http:
        assert http.get(f"{session.proxy_path}/json", headers={"Connection": "x-session-proof"}).status_code == 200
    with session.open_websocket(MARKER, f"{PROOF}{session.proof}", "chat"):
        pass
    with session.open_websocket(**{"X-Session-Proof": session.proof}):
        pass

    assert len(xapp_server.requests) == 3
    for request in xapp_server.requests:
        for secret in (session.proof, session.cookie, "x-session-proof", MARKER):
            assert secret not in repr(request).lower().replace(session.proof.lower(), session.proof)


def test_a_page_proves_its_websocket_with_a_subprotocol(session: SignedInClient) -> None:
    with session.open_websocket(MARKER, f"{PROOF}{session.proof}") as alone:
        assert alone.subprotocol == MARKER
        alone.send("hello")
        assert alone.recv(timeout=60) == "hello"
    with session.open_websocket(MARKER, f"{PROOF}{session.proof}", "v2.chat") as chosen:
        assert chosen.subprotocol == "v2.chat"


@pytest.mark.parametrize("offered", [(), (MARKER,), (MARKER, PROOF), (MARKER, f"{PROOF}wrong"), ("chat",)])
def test_a_websocket_without_the_proof_is_refused(
    session: SignedInClient, xapp_server: XAppServer, offered: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidStatus) as raised:
        session.open_websocket(*offered)

    assert raised.value.response.status_code == 401
    assert xapp_server.requests == []


def test_a_proof_in_a_query_or_a_body_does_not_count(session: SignedInClient) -> None:
    cookie = {"Cookie": session.headers["Cookie"]}
    with session.gateway.client(headers=cookie) as http:
        assert http.get("/api/session", params={"X-Session-Proof": session.proof}).status_code == 401
        assert http.request("DELETE", "/api/session", json={"proof": session.proof}).status_code == 401
        both = [("X-Session-Proof", session.proof), ("X-Session-Proof", "other")]
        assert http.get("/api/session", headers=both).status_code == 401
        assert http.get("/api/session", headers={"X-Session-Proof": session.proof}).status_code == 200


def test_cookies_that_another_port_has_planted_do_not_sign_the_user_out(
    session: SignedInClient, caller_factory: CallerFactory
) -> None:
    theirs = sign_in(session.gateway, caller_factory.create_account("mallory"), namespace=session.namespace)
    planted = [f"xapp_session={each}" for each in ("", "garbled", theirs.cookie, f"9{theirs.cookie}")]
    own = f"xapp_session={session.cookie}"
    for cookies in ([*planted, own], [own, *planted]):
        with session.gateway.client(headers={"Cookie": "; ".join(cookies)}) as http:
            answer = http.get("/api/session", headers={"X-Session-Proof": session.proof})
            assert answer.json()["user"].endswith(":jane")
            without = http.get("/api/session")
            assert (without.status_code, "Set-Cookie" in without.headers) == (401, False)


def test_a_session_over_plain_http_is_for_this_machine_only(
    cluster: Cluster, caller_factory: CallerFactory, tmp_path: Path
) -> None:
    token, address = caller_factory.create_account("jane"), non_loopback_address()
    body = {"token": token}
    settings = settings_for(cluster, tmp_path, auth="kubernetes", host="0.0.0.0")
    with serve_gateway(settings) as gateway, httpx.Client(trust_env=False, timeout=60) as http:
        here, away = gateway.url, f"http://{address}:{gateway.port}"
        refused = http.post(f"{away}/api/session", json=body)
        assert (refused.status_code, refused.json()["title"]) == (403, "Sessions need HTTPS")
        assert "Set-Cookie" not in refused.headers
        # Behind a proxy on this machine, the sender is loopback.
        named = {"Host": f"gateway.example.com:{gateway.port}"}
        assert http.post(f"{here}/api/session", json=body, headers=named).status_code == 403

        signed_in = http.post(f"{here}/api/session", json=body)
        cookie = f"xapp_session={signed_in.cookies['xapp_session']}"
        both = {"Cookie": cookie, "X-Session-Proof": signed_in.json()["proof"]}
        assert http.get(f"{here}/api/session", headers=both).status_code == 200
        assert http.get(f"{away}/api/session", headers=both).status_code == 401
        bearer = {"Authorization": f"Bearer {token}"}
        assert http.get(f"{away}/api/about", headers=bearer).json()["insecure"].startswith("this gateway speaks plain")
        assert http.get(f"{away}/api/about").json().keys() == {"version", "auth", "insecure"}

    with serve_gateway(settings.model_copy(update={"insecure_sessions": True})) as lax:
        away = f"http://{address}:{lax.port}"
        with httpx.Client(trust_env=False, timeout=60) as http:
            signed_in = http.post(f"{away}/api/session", json=body)
            http.headers["X-Session-Proof"] = signed_in.json()["proof"]
            assert http.get(f"{away}/api/session").status_code == 200


def test_a_session_over_https_has_a_cookie_that_other_ports_cannot_set(
    cluster: Cluster, caller_factory: CallerFactory, tmp_path: Path
) -> None:
    pair = Authority(tmp_path).issue("gateway", common_name="gateway")
    changes = {"auth": "kubernetes", "tls_cert": pair.certificate, "tls_key": pair.key}
    with (
        serve_gateway(settings_for(cluster, tmp_path, **changes)) as gateway,
        gateway.client(verify=ssl.create_default_context(cafile=tmp_path / "ca.crt")) as http,
    ):
        signed_in = http.post("/api/session", json={"token": caller_factory.create_account("jane")})
        name, _, value = signed_in.headers["Set-Cookie"].partition(";")[0].partition("=")
        http.headers["X-Session-Proof"] = signed_in.json()["proof"]
        http.cookies.clear()

        assert name == "__Host-xapp_session"
        assert {"secure", "httponly", "samesite=strict"} <= {
            each.strip().lower() for each in signed_in.headers["Set-Cookie"].split(";")
        }
        planted = f"xapp_session=planted; __Host-xapp_session={value}"
        assert http.get("/api/session", headers={"Cookie": planted}).status_code == 200
        assert http.get("/api/session", headers={"Cookie": f"xapp_session={value}"}).status_code == 401
        left = http.delete("/api/session", headers={"Cookie": f"{name}={value}"})
        assert left.status_code == 204
        cleared = left.headers["Set-Cookie"].lower()
        assert cleared.startswith("__host-xapp_session=")
        assert "secure" in cleared
        assert "max-age=0" in cleared


def test_a_long_token_gets_no_session(xapp_gateway: GatewayServer) -> None:
    with xapp_gateway.client() as http:
        answer = http.post("/api/session", json={"token": "x" * 3001})
    assert answer.status_code == 413
    assert "Authorization: Bearer" in answer.json()["detail"]
