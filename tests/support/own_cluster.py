"""Fixtures for folders whose tests have a cluster of their own, with an operator. A conftest imports what it needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.localcluster import Binaries, Cluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.providers import choose_provider
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import prepare_cluster
from tests.support.apiserver import ARCHIVES, REPOSITORIES, XAPPS, ApiServer
from tests.support.operator import OperatorProcess
from tests.support.xapps import XAppClient

BASE: Final[Path] = ROOT / "manifests" / "base"
MANIFESTS: Final = ("namespace.yaml", "gateway-rbac.yaml", "user-roles.yaml")
ERRORS_SHOWN: Final = 20


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
def prepared_cluster(cluster: Cluster) -> Cluster:
    """The cluster with the definitions of custom resources, and what an operator needs."""
    prepare_cluster(cluster, ROOT)
    return cluster


@pytest.fixture(scope="package")
def api(prepared_cluster: Cluster) -> Iterator[ApiServer]:
    """The API server as the administrator, with definitions and roles."""
    files = [f"--filename={BASE / name}" for name in MANIFESTS]
    prepared_cluster.kubectl("apply", "--server-side", "--force-conflicts", *files)
    with ApiServer(prepared_cluster) as server:
        wait_for_kinds(server)
        yield server


def wait_for_kinds(server: ApiServer) -> None:
    """Wait until the API server serves the custom resources."""
    served = [path.format("default") for path in (XAPPS, REPOSITORIES, ARCHIVES)]
    wait_until(lambda: all(map(server.is_served, served)), timeout=60, what="new kinds to be served")


@pytest.fixture(scope="package")
def operator_settings() -> Mapping[str, str]:
    """Environment variables of the operator besides those of every test."""
    return {}


@pytest.fixture(scope="package")
def operator(
    prepared_cluster: Cluster, operator_settings: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """A running operator, which must not log errors."""
    process = OperatorProcess(prepared_cluster, tmp_path_factory.mktemp("operator"), operator_settings)
    process.start()
    yield process
    process.stop()
    errors = process.error_lines()
    if errors:
        sys.stderr.write("\n".join(errors[-ERRORS_SHOWN:]))
    assert not errors, "the operator logged errors"


@pytest.fixture
def xapps(operator: OperatorProcess, cluster: Cluster, namespace: str) -> Iterator[XAppClient]:
    """The XApps in the test's namespace, with a running operator. They are deleted after the test."""
    if not operator.running:
        operator.start()
    kit = XAppClient(cluster, namespace)
    yield kit
    kit.kubectl("delete", "xapps", "--all", "--wait=false")
