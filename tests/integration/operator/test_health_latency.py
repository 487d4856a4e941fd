"""The delay from a change of a live object to the status of its XApp; printed, not asserted.

The target is two seconds, which a busy machine may exceed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import XAPPS, ApiServer, JsonObject
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

WAIT_SECONDS: Final = 60.0
ROUNDS: Final = 3
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/{}/deployments"
PODS: Final = "/api/v1/namespaces/{}/pods"


@pytest.fixture
def api(cluster: Cluster) -> Iterator[ApiServer]:
    with ApiServer(cluster) as server:
        yield server


def delay(changed: Callable[[], object], reported: Callable[[], object], *, what: str) -> float:
    """Return the seconds from when `changed` is first true until `reported` is."""
    wait_until(changed, timeout=WAIT_SECONDS, what=f"the object to have {what}")
    began = time.monotonic()
    wait_until(reported, timeout=WAIT_SECONDS, what=f"the XApp to report that it has {what}")
    return time.monotonic() - began


def test_object_health_changes_reach_the_xapp_status_quickly(
    xapps: XAppClient, api: ApiServer, record_property: Callable[[str, object], None]
) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    deployment = f"{DEPLOYMENTS.format(xapps.namespace)}/hello"
    pods = PODS.format(xapps.namespace)

    def available() -> bool:
        return bool(api.get(deployment)["status"].get("availableReplicas"))

    def health() -> JsonObject:
        found: JsonObject = api.get(f"{XAPPS.format(xapps.namespace)}/hello")["status"]["health"]
        return found

    def only_pod() -> str | None:
        here = [each["metadata"] for each in api.get(pods)["items"]]
        return here[0]["name"] if len(here) == 1 and "deletionTimestamp" not in here[0] else None

    lost, regained = [], []
    for _ in range(ROUNDS):
        pod = f"{pods}/{wait_until(only_pod, timeout=WAIT_SECONDS, what='the pods before to be gone')}"
        api.patch(pod, {"metadata": {"labels": {"xapp-operator.io/test-fail": "CrashLoopBackOff"}}})
        lost.append(delay(lambda: not available(), lambda: health()["status"] == "Degraded", what="failed"))
        wait_until(
            lambda: "CrashLoopBackOff" in health()["message"], timeout=WAIT_SECONDS, what="the cause to be named"
        )
        api.delete(pod)
        regained.append(delay(available, lambda: health()["status"] == "Healthy", what="recovered"))
    for name, seconds in (("loss", lost), ("recovery", regained)):
        reported = f"{statistics.median(seconds):.3f} s (median of {ROUNDS}), {max(seconds):.3f} s at most"
        record_property(name, reported)
        print(f"{name} of health was in the status after {reported}")
