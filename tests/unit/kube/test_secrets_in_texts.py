"""Credentials, keys and bodies are not part of the text of an object, which may end in a log."""

from __future__ import annotations

import pytest

from xapp_operator.kube.credentials import ConnectionInfo, TlsConfig
from xapp_operator.kube.proxy.proxy_request import ProxyRequest
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest, open_websocket
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity

SECRET_HEADERS = (("Authorization", "Bearer secret"),)


def check(made: object) -> None:
    text = repr(made)
    assert text.startswith(type(made).__name__)
    assert "secret" not in text
    assert "Authorization" not in text


def test_a_token_is_not_part_of_the_text() -> None:
    check(RequestIdentity.from_token("secret").impersonating("jane"))


def test_bodies_of_the_api_are_not_part_of_the_text() -> None:
    response = ApiResponse(200, {}, b"secret")
    assert response.retry_after is None
    check(response)
    check(ApiRequest("PUT", "/x", body=b"secret"))


def test_credentials_for_other_libraries_are_not_part_of_the_text() -> None:
    tls = TlsConfig(client_key="secret")
    assert tls.context(own_credentials=True) is None
    check(tls)
    connection = ConnectionInfo("https://a", None, None, None, "secret", insecure=False, proxy=None)
    check(connection)
    check(connection.with_token("secret"))


def test_forwarded_headers_and_bodies_are_not_part_of_the_text() -> None:
    async def body() -> object:
        yield b"x"

    request = ProxyRequest("GET", "/x", SECRET_HEADERS, body())  # type: ignore[arg-type]
    assert request.header("authorization") == "Bearer secret"
    check(request)
    assert "generator" not in repr(request)


async def test_the_headers_of_a_websocket_are_not_part_of_the_text() -> None:
    request = WebSocketRequest(host="127.0.0.1", port=1, path="/x", headers=SECRET_HEADERS)
    check(request)
    with pytest.raises(OSError, match=r"refused|Connect"):
        await open_websocket(request, seconds=60)
