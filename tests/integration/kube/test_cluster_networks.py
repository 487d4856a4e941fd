"""The networks that no repository may be in, read from a real API server."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator

import pytest

from tests.localcluster import Cluster
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.cluster_networks import ClusterNetworks

pytestmark = pytest.mark.integration


@pytest.fixture
def node_address(cluster: Cluster) -> Iterator[str]:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "networks-of-a-node"}}
    address = "192.0.2.77"
    cluster.kubectl("apply", "-f", "-", input=json.dumps(node))
    status = {
        "status": {"addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": "n"}]}
    }
    cluster.kubectl("patch", "node", "networks-of-a-node", "--subresource=status", "-p", json.dumps(status))
    yield address
    cluster.kubectl("delete", "node", "networks-of-a-node")


async def test_the_networks_of_the_cluster_are_denied(cluster: Cluster, kube: KubeClient, node_address: str) -> None:
    service = cluster.kubectl("get", "service", "kubernetes", "-n", "default", "-o", "jsonpath={.spec.clusterIP}")
    async with ClusterNetworks(kube, Settings()) as networks:
        rule = AddressRule(allow_loopback=False, denied=networks.denied())
        assert rule.refusal_reason(service) == "an address of a Service in the cluster"
        assert rule.refusal_reason(str(ipaddress.ip_address(service) + 1)) == "an address of a Service in the cluster"
        assert rule.refusal_reason(node_address) == "an address of a node of the cluster"
        assert rule.refusal_reason("198.51.100.7") is None
        assert "an address of the API server" in {each.reason for each in networks.denied()}


async def test_only_the_networks_in_the_setting_are_denied(kube: KubeClient, node_address: str) -> None:
    settings = Settings(repository_denied_networks=("apiserver", "198.51.100.0/24"))
    async with ClusterNetworks(kube, settings) as networks:
        rule = AddressRule(allow_loopback=False, denied=networks.denied())
        assert rule.refusal_reason(node_address) is None
        assert rule.refusal_reason("198.51.100.7") == "an address that the settings deny"


async def test_what_may_not_be_read_is_left_out(cluster: Cluster, kube: KubeClient) -> None:
    nobody = kube.impersonate("system:serviceaccount:default:nobody")
    async with ClusterNetworks(nobody, Settings(repository_denied_networks=("nodes", "10.0.0.0/8"))) as networks:
        assert [str(each.network) for each in networks.denied()] == ["10.0.0.0/8"]
