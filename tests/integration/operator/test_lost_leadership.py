"""An operator that loses its lead in the middle of a hook: its helm ends before another operator acts.

It may have lost the Lease, or its way to the API server while that of its helm is open, or be stopped (SIGSTOP).
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.chaos.network_link import NetworkLink
from tests.localcluster import Cluster
from tests.support.operator import SYSTEM_NAMESPACE, OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient
from xapp_operator.helm.processes.watchdog_process import processes_in
from xapp_operator.manager.operator_process import EXIT_LEADERSHIP_LOST, LEASE_NAME

pytestmark = pytest.mark.integration

LEASE_SECONDS = 6
SETTINGS = {"XAPP_LEASE_SECONDS": str(LEASE_SECONDS)}
HOOK = "hello-prepare"
UNTIL_IT_IS_ENDED = "600s"

Lose = Callable[[XAppClient, NetworkLink], AbstractContextManager[None]]


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> XAppClient:
    return XAppClient(cluster, namespace)


@pytest.fixture
def link(cluster: Cluster) -> Iterator[NetworkLink]:
    """The way of the first operator to the API server."""
    link = NetworkLink(cluster)
    yield link
    link.close()


@pytest.fixture
def leader(operator: OperatorProcess, cluster: Cluster, link: NetworkLink, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator that leads instead of the one that the tests of this folder share; its helm does without the link."""
    operator.stop()
    behind = link.cluster_behind(tmp_path / "kubeconfig", token=cluster.token)
    first = OperatorProcess(behind, tmp_path, SETTINGS)
    first.start()
    wait_for_log(first, "became leader")
    behind.kubeconfig.write_text(cluster.kubeconfig.read_text())  # the operator keeps the address that it has read
    yield first
    first.stop()


@pytest.fixture
def standby(
    leader: OperatorProcess, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    assert leader.running
    other = OperatorProcess(cluster, tmp_path_factory.mktemp("standby"), SETTINGS)
    yield other
    other.stop()


def wait_for_log(operator: OperatorProcess, text: str) -> None:
    deadline = time.monotonic() + 60
    while text not in operator.log_text():
        assert time.monotonic() < deadline, operator.log_text()
        time.sleep(0.05)


def helm_processes(folder: Path) -> list[int]:
    """Return the helm processes of the operator whose files are in `folder`."""
    return processes_in(folder / "cache" / "helm")


def wait_for_other_helm(old: Path, new: Path) -> None:
    """Wait until the operator with the folder `new` runs helm; fail if that of `old` has not ended before."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        left = helm_processes(old)  # looked at first: what is gone now had ended before the other began
        if helm_processes(new):
            assert left == []
            return
        time.sleep(0.01)
    pytest.fail("the other operator has run no helm")


def hook_uid(xapps: XAppClient) -> str | None:
    found = xapps.get("job", HOOK)
    return None if found is None else found["metadata"]["uid"]


def end_hook(xapps: XAppClient) -> None:
    """Let the pod of the hook succeed."""
    pods = f"batch.kubernetes.io/controller-uid={hook_uid(xapps)}"
    xapps.wait_until(lambda: len(xapps.names("pod", pods)) == 1, what="the pod of the hook", xapp="hello")
    (pod,) = xapps.names("pod", pods)
    succeeded = json.dumps({"status": {"phase": "Succeeded"}})
    xapps.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", succeeded)


def record_labels(xapps: XAppClient) -> list[dict[str, str]]:
    """Return the labels of the records of the release, oldest first."""
    found = json.loads(xapps.kubectl("get", "secrets", "-l", "owner=helm,name=hello", "-o", "json"))["items"]
    return sorted((each["metadata"]["labels"] for each in found), key=lambda labels: int(labels["version"]))


@contextmanager
def another_holder(xapps: XAppClient, link: NetworkLink) -> Iterator[None]:
    assert link
    change = json.dumps({"spec": {"holderIdentity": "other-host/1/1/another-machine"}})
    xapps.cluster.kubectl("patch", "lease", LEASE_NAME, "-n", SYSTEM_NAMESPACE, "--type=merge", "-p", change)
    yield


@contextmanager
def no_answer(xapps: XAppClient, link: NetworkLink) -> Iterator[None]:
    assert xapps
    with link.stalled():
        yield


@contextmanager
def no_connection(xapps: XAppClient, link: NetworkLink) -> Iterator[None]:
    assert xapps
    with link.cut():
        yield


@pytest.mark.parametrize("lose", [another_holder, no_answer, no_connection])
def test_helm_of_an_operator_that_lost_its_lead_ends_before_another_one_acts(
    client: XAppClient, link: NetworkLink, leader: OperatorProcess, standby: OperatorProcess, lose: Lose
) -> None:
    old, new = leader.log.parent, standby.log.parent
    standby.start()
    wait_for_log(standby, "waiting for leadership")
    client.apply(client.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": UNTIL_IT_IS_ENDED}))
    client.wait_until(lambda: hook_uid(client) is not None, what="the hook", xapp="hello")
    first = hook_uid(client)
    assert len(helm_processes(old)) == 1
    with lose(client, link):
        wait_for_other_helm(old, new)

        def has_begun_again() -> bool:
            assert helm_processes(old) == []
            return hook_uid(client) not in (None, first)

        client.wait_until(has_begun_again, what="the hook of the other operator", xapp="hello")
        assert len(helm_processes(new)) == 1
        end_hook(client)
        client.wait_ready("hello")
        assert helm_processes(old) == []
    client.wait_until(lambda: not leader.running, what="the old operator to end", seconds=60)
    assert leader.exit_code == EXIT_LEADERSHIP_LOST
    records = record_labels(client)
    assert [(each["version"], each["status"]) for each in records] == [("1", "failed"), ("2", "deployed")]
    assert len({each["xapp-operator.io/attempt"] for each in records}) == len(records)


def test_helm_of_a_frozen_operator_ends_before_another_one_acts(
    client: XAppClient, leader: OperatorProcess, standby: OperatorProcess
) -> None:
    manifest = client.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": UNTIL_IT_IS_ENDED})
    client.apply(manifest)
    client.wait_until(lambda: client.names("job") == [HOOK], what="the hook", xapp="hello")
    old, new = leader.log.parent, standby.log.parent
    assert len(helm_processes(old)) == 1
    frozen = leader.pid
    os.kill(frozen, signal.SIGSTOP)
    try:
        standby.start()
        wait_for_other_helm(old, new)
    finally:
        os.kill(frozen, signal.SIGCONT)
    client.wait_until(lambda: not leader.running, what="the old operator to end", seconds=30)
    manifest["spec"]["values"] = {"greeting": "mended"}
    client.apply(manifest)
    client.wait_ready("hello")
    assert client.helm_releases()["hello"]["status"] == "deployed"


def test_helm_ends_with_an_operator_that_is_killed(client: XAppClient, leader: OperatorProcess) -> None:
    client.apply(client.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": UNTIL_IT_IS_ENDED}))
    client.wait_until(lambda: client.names("job") == [HOOK], what="the hook", xapp="hello")
    folder = leader.log.parent
    assert helm_processes(folder)
    leader.kill()
    client.wait_until(lambda: not helm_processes(folder), what="helm to end", seconds=20)
