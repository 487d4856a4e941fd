"""Credentials, keys and bodies are not part of the text of an object, which may end in a log."""

from __future__ import annotations

import pytest

from xapp_operator.kube.credentials import ConnectionInfo, TlsConfig
from xapp_operator.kube.proxy.proxy_request import ProxyRequest
from xapp_operator.kube.proxy.websocket_client import WebSocketRequest
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity


async def _body() -> object:
    yield b"secret"


HEADERS = (("Authorization", "Bearer secret"),)


@pytest.mark.parametrize(
    "made",
    [
        RequestIdentity.from_token("secret"),
        ApiRequest("PUT", "/x", body=b"secret"),
        ApiResponse(200, {}, b"secret"),
        TlsConfig(client_key="secret"),
        ConnectionInfo("https://a", "secret", None, None, "secret", insecure=False, proxy=None),
        ProxyRequest("GET", "/x", HEADERS),
        WebSocketRequest(host="a", port=1, path="/x", headers=HEADERS),
    ],
    ids=lambda made: type(made).__name__,
)
def test_a_secret_is_not_part_of_the_text(made: object) -> None:
    text = repr(made)
    assert text.startswith(type(made).__name__)
    assert "secret" not in text
    assert "Authorization" not in text


def test_the_body_of_a_forwarded_request_is_not_part_of_the_text() -> None:
    assert "_body" not in repr(ProxyRequest("PUT", "/x", (), _body()))  # type: ignore[arg-type]
