"""Install, upgrade and uninstall with the real helm, with an XApp in the cluster. Pods are simulated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.localcluster import Binaries, Cluster, KubectlFailed, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE
from tests.support.operator_chart import CHART, run_helm
from tests.support.xapp_manifest import xapp_manifest

pytestmark = pytest.mark.integration

XAPPS = "customresourcedefinition/xapps.xapp-operator.io"
RELEASE = "xapp-operator"


@dataclass(frozen=True)
class Installation:
    """The release of the chart on a cluster of its own, and one XApp."""

    cluster: Cluster
    binaries: Binaries

    def helm(self, *arguments: str, values: dict[str, Any] | None = None) -> str:
        place = ("--namespace", SYSTEM_NAMESPACE)
        return run_helm(self.binaries, *arguments, *place, values=values, env=self.cluster.env)

    def install(self, chart: Path = CHART, values: dict[str, Any] | None = None, *options: str) -> str:
        return self.helm("install", RELEASE, str(chart), "--create-namespace", "--wait", *options, values=values or {})

    def upgrade(self, values: dict[str, Any] | None = None) -> str:
        return self.helm("upgrade", RELEASE, str(CHART), "--wait", values=values or {})

    def uninstall(self) -> str:
        return self.helm("uninstall", RELEASE, "--wait")

    def apply_xapp(self) -> None:
        manifest = json.dumps(xapp_manifest("hello", namespace="ric-xapps"))
        self.cluster.kubectl("apply", "--server-side", "-f", "-", input=manifest)

    def identity(self, what: str) -> tuple[str, str]:
        """Return uid and resource version of an object."""
        found = json.loads(self.cluster.kubectl("get", *what.split(), "-o", "json"))["metadata"]
        return found["uid"], found["resourceVersion"]

    def xapp(self) -> tuple[str, str]:
        return self.identity("xapp hello -n ric-xapps")

    def names(self, kinds: str) -> set[str]:
        return set(self.cluster.kubectl("get", kinds, "-A", "-o", "name").split())

    def is_gone(self, what: str) -> bool:
        return not self.cluster.kubectl("get", *what.split(), "--ignore-not-found", "-o", "name")

    def clean_up(self) -> None:
        self.helm("uninstall", RELEASE, "--wait", "--ignore-not-found")
        if not self.is_gone(XAPPS):
            self.cluster.kubectl("delete", "xapps", "--all", "-n", "ric-xapps")
        self.cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "-k", str(ROOT / "crds"))
        try:
            wait_until(lambda: self.is_gone("crds"), timeout=30, what="the deletion of the definitions")
        except DeadlineExceeded:
            # A busy API server tries to remove their objects again with pauses that grow to minutes. There are none.
            for name in self.names("crds"):
                with suppress(KubectlFailed):  # it has gone meanwhile
                    self.cluster.kubectl("patch", name, "--type=merge", '-p={"metadata":{"finalizers":[]}}')
            wait_until(lambda: self.is_gone("crds"), timeout=60, what="the deletion of the definitions")


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster without the definitions, which other tests share."""
    with LocalCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.kubectl("create", "namespace", "ric-xapps")
        yield cluster


@pytest.fixture
def installation(own_cluster: Cluster, binaries: Binaries) -> Iterator[Installation]:
    one = Installation(own_cluster, binaries)
    yield one
    one.clean_up()


def test_xapps_survive_upgrade_uninstall_and_another_install(installation: Installation) -> None:
    notes = installation.install()
    installation.apply_xapp()
    xapp, definition = installation.xapp(), installation.identity(XAPPS)
    assert "http://NODE:31315/" in notes

    installation.upgrade({"gateway": {"replicas": 2}})
    deployment = json.loads(
        installation.cluster.kubectl("get", "deployment", "xapp-gateway", "-n", SYSTEM_NAMESPACE, "-o", "json")
    )
    assert deployment["status"]["readyReplicas"] == 2
    assert (installation.xapp(), installation.identity(XAPPS)[0]) == (xapp, definition[0])

    answer = installation.uninstall()
    assert "kept due to the resource policy" in answer
    assert installation.xapp() == xapp
    assert "xapp" not in " ".join(installation.names("deployments,services,roles,networkpolicies"))
    kept = {each for each in installation.names("clusterroles,clusterrolebindings,serviceaccounts") if "/xapp-" in each}
    assert kept == set()

    installation.install()
    assert (installation.xapp(), installation.identity(XAPPS)[0]) == (xapp, definition[0])


def test_the_policy_of_the_definitions_is_installed(installation: Installation) -> None:
    installation.install()
    manifest = xapp_manifest("hello", namespace="ric-xapps")
    manifest["spec"]["namespace"] = "elsewhere"

    def is_refused() -> bool:
        try:
            installation.cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(manifest))
        except KubectlFailed as error:
            return "an xApp is installed in the namespace of its XApp" in str(error)
        return False

    wait_until(is_refused, timeout=60, what="the policy")


def test_an_upgrade_brings_the_new_definitions(installation: Installation, tmp_path: Path) -> None:
    earlier = shutil.copytree(CHART, tmp_path / "chart")
    file = earlier / "templates" / "generated" / "xapp-operator.io_xapps.yaml"
    file.write_text(file.read_text().replace("    shortNames:\n    - xa\n", ""))
    installation.install(earlier)
    installation.apply_xapp()
    xapp = installation.xapp()
    names = ("get", XAPPS, "-o", "jsonpath={.spec.names.shortNames}")
    assert installation.cluster.kubectl(*names) == ""
    installation.upgrade()
    assert json.loads(installation.cluster.kubectl(*names)) == ["xa"]
    assert installation.xapp() == xapp


def test_definitions_that_are_not_kept_go_with_the_release(installation: Installation) -> None:
    installation.install(values={"crds": {"keep": False}})
    installation.apply_xapp()
    installation.uninstall()
    wait_until(lambda: installation.is_gone(XAPPS), timeout=60, what="the deletion of the definition")


def test_the_chart_takes_over_what_kustomize_installed(installation: Installation) -> None:
    base = str(ROOT / "manifests" / "base")
    installation.cluster.kubectl("apply", "--server-side", "-k", base)
    installation.cluster.kubectl("wait", "--for=condition=Established", XAPPS, "--timeout=60s")
    installation.apply_xapp()
    xapp, deployment = installation.xapp(), installation.identity(f"deployment xapp-gateway -n {SYSTEM_NAMESPACE}")
    installation.install(CHART, None, "--take-ownership", "--force-conflicts")
    assert installation.xapp() == xapp
    assert installation.identity(f"deployment xapp-gateway -n {SYSTEM_NAMESPACE}")[0] == deployment[0]


def test_the_first_xapp_of_the_notes_is_valid(installation: Installation) -> None:
    notes = installation.install()
    start = notes.index("   apiVersion: xapp-operator.io/v1alpha1")
    manifest = yaml.safe_load(notes[start:].partition("\n\n")[0])
    assert manifest["kind"] == "XApp"
    installation.cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(manifest))
