"""A real node that cannot join: the supervisor records why, and goes on with the cluster."""

import ipaddress
import os
import sys
from pathlib import Path

import pytest

from tests.localcluster.api_client import ApiClient
from tests.localcluster.controlplane import ControlPlane, Ports
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.nodes import NodeContext
from tests.localcluster.placement import Placement
from tests.localcluster.processes import ChildProcess, ProcessSpec
from tests.localcluster.realnode.namespaces import HostResources, NodeEnvironment, NodeNamespaces
from tests.localcluster.realnode.network import Subnet
from tests.localcluster.start_request import JoinRequest, StartRequest
from tests.localcluster.state import ClusterState
from tests.localcluster.supervisor import Supervisor

PROGRAMS = (
    *("containerd", "containerd-shim-runc-v2", "runc", "ctr", "kubelet", "kube-proxy", "pause"),
    *("bridge", "loopback", "host-local", "portmap"),
)


@pytest.mark.parametrize("in_the_way", ["config/cni/bin", "logs/kubelet.log"])
def test_a_real_node_whose_files_cannot_be_written_is_recorded_and_leaves_no_process(
    tmp_path: Path, in_the_way: str
) -> None:
    layout = ClusterLayout(tmp_path / "cluster")
    for folder in (layout.config, layout.logs, layout.root / in_the_way):
        folder.mkdir(parents=True, exist_ok=True)
    binaries = {name: tmp_path / name for name in PROGRAMS}
    ports = Ports(api_server=1, etcd=1, etcd_peer=1, kubelet=1)
    plane = ControlPlane(layout, binaries=binaries, ports=ports, token="t", placement=Placement())
    holder = ProcessSpec(name="holder", argv=(sys.executable, "-c", ""), environment={})
    environment = NodeEnvironment(
        namespaces=NodeNamespaces(holder_pid=os.getpid(), host_resources=HostResources(link="", cgroups=[])),
        subnet=Subnet(ipaddress.IPv4Network("192.0.2.0/30")),
        holder=ChildProcess(holder, log=layout.logs / "holder.log"),
    )
    context = NodeContext(layout=layout, plane=plane, binaries={}, kubelet_port=1, node_namespaces=environment)
    client = ApiClient(server=plane.server, authority=plane.authority, token="t")
    start = StartRequest(directory=str(layout.root), binaries={}, nodes={}, owner=None)
    supervisor = Supervisor(start, notify=lambda *_: None)

    request = JoinRequest({name: str(path) for name, path in binaries.items()})
    supervisor._join_real_node(request, context, client)
    assert environment.holder.wait(10.0)

    state = ClusterState.read(layout.state)
    assert state is not None
    assert str(layout.root / in_the_way) in state.node_error
    assert (state.node_ready, state.processes) == (False, {})
