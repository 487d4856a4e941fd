"""An operator that is stopped (SIGSTOP) in the middle of a hook: its helm ends before another operator acts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster import Cluster
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient
from xapp_operator.helm.processes.watchdog_process import processes_in

pytestmark = pytest.mark.integration

LEASE_SECONDS = 6
SETTINGS = {"XAPP_LEASE_SECONDS": str(LEASE_SECONDS)}


@pytest.fixture
def leader(operator: OperatorProcess, cluster: Cluster, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator that leads instead of the one that the tests of this folder share."""
    operator.stop()
    with_lease = OperatorProcess(cluster, tmp_path, SETTINGS)
    with_lease.start()
    yield with_lease
    with_lease.stop()


@pytest.fixture
def standby(
    leader: OperatorProcess, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    assert leader.running
    other = OperatorProcess(cluster, tmp_path_factory.mktemp("standby"), SETTINGS)
    yield other
    other.stop()


def helm_processes(folder: Path) -> list[int]:
    """Return the helm processes of the operator whose files are in `folder`."""
    return processes_in(folder / "cache" / "helm")


def test_helm_of_a_frozen_operator_ends_before_another_one_acts(
    cluster: Cluster, namespace: str, leader: OperatorProcess, standby: OperatorProcess
) -> None:
    xapps = XAppClient(cluster, namespace)
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": "600s"})
    xapps.apply(manifest)
    xapps.wait_until(lambda: xapps.names("job") == ["hello-prepare"], what="the hook", xapp="hello")
    old, new = leader.log.parent, standby.log.parent
    assert len(helm_processes(old)) == 1
    frozen = leader.pid
    os.kill(frozen, signal.SIGSTOP)
    try:
        standby.start()
        deadline = time.monotonic() + 60
        while not (second := helm_processes(new)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (bool(second), helm_processes(old)) == (True, [])
    finally:
        os.kill(frozen, signal.SIGCONT)
    xapps.wait_until(lambda: not leader.running, what="the old operator to end", seconds=30)
    manifest["spec"]["values"] = {"greeting": "mended"}
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    assert xapps.helm_releases()["hello"]["status"] == "deployed"


def test_helm_ends_with_an_operator_that_is_killed(cluster: Cluster, namespace: str, leader: OperatorProcess) -> None:
    xapps = XAppClient(cluster, namespace)
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), values={"hookSeconds": "600s"}))
    xapps.wait_until(lambda: xapps.names("job") == ["hello-prepare"], what="the hook", xapp="hello")
    folder = leader.log.parent
    assert helm_processes(folder)
    leader.kill()
    xapps.wait_until(lambda: not helm_processes(folder), what="helm to end", seconds=20)
