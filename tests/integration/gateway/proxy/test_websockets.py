"""WebSockets between a caller and an xApp, directly and through the API server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.typing import Subprotocol

from tests.support.proxied_xapp import ProxiedXApp

LARGE = 1024 * 1024
TOO_LARGE = 4 * 1024 * 1024 + 1


@pytest.fixture
def socket(proxied: ProxiedXApp) -> Iterator[ClientConnection]:
    with proxied.open_websocket("/ws") as one:
        yield one


def closed(socket: ClientConnection) -> tuple[int, str]:
    """Return the code and reason with which the other side closes the socket."""
    with pytest.raises(ConnectionClosed) as raised:
        socket.recv(timeout=60)
    assert raised.value.rcvd is not None
    return raised.value.rcvd.code, raised.value.rcvd.reason


@pytest.mark.parametrize("message", ["hello", "", "ünï", b"\x00\xff", b"", "x" * LARGE, b"y" * LARGE])
def test_messages_are_forwarded_unchanged_in_both_directions(socket: ClientConnection, message: str | bytes) -> None:
    socket.send(message)

    assert socket.recv(timeout=60) == message


def test_many_messages_keep_their_order(socket: ClientConnection) -> None:
    for number in range(500):
        socket.send(str(number))

    assert [socket.recv(timeout=60) for _ in range(500)] == [str(number) for number in range(500)]


def test_fragments_of_a_message_arrive_as_one_message(socket: ClientConnection) -> None:
    socket.send(iter(["one ", "two ", "three"]))

    assert socket.recv(timeout=60) == "one two three"


def test_a_ping_is_answered(socket: ClientConnection) -> None:
    assert socket.ping().wait(60)


def test_the_xapp_sees_the_origin_of_the_socket(proxied: ProxiedXApp, socket: ClientConnection) -> None:
    seen = proxied.api.requests[-1]

    assert (seen.header("host") or "").removesuffix(":80") == f"hello.{proxied.namespace}.svc"
    assert seen.header("x-forwarded-prefix") == proxied.proxy_path
    assert seen.header("x-forwarded-proto") == "http"


def test_a_query_is_refused_only_where_the_api_server_would_drop_it(proxied: ProxiedXApp) -> None:
    if proxied.via_apiserver:
        with pytest.raises(InvalidStatus) as raised:
            proxied.open_websocket("/ws?token=a%20b")
        assert raised.value.response.status_code == 400
    else:
        with proxied.open_websocket("/ws;v=1?token=a%20b") as socket:
            assert socket.ping().wait(60)
        assert proxied.api.requests[-1].target == "/ws;v=1?token=a%20b"


def test_the_xapp_chooses_the_subprotocol(proxied: ProxiedXApp) -> None:
    offered = [Subprotocol(each) for each in ("v2.chat", "base64url.bearer.authorization.k8s.io.c2VjcmV0")]
    with proxied.open_websocket("/ws", subprotocols=offered) as socket:
        assert socket.subprotocol == "v2.chat"

    assert "c2VjcmV0" not in repr(proxied.api.requests[-1].headers)


def test_a_token_and_cookies_stay_at_the_gateway(proxied: ProxiedXApp) -> None:
    headers = {
        "Authorization": "Bearer secret",
        "Cookie": "a=secret",
        "Origin": f"http://127.0.0.1:{proxied.gateway.port}",
    }
    with proxied.open_websocket("/ws", additional_headers=headers):
        pass

    assert "secret" not in repr(proxied.api.requests[-1].headers)
    assert proxied.api.requests[-1].header("origin") is None


@pytest.mark.parametrize("code", [1000, 1001, 1011, 3000, 4999])
def test_the_xapps_close_code_and_reason_are_forwarded(socket: ClientConnection, code: int) -> None:
    socket.send(f"close {code}")

    assert closed(socket) == (code, "as you wish")


def test_an_aborted_websocket_differs_from_a_closed_one(proxied: ProxiedXApp) -> None:
    with proxied.open_websocket("/ws-broken") as socket:
        assert socket.recv(timeout=60) == "about to break"
        assert closed(socket) == (1014, "the connection to the xApp broke")


def test_a_message_that_is_too_large_closes_the_socket(socket: ClientConnection) -> None:
    socket.send(f"big {TOO_LARGE}")

    assert closed(socket)[0] == 1009


def test_the_xapps_refusal_of_a_handshake_is_forwarded(proxied: ProxiedXApp) -> None:
    with pytest.raises(InvalidStatus) as raised:
        proxied.open_websocket("/ws-refused")

    assert raised.value.response.status_code == 418
    assert raised.value.response.body == b"no sockets here"
    assert "set-cookie" not in raised.value.response.headers


def test_a_redirect_of_a_handshake_is_not_followed(proxied: ProxiedXApp) -> None:
    with pytest.raises(InvalidStatus) as raised:
        proxied.open_websocket("/ws-away")

    # The API server does not forward such a response.
    assert raised.value.response.status_code == (502 if proxied.via_apiserver else 307)
    assert "location" not in raised.value.response.headers


@pytest.mark.parametrize("origin", ["http://evil.example.com", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_opens_no_socket(proxied: ProxiedXApp, origin: str) -> None:
    with pytest.raises(InvalidStatus) as raised:
        proxied.open_websocket("/ws", additional_headers={"Origin": origin})

    assert raised.value.response.status_code == 403
    assert proxied.api.requests == []


def test_a_websocket_to_an_unknown_target_is_a_problem(proxied: ProxiedXApp) -> None:
    with pytest.raises(InvalidStatus) as raised:
        proxied.open_websocket("/../../ws")

    assert raised.value.response.status_code == 400
    assert raised.value.response.headers["content-type"] == "application/problem+json"
