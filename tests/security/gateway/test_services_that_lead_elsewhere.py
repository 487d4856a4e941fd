"""Tenants can write the endpoints of a Service by hand: the gateway must not connect for them where they cannot."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.xapp_server import serve_xapp
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule, DeniedNetwork
from xapp_operator.errors import UpstreamUnreachable
from xapp_operator.gateway.proxy.targets import ProxyTarget
from xapp_operator.gateway.proxy.upstream import Upstream
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.proxy.proxy_request import ProxyRequest

NODE = "198.51.100.7"
POD = "203.0.113.9"
DENIED = (DeniedNetwork(ipaddress.ip_network(f"{NODE}/32"), "the address of a node"),)


@dataclass
class Resolver:
    """Gives one list of addresses after the other, as the DNS of a headless Service whose endpoints change."""

    answers: list[list[str]]
    asked: list[str] = field(default_factory=list)

    async def getaddrinfo(self, host: str, port: int, **_: object) -> list[Any]:
        self.asked.append(host)
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]


def headless(port: int) -> ProxyTarget:
    return ProxyTarget(
        namespace="ran",
        service="hello",
        port="http",
        port_number=80,
        https=False,
        address=("hello.ran.svc", port),
        cluster_ip="None",
    )


async def get(target: ProxyTarget, *, allow_loopback: bool, client: KubeClient | None = None) -> bytes:
    upstream = Upstream(
        Settings(proxy="service"),
        in_pod=True,
        address_rule=AddressRule(allow_loopback=allow_loopback),
        denied_networks=lambda: DENIED,
    )
    request = ProxyRequest(method="GET", target="/json", headers=[("Host", "hello")])
    async with (
        upstream,
        upstream.send(request, route=upstream.route(target), client=client) as response,  # type: ignore[arg-type]
    ):
        return b"".join([chunk async for chunk in response.chunks()])


@pytest.mark.parametrize("address", [NODE, "127.0.0.1", "169.254.169.254", "169.254.1.1", "0.0.0.0", "224.0.0.1"])
async def test_endpoints_outside_the_pods_are_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolver = Resolver([[address]])
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolver.getaddrinfo)
    with pytest.raises(UpstreamUnreachable, match="forbidden address"):
        await get(headless(80), allow_loopback=False)
    assert resolver.asked == ["hello.ran.svc"]


async def test_the_address_that_is_checked_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_xapp() as xapp:
        resolver = Resolver([[NODE, xapp.host], [NODE]])
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolver.getaddrinfo)
        first = await get(headless(xapp.port), allow_loopback=True)
        with pytest.raises(UpstreamUnreachable, match="forbidden address"):  # checked again for the next request
            await get(headless(xapp.port), allow_loopback=True)

    assert b"sample" in first
    assert resolver.asked == ["hello.ran.svc"] * 2
    assert [request.target for request in xapp.requests] == ["/json"]
