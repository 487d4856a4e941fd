"""A tenant whose hooks never end: they hold neither the workers nor the helm places that other namespaces need."""

from __future__ import annotations

import pytest

from tests.security.operator.neighbour import Neighbour
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

XAPPS = 50
HELM_CONCURRENCY = 8


def test_hooks_that_never_end_do_not_delay_another_namespace(xapps: XAppClient, neighbour: Neighbour) -> None:
    manifests = [
        xapps.uploaded_manifest(f"stuck{at}", workload_chart(), values={"hookSeconds": "24h"}, timeout="24h")
        for at in range(XAPPS)
    ]
    xapps.apply({"apiVersion": "v1", "kind": "List", "items": manifests})
    xapps.wait_until(lambda: len(xapps.names("jobs")) >= HELM_CONCURRENCY - 2, what="hooks to run in all places")
    neighbour.check_ready_in_time("at the start".replace(" ", "-"))
    xapps.wait_until(lambda: len(xapps.names("jobs")) > HELM_CONCURRENCY, what="hooks to give their places back")
    neighbour.check_ready_in_time("later")
    xapps.kubectl("delete", "xapps", "--all", "--timeout=120s")  # ends helm processes that wait
