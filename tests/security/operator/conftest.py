"""The operator on a cluster of its own, and a second namespace whose XApps must become Ready during an attack."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping

import pytest

from tests.localcluster import Cluster
from tests.localcluster.ports import PortReservation
from tests.security.operator.neighbour import Neighbour
from tests.support.operator import OperatorProcess
from tests.support.own_cluster import cluster, operator, prepared_cluster, xapps
from tests.support.xapps import XAppClient

__all__ = ["cluster", "operator", "prepared_cluster", "xapps"]

HELM_MEMORY = 256 * 1024 * 1024
"""Less than the default: other tests run on the same machine."""
HELM_CONCURRENCY = 6
HELM_WAITING = 16
"""As in manifests/base/operator-deployment.yaml."""


@pytest.fixture(scope="package")
def operator_settings() -> Iterator[Mapping[str, str]]:
    with PortReservation(1) as reservation:
        yield {
            "XAPP_HELM_MEMORY": str(HELM_MEMORY),
            "XAPP_HELM_CONCURRENCY": str(HELM_CONCURRENCY),
            "XAPP_HELM_WAITING": str(HELM_WAITING),
            "XAPP_PROBE_PORT": str(reservation.ports[0]),
        }


@pytest.fixture
def neighbour(operator: OperatorProcess, cluster: Cluster) -> Iterator[Neighbour]:
    """Another tenant: a namespace with an XApp that has become Ready before the attack begins."""
    name = f"neighbour-{secrets.token_hex(3)}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
    one = Neighbour(XAppClient(cluster, name), operator)
    one.measure_alone()
    yield one
    print("measured:", one.measured)
    one.xapps.kubectl("delete", "xapps", "--all", "--wait=false")
    cluster.kubectl("delete", "namespace", name, "--wait=false")
