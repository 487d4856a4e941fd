"""A tenant makes operator or gateway connect to what tenants may not reach, or connects to their metrics.

The policies of manifests/base are evaluated, not enforced: the network plugin of the test cluster enforces none.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.network_policies import Direction, Peer, is_allowed
from xapp_operator.domain.address_rule import AddressRule

BASE = Path(__file__).parents[2] / "manifests" / "base"
POLICIES: list[dict[str, Any]] = list(yaml.safe_load_all((BASE / "network-policies.yaml").read_text()))
MONITORING = {"xapp-operator.io/monitoring": "true"}
INTERNET = Peer(address="203.0.113.7")
NODE = Peer(address="192.0.2.10")
TENANT = Peer.pod("ric-xapps")
DNS = Peer.pod("kube-system", labels={"k8s-app": "kube-dns"})
SYSTEM = Peer.pod("xapp-operator-system")
PROMETHEUS = Peer.pod("monitoring", also=MONITORING)
REPOSITORY_PORTS = (80, 443, 5000, 8080, 8443)
API, METRICS, PROBES, APISERVER, KUBELET, ETCD = 31315, 9090, 8080, 6443, 10250, 2379
ALL_PORTS = (1, 22, *REPOSITORY_PORTS, APISERVER, METRICS, KUBELET, ETCD, API, 65535)
REFUSED_ADDRESSES = (  # an IPv4-mapped IPv6 address leaves a pod as IPv4
    "0.0.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "169.254.1.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "ff02::1",
)


@cache
def labels(component: str) -> dict[str, str]:
    """Return the labels that the pods of a Deployment have."""
    deployment = yaml.safe_load((BASE / f"{component}-deployment.yaml").read_text())
    found: dict[str, str] = deployment["spec"]["template"]["metadata"]["labels"]
    return found


def allowed(component: str, direction: Direction, peer: Peer, port: int, protocol: str = "TCP") -> bool:
    return is_allowed(POLICIES, labels(component), direction, peer, port=port, protocol=protocol)


@pytest.mark.parametrize("peer", [INTERNET, NODE, TENANT, PROMETHEUS], ids=["internet", "node", "tenant", "prometheus"])
def test_clients_reach_the_api_of_the_gateway_from_anywhere(peer: Peer) -> None:
    assert allowed("gateway", "ingress", peer, API)
    assert not allowed("operator", "ingress", peer, API)


@pytest.mark.parametrize("component", ["gateway", "operator"])
def test_only_namespaces_labelled_for_monitoring_read_the_metrics(component: str) -> None:
    assert allowed(component, "ingress", PROMETHEUS, METRICS)
    for peer in (TENANT, INTERNET, NODE, SYSTEM, DNS):
        assert not allowed(component, "ingress", peer, METRICS)
    assert not allowed(component, "ingress", PROMETHEUS, PROBES)


@pytest.mark.parametrize("component", ["gateway", "operator"])
def test_api_server_repositories_and_dns_are_reachable(component: str) -> None:
    assert allowed(component, "egress", NODE, APISERVER)
    assert all(allowed(component, "egress", INTERNET, port) for port in REPOSITORY_PORTS)
    for peer in (DNS, Peer(address="169.254.20.10")):
        assert all(allowed(component, "egress", peer, 53, protocol) for protocol in ("UDP", "TCP"))


def test_only_the_gateway_reaches_xapps_and_on_any_port() -> None:
    for port in (1, 4560, 9999, 65535, *REPOSITORY_PORTS):
        assert allowed("gateway", "egress", TENANT, port)
        assert not allowed("operator", "egress", TENANT, port)


@pytest.mark.parametrize("component", ["gateway", "operator"])
@pytest.mark.parametrize("port", [22, 25, KUBELET, ETCD, 30000])
def test_other_ports_of_nodes_and_other_hosts_are_out_of_reach(component: str, port: int) -> None:
    assert not allowed(component, "egress", NODE, port)
    assert not allowed(component, "egress", INTERNET, port)


@pytest.mark.parametrize("component", ["gateway", "operator"])
def test_pods_of_the_system_are_out_of_reach(component: str) -> None:
    for port in (*REPOSITORY_PORTS, APISERVER, METRICS):
        assert not allowed(component, "egress", DNS, port)
        assert not allowed(component, "egress", SYSTEM, port)


@pytest.mark.parametrize("component", ["gateway", "operator"])
def test_dns_goes_to_the_cluster_only(component: str) -> None:
    for peer in (INTERNET, NODE):
        assert not any(allowed(component, "egress", peer, 53, protocol) for protocol in ("UDP", "TCP"))
    assert not allowed(component, "egress", TENANT, 53, "UDP")


@pytest.mark.parametrize("address", REFUSED_ADDRESSES)
def test_addresses_that_no_repository_may_have_are_out_of_reach(address: str) -> None:
    assert AddressRule(allow_loopback=False).refusal_reason(address) is not None
    for component in ("gateway", "operator"):
        assert not any(allowed(component, "egress", Peer(address=address), port) for port in ALL_PORTS)
