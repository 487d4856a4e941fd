"""The local cluster works like a cluster, leaves no processes behind, and recovers from crashes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.localcluster import (
    Cluster,
    ClusterNotRunning,
    ClusterRunning,
    KubectlFailed,
    LocalCluster,
)
from tests.localcluster.cluster import ROOT
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.state import ClusterState
from tests.localcluster.waiting import wait_until
from tests.support.audit import read_audit_events

pytestmark = pytest.mark.integration

START_SECONDS = 120.0


def manifest(kind: str, name: str, *, labels: dict[str, str] | None = None, restart: str = "Always") -> str:
    """Return a Deployment, a StatefulSet with a volume claim, or a Job with one container."""
    template = {
        "metadata": {"labels": {"app": name, **(labels or {})}},
        "spec": {"restartPolicy": restart, "containers": [{"name": "main", "image": "example.com/xapp:1"}]},
    }
    selector = {"selector": {"matchLabels": {"app": name}}, "replicas": 2, "template": template}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec: dict[str, object] = {
        "Deployment": selector,
        "StatefulSet": {**selector, "serviceName": name, "volumeClaimTemplates": [claim]},
        "Job": {"backoffLimit": 0, "template": template},
    }[kind]
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})


def pods(cluster: Cluster, namespace: str) -> list[dict[str, dict[str, object]]]:
    """List the pods of a namespace."""
    answer: list[dict[str, dict[str, object]]] = json.loads(
        cluster.kubectl("get", "pods", "-n", namespace, "-o", "json")
    )["items"]
    return answer


@pytest.fixture
def local(cluster: Cluster) -> LocalCluster:
    """The shared cluster, if it is a local one."""
    if cluster.audit_log is None:
        pytest.skip("this cluster is not ours to look into")
    return LocalCluster(cluster.audit_log.parent)


def test_nodes_are_ready_and_have_an_internal_address(cluster: Cluster) -> None:
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"]

    assert len(nodes) >= 1
    for node in nodes:
        conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"
        assert "InternalIP" in {address["type"] for address in node["status"]["addresses"]}


def test_a_deployment_becomes_available(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=manifest("Deployment", "web"))

    cluster.kubectl("wait", "-n", namespace, "--for=condition=Available", "deployment/web", "--timeout=60s")


def test_a_stateful_set_gets_its_volumes(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=manifest("StatefulSet", "db"))

    cluster.kubectl("rollout", "status", "-n", namespace, "statefulset/db", "--timeout=60s")


def test_a_job_completes(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=manifest("Job", "hook", restart="Never"))

    cluster.kubectl("wait", "-n", namespace, "--for=condition=Complete", "job/hook", "--timeout=60s")


def test_a_job_fails_when_its_pods_are_labelled_to_fail(cluster: Cluster, namespace: str) -> None:
    labels = {"xapp-operator.io/test-fail": "Error"}
    cluster.kubectl("apply", "-n", namespace, "-f", "-", input=manifest("Job", "hook", labels=labels, restart="Never"))

    cluster.kubectl("wait", "-n", namespace, "--for=condition=Failed", "job/hook", "--timeout=60s")


@pytest.mark.parametrize(
    ("failure", "phase", "reason"),
    [
        ("CrashLoopBackOff", "Running", "CrashLoopBackOff"),
        ("OOMKilled", "Running", "CrashLoopBackOff"),
        ("ImagePullBackOff", "Pending", "ImagePullBackOff"),
        ("NotReady", "Running", None),
    ],
)
def test_a_pod_fails_by_label_and_recovers_without_it(
    cluster: Cluster, namespace: str, failure: str, phase: str, reason: str | None
) -> None:
    label = "xapp-operator.io/test-fail"
    cluster.kubectl("run", "one", "-n", namespace, "--image=example.com/xapp:1", f"--labels={label}={failure}")

    cluster.kubectl("wait", "-n", namespace, "--for=condition=Ready=false", "pod/one", "--timeout=60s")

    status = pods(cluster, namespace)[0]["status"]
    assert status["phase"] == phase
    containers = status["containerStatuses"]
    assert isinstance(containers, list)
    assert containers[0]["state"].get("waiting", {}).get("reason") == reason
    cluster.kubectl("label", "-n", namespace, "pod/one", f"{label}-")
    cluster.kubectl("wait", "-n", namespace, "--for=condition=Ready", "pod/one", "--timeout=60s")


def test_pods_show_logs(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("run", "one", "-n", namespace, "--image=example.com/xapp:1")
    cluster.kubectl("wait", "-n", namespace, "--for=condition=Ready", "pod/one", "--timeout=60s")

    assert len(cluster.kubectl("logs", "-n", namespace, "one", "--tail=3").splitlines()) == 3


def test_pods_are_gone_soon_after_their_deletion(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("run", "one", "-n", namespace, "--image=example.com/xapp:1")
    cluster.kubectl("wait", "-n", namespace, "--for=condition=Ready", "pod/one", "--timeout=60s")

    cluster.kubectl("delete", "-n", namespace, "pod/one", "--timeout=60s")

    assert pods(cluster, namespace) == []


def test_access_is_denied_to_a_user_without_a_role(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(KubectlFailed, match=r"User \"stranger\" cannot list resource \"pods\""):
        cluster.kubectl("get", "pods", "-n", namespace, "--as=stranger")


def test_a_service_account_token_is_accepted(cluster: Cluster, namespace: str) -> None:
    token = cluster.kubectl("create", "token", "default", "-n", namespace).strip()

    with pytest.raises(KubectlFailed, match=rf"User \"system:serviceaccount:{namespace}:default\" cannot"):
        cluster.kubectl("get", "secrets", "-n", namespace, f"--token={token}")


def test_the_audit_log_names_who_did_what(cluster: Cluster, namespace: str) -> None:
    if cluster.audit_log is None:
        pytest.skip("this cluster keeps its audit log to itself")
    cluster.kubectl("create", "configmap", "witnessed", "-n", namespace, "--from-literal=secret=hush")

    events = read_audit_events(cluster.audit_log)
    seen = [event for event in events if event.get("objectRef", {}).get("name") == "witnessed"]

    assert [(event["verb"], event["user"]["username"], event["level"]) for event in seen] == [
        ("create", "local-admin", "Metadata")
    ]
    assert "hush" not in cluster.audit_log.read_text()


def test_files_that_grant_access_are_private(local: LocalCluster) -> None:
    layout = local.layout

    for path in (layout.token, layout.kubeconfig, layout.audit_log, *layout.pki.glob("*.key")):
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_a_second_start_in_the_same_folder_is_refused(local: LocalCluster) -> None:
    with pytest.raises(ClusterRunning, match="a cluster already runs in"):
        local.start()

    assert local.connect().kubectl("get", "nodes")


def test_down_leaves_no_process_and_no_access(tmp_path: Path) -> None:
    one = LocalCluster(tmp_path)
    one.start()
    identities = one.state().identities
    assert len(identities) == 6
    assert all(identity.alive for identity in identities)

    assert one.stop()

    assert not any(identity.alive for identity in identities)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.log", "cluster.lock", "logs"]
    with pytest.raises(ClusterNotRunning):
        one.connect()
    assert not one.stop()


def test_the_command_line_starts_a_cluster_that_outlives_it(tmp_path: Path) -> None:
    def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "tests.localcluster", *arguments, "--dir", str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )

    assert command("status").returncode == 1
    assert command("up", "--node=simulated").returncode == 0
    try:
        assert command("status").stdout.count("running") == 6
        assert command("kubeconfig").stdout == f"{tmp_path}/kubeconfig\n"
        again = command("up")
        assert again.returncode == 1
        assert again.stderr.splitlines() == [
            f"error: a cluster already runs in {tmp_path}; stop it first with `down`",
        ]
    finally:
        assert command("down").returncode == 0
    assert command("down").returncode == 0
    assert command("status").returncode == 1


def test_the_run_command_uses_a_temporary_cluster(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tests.localcluster", "run", "--dir", str(tmp_path), "--", "kubectl", "get", "nodes"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr
    assert "simulated-1" in answer.stdout
    assert not LocalCluster(tmp_path).running


def test_two_clusters_run_side_by_side(private_cluster: Callable[[], LocalCluster]) -> None:
    one, other = private_cluster().connect(), private_cluster().connect()

    one.kubectl("create", "namespace", "only-here")

    assert one.server != other.server
    assert "only-here" not in other.kubectl("get", "namespaces", "-o", "name")


def test_killing_the_supervisor_kills_all_processes_and_the_next_start_works(
    private_cluster: Callable[[], LocalCluster],
) -> None:
    one = private_cluster()
    state = one.state()

    state.supervisor.send_signal(signal.SIGKILL)

    for identity in state.identities:
        assert identity.wait(20.0), identity
    assert not one.running
    one.start()
    assert one.connect().kubectl("get", "nodes")
    assert one.state().supervisor != state.supervisor


def test_the_cluster_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    script = (
        "import time; from pathlib import Path; from tests.localcluster import LocalCluster\n"
        f"LocalCluster(Path({str(tmp_path)!r})).start(); print('ready', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        identities = LocalCluster(tmp_path).state().identities

        owner.kill()

    for identity in identities:
        assert identity.wait(20.0), identity


def test_an_interrupted_start_leaves_no_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.localcluster", "up", "--dir", str(tmp_path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stderr is not None
        assert "API server" in starter.stderr.readline()
        state = ClusterState.read(ClusterLayout(tmp_path).state)
        assert state is not None
        assert state.processes

        os.kill(starter.pid, signal.SIGINT)

        assert starter.wait(20.0) == 130
    assert not LocalCluster(tmp_path).running
    assert not any(identity.alive for identity in state.identities)


def test_a_process_that_ends_is_restarted(private_cluster: Callable[[], LocalCluster]) -> None:
    one = private_cluster()
    old = one.state().processes["kube-apiserver"]

    one.send_signal("kube-apiserver", signal.SIGKILL)

    def restarted() -> ProcessIdentity | None:
        now = one.state().processes["kube-apiserver"]
        return now if now != old and now.alive else None

    wait_until(restarted, timeout=60.0, what="a new API server")
    one.wait_api_server_ready()
    assert one.connect().kubectl("get", "nodes")


def test_a_stopped_process_stays_down_until_started(private_cluster: Callable[[], LocalCluster]) -> None:
    one = private_cluster()

    one.stop_process("kube-apiserver")
    with pytest.raises(KubectlFailed, match="refused"):
        one.connect().kubectl("get", "nodes")
    one.start_process("kube-apiserver")

    assert one.connect().kubectl("get", "nodes")


def test_all_workers_of_a_run_share_one_cluster_that_ends_when_the_run_is_interrupted(tmp_path: Path) -> None:
    probe = tmp_path / "test_probe.py"
    probe.write_text(
        "import time\nfrom pathlib import Path\nimport pytest\n\n"
        "@pytest.mark.parametrize('number', [1, 2])\n"
        "def test_probe(cluster, number):\n"
        "    (Path(__file__).parent / f'{number}.found').write_text(str(cluster.audit_log.parent))\n"
        "    time.sleep(600)\n"
    )

    def written(folder: Path) -> list[str] | None:
        texts = [text for path in folder.glob("*.found") if (text := path.read_text())]
        return texts if len(texts) == 2 else None

    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", "2", f"--rootdir={tmp_path}", str(probe)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CLUSTER": "local"}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    ) as run:
        try:
            found = wait_until(
                lambda: written(tmp_path), timeout=START_SECONDS, what="both workers to have the cluster"
            )
            identities = LocalCluster(Path(found[0])).state().identities

            os.killpg(run.pid, signal.SIGINT)

            output = run.communicate(timeout=60.0)[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert found[0] == found[1]
    assert not any(identity.alive for identity in identities), output
    assert not Path(found[0]).exists()
    assert "logs of the cluster: " in output
