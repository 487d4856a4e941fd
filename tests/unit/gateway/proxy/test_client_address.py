"""The address of the client that an xApp gets in X-Forwarded-For."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.proxied_xapp import proxy_to_service
from tests.support.xapp_server import serve_xapp


@pytest.mark.parametrize(
    ("trusted_proxies", "seen"), [(("127.0.0.0/8",), "198.51.100.7"), ((), "127.0.0.1")], ids=["trusted", "untrusted"]
)
def test_an_xapp_gets_the_address_of_the_client_behind_a_trusted_proxy(
    trusted_proxies: tuple[str, ...], seen: str, tmp_path: Path
) -> None:
    with (
        serve_xapp() as xapp,
        proxy_to_service(xapp, tmp_path, trusted_proxies=trusted_proxies) as proxied,
        proxied.client() as http,
    ):
        assert http.get("/echo", headers={"X-Forwarded-For": "192.0.2.1, 198.51.100.7"}).status_code == 200
    assert xapp.requests[-1].header("x-forwarded-for") == seen
