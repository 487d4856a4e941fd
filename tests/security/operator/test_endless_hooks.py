"""Tenants whose hooks never end: they hold neither the workers nor the helm places that other namespaces need."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.localcluster import Cluster
from tests.security.operator.conftest import HELM_CONCURRENCY, HELM_WAITING
from tests.security.operator.neighbour import Neighbour
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

DELETE_SECONDS = 20.0


@pytest.fixture
def hostile_namespaces(cluster: Cluster, neighbour: Neighbour) -> Iterator[Callable[[int], list[XAppClient]]]:
    """Return a function that creates namespaces; their XApps are deleted afterwards."""
    assert neighbour.measured  # it was Ready before the attack
    created: list[XAppClient] = []

    def create(count: int) -> list[XAppClient]:
        for _ in range(count):
            name = f"hostile-{secrets.token_hex(3)}"
            cluster.kubectl("create", "namespace", name)
            cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=60s")
            created.append(XAppClient(cluster, name))
        return created

    yield create
    for one in created:
        one.kubectl("delete", "xapps", "--all", "--wait=false")
    for one in created:
        one.kubectl("delete", "xapps", "--all", "--timeout=120s")  # ends helm processes that wait
        one.kubectl("delete", "namespace", one.namespace, "--wait=false")


@pytest.mark.parametrize(("namespaces", "xapps_of_each"), [(2, 20), (5, 10)])
def test_hooks_that_never_end_do_not_delay_another_namespace(
    hostile_namespaces: Callable[[int], list[XAppClient]], neighbour: Neighbour, namespaces: int, xapps_of_each: int
) -> None:
    hostile = hostile_namespaces(namespaces)
    for one in hostile:
        manifests = [
            one.uploaded_manifest(f"stuck{at}", workload_chart(), values={"hookSeconds": "24h"}, timeout="24h")
            for at in range(xapps_of_each)
        ]
        one.apply({"apiVersion": "v1", "kind": "List", "items": manifests})
    neighbour.xapps.wait_until(
        lambda: sum(len(one.names("jobs")) for one in hostile) >= HELM_CONCURRENCY - 2, what="hooks to run"
    )
    neighbour.check_ready_in_time("at-the-start")
    places = HELM_CONCURRENCY + HELM_WAITING
    neighbour.xapps.wait_until(
        lambda: sum(len(one.names("jobs")) for one in hostile) >= places, what="hooks to hold all places"
    )
    neighbour.check_ready_in_time("later")
    neighbour.xapps.kubectl("delete", "xapp", "later", "--wait=false")
    neighbour.xapps.wait_gone("xapp", "later", seconds=DELETE_SECONDS)
