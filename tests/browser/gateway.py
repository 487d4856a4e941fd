"""A gateway that a test can stop and start again at the same address, as a restart of its pod would."""

from __future__ import annotations

import json
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.integration.gateway.caller_factory import create_token
from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.localcluster.ports import PortReservation
from tests.localcluster.processes import ChildProcess, ProcessSpec, stop_all
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import ApiServer
from tests.support.gateway import GatewayServer, serve_gateway
from xapp_operator.config.settings import Settings

SYSTEM_NAMESPACE: Final = "xapp-operator-system"


class BrowserGateway:
    """A gateway that requires a token, and acts as its service account of manifests/base."""

    def __init__(self, cluster: Cluster, api: ApiServer, folder: Path, **settings: object) -> None:
        kubeconfig = write_kubeconfig(cluster, api, folder)
        self._reservation = PortReservation(1)
        (port,) = self._reservation.ports
        changes = {
            "KUBECONFIG": str(kubeconfig),
            "auth": "kubernetes",
            "port": port,
            "cluster_advertise_address": cluster.node_address,
            **settings,
        }
        self._settings: Settings = settings_for(cluster, folder, **changes)
        self._started_with: Settings | None = None
        self._running = ExitStack()
        self.url = f"http://127.0.0.1:{port}"
        self.server: GatewayServer | None = None

    def start(self, **changes: object) -> None:
        """Start it with other settings, if any are given, and wait until its lists are filled.

        Does nothing if it runs with these settings.
        """
        settings = self._settings.model_copy(update=changes)
        if self.server is not None and self._started_with == settings:
            return
        self.stop()
        self.server = self._running.enter_context(serve_gateway(settings))
        self._started_with = settings

    def stop(self) -> None:
        """Stop it, and wait for its end. Does nothing if it is stopped."""
        self.server = None
        self._running.close()

    def close(self) -> None:
        """Stop it for good."""
        self.stop()
        self._reservation.close()


class GatewayProcess:
    """A gateway as a process of its own, which a test can freeze: connections stay open, and nothing answers."""

    def __init__(self, child: ChildProcess, url: str) -> None:
        self._child = child
        self.url = url

    def freeze(self) -> None:
        """Stop all of its threads, as a node without CPU time would."""
        self._child.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._child.send_signal(signal.SIGCONT)


@contextmanager
def serve_gateway_process(cluster: Cluster, api: ApiServer, folder: Path) -> Iterator[GatewayProcess]:
    """Serve until the block ends, with the rights and settings of `BrowserGateway`."""
    reservation = PortReservation(1)
    (port,) = reservation.ports
    environment = {
        "KUBECONFIG": str(write_kubeconfig(cluster, api, folder)),
        "XAPP_AUTH": "kubernetes",
        "XAPP_HELM": str(cluster.helm_path),
        "XAPP_HOST": "127.0.0.1",
        "XAPP_PORT": str(port),
        "XAPP_METRICS_PORT": "0",
        "XAPP_CACHE_DIR": str(folder / "cache"),
    }
    program = Path(sys.executable).parent / "xapp-operator"
    spec = ProcessSpec(name="gateway", argv=(str(program), "gateway"), environment=environment)
    child = ChildProcess(spec, log=folder / "gateway.log")
    process = GatewayProcess(child, f"http://127.0.0.1:{port}")
    try:
        wait_until(lambda: _is_ready(process.url), timeout=60, what="the gateway")
        yield process
    finally:
        process.thaw()
        stop_all([child], timeout=30)
        reservation.close()


def write_kubeconfig(cluster: Cluster, api: ApiServer, folder: Path) -> Path:
    """Write a kubeconfig with a token of the gateway's service account."""
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": create_token(api, "xapp-gateway", namespace=SYSTEM_NAMESPACE)}
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5):
            return True
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
