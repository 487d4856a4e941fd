"""Custom kinds that the cluster stops serving, in one version or for a while, under the real helm and API server."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.charts import chart_archive
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

WIDGET = """\
apiVersion: {group}/{version}
kind: Widget
metadata: {{name: it}}
spec: {{size: 1}}
"""


class WidgetKind:
    """The kind Widget of a group of its own."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self.cluster = cluster
        self.group = group
        self.crd = f"crd/widgets.{group}"

    def serve(self, *versions: str, known: tuple[str, ...] = ()) -> None:
        """Serve these versions; the first one is stored. Of others, there are only stored objects: they are `known`."""
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        names = {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"}
        found = [
            {"name": each, "served": each in versions, "storage": each == versions[0], "schema": schema}
            for each in (*versions, *known)
        ]
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{self.group}"},
            "spec": {"group": self.group, "scope": "Namespaced", "names": names, "versions": found},
        }
        self.cluster.kubectl("apply", "-f", "-", input=json.dumps(crd))
        self.cluster.kubectl("wait", "--for=condition=Established", self.crd, "--timeout=60s")
        # For a moment, the API server lists the versions before, although it does not serve them any more.
        wait_until(lambda: f"{self.group}/{versions[0]} " in self.listed(), timeout=60.0, what="the list of versions")

    def listed(self) -> str:
        return self.cluster.kubectl("api-resources", f"--api-group={self.group}", "--no-headers")

    def mark_stored(self, version: str) -> None:
        """Say that no object is stored in another version."""
        stored = json.dumps({"status": {"storedVersions": [version]}})
        self.cluster.kubectl("patch", self.crd, "--subresource=status", "--type=merge", "-p", stored)

    def chart(self, version: str) -> bytes:
        return chart_archive({"templates/widget.yaml": WIDGET.format(group=self.group, version=version)})


@pytest.fixture
def widgets(cluster: Cluster, namespace: str) -> Iterator[WidgetKind]:
    one = WidgetKind(cluster, f"w{namespace[-6:]}.example.com")
    yield one
    cluster.kubectl("delete", one.crd, "--ignore-not-found", "--wait=false")


def wait_health(xapps: XAppClient, status: str, message: str) -> None:
    def reached() -> bool:
        found = xapps.status("hello")["health"]
        return found["status"] == status and message in found.get("message", "")

    xapps.wait_until(reached, what=f"the health {status} {message}", xapp="hello")


def test_health_follows_an_object_whose_version_moves(xapps: XAppClient, widgets: WidgetKind) -> None:
    widgets.serve("v1alpha1")
    xapps.apply(xapps.uploaded_manifest("hello", widgets.chart("v1alpha1")))
    xapps.wait_ready("hello")
    widgets.serve("v1", "v1alpha1")
    xapps.apply(xapps.uploaded_manifest("hello", widgets.chart("v1")))
    xapps.wait_until(
        lambda: xapps.status("hello")["release"]["revision"] == 2, what="the second revision", xapp="hello"
    )
    xapps.wait_ready("hello")
    widgets.mark_stored("v1")
    widgets.serve("v1")
    xapps.kubectl("delete", f"widgets.{widgets.group}", "it")
    wait_health(xapps, "Degraded", "Widget it: is missing")


def test_a_kind_that_was_away_when_the_operator_started(
    xapps: XAppClient, operator: OperatorProcess, widgets: WidgetKind
) -> None:
    widgets.serve("v1")
    xapps.apply(xapps.uploaded_manifest("hello", widgets.chart("v1")))
    xapps.wait_ready("hello")
    widget = json.loads(xapps.kubectl("get", f"widgets.{widgets.group}", "it", "-ojson"))
    operator.kill()
    xapps.cluster.kubectl("delete", widgets.crd)
    operator.start()
    wait_health(xapps, "Unknown", "does not serve its kind")
    widgets.serve("v1")
    for name in ("uid", "resourceVersion"):
        del widget["metadata"][name]
    xapps.apply(widget)
    wait_health(xapps, "Healthy", "")
    xapps.wait_ready("hello")


def test_an_upgrade_from_a_revision_with_a_kind_that_is_gone(xapps: XAppClient, widgets: WidgetKind) -> None:
    widgets.serve("v1")
    widget = WIDGET.format(group=widgets.group, version="v1")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__widget=widget)))
    xapps.wait_ready("hello")
    xapps.cluster.kubectl("delete", widgets.crd)
    wait_health(xapps, "Unknown", "is gone, install it")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_until(
        lambda: xapps.status("hello")["release"]["revision"] == 2, what="the second revision", xapp="hello"
    )
    xapps.wait_ready("hello")
    assert "UnservedKinds" in xapps.event_reasons()
    assert "UpgradeFailed" not in xapps.event_reasons()


@pytest.fixture
def moved(xapps: XAppClient, widgets: WidgetKind) -> WidgetKind:
    """A kind that is served in v1 only, after a chart with v1alpha1 was deployed."""
    widgets.serve("v1alpha1")
    widget = WIDGET.format(group=widgets.group, version="v1alpha1")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__widget=widget)))
    xapps.wait_ready("hello")
    widgets.serve("v1", known=("v1alpha1",))
    return widgets


def find_widgets(xapps: XAppClient, widgets: WidgetKind) -> str:
    return xapps.kubectl("get", f"widgets.{widgets.group}", "-oname")


def test_an_uninstall_deletes_an_object_whose_version_has_moved(xapps: XAppClient, moved: WidgetKind) -> None:
    assert find_widgets(xapps, moved)
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert find_widgets(xapps, moved) == ""


def test_an_upgrade_deletes_an_object_whose_version_has_moved(xapps: XAppClient, moved: WidgetKind) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_until(
        lambda: xapps.status("hello")["release"]["revision"] == 2, what="the second revision", xapp="hello"
    )
    xapps.wait_ready("hello")
    assert find_widgets(xapps, moved) == ""
    assert "UpgradeFailed" not in xapps.event_reasons()


def test_a_rollback_of_a_revision_with_a_kind_that_is_gone(xapps: XAppClient, widgets: WidgetKind) -> None:
    """It is due although no watch shows the kind any more."""
    widgets.serve("v1")
    widget = WIDGET.format(group=widgets.group, version="v1")
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), timeout="10s"))
    xapps.wait_ready("hello")
    failing = workload_chart(templates__widget=widget)
    xapps.apply(xapps.uploaded_manifest("hello", failing, timeout="10s", values={"fail": "ErrImagePull"}))
    xapps.wait_until(
        lambda: xapps.status("hello")["release"]["revision"] == 2, what="the second revision", xapp="hello"
    )
    xapps.cluster.kubectl("delete", widgets.crd)
    xapps.wait_stalled("hello")
    assert xapps.status("hello")["history"][0]["action"] == "Rollback"
