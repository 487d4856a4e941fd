"""The roles of the manifests are sufficient for the operator, the gateway and an editor of the namespace."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.localcluster import Cluster, LocalCluster
from tests.localcluster.cluster import ROOT
from tests.localcluster.kubeconfig import write_kubeconfig
from tests.localcluster.ports import PortReservation
from tests.localcluster.processes import ProcessSpec
from tests.localcluster.waiting import wait_until
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE, prepare_cluster
from tests.localrun.repository import chart_repository
from tests.localrun.samples import APPLIED_XAPP, NAMESPACE, UPLOADED_XAPP, SampleGatewayClient, Samples
from tests.localrun.services import Services, service_specs
from tests.support.audit import read_audit_events

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 120.0
ACCOUNTS = {"operator": "xapp-operator", "gateway": "xapp-gateway"}
EDITOR = "jane"
LABEL = "xapp-operator.io"


def test_the_roles_suffice_for_the_whole_lifecycle_of_an_xapp(
    private_cluster: Callable[[], LocalCluster], tmp_path: Path
) -> None:
    local = private_cluster()
    cluster = local.connect()
    prepare_cluster(cluster, ROOT)
    cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "manifests" / "base"))
    editor = token_of_editor(cluster)
    samples = Samples.read(ROOT / "manifests" / "samples")
    with (
        PortReservation(1) as reservation,
        chart_repository(samples.charts, preferred_port=0) as repository,
        running(local, tmp_path, port=reservation.ports[0]) as services,
        SampleGatewayClient(url := f"http://127.0.0.1:{reservation.ports[0]}", token=editor) as gateway,
    ):

        def wait(probe: Callable[[], bool], what: str) -> None:
            def tend_and_probe() -> bool:
                services.restart_ended()
                return probe()

            wait_until(tend_and_probe, timeout=DEADLINE_SECONDS, what=what)

        wait(gateway.ready, "the gateway")
        gateway.upload(samples)
        cluster.kubectl(
            "apply",
            "-f",
            "-",
            f"--as=system:serviceaccount:{NAMESPACE}:{EDITOR}",
            input=samples.manifest_for(repository),
        )
        for name in (UPLOADED_XAPP, APPLIED_XAPP):
            wait(partial(is_ready, gateway, name), f"{name} to be Ready")
            cluster.kubectl("label", "services", "-n", NAMESPACE, "-l", f"{LABEL}/xapp={name}", f"{LABEL}/team-")
            wait(partial(has_labels, cluster, name), f"the labels of {name} to be put back")
            delete(url, name, token=editor)
            wait(partial(is_gone, gateway, name), f"{name} to be gone")
    assert forbidden_requests(local.layout.audit_log) == []


def is_ready(gateway: SampleGatewayClient, name: str) -> bool:
    record = gateway.record(name)
    return record is not None and record.ready


def has_labels(cluster: Cluster, name: str) -> bool:
    selector = f"{LABEL}/xapp={name},{LABEL}/team"
    return cluster.kubectl("get", "services", "-n", NAMESPACE, "-l", selector, "-o", "name") != ""


def is_gone(gateway: SampleGatewayClient, name: str) -> bool:
    return gateway.record(name) is None


def token_of_editor(cluster: Cluster) -> str:
    cluster.kubectl("create", "serviceaccount", EDITOR, "-n", NAMESPACE)
    cluster.kubectl(
        "create", "rolebinding", EDITOR, "--clusterrole=edit", f"--serviceaccount={NAMESPACE}:{EDITOR}", "-n", NAMESPACE
    )
    return cluster.kubectl("create", "token", EDITOR, "-n", NAMESPACE)


@contextmanager
def running(local: LocalCluster, folder: Path, *, port: int) -> Iterator[Services]:
    """Run operator and gateway with the service accounts and settings of the manifests."""
    cluster = local.connect()
    children = [
        ProcessSpec(
            name=spec.name,
            argv=spec.argv,
            environment={
                **spec.environment,
                "KUBECONFIG": str(kubeconfig_of(ACCOUNTS[spec.name], local, folder)),
                "XAPP_ALLOW_OPERATOR_IDENTITY": "false",
                "XAPP_DEFAULT_SERVICE_ACCOUNT": "xapp-deployer",
            },
        )
        for spec in service_specs(
            cluster=cluster, auth="kubernetes", port=port, cache=folder, work=folder, namespace=SYSTEM_NAMESPACE
        )
    ]
    with ExitStack() as stack:
        services = Services(children, logs=folder, folder=ROOT, say=print)
        stack.callback(services.stop)
        yield services


def kubeconfig_of(account: str, local: LocalCluster, folder: Path) -> Path:
    token = local.connect().kubectl("create", "token", account, "-n", SYSTEM_NAMESPACE)
    path = folder / f"{account}.kubeconfig"
    write_kubeconfig(path, server=local.connect().server, authority=local.layout.ca_certificate, credential=token)
    return path


def delete(url: str, name: str, *, token: str) -> None:
    answer = httpx.request(
        "DELETE",
        f"{url}/api/deployment/xapp",
        json={"name": name, "namespace": NAMESPACE},
        headers={"Authorization": f"Bearer {token}"},
        timeout=DEADLINE_SECONDS,
    )
    assert answer.status_code == 202, answer.text


def forbidden_requests(audit_log: Path) -> list[str]:
    """Return all requests that the API server answered with 403."""
    return sorted(
        {
            f"{event['user']['username']} {event['verb']} {event['requestURI']}"
            for event in read_audit_events(audit_log)
            if event.get("responseStatus", {}).get("code") == 403
        }
    )
