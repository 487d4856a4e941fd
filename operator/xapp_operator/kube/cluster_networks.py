"""The networks that no chart repository may be in: those of the cluster itself, and those that the settings name.

Repository URLs come from tenants, and both processes can reach more than tenants can. The networks of the cluster are
read from it, and again every few minutes, because nodes come and go.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Final, Self
from urllib.parse import urlsplit

from xapp_operator.api.json import items, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import DeniedNetwork, parse_networks
from xapp_operator.errors import KubeError
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NODES, PODS, SERVICE_CIDRS
from xapp_operator.telemetry.logs import get_logger

REFRESH_SECONDS: Final = 300.0
SYSTEM_PODS: Final = "app.kubernetes.io/name=xapp-operator"

_log = get_logger(__name__)


class ClusterNetworks:
    """Keeps the networks of XAPP_REPOSITORY_DENIED_NETWORKS up to date; `async with` starts and stops it."""

    def __init__(self, kube: KubeClient, settings: Settings) -> None:
        self._kube = kube
        self._namespace = settings.leader_election_namespace
        configured = settings.repository_denied_networks
        readers: Mapping[str, Callable[[], Awaitable[Iterable[DeniedNetwork]]]] = {
            "apiserver": self._read_api_server,
            "services": self._read_services,
            "nodes": self._read_nodes,
            "pods": self._read_pods,
        }
        self._readers = {name: readers[name] for name in configured if name in readers}
        self._configured = parse_networks(
            (each for each in configured if each not in readers), reason="an address that the settings deny"
        )
        self._found: dict[str, tuple[DeniedNetwork, ...]] = {}
        self._denied = self._configured
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.refresh()
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def denied(self) -> tuple[DeniedNetwork, ...]:
        """Return the networks as they are known now."""
        return self._denied

    async def refresh(self) -> None:
        """Read the networks again. What cannot be read stays as it was, and is logged."""
        for name, read in self._readers.items():
            try:
                self._found[name] = tuple(await read())
            except (KubeError, OSError) as error:
                _log.warning(
                    "addresses that repositories must not have cannot be read",
                    keyword=name,
                    error=getattr(error, "message", None) or getattr(error, "strerror", None),
                    hint="grant the right, or name the networks in XAPP_REPOSITORY_DENIED_NETWORKS",
                )
        self._denied = (*self._configured, *(each for found in self._found.values() for each in found))

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            await self.refresh()

    async def _read_api_server(self) -> Iterable[DeniedNetwork]:
        host = urlsplit(self._kube.credentials.server).hostname or ""
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses = {str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found}
        return parse_networks(addresses, reason="an address of the API server")

    async def _read_services(self) -> Iterable[DeniedNetwork]:
        listed = (await self._kube.list(SERVICE_CIDRS)).items
        cidrs = [obj(each, "spec").get("cidrs") for each in listed]
        networks = [cidr for found in cidrs if isinstance(found, list) for cidr in found if isinstance(cidr, str)]
        return parse_networks(networks, reason="an address of a Service in the cluster")

    async def _read_nodes(self) -> Iterable[DeniedNetwork]:
        nodes = (await self._kube.list(NODES)).items
        listed = (text(each, "address") for node in nodes for each in items(obj(node, "status"), "addresses"))
        return parse_networks(_addresses(listed), reason="an address of a node of the cluster")

    async def _read_pods(self) -> Iterable[DeniedNetwork]:
        pods = (await self._kube.list(PODS, namespace=self._namespace, label_selector=SYSTEM_PODS)).items
        listed = (text(each, "ip") for pod in pods for each in items(obj(pod, "status"), "podIPs"))
        return parse_networks(_addresses(listed), reason="an address of a pod of xapp-operator")


def _addresses(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts that are addresses; nodes also have host names."""
    for each in texts:
        with contextlib.suppress(ValueError):
            yield str(ipaddress.ip_address(each))
