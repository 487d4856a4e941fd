"""The predefined labels stay on what a release consists of, whoever takes them off."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.styles import STATEFUL, drax_chart, sdran_chart
from tests.support.workload import workload
from tests.support.xapps import XAppKit

pytestmark = pytest.mark.integration

XAPP = "xapp-operator.io/xapp"
TEAM = "xapp-operator.io/team"
COMPONENT = "xapp-operator.io/component"
LOOKS = 5


def _label(xapps: XAppKit, kind: str, name: str, key: str) -> str | None:
    found = xapps.get(kind, name)
    assert found is not None
    value: str | None = found["metadata"].get("labels", {}).get(key)
    return value


def _take_off(xapps: XAppKit, kind: str, name: str, key: str) -> None:
    xapps.kubectl("label", kind, name, f"{key}-")


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("service", XAPP, "hello"),
        ("deployment", TEAM, "ran"),
        ("configmap", XAPP, "hello"),
        ("service", COMPONENT, "hello"),
    ],
)
@pytest.mark.parametrize("mode", ["disabled"])
def test_a_label_that_is_taken_off_is_put_back(xapps: XAppKit, kind: str, key: str, value: str, mode: str) -> None:
    xapps.apply(xapps.uploaded("hello", workload(), driftDetection={"mode": mode}))
    xapps.ready("hello")
    _take_off(xapps, kind, "hello", key)
    xapps.until(lambda: _label(xapps, kind, "hello", key) == value, what="the label to be put back", about="hello")
    xapps.ready("hello")


def test_a_label_that_is_changed_is_put_back(xapps: XAppKit) -> None:
    xapps.apply(xapps.uploaded("hello", workload()))
    xapps.ready("hello")
    xapps.kubectl("label", "service", "hello", f"{XAPP}=somebody-else", "--overwrite")
    xapps.until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the label to be put back")


def test_labels_of_an_object_that_another_release_owns_are_left(xapps: XAppKit) -> None:
    xapps.apply(xapps.uploaded("hello", workload()))
    xapps.ready("hello")
    other = "meta.helm.sh/release-name=other"
    xapps.kubectl("annotate", "configmap", "hello", other, "--overwrite")
    xapps.kubectl("label", "configmap", "hello", f"{XAPP}-")
    _take_off(xapps, "service", "hello", XAPP)
    xapps.until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the Service's label")
    assert _label(xapps, "configmap", "hello", XAPP) is None


def test_while_suspended_nothing_is_labelled(xapps: XAppKit) -> None:
    manifest = xapps.uploaded("hello", workload())
    xapps.apply(manifest)
    xapps.ready("hello")
    manifest["spec"]["suspend"] = True
    xapps.apply(manifest)
    xapps.until(lambda: xapps.status("hello")["phase"] == "Suspended", what="the suspension")
    _take_off(xapps, "service", "hello", XAPP)
    _take_off(xapps, "deployment", "hello", TEAM)
    xapps.kubectl("delete", "configmap", "hello")
    total = {"total": 3, "ready": 2}
    xapps.until(lambda: xapps.status("hello")["resources"] == total, what="a later loss to be seen", about="hello")
    assert "ConfigMap hello: is missing" in xapps.status("hello")["health"]["message"]
    assert _label(xapps, "service", "hello", XAPP) is None
    manifest["spec"]["suspend"] = False
    xapps.apply(manifest)
    xapps.until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the label to be put back")
    xapps.until(lambda: _label(xapps, "deployment", "hello", TEAM) == "ran", what="the other one")


@contextmanager
def _foe(xapps: XAppKit) -> Iterator[list[float]]:
    """Hold a controller that takes the label off the Service whenever it is there; yields the times when it did."""
    taken: list[float] = []
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(0.05):
            if _label(xapps, "service", "hello", XAPP) is not None:
                _take_off(xapps, "service", "hello", XAPP)
                taken.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield taken
    finally:
        ended.set()
        thread.join(60)


def test_against_another_controller_it_waits_longer_each_time(xapps: XAppKit) -> None:
    """Pauses of 1, 2 and 4 seconds lie between five losses."""
    xapps.apply(xapps.uploaded("hello", workload()))
    xapps.ready("hello")
    with _foe(xapps) as taken:
        xapps.until(lambda: len(taken) >= 5, what="five losses", about="hello")
    assert taken[4] - taken[0] > 3
    status = xapps.status("hello")
    assert status["health"]["status"] == "Healthy", "the Service is there, though nobody may label it"
    xapps.until(lambda: _label(xapps, "service", "hello", XAPP) == "hello", what="the label, once there is peace")


def test_nothing_is_written_while_all_labels_are_there(xapps: XAppKit) -> None:
    xapps.apply(xapps.uploaded("hello", workload()))
    xapps.ready("hello")
    kinds = "services,configmaps,deployments,xapps"

    def versions() -> str:
        return xapps.kubectl("get", kinds, "-o", "jsonpath={.items[*].metadata.resourceVersion}")

    def look_again(wish: str) -> None:
        xapps.kubectl("annotate", "xapp", "hello", f"xapp-operator.io/reconcile-at={wish}", "--overwrite")
        xapps.until(lambda: xapps.status("hello").get("handled", {}).get("reconcileAt") == wish, what="another look")

    # Controllers may still write the status of what has just become ready; an operator that writes does so each time.
    for look in range(LOOKS):
        before = versions()
        look_again(f"look-{look}")
        after = versions()
        if before.split()[:-1] == after.split()[:-1]:
            return
    pytest.fail(f"each of {LOOKS} looks wrote something")


def test_claims_that_a_statefulset_makes_later_stay_as_they_are(xapps: XAppKit) -> None:
    xapps.apply(xapps.uploaded("hello", drax_chart(store=STATEFUL), version="0.2.1"))
    xapps.until(lambda: xapps.names("pvc") != [], what="the claim", about="hello")
    xapps.until(lambda: _label(xapps, "statefulset", "hello", XAPP) == "hello", what="the label of the StatefulSet")
    (claim,) = xapps.names("pvc")
    assert _label(xapps, "pvc", claim, XAPP) is None


def test_a_chart_without_labels_gets_ours_so_that_its_services_are_found(xapps: XAppKit) -> None:
    xapps.apply(xapps.uploaded("kpimon", sdran_chart()))
    status = xapps.ready("kpimon")
    (service,) = status["services"]
    assert [port["name"] for port in service["ports"]] == ["grpc", "gnmi", "prometheus", "sctp"]
    assert service["ports"][0]["appProtocol"] == "grpc"
    found = json.loads(xapps.kubectl("get", "services", "-l", f"{XAPP}=kpimon", "-o", "json"))["items"]
    assert [each["metadata"]["labels"][COMPONENT] for each in found] == ["kpimon"]
