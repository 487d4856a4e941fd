"""A gateway that a test can stop and start again at the same address, as a restart of its pod would."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.integration.gateway.caller_factory import create_token
from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.localcluster.ports import PortReservation
from tests.support.apiserver import ApiServer
from tests.support.gateway import GatewayServer, serve_gateway
from xapp_operator.config import Settings

SYSTEM_NAMESPACE: Final = "xapp-operator-system"


class BrowserGateway:
    """A gateway that requires a token, and acts as its service account of manifests/base."""

    def __init__(self, cluster: Cluster, api: ApiServer, folder: Path, **settings: object) -> None:
        config = json.loads(cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": create_token(api, "xapp-gateway", namespace=SYSTEM_NAMESPACE)}
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(config))
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
