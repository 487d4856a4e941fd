"""The predefined labels stay on the objects of a release, even if someone removes them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.vendor_charts import DRAX_STATEFULSET, drax_chart, sdran_chart
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

XAPP = "xapp-operator.io/xapp"
TEAM = "xapp-operator.io/team"
COMPONENT = "xapp-operator.io/component"
RECONCILES = 5


def _label(xapps: XAppClient, kind: str, name: str, key: str) -> str | None:
    found = xapps.get(kind, name)
    assert found is not None
    value: str | None = found["metadata"].get("labels", {}).get(key)
    return value


def _remove_label(xapps: XAppClient, kind: str, name: str, key: str) -> None:
    xapps.kubectl("label", kind, name, f"{key}-")


@pytest.mark.parametrize(
    ("kind", "key", "value", "mode"),
    [
        ("service", XAPP, "hello", "disabled"),
        ("deployment", TEAM, "ran", "warn"),
        ("configmap", XAPP, "hello", "enabled"),
        ("service", COMPONENT, "hello", "warn"),
    ],
)
def test_a_removed_label_is_restored_in_every_drift_mode(
    xapps: XAppClient, kind: str, key: str, value: str, mode: str
) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), driftDetection={"mode": mode}))
    xapps.wait_ready("hello")
    _remove_label(xapps, kind, "hello", key)
    xapps.wait_until(lambda: _label(xapps, kind, "hello", key) == value, what="the label to be restored", xapp="hello")
    xapps.wait_ready("hello")


def test_a_changed_label_is_restored(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    xapps.kubectl("label", "service", "hello", f"{XAPP}=somebody-else", "--overwrite")
    xapps.wait_until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the label to be put back")


def test_labels_of_a_foreign_releases_object_are_not_repaired(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    other = "meta.helm.sh/release-name=other"
    xapps.kubectl("annotate", "configmap", "hello", other, "--overwrite")
    xapps.kubectl("label", "configmap", "hello", f"{XAPP}-")
    _remove_label(xapps, "service", "hello", XAPP)
    xapps.wait_until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the Service's label")
    assert _label(xapps, "configmap", "hello", XAPP) is None


def test_labels_are_not_repaired_while_suspended(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["suspend"] = True
    xapps.apply(manifest)
    xapps.wait_until(lambda: xapps.status("hello")["phase"] == "Suspended", what="the suspension")
    _remove_label(xapps, "service", "hello", XAPP)
    _remove_label(xapps, "deployment", "hello", TEAM)
    xapps.kubectl("delete", "configmap", "hello")
    total = {"total": 3, "ready": 2}
    xapps.wait_until(lambda: xapps.status("hello")["resources"] == total, what="a later loss to be seen", xapp="hello")
    assert "ConfigMap hello: is missing" in xapps.status("hello")["health"]["message"]
    assert _label(xapps, "service", "hello", XAPP) is None
    manifest["spec"]["suspend"] = False
    xapps.apply(manifest)
    xapps.wait_until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the label to be put back")
    xapps.wait_until(lambda: _label(xapps, "deployment", "hello", TEAM) == "ran", what="the other one")


@contextmanager
def _competing_controller(xapps: XAppClient) -> Iterator[list[float]]:
    """Run a controller that keeps removing the label from the Service, and yield the times of the removals."""
    removals: list[float] = []
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(0.05):
            if _label(xapps, "service", "hello", XAPP) is not None:
                _remove_label(xapps, "service", "hello", XAPP)
                removals.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield removals
    finally:
        ended.set()
        thread.join(60)


def test_label_repair_backs_off_against_a_competing_controller(xapps: XAppClient) -> None:
    """There are delays of 1, 2 and 4 seconds between the repairs."""
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    with _competing_controller(xapps) as taken:
        xapps.wait_until(lambda: len(taken) >= 5, what="five losses", xapp="hello")
    assert taken[4] - taken[0] > 3
    status = xapps.status("hello")
    assert status["health"]["status"] == "Healthy", "the Service is there, though nobody may label it"
    xapps.wait_until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the label, once there is peace")


def test_reconciling_intact_labels_writes_nothing(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")

    def versions() -> list[str]:
        kinds = "services,configmaps,deployments"
        return xapps.kubectl("get", kinds, "-o", "jsonpath={.items[*].metadata.resourceVersion}").split()

    def reconcile(token: str) -> None:
        xapps.kubectl("annotate", "xapp", "hello", f"xapp-operator.io/reconcile-at={token}", "--overwrite")
        xapps.wait_until(
            lambda: xapps.status("hello").get("handled", {}).get("reconcileAt") == token, what="another reconcile"
        )

    def settled() -> bool:
        before = versions()
        reconcile(f"settle-{time.monotonic_ns()}")
        return versions() == before

    # Controllers may still write the status of objects that just became ready. An operator that writes never stops.
    xapps.wait_until(settled, what="the objects to settle", xapp="hello")
    before = versions()
    assert len(before) >= 3
    for number in range(RECONCILES):
        reconcile(f"reconcile-{number}")
        assert versions() == before, f"reconcile {number} wrote to an object of the release"


def test_volume_claims_of_a_statefulset_are_not_labelled(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", drax_chart(store=DRAX_STATEFULSET), version="0.2.1"))
    xapps.wait_until(lambda: xapps.names("pvc") != [], what="the claim", xapp="hello")
    xapps.wait_until(
        lambda: _label(xapps, "statefulset", "hello", XAPP) == "hello", what="the label of the StatefulSet"
    )
    (claim,) = xapps.names("pvc")
    assert _label(xapps, "pvc", claim, XAPP) is None


def test_a_chart_without_labels_gets_the_registration_labels(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("kpimon", sdran_chart()))
    status = xapps.wait_ready("kpimon")
    (service,) = status["services"]
    assert [port["name"] for port in service["ports"]] == ["grpc", "gnmi", "prometheus", "sctp"]
    assert service["ports"][0]["appProtocol"] == "grpc"
    found = json.loads(xapps.kubectl("get", "services", "-l", f"{XAPP}=kpimon", "-o", "json"))["items"]
    assert [each["metadata"]["labels"][COMPONENT] for each in found] == ["kpimon"]
