"""Threat: somebody keeps a stream, a download, an upload or a WebSocket open to read on after their right has ended."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.integration.gateway.caller_factory import ACCOUNTS, BINDINGS
from tests.localcluster.waiting import wait_until
from tests.security.gateway.session_client import SignedInClient
from tests.support.apiserver import ApiServer
from tests.support.xapp_server import XAppServer
from xapp_operator.gateway.http.responses import streaming

pytestmark = pytest.mark.integration

SECONDS = 60.0


@pytest.fixture(autouse=True)
def _check_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "RECHECK_SECONDS", 0.2)


def revoke_the_permission(session: SignedInClient, api: ApiServer) -> None:
    api.delete(f"{BINDINGS.format(session.namespace)}/jane-edit")


def sign_out(session: SignedInClient, _api: ApiServer) -> None:
    with session.http() as http:
        assert http.delete("/api/session").status_code == 204


def delete_the_account(session: SignedInClient, api: ApiServer) -> None:
    api.delete(f"{ACCOUNTS.format(session.namespace)}/jane")


ENDS: dict[str, Callable[[SignedInClient, ApiServer], None]] = {
    "revoked": revoke_the_permission,
    "signed out": sign_out,
    "account deleted": delete_the_account,
}
QUICK_ENDS = ["revoked", "signed out"]
"""The API server accepts the token of a deleted account for 10 more seconds, so one test waits for that."""


@pytest.mark.parametrize("end", QUICK_ENDS)
def test_a_stream_of_changes_ends(session: SignedInClient, api: ApiServer, end: str) -> None:
    query = {"namespace": session.namespace}
    with session.http() as http, http.stream("GET", "/api/stream", params=query, timeout=SECONDS) as answer:
        lines = answer.iter_lines()
        next(lines)
        ENDS[end](session, api)
        list(lines)  # the body ends as a whole


@pytest.mark.parametrize("end", QUICK_ENDS)
def test_a_response_of_an_xapp_breaks_off(
    session: SignedInClient, api: ApiServer, xapp_server: XAppServer, end: str
) -> None:
    with session.http() as http, http.stream("GET", f"{session.proxy_path}/flood", timeout=SECONDS) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        ENDS[end](session, api)
        with pytest.raises(httpx.RemoteProtocolError):
            for _ in pieces:
                pass
    wait_until(lambda: "/flood" in xapp_server.disconnects, timeout=SECONDS, what="the xApp to see the end")


def test_an_upload_to_an_xapp_is_refused_on_its_way(session: SignedInClient, api: ApiServer) -> None:
    revoked = False

    def endless() -> Iterator[bytes]:
        nonlocal revoked
        for number in itertools.count():
            if number == 10:
                revoke_the_permission(session, api)
                revoked = True
            yield bytes(1024)

    with session.http() as http:
        try:
            status = http.post(f"{session.proxy_path}/digest", content=endless(), timeout=SECONDS).status_code
        except httpx.TransportError:  # the connection was closed before the client had read the answer
            status = 403
    assert (status, revoked) == (403, True)


@pytest.mark.parametrize("end", ENDS)
def test_a_websocket_is_closed(session: SignedInClient, api: ApiServer, end: str) -> None:
    with session.open_websocket(**{"X-Session-Proof": session.proof}) as socket:
        socket.send("hello")
        assert socket.recv(timeout=SECONDS) == "hello"
        ENDS[end](session, api)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=SECONDS)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "the permission or the session has ended")


def test_a_session_with_its_permission_goes_on(session: SignedInClient) -> None:
    with session.open_websocket(**{"X-Session-Proof": session.proof}) as socket, session.http() as http:
        checked = 0

        def checked_often() -> bool:
            nonlocal checked
            checked += http.get("/api/session").status_code == 200
            return checked > 20

        wait_until(checked_often, timeout=SECONDS, what="some checks", interval=0.05)
        socket.send("hello")
        assert socket.recv(timeout=SECONDS) == "hello"
