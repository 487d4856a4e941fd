"""A gateway with sessions in front of an xApp whose API is a server of the test, and a client that has signed in."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import httpx
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.proxied_xapp import NAME, PORT, SERVICE
from tests.support.xapp_server import XAppServer
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.gateway.proxy.upstream import Upstream
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy
from xapp_operator.gateway.state import Gateway

COOKIE: Final = "xapp_session"


@dataclasses.dataclass(frozen=True, slots=True)
class SignedInClient:
    """One session: its cookie and its proof."""

    gateway: GatewayServer
    namespace: str
    cookie: str
    proof: str

    @property
    def proxy_path(self) -> str:
        """Return the gateway's path of the xApp's API."""
        return f"/api/xapps/{self.namespace}/{NAME}/proxy/{SERVICE}/{PORT}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": f"{COOKIE}={self.cookie}", "X-Session-Proof": self.proof}

    def http(self) -> httpx.Client:
        return self.gateway.client(headers=self.headers)

    def open_websocket(self, *subprotocols: str, **headers: str) -> ClientConnection:
        """Open a WebSocket to the xApp with the cookie, as a page does: without headers of its own."""
        address = f"ws://127.0.0.1:{self.gateway.port}{self.proxy_path}/ws"
        return connect(
            address,
            additional_headers={"Cookie": f"{COOKIE}={self.cookie}", **headers},
            subprotocols=[Subprotocol(each) for each in subprotocols] or None,
            proxy=None,
            open_timeout=60,
        )


def sign_in(gateway: GatewayServer, token: str, *, namespace: str) -> SignedInClient:
    with gateway.client() as http:
        answer = http.post("/api/session", json={"token": token})
        assert answer.status_code == 201, answer.text
        return SignedInClient(gateway, namespace, answer.cookies[COOKIE], answer.json()["proof"])


@contextmanager
def serve_xapp_gateway(cluster: Cluster, folder: Path, api: XAppServer) -> Iterator[GatewayServer]:
    """Serve a gateway that requires authentication and connects to `api` for every Service."""

    @asynccontextmanager
    async def open_gateway(settings: Settings) -> AsyncIterator[Gateway]:
        upstream = Upstream(
            settings,
            in_pod=True,
            find_address=lambda _: (api.host, api.port),
            address_rule=AddressRule(allow_loopback=True),
        )
        async with Gateway.start(settings) as gateway, upstream:
            yield dataclasses.replace(gateway, proxy=XAppProxy(settings, upstream))

    with serve_gateway(settings_for(cluster, folder, auth="kubernetes"), open_gateway) as one:
        yield one
