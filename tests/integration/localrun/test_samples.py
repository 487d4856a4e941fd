"""`make run` as a process: both samples, restarts, refused starts, and the stop."""

import json
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.integration.localrun.make_run import MakeRun, conditions, run_until_exit, start_make_run
from tests.localcluster import KubectlFailed, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.node_choice import NODE_VARIABLE
from tests.localcluster.realnode.node import NODE_NAME
from tests.localcluster.waiting import wait_until
from tests.localrun.image import IMAGE
from tests.localrun.samples import APPLIED_XAPP, NAMESPACE, UPLOADED_XAPP
from tests.support.audit import read_audit_events

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 90.0


@pytest.mark.parametrize("name", [UPLOADED_XAPP, APPLIED_XAPP])
def test_both_samples_are_ready(run: MakeRun, name: str) -> None:
    assert conditions(run.cluster, name, NAMESPACE)["Ready"] == "True"


def test_the_samples_run_on_the_real_node_if_there_is_one(run: MakeRun) -> None:
    where = "jsonpath={.items[*].spec.nodeName}"
    nodes = set(run.cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o", where).split())
    if run.cluster.node_address:
        assert nodes == {NODE_NAME}
    else:
        assert os.environ.get(NODE_VARIABLE) == "simulated" or "simulated nodes " in run.output
        assert nodes
        assert all(name.startswith("simulated-") for name in nodes)


def test_the_samples_answer_on_a_real_node(run: MakeRun) -> None:
    if not run.cluster.node_address:
        pytest.skip("simulated nodes run no containers")
    for name in (UPLOADED_XAPP, APPLIED_XAPP):
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{name}:http/proxy"
        answer = json.loads(get_via_apiserver(run, f"{path}/"))
        assert (answer["name"], answer["cluster"]) == (name, run.cluster.node_address)
    kept = get_via_apiserver(run, f"{path}/samples.csv")
    assert "cell-1" in kept
    assert f"{run.url}/api/xapps/{NAMESPACE}/{UPLOADED_XAPP}/api/metadata" in run.output


def test_helm_lists_both_releases(run: MakeRun) -> None:
    answer = subprocess.run(
        [run.cluster.helm_path, "list", "--namespace", NAMESPACE, "--output", "json"],
        env=run.cluster.env,
        capture_output=True,
        text=True,
        check=True,
    )
    releases = {release["name"]: release["status"] for release in json.loads(answer.stdout)}
    assert releases == {UPLOADED_XAPP: "deployed", APPLIED_XAPP: "deployed"}


def test_the_gateway_lists_both_samples(run: MakeRun) -> None:
    answer = httpx.get(f"{run.url}/api/xapps", timeout=DEADLINE_SECONDS).json()
    assert {record["name"]: record["ready"] for record in answer["content"]} == {
        UPLOADED_XAPP: True,
        APPLIED_XAPP: True,
    }
    assert answer["total_count"] == 2


def test_credential_files_are_private(run: MakeRun) -> None:
    for name in ("kubeconfig", "token"):
        assert stat.S_IMODE((run.folder / name).stat().st_mode) == 0o600, name


def test_the_audit_log_names_who_created_the_samples(run: MakeRun) -> None:
    created = {
        event["objectRef"].get("name")
        for event in read_audit_events(run.folder / "audit.log")
        if event["verb"] in {"create", "patch"} and event.get("objectRef", {}).get("resource") == "xapps"
    }
    assert {UPLOADED_XAPP, APPLIED_XAPP} <= created


def test_the_summary_names_gateway_and_kubeconfig(run: MakeRun) -> None:
    assert run.url in run.output
    assert f"export KUBECONFIG={run.folder}/kubeconfig" in run.output
    assert "kubectl get xapps" in run.output


def test_the_gitops_sample_is_applied_and_deleted(run: MakeRun, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "manifests" / "samples" / "gitops", tmp_path / "gitops")
    shutil.copy(run.folder / "samples" / "hello-world-0.2.1.tgz", folder)
    kubectl = run.cluster.kubectl
    kubectl("apply", "--server-side", "-k", str(folder))
    kubectl("wait", "--for=condition=Ready", "xapp/acme-ran-hello-gitops", "-n", NAMESPACE, "--timeout=60s")
    assert kubectl("get", "deployment/acme-ran-hello-gitops", "-n", NAMESPACE, "-o", "jsonpath={.spec.replicas}") == "2"
    kubectl("delete", "-k", str(folder), "--timeout=60s")
    assert kubectl("get", "deployments", "-n", NAMESPACE, "-o", "name") == f"deployment.apps/{UPLOADED_XAPP}\n"


def test_the_deployer_may_install_into_its_own_namespace_only(run: MakeRun) -> None:
    account = f"--as=system:serviceaccount:{NAMESPACE}:xapp-deployer"
    run.cluster.kubectl("auth", "can-i", "create", "deployments", account, "-n", NAMESPACE)
    everywhere = run.cluster.kubectl("auth", "can-i", "--list", account, "-n", "default")
    assert "deployments" not in everywhere


@pytest.mark.parametrize("role", ["operator", "gateway"])
def test_a_killed_service_is_restarted(run: MakeRun, role: str) -> None:
    before = run.services[role]
    before.send_signal(signal.SIGKILL)
    wait_until(lambda: run.services.get(role, before) != before, timeout=DEADLINE_SECONDS, what=f"a new {role}")
    wait_until(lambda: _gateway_ready(run), timeout=DEADLINE_SECONDS, what="the gateway")


def test_a_second_run_in_the_same_folder_reports_the_first(run: MakeRun) -> None:
    second = run_until_exit(run.folder, run.port)
    assert second.returncode == 1
    assert f"already running in this checkout (process {run.process.pid})" in second.stderr
    assert _gateway_ready(run)


def test_a_port_in_use_is_reported_before_the_start(run: MakeRun, tmp_path: Path) -> None:
    second = run_until_exit(tmp_path, run.port)
    assert second.returncode == 1
    assert f"port {run.port} on 127.0.0.1 is in use" in second.stderr
    assert not (tmp_path / "cluster.json").exists()


def test_sigint_stops_every_process(run: MakeRun) -> None:
    processes = [*run.services.values(), *LocalCluster(run.folder).state().identities]
    assert len(processes) > 5
    assert run.stop(signal.SIGINT) == 0
    assert [process for process in processes if process.alive] == []
    assert not (run.folder / "kubeconfig").exists()
    assert not (run.folder / "token").exists()


def test_in_an_existing_cluster_only_the_samples_are_removed(
    tmp_path: Path, private_cluster: Callable[[], LocalCluster]
) -> None:
    cluster = private_cluster().connect()
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    with start_make_run(tmp_path, "--cluster", "current", environment=environment) as run:
        assert conditions(cluster, APPLIED_XAPP, NAMESPACE)["Ready"] == "True"
        assert f"the nodes need {IMAGE}, which is in no registry" in run.output
        assert run.stop(signal.SIGTERM) == 0
    assert cluster.kubectl("get", "xapps", "--all-namespaces", "-o", "name") == ""
    assert cluster.kubectl("get", "deployments,statefulsets", "-n", NAMESPACE, "-o", "name") == ""


def get_via_apiserver(run: MakeRun, path: str) -> str:
    """Return the response through the API server, once its proxy reaches the pod; that is later than Ready."""

    def answer() -> str | None:
        try:
            return run.cluster.kubectl("get", "--raw", path)
        except KubectlFailed:
            return None

    return wait_until(answer, timeout=DEADLINE_SECONDS, what=path, interval=0.5)


def _gateway_ready(run: MakeRun) -> bool:
    try:
        return httpx.get(f"{run.url}/readyz").is_success
    except httpx.TransportError:
        return False
