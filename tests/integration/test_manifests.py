"""The files under manifests/ are accepted by kustomize and the API server, and the charts by helm."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.localcluster import Binaries, Cluster
from tests.localrun.charts import pack_chart
from tests.localrun.cluster_setup import install_crds

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "manifests"
CHARTS = sorted(path.parent for path in MANIFESTS.glob("samples/charts/*/Chart.yaml"))
OVERLAYS = sorted(
    path.parent.relative_to(MANIFESTS).as_posix() for path in MANIFESTS.glob("overlays/*/kustomization.yaml")
)
SYSTEMS = ["base", *OVERLAYS, "../tests/e2e/incluster/overlay"]
COMPONENTS = sorted(path.parent.name for path in MANIFESTS.glob("components/*/kustomization.yaml"))
KUSTOMIZATIONS = [*SYSTEMS, "xapp-namespace", "watched-namespace"]
KINDS_OF_PROMETHEUS_OPERATOR = frozenset({"PodMonitor", "PrometheusRule"})
DRY_RUN = ("apply", "--server-side", "--force-conflicts", "--dry-run=server")
LONGEST_RELEASE_NAME = "x" * 53


@pytest.fixture(scope="module", autouse=True)
def crds(cluster: Cluster) -> None:
    install_crds(cluster)


@pytest.fixture
def restricted(cluster: Cluster, namespace: str) -> str:
    """A namespace that enforces restricted Pod Security."""
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    return namespace


def in_namespace(folder: Path, base: Path, namespace: str) -> Path:
    """Write a kustomization that puts ``base`` into the namespace."""
    content = {"namespace": namespace, "resources": [os.path.relpath(base, folder.resolve())]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content))
    return folder


def of_kubernetes(cluster: Cluster, folder: Path) -> str:
    """Return the objects of a kustomization, without kinds that the control plane does not have."""
    objects = yaml.safe_load_all(cluster.kubectl("kustomize", str(folder)))
    return yaml.safe_dump_all(each for each in objects if each["kind"] not in KINDS_OF_PROMETHEUS_OPERATOR)


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_the_api_server_accepts_a_kustomization(cluster: Cluster, namespace: str, name: str, tmp_path: Path) -> None:
    overlay = in_namespace(tmp_path, MANIFESTS / name, namespace)
    answer = cluster.kubectl(*DRY_RUN, "-f", "-", input=of_kubernetes(cluster, overlay))
    assert "serverside-applied" in answer


@pytest.mark.parametrize("front", ["tls", "ingress"])
def test_all_components_can_be_combined(cluster: Cluster, namespace: str, front: str, tmp_path: Path) -> None:
    others = {"tls": {"ingress"}, "ingress": {"tls", "client-addresses"}}[front]
    chosen = [name for name in COMPONENTS if name not in others]
    assert {front, "high-availability"} <= set(chosen)
    base = os.path.relpath(MANIFESTS, tmp_path.resolve())
    content = {
        "namespace": namespace,
        "resources": [f"{base}/base"],
        "components": [f"{base}/components/{name}" for name in chosen],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(content))
    answer = cluster.kubectl(*DRY_RUN, "-o", "json", "-f", "-", input=of_kubernetes(cluster, tmp_path))
    items = json.loads(answer)["items"]
    assert [each["spec"]["replicas"] for each in items if each["kind"] == "Deployment"] == [2, 2]
    policies = [each["spec"].get("externalTrafficPolicy") for each in items if each["kind"] == "Service"]
    assert policies == [{"tls": "Local", "ingress": None}[front]]


@pytest.mark.parametrize("name", SYSTEMS)
def test_operator_and_gateway_keep_to_restricted_pod_security(
    cluster: Cluster, restricted: str, name: str, tmp_path: Path
) -> None:
    overlay = in_namespace(tmp_path, MANIFESTS / name, restricted)
    objects = yaml.safe_load_all(cluster.kubectl("kustomize", str(overlay)))
    deployments = [each for each in objects if each["kind"] == "Deployment"]
    assert len(deployments) == 2
    for deployment in deployments:
        create_pod(cluster, restricted, deployment)


@pytest.mark.parametrize("name", ["kpi-store.yaml", "chartrepository.yaml"])
def test_a_sample_resource_is_accepted(cluster: Cluster, namespace: str, name: str) -> None:
    sample = (MANIFESTS / "samples" / name).read_text().replace("ric-xapps", namespace)
    cluster.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", input=sample)


def test_the_gitops_sample_names_the_generated_config_maps(cluster: Cluster, tmp_path: Path) -> None:
    folder = shutil.copytree(MANIFESTS / "samples" / "gitops", tmp_path / "gitops")
    (folder / "hello-world-0.2.1.tgz").write_bytes(pack_chart(MANIFESTS / "samples" / "charts" / "hello-world").data)
    objects = list(yaml.safe_load_all(cluster.kubectl("kustomize", str(folder))))
    config_maps = {each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"}
    (xapp,) = (each for each in objects if each["kind"] == "XApp")
    named = {xapp["spec"]["archive"]["configMapRef"]["name"], xapp["spec"]["valuesFrom"][0]["name"]}
    assert named == config_maps
    assert all(name.startswith("hello-gitops-") and name.count("-") == 3 for name in named)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)
def test_helm_lint_accepts_the_sample_charts(binaries: Binaries, chart: Path) -> None:
    helm(binaries, "lint", "--strict", str(chart))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)
def test_a_sample_chart_keeps_to_restricted_pod_security(
    cluster: Cluster, binaries: Binaries, restricted: str, chart: Path
) -> None:
    rendered = helm(binaries, "template", LONGEST_RELEASE_NAME, str(chart), "--namespace", restricted)
    objects = [each for each in yaml.safe_load_all(rendered) if each]
    workloads = [each for each in objects if "template" in each.get("spec", {})]
    assert workloads
    for workload in workloads:
        create_pod(cluster, restricted, workload)
    cluster.kubectl("apply", "--dry-run=server", "-f", "-", "-n", restricted, input=rendered)


@pytest.mark.parametrize(
    ("chart", "wrong"),
    [
        ("hello-world", "replicas=many"),
        ("hello-world", "service.httpPort=70000"),
        ("hello-world", "colour=red"),
        ("hello-world", "config.periodMilliseconds=1"),
        ("hello-world", "faults.crash.exitCode=256"),
        ("hello-world", "faults.fire=true"),
        ("kpi-store", "faults.leak.upToMegabytes=0"),
        ("kpi-store", "sampling.keepHours=0"),
        ("kpi-store", "storage.persistent=maybe"),
    ],
)
def test_the_schema_of_a_sample_chart_refuses_wrong_values(binaries: Binaries, chart: str, wrong: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refusal:
        helm(binaries, "template", "x", str(MANIFESTS / "samples" / "charts" / chart), "--set", wrong)
    assert wrong.partition("=")[0].rpartition(".")[2] in refusal.value.stderr


def create_pod(cluster: Cluster, namespace: str, workload: dict[str, dict[str, dict[str, object]]]) -> None:
    """Create the pod of a workload in a dry run: Pod Security refuses pods, and only warns about workloads."""
    template = workload["spec"]["template"]
    spec = {**template["spec"], "serviceAccountName": "default"} if isinstance(template["spec"], dict) else {}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": namespace}, "spec": spec}
    cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(pod))


def helm(binaries: Binaries, *arguments: str) -> str:
    program = binaries.resolve(["helm"])["helm"]
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
