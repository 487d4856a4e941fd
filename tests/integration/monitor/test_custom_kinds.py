"""Health of custom resources that the operator may not watch at first, and may watch later."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.integration.kube.conftest import kube
from tests.integration.kube.test_client import token_of
from tests.localcluster import Cluster
from tests.support.custom_kinds import WIDGET_CRD
from tests.support.eventually import eventually
from xapp_operator.api.models import HealthStatus
from xapp_operator.config.settings import Settings
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.kube.client import KubeClient
from xapp_operator.monitor import xapp_monitor
from xapp_operator.monitor.xapp_monitor import XAppMonitor

pytestmark = pytest.mark.integration
__all__ = ["kube"]

BROKEN = {"status": {"conditions": [{"type": "Stalled", "status": "True", "reason": "Test", "message": "is broken"}]}}


@pytest.fixture
def group(cluster: Cluster, namespace: str) -> Iterator[str]:
    """A kind Widget, and one that is broken."""
    group = f"w{namespace[-6:]}.example.com"
    cluster.kubectl("apply", "-f", "-", input=WIDGET_CRD % {"group": group})
    cluster.kubectl("wait", "--for=condition=Established", f"crd/widgets.{group}", "--timeout=60s")
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "it", "namespace": namespace, "labels": {"xapp-operator.io/xapp": "hello"}},
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(widget))
    patch = ("patch", f"widgets.{group}", "it", "--subresource=status", "--type=merge", "-p", json.dumps(BROKEN))
    cluster.kubectl(*patch, "--namespace", namespace)
    yield group
    cluster.kubectl("delete", "crd", f"widgets.{group}", "--wait=false")


@pytest.fixture
async def monitor(
    cluster: Cluster, kube: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[XAppMonitor]:
    """A monitor of one namespace that may watch the built-in kinds there, and nothing else."""
    monkeypatch.setattr(xapp_monitor, "PERMISSION_RECHECK_SECONDS", 0.2)
    account = f"--serviceaccount={namespace}:default"
    cluster.kubectl("create", "rolebinding", "view", "--clusterrole=view", account, "--namespace", namespace)
    client = kube.with_token(await token_of(kube, namespace=namespace, name="default"))
    monitor = XAppMonitor(client, Settings(namespaces=(namespace,)), on_change=lambda _: None)
    await monitor.start()
    yield monitor
    await monitor.stop()


async def test_a_broken_custom_resource_is_unknown_until_it_may_be_watched(
    cluster: Cluster, namespace: str, group: str, monitor: XAppMonitor
) -> None:
    owner = (namespace, "hello")
    inventory = (
        ObjectRef(api_version=f"{group}/v1", kind="Widget", namespace="", name="it"),
        ObjectRef(api_version="rbac.authorization.k8s.io/v1", kind="Role", namespace="", name="no-status"),
    )
    monitor.set_inventory(owner, inventory)
    await monitor.watch_kinds(owner)
    report = monitor.report(owner)
    assert (report.status, report.total, report.ready) == (HealthStatus.UNKNOWN, 2, 1)
    assert f"may not list and watch widgets.{group}" in report.message
    rules = ("--verb=list,watch", f"--resource=widgets.{group}", "--namespace", namespace)
    cluster.kubectl("create", "role", "widgets", *rules)
    account = f"--serviceaccount={namespace}:default"
    cluster.kubectl("create", "rolebinding", "widgets", "--role=widgets", account, "--namespace", namespace)
    await eventually(
        lambda: monitor.report(owner).status is HealthStatus.DEGRADED, what="the widget to be watched and broken"
    )
    assert "is broken" in monitor.report(owner).message
