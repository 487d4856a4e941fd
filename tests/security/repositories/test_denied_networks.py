"""Threat: a repository URL makes the operator or the gateway connect to what its author cannot reach."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.charts.http_site import Reply, StaticResolver, WebServer, redirect
from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule, DeniedNetwork, parse_networks
from xapp_operator.errors import AddressRefused

NODES = parse_networks(["10.1.0.0/16", "fd12:3456::/32"], reason="an address of a node of the cluster")
RULE = AddressRule(allow_loopback=False, denied=NODES)

SPELLINGS = {
    "mapped": lambda address: f"::ffff:{address}",
    "compatible": lambda address: f"::{address}",
    "6to4": lambda address: str(ipaddress.IPv6Address((0x2002 << 112) | (int(ipaddress.IPv4Address(address)) << 80))),
    "NAT64": lambda address: f"64:ff9b::{address}",
    "Teredo client": lambda address: str(
        ipaddress.IPv6Address((0x20010000 << 96) | (int(ipaddress.IPv4Address(address)) ^ 0xFFFFFFFF))
    ),
}


@pytest.mark.parametrize("address", ["10.1.2.3", "fd12:3456::1", "fd12:3456:ffff::%eth0"])
def test_an_address_in_a_denied_network_is_refused(address: str) -> None:
    assert RULE.refusal_reason(address) == "an address of a node of the cluster"


@pytest.mark.parametrize("address", ["10.2.0.0", "10.0.255.255", "fd12:3457::1", "192.0.2.1"])
def test_other_addresses_are_allowed(address: str) -> None:
    assert RULE.refusal_reason(address) is None


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(st.ip_addresses(v=4, network="10.1.0.0/16"))
def test_a_denied_address_inside_ipv6_is_refused(spelling: str, address: object) -> None:
    assert RULE.refusal_reason(SPELLINGS[spelling](str(address))) is not None


def test_only_the_loopback_setting_decides_about_loopback() -> None:
    denied = parse_networks(["127.0.0.0/8", "::1"], reason="an address of the API server")
    assert AddressRule(allow_loopback=True, denied=denied).refusal_reason("127.0.0.1") is None
    assert AddressRule(allow_loopback=False, denied=denied).refusal_reason("127.0.0.1") == "a loopback address"


@pytest.mark.parametrize("name", ["cluster-internal", "10.1.2.3", "[::ffff:10.1.2.3]", "[fd12:3456::1]"])
async def test_a_repository_in_a_denied_network_is_refused(tmp_path: Path, server: WebServer, name: str) -> None:
    resolver = StaticResolver(**{"cluster-internal": [["10.1.2.3", "fd12:3456::1"]]})
    settings = Settings(cache_dir=tmp_path, allow_loopback_repositories=True)
    async with ChartSources(settings, resolver=resolver, denied_networks=lambda: NODES) as sources:
        server.routes["/index.yaml"] = redirect(f"http://{name}:6443/index.yaml")
        for url in (f"http://{name}:6443", str(server.url(""))):  # directly, and after a redirect
            with pytest.raises(AddressRefused, match=r"a node of the cluster.*XAPP_REPOSITORY_DENIED_NETWORKS"):
                await sources.list_charts(Repository(url=url))


async def test_networks_that_change_count_for_the_next_connection(tmp_path: Path, server: WebServer) -> None:
    server.routes["/index.yaml"] = Reply(b"apiVersion: v1\nentries: {}\n")
    denied: tuple[DeniedNetwork, ...] = ()
    settings = Settings(cache_dir=tmp_path, allow_loopback_repositories=True)
    resolver = StaticResolver(node=[["10.1.2.3"]])
    async with ChartSources(settings, resolver=resolver, denied_networks=lambda: denied) as sources:
        assert await sources.list_charts(Repository(url=str(server.url("")))) is not None
        denied = NODES
        with pytest.raises(AddressRefused):
            await sources.list_charts(Repository(url="http://node"))


@pytest.mark.parametrize("value", ["nodes,10.0.0.0/33", "service", "10.0.0.1,::g"])
def test_a_setting_that_is_no_network_stops_the_start(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAPP_REPOSITORY_DENIED_NETWORKS", value)
    with pytest.raises(ValueError, match="repository_denied_networks"):
        Settings()
