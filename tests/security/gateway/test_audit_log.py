"""Every request has an audit line, and no line of the process's output has a secret, or is forged by a name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import websockets.sync.client
from websockets.exceptions import InvalidStatus

from tests.localcluster.waiting import wait_until
from tests.support.charts import archive_name, chart_archive
from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.support.proxied_xapp import NAME, NAMESPACE, proxy_to_service
from tests.support.stand_in_api import LOGS, StandInApi, serve_api, serve_authenticating_gateway
from tests.support.xapp_server import serve_xapp
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.http.audit import RequestRecord, begin_notes
from xapp_operator.telemetry.audit import AuditLog

SECRET: Final = "s3cr3t-do-not-log"
XAPP: Final = f"/api/xapps/{NAMESPACE}/{NAME}"
FIELDS: Final = [
    *("timestamp", "level", "logger", "message", "stage", "user", "address", "method", "route", "namespace", "name"),
    *("status", "reason", "seconds"),
]


@pytest.fixture
def api() -> Iterator[StandInApi]:
    with serve_api() as one:
        yield one


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def gateway(api: StandInApi, tmp_path: Path, log: Path) -> Iterator[GatewayServer]:
    with serve_authenticating_gateway(api, tmp_path, audit_log=str(log)) as one:
        yield one


def lines(log: Path, count: int) -> list[dict[str, Any]]:
    """Wait for `count` lines and return all."""
    wait_until(lambda: len(log.read_text().splitlines()) >= count, timeout=60, what=f"{count} audit lines")
    return [json.loads(line) for line in log.read_text().splitlines()]


def short(line: dict[str, Any]) -> tuple[object, ...]:
    return tuple(line[each] for each in ("user", "method", "route", "namespace", "name", "status", "reason"))


def test_a_line_says_who_did_what_and_why_it_was_refused(gateway: GatewayServer, api: StandInApi, log: Path) -> None:
    api.denied.add("eve")
    jane, eve = ({"Authorization": f"Bearer {user}:{SECRET}"} for user in ("jane", "eve"))
    with gateway.client() as http:
        http.get("/healthz")  # probes have no line
        http.get("/api/xapps", headers=jane, params={"search": SECRET})
        http.get(XAPP, headers=eve)
        http.get(XAPP)
        http.get("/api/xapps", headers={"Authorization": f"Bearer {SECRET}"})
        http.get(f"/api/nothing/{SECRET}", headers=jane)
        http.request("DELETE", "/api/deployment/xapp", headers=eve, json={"name": NAME, "namespace": NAMESPACE})
        http.post("/api/session", json={"token": f"jane:{SECRET}"})
        http.post("/api/session", json={"token": SECRET})
        http.get("/api/v1/xapps?page=x", headers=jane)
    found = lines(log, 9)

    assert [short(line) for line in found] == [
        ("jane", "GET", "/api/xapps", None, None, 200, None),
        ("eve", "GET", "/api/xapps/{namespace}/{name}", NAMESPACE, NAME, 403, "access-denied"),
        (None, "GET", "/api/xapps/{namespace}/{name}", NAMESPACE, NAME, 401, "unauthenticated"),
        (None, "GET", "/api/xapps", None, None, 401, "unauthenticated"),
        (None, "GET", None, None, None, 404, "not-found"),
        ("eve", "DELETE", "/api/deployment/xapp", NAMESPACE, None, 403, "access-denied"),
        ("jane", "POST", "/api/session", None, None, 201, None),
        (None, "POST", "/api/session", None, None, 401, "unauthenticated"),
        ("jane", "GET", "/api/xapps", None, None, 400, "malformed-request"),
    ]
    assert all(list(line) == FIELDS for line in found)
    assert {line["address"] for line in found} == {"127.0.0.1"}


def test_a_line_of_an_upload_names_namespace_and_chart_archive(
    gateway: GatewayServer, api: StandInApi, log: Path
) -> None:
    api.denied.add("eve")
    archive = chart_archive()
    for user, file in (("eve", archive), ("jane", b"no chart"), ("jane", archive)):
        files: dict[str, Any] = {"namespace": (None, NAMESPACE), "file": ("chart.tgz", file)}
        with gateway.client(headers={"Authorization": f"Bearer {user}:1"}) as http:
            http.post("/api/charts", files=files)
    found = [(line["user"], line["route"], line["namespace"], line["name"]) for line in lines(log, 3)]
    assert found == [
        ("eve", "/api/charts", NAMESPACE, None),
        ("jane", "/api/charts", NAMESPACE, None),
        ("jane", "/api/charts", NAMESPACE, archive_name(archive)),
    ]


def test_streams_and_websockets_have_a_line_at_their_start_and_end(api: StandInApi, tmp_path: Path, log: Path) -> None:
    headers = {"Authorization": "Bearer jane:1"}
    with serve_xapp() as xapp, proxy_to_service(xapp, tmp_path, kubernetes=api.port, audit_log=str(log)) as proxied:
        with proxied.gateway.client(headers=headers) as http, http.stream("GET", "/api/stream"):
            assert [(each["stage"], each["user"]) for each in lines(log, 1)] == [("ResponseStarted", "jane")]
        lines(log, 2)  # the stream ends a moment after its client has left
        with proxied.open_websocket("/ws", additional_headers=headers) as websocket:
            websocket.send(SECRET)
            websocket.recv()
            assert lines(log, 3)[-1]["stage"] == "ResponseStarted"
        lines(log, 4)  # so does the WebSocket
        with pytest.raises(InvalidStatus), proxied.open_websocket("/ws"):
            pass
        found = lines(log, 5)

    websocket_route = "/api/xapps/{namespace}/{name}/proxy/{service}/{port}/{path:path}"
    assert [(each["method"], each["stage"], each["status"], each["reason"]) for each in found] == [
        ("GET", "ResponseStarted", 200, None),
        ("GET", "ResponseComplete", 200, None),
        ("WEBSOCKET", "ResponseStarted", 101, None),
        ("WEBSOCKET", "ResponseComplete", 101, None),
        ("WEBSOCKET", "ResponseComplete", 401, "unauthenticated"),
    ]
    assert {each["route"] for each in found[2:]} == {websocket_route}


def test_what_is_not_a_request_has_a_line_too(gateway: GatewayServer, log: Path) -> None:
    gateway.send_raw(f"NOT HTTP {SECRET}\r\n\r\n".encode())
    gateway.send_raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 200 + b"\r\n")
    assert [(None, *short(line)[1:]) for line in lines(log, 2)] == [
        (None, None, None, None, None, 400, "not-http"),
        (None, None, None, None, None, 431, "head-too-large"),
    ]


@pytest.mark.parametrize("name", ["a%0a%7B%22user%22:%22root%22%7D", "%1b[2J", "a%E2%80%A8b", "%00", "x" * 300, "A"])
def test_a_name_cannot_forge_a_line(gateway: GatewayServer, log: Path, name: str) -> None:
    with gateway.client(headers={"Authorization": "Bearer ja\\u000ane:1"}) as http:
        http.get(f"/api/xapps/{NAMESPACE}/{name}")
    found, text = lines(log, 1), log.read_text()
    assert text.count("\n") == 1
    assert found[0]["name"] is None
    assert "\x1b" not in text


TOKENS: Final = {
    "JSON web token": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJl",
    "token of GitHub": "ghp_0123456789abcdefghij0123456789abcdef",
    "SHA-256": "5f" * 32,
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_in_place_of_a_name_is_not_written(gateway: GatewayServer, log: Path, token: str) -> None:
    form = {"xAppName": "x", "organization": "o", "team": "t", "version": "1", "owner": "o", "namespace": NAMESPACE}
    with gateway.client(headers={"Authorization": "Bearer jane:1"}) as http:
        http.get(f"/api/xapps/{token}/{token}")
        http.get(f"{LOGS.replace(NAME, token)}")
        http.request("DELETE", "/api/deployment/xapp", json={"name": token, "namespace": token})
        for changes in ({"xAppName": token}, {"namespace": token}, {"team": token}):
            parts: dict[str, Any] = {"xAppForm": (None, json.dumps({**form, **changes})), "file": chart_archive({})}
            http.post("/api/deployment/xapp", files=parts)
    lines(log, 6)
    assert token[:24] not in log.read_text()


def test_a_long_name_is_written_if_the_request_succeeds(tmp_path: Path) -> None:
    for status, written in ((200, "a" * 64), (404, None), (0, None)):
        path = tmp_path / str(status)
        with AuditLog(str(path)) as audit:
            scope: dict[str, Any] = {"path_params": {"namespace": "a" * 63, "name": "a" * 64}}
            record = RequestRecord(audit, begin_notes(scope), scope, address="192.0.2.1", method="GET")
            record.complete(status)
        (line,) = lines(path, 1)
        assert (line["namespace"], line["name"]) == ("a" * 63, written)


def send_secrets_everywhere(http: httpx.Client, token: str) -> None:
    """Send SECRET in every place where a client may send a secret."""
    form = {"xAppName": "x", "organization": "o", "team": "t", "version": "1", "owner": SECRET, "namespace": NAMESPACE}
    repository = {
        "name": "acme",
        "namespace": NAMESPACE,
        "url": f"https://user:{SECRET}@charts.example.com/{SECRET}",
        "username": "user",
        "password": SECRET,
        "caBundle": SECRET,
    }
    chart = chart_archive({"values.yaml": f"password: {SECRET}", "templates/a.yaml": f'{{{{ fail "{SECRET}" }}}}'})
    for headers in ({"Authorization": f"Bearer {token}"}, {"Authorization": f"Bearer {SECRET}"}, {}):
        both = {
            **headers,
            "X-Session-Proof": SECRET,
            "X-Api-Key": SECRET,
            "Cookie": f"xapp_session={SECRET}; a={SECRET}",
        }
        for method, path in [
            ("GET", f"/api/xapps?search={SECRET}&unknown={SECRET}"),
            ("GET", f"{LOGS}?container={SECRET}"),
            ("GET", f"{XAPP}/api/{SECRET}?token={SECRET}"),
            ("GET", f"{XAPP}/proxy/hello/80/{SECRET}"),
            ("GET", f"/{SECRET}"),
            ("PUT", f"{XAPP}/config"),
            ("PATCH", f"{XAPP}/config"),
            ("POST", "/api/repositories"),
            ("POST", f"{XAPP}/rollback"),
            ("DELETE", "/api/deployment/xapp"),
        ]:
            json_body = {"values": {"password": SECRET, "text": f"--token={SECRET}"}, **repository}
            http.request(method, path, headers=both, json=None if method == "GET" else json_body)
            http.request(method, path, headers=both, content=f"[{SECRET}")
        for values in (f"password: {SECRET}", f"a: [{SECRET}"):
            parts: dict[str, Any] = {"xAppForm": (None, json.dumps(form)), "file": chart, "values": values}
            http.post("/api/deployment/xapp", headers=both, files=parts)
            http.post("/api/deployment/xapp?dryRun=true", headers=both, files={**parts, SECRET: SECRET})
        http.post("/api/session", headers=both, json={"token": SECRET})
        http.post("/api/session", headers=both, json={"token": token, "password": SECRET})


def test_no_output_has_a_secret_of_a_request(
    api: StandInApi, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    token = f"jane:{SECRET}"
    with serve_xapp() as xapp, proxy_to_service(xapp, tmp_path, kubernetes=api.port, audit_log="stderr") as proxied:
        with proxied.gateway.client() as http:
            send_secrets_everywhere(http, token)
            signed_in = http.post("/api/session", json={"token": token}).json()
            cookie = http.cookies.get("xapp_session") or ""
            http.get("/api/session", headers={"X-Session-Proof": signed_in.get("proof") or SECRET})
            http.delete("/api/session", headers={"X-Session-Proof": SECRET})
        proxied.gateway.send_raw(f"GET /{SECRET} HTTP/1.1\r\nHost: {SECRET}\r\n{SECRET}\r\n\r\n".encode())
        with pytest.raises(InvalidStatus):
            websockets.sync.client.connect(
                f"ws://127.0.0.1:{proxied.gateway.port}{XAPP}/proxy/hello/80/{SECRET}?a={SECRET}",
                additional_headers={"Authorization": f"Bearer {SECRET}"},
                subprotocols=[SECRET],  # type: ignore[list-item]
                proxy=None,
            )
    output = "".join(capfd.readouterr())

    assert output.count('"logger":"xapp_operator.audit"') > 80
    for secret in (SECRET, cookie, signed_in.get("proof")):
        assert not secret or secret not in output


def test_the_audit_log_can_be_switched_off(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings, opened = offline_gateway(tmp_path)
    for destination in ("off", "stdout"):
        changed = settings.model_copy(update={"audit_log": destination})
        with serve_gateway(changed, opened) as gateway, gateway.client() as http:
            http.get("/api/xapps")
        captured = capfd.readouterr()
        assert ("xapp_operator.audit" in captured.out) == (destination == "stdout")
        assert "xapp_operator.audit" not in captured.err


@pytest.mark.parametrize("value", ["audit.log", "", "./x"])
def test_a_relative_path_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="absolute path"):
        Settings(audit_log=value)
