"""A gateway with one xApp, whose API is a server of the test (`tests.support.xapp_server`).

`proxy_to_service` connects as a gateway in a pod does, but to the server's own address. The connection through a real
API server is in `tests/integration/gateway/proxy`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.support.gateway import PLAIN_HTTP, UNREACHABLE_KUBECONFIG, GatewayServer, offline_gateway, serve_gateway
from tests.support.xapp_server import XAppServer
from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.proxy.upstream import Upstream
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy
from xapp_operator.gateway.state import Gateway
from xapp_operator.gateway.xapps.config.own_api import OwnApis
from xapp_operator.kube.resources import SERVICES

NAMESPACE: Final = "ric-xapps"
NAME: Final = "acme-ran-hello"
SERVICE: Final = "hello"
PORT: Final = 80


@dataclasses.dataclass(frozen=True, slots=True)
class ProxiedXApp:
    """One xApp behind a gateway, directly or through the API server (`via_apiserver`)."""

    gateway: GatewayServer
    api: XAppServer
    namespace: str = NAMESPACE
    via_apiserver: bool = False

    @property
    def xapp_path(self) -> str:
        """Return the path of the xApp."""
        return f"/api/xapps/{self.namespace}/{NAME}"

    @property
    def proxy_path(self) -> str:
        """Return the gateway's path of the xApp's API."""
        return f"{self.xapp_path}/proxy/{SERVICE}/{PORT}"

    def client(self, **options: object) -> httpx.Client:
        """Return an HTTP client whose paths are those of the xApp's API."""
        url = self.gateway.url + self.proxy_path
        options = {"verify": PLAIN_HTTP, **options}
        return httpx.Client(base_url=url, timeout=120, trust_env=False, **options)  # type: ignore[arg-type]

    def open_websocket(self, path: str, **options: Any) -> ClientConnection:
        """Return a WebSocket to the xApp."""
        url = f"ws://127.0.0.1:{self.gateway.port}{self.proxy_path}{path}"
        socket: ClientConnection = connect(url, proxy=None, open_timeout=60, max_size=None, **options)
        return socket


@contextmanager
def proxy_to_service(
    api: XAppServer,
    folder: Path,
    *,
    service: dict[str, Any] | None = None,
    kubernetes: int | None = None,
    **changes: object,
) -> Iterator[ProxiedXApp]:
    """Serve a gateway that connects to `api` as the xApp's Service; `changes` are settings.

    With `kubernetes`, callers authenticate at an API server on that loopback port.
    """
    settings, opened = offline_gateway(folder)
    if kubernetes is not None:
        (folder / "kubeconfig").write_text(UNREACHABLE_KUBECONFIG.replace("127.0.0.1:1", f"127.0.0.1:{kubernetes}"))
        changes["auth"] = "kubernetes"

    @asynccontextmanager
    async def open_located_gateway(settings: Settings) -> AsyncIterator[Gateway]:
        upstream = Upstream(
            settings,
            in_pod=True,
            find_address=lambda _: (api.host, api.port),
            address_rule=AddressRule(allow_loopback=True),
        )
        async with opened(settings) as gateway, upstream:
            proxy = XAppProxy(settings, upstream)
            yield dataclasses.replace(gateway, proxy=proxy, own_apis=OwnApis(proxy))

    with serve_gateway(settings.model_copy(update={"proxy_timeout": 60.0, **changes}), open_located_gateway) as gateway:
        gateway.run_in_loop(lambda one: register_xapp(one, service or service_object()))
        yield ProxiedXApp(gateway, api)


def register_xapp(gateway: Gateway, service: dict[str, Any]) -> None:
    """Add an xApp with one Service to a gateway without an API server. Call it in the gateway's thread."""
    gateway.store.put(build_xapp_entry(raw_xapp(NAME, namespace=NAMESPACE, status=ready_status())))
    gateway.registry._caches[SERVICES][0].store_written(service)


def service_object(name: str = SERVICE, *, namespace: str = NAMESPACE, **spec: Any) -> dict[str, Any]:
    """Return a Service of the xApp as the API server returns it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "labels": {"xapp-operator.io/xapp": NAME},
            "annotations": {"meta.helm.sh/release-name": NAME, "meta.helm.sh/release-namespace": namespace},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.0.0.7",
            "ports": [{"name": "http", "port": PORT, "targetPort": 8080, "protocol": "TCP"}],
            **spec,
        },
    }
