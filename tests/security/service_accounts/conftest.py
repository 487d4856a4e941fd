"""One operator with the token of its service account, which acts as xapp-deployer, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.localcluster import Cluster
from tests.support.operator import OperatorProcess
from tests.support.own_cluster import cluster, xapps
from tests.support.service_accounts import (
    apply_deployer_policy,
    apply_roles,
    prepare_namespace,
    write_account_kubeconfig,
)

__all__ = ["cluster", "xapps"]


@pytest.fixture(scope="package")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    apply_roles(cluster)
    apply_deployer_policy(cluster)
    folder = tmp_path_factory.mktemp("operator")
    settings = {
        "KUBECONFIG": str(write_account_kubeconfig(cluster, "xapp-operator", folder)),
        "XAPP_ALLOW_OPERATOR_IDENTITY": "false",
        "XAPP_DEFAULT_SERVICE_ACCOUNT": "xapp-deployer",
        "XAPP_HELM_MEMORY": str(256 * 1024 * 1024),
    }
    process = OperatorProcess(cluster, folder, settings)
    process.start()
    yield process
    process.stop()
    assert not process.error_lines(), "the operator logged errors"


@pytest.fixture
def prepared(cluster: Cluster, operator: OperatorProcess, namespace: str) -> str:
    """The namespace of the test, prepared for XApps."""
    assert operator
    prepare_namespace(cluster, namespace)
    return namespace
