"""Gateways with one xApp whose API is a real server of the test (`tests.support.xappapi`).

`behind_service` reaches it as a gateway in a pod does, but at the server's own address; the way through a real API
server is in `tests/integration/gateway/proxy`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.support.gateway import Serving, offline, serving
from tests.support.xappapi import XAppApi
from tests.unit.gateway.xapps import raw_xapp, ready_status
from xapp_operator.charts.addresses import AddressRule
from xapp_operator.config import Settings
from xapp_operator.gateway.proxy.service import XAppProxy
from xapp_operator.gateway.proxy.upstream import Upstream
from xapp_operator.gateway.records import entry_of
from xapp_operator.gateway.runtime import Gateway
from xapp_operator.kube.resources import SERVICES

NAMESPACE: Final = "ric-xapps"
NAME: Final = "acme-ran-hello"
SERVICE: Final = "hello"
PORT: Final = 80


@dataclasses.dataclass(frozen=True, slots=True)
class Behind:
    """One xApp behind a gateway; `inner` tells whether the API server is between the two."""

    gateway: Serving
    api: XAppApi
    namespace: str = NAMESPACE
    inner: bool = False

    @property
    def xapp(self) -> str:
        """Return the path of the xApp."""
        return f"/api/xapps/{self.namespace}/{NAME}"

    @property
    def base(self) -> str:
        """Return the path under which its API is."""
        return f"{self.xapp}/proxy/{SERVICE}/{PORT}"

    def client(self, **options: object) -> httpx.Client:
        """Return an HTTP client that asks the xApp: paths are the xApp's."""
        url = self.gateway.url + self.base
        return httpx.Client(base_url=url, timeout=120, trust_env=False, **options)  # type: ignore[arg-type]

    def socket(self, path: str, **options: Any) -> ClientConnection:
        """Return a WebSocket to the xApp."""
        url = f"ws://127.0.0.1:{self.gateway.port}{self.base}{path}"
        socket: ClientConnection = connect(url, proxy=None, open_timeout=60, max_size=None, **options)
        return socket


@contextmanager
def behind_service(
    api: XAppApi, folder: Path, *, service: dict[str, Any] | None = None, **changes: object
) -> Iterator[Behind]:
    """Serve a gateway that connects to the Service itself, which is `api`; `changes` are settings."""
    settings, opened = offline(folder)

    @asynccontextmanager
    async def located(settings: Settings) -> AsyncIterator[Gateway]:
        upstream = Upstream(
            settings, in_pod=True, locate=lambda _: (api.host, api.port), rule=AddressRule(allow_loopback=True)
        )
        async with opened(settings) as gateway, upstream:
            yield dataclasses.replace(gateway, proxy=XAppProxy(settings, upstream))

    with serving(settings.model_copy(update={"proxy_timeout": 60.0, **changes}), located) as gateway:
        gateway.call(lambda one: register(one, service or service_object()))
        yield Behind(gateway, api)


def register(gateway: Gateway, service: dict[str, Any]) -> None:
    """Let a gateway without an API server know an xApp with one Service; call it in the gateway's thread."""
    gateway.store.put(entry_of(raw_xapp(NAME, namespace=NAMESPACE, status=ready_status())))
    gateway.registry._caches[SERVICES][0].put(service)


def service_object(name: str = SERVICE, *, namespace: str = NAMESPACE, **spec: Any) -> dict[str, Any]:
    """Return a Service of the xApp as the API server would answer it."""
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
