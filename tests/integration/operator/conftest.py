"""One operator for the tests of this folder, on the run's cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster import Binaries, Cluster
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.providers import choose_provider
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.operator import OperatorProcess
from tests.support.xapps import XAppClient

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Cluster]:
    """A cluster for this folder: its operator must not see the XApps of other tests."""
    assert binaries
    folder = tmp_path_factory.mktemp("cluster")
    provider = choose_provider(os.environ.get("CLUSTER", "local"))
    try:
        yield provider.start(folder, owner=ProcessIdentity.current())
    finally:
        provider.stop(folder)


@pytest.fixture(scope="package")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    prepare_cluster(cluster, ROOT)
    process = OperatorProcess(cluster, tmp_path_factory.mktemp("operator"))
    process.start()
    yield process
    process.stop()
    errors = process.error_lines()
    if errors:
        sys.stderr.write("\n".join(errors[-20:]))
    assert not errors, "the operator logged errors"


@pytest.fixture
def xapps(operator: OperatorProcess, cluster: Cluster, namespace: str) -> Iterator[XAppClient]:
    if not operator.running:
        operator.start()
    kit = XAppClient(cluster, namespace)
    yield kit
    kit.kubectl("delete", "xapps", "--all", "--wait=false")
