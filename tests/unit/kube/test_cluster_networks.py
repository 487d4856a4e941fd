"""The networks that no repository may be in, from an API server in memory."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.eventually import eventually
from tests.support.fakes.kinds import KINDS
from tests.unit.kube.fake_cluster import MORE_KINDS, FakeCluster
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied
from xapp_operator.kube import cluster_networks
from xapp_operator.kube.cluster_networks import ClusterNetworks
from xapp_operator.kube.resources import NODES, PODS, SERVICE_CIDRS
from xapp_operator.kube.transport import ApiRequest

SYSTEM = {"app.kubernetes.io/name": "xapp-operator"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    for version, kinds in MORE_KINDS.items():
        monkeypatch.setitem(KINDS, version, kinds)
    return FakeCluster(host="https://127.0.0.9:6443")


def settings(*denied: str) -> Settings:
    return Settings(repository_denied_networks=denied, leader_election_namespace="system")


def found(networks: ClusterNetworks) -> set[tuple[str, str]]:
    return {(str(each.network), each.reason) for each in networks.denied()}


async def add_node(cluster: FakeCluster, name: str, *addresses: str) -> None:
    listed = [{"type": "InternalIP", "address": each} for each in addresses]
    await cluster.create(NODES, name, status={"addresses": listed})


async def test_the_networks_of_the_cluster_and_of_the_settings_are_denied(cluster: FakeCluster) -> None:
    await add_node(cluster, "n1", "192.0.2.7", "2001:db8::7", "n1.example.com")
    await cluster.create(SERVICE_CIDRS, "kubernetes", spec={"cidrs": ["10.96.0.0/12", 7]})
    await cluster.create(SERVICE_CIDRS, "without", spec={})
    for name, labels, namespace in (("ours", SYSTEM, "system"), ("other", {}, "system"), ("far", SYSTEM, "far")):
        ips = [{"ip": f"10.0.0.{len(name)}"}]
        await cluster.create(PODS, name, namespace=namespace, metadata={"labels": labels}, status={"podIPs": ips})

    async with ClusterNetworks(
        cluster.kube, settings("apiserver", "services", "nodes", "pods", "198.51.100.0/24")
    ) as networks:
        assert found(networks) == {
            ("127.0.0.9/32", "an address of the API server"),
            ("10.96.0.0/12", "an address of a Service in the cluster"),
            ("192.0.2.7/32", "an address of a node of the cluster"),
            ("2001:db8::7/128", "an address of a node of the cluster"),
            ("10.0.0.4/32", "an address of a pod of xapp-operator"),
            ("198.51.100.0/24", "an address that the settings deny"),
        }


async def test_only_what_the_settings_name_is_read(cluster: FakeCluster) -> None:
    await add_node(cluster, "n1", "192.0.2.7")
    networks = ClusterNetworks(cluster.kube, settings("198.51.100.0/24"))
    denied = {("198.51.100.0/24", "an address that the settings deny")}
    assert found(networks) == denied
    async with networks as entered:
        assert entered is networks
        assert found(networks) == denied
    assert cluster.requests("GET") == []


async def test_new_nodes_are_noticed_and_what_cannot_be_read_stays(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_networks, "REFRESH_SECONDS", 0.0)
    refused = asyncio.Event()

    def deny(_: ApiRequest) -> None:
        refused.set()
        raise AccessDenied("no")

    await add_node(cluster, "n1", "192.0.2.7")
    async with asyncio.timeout(10), ClusterNetworks(cluster.kube, settings("nodes", "10.0.0.0/8")) as networks:
        first = found(networks)
        assert {network for network, _ in first} == {"192.0.2.7/32", "10.0.0.0/8"}
        await add_node(cluster, "n2", "192.0.2.8")
        await eventually(lambda: found(networks) != first, what="the new node")
        both = found(networks)
        assert {network for network, _ in both} == {"192.0.2.7/32", "192.0.2.8/32", "10.0.0.0/8"}
        cluster.transport.before = deny
        await refused.wait()
        await networks.refresh()
        assert found(networks) == both
    tasks = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
    assert tasks == []  # the refresh has ended


async def test_a_stop_without_a_start_does_nothing(cluster: FakeCluster) -> None:
    await ClusterNetworks(cluster.kube, settings()).__aexit__()
    assert cluster.requests("GET") == []


def test_the_networks_are_read_again_every_five_minutes(cluster: FakeCluster) -> None:
    async def main() -> None:
        async with ClusterNetworks(cluster.kube, settings("nodes")):
            await asyncio.sleep(299.5)
            assert len(cluster.requests("GET")) == 1
            await asyncio.sleep(1)
            assert len(cluster.requests("GET")) == 2

    cluster.run(main())
