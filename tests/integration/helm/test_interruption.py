"""Interrupted helm processes, and how a release recovers from them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path

import pytest

from tests.integration.helm.conftest import SIMPLE, HelmNamespace, MakeChart, hook
from tests.localcluster.waiting import wait_until
from xapp_operator.config.settings import Settings
from xapp_operator.errors import HelmError, HelmTimeout
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.watchdog_process import processes_in
from xapp_operator.helm.releases.release_storage import serve_kinds, unlock_release

pytestmark = pytest.mark.integration

LONG = 600

PARENT = """
import asyncio, sys
from pathlib import Path
from xapp_operator.config.settings import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.requests import ReleaseRequest

async def main():
    helm, cache, kubeconfig, chart, namespace = sys.argv[1:]
    engine = HelmEngine(Settings(helm=helm, cache_dir=cache), kubeconfig=kubeconfig)
    request = ReleaseRequest(name="hello", namespace=namespace, chart=Path(chart), values=b"{}", timeout=300)
    await engine.install(request)

asyncio.run(main())
"""


async def hook_runs(helm_namespace: HelmNamespace) -> None:
    def there() -> bool:
        return "hello-hook" in helm_namespace.names("jobs")

    await asyncio.to_thread(wait_until, there, timeout=60, what="the hook to run", interval=0.1)


async def cancelled_in_hook(helm_namespace: HelmNamespace, step: Awaitable[object]) -> None:
    task = asyncio.ensure_future(step)
    await hook_runs(helm_namespace)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def slow(chart: MakeChart, events: str) -> Path:
    return chart({**SIMPLE, "templates/h.yaml": hook(events, seconds=LONG)})


def unlock(helm_namespace: HelmNamespace, revision: int) -> None:
    record = helm_namespace.get("secret", f"sh.helm.release.v1.hello.v{revision}")
    helm_namespace.kubectl("replace", "--filename", "-", stdin=json.dumps(unlock_release(record)))


async def test_cancelling_during_a_hook_ends_helm_and_marks_the_install_failed(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart, helm_settings: Settings
) -> None:
    await cancelled_in_hook(
        helm_namespace, engine.install(helm_namespace.release_request(chart=slow(chart, "pre-install")))
    )
    assert processes_in(helm_settings.cache_dir) == []
    assert helm_namespace.revision_statuses() == {1: "failed"}
    assert (await engine.install(helm_namespace.release_request(replace=True))).status == "deployed"


async def test_cancelling_an_upgrade_leaves_the_good_revision_deployed(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    await engine.install(helm_namespace.release_request())
    await cancelled_in_hook(
        helm_namespace, engine.upgrade(helm_namespace.release_request(chart=slow(chart, "pre-upgrade")))
    )
    assert helm_namespace.revision_statuses() == {1: "deployed", 2: "failed"}
    assert (await engine.upgrade(helm_namespace.release_request())).revision == 3


async def test_a_cancelled_rollback_is_pending_and_can_be_unlocked(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    await engine.install(helm_namespace.release_request(chart=slow(chart, "pre-rollback")))
    await engine.upgrade(helm_namespace.release_request())
    await cancelled_in_hook(helm_namespace, engine.rollback(helm_namespace.rollback_request(1)))
    assert helm_namespace.revision_statuses() == {1: "superseded", 2: "deployed", 3: "pending-rollback"}
    with pytest.raises(HelmError, match="another operation"):
        await engine.upgrade(helm_namespace.release_request())
    unlock(helm_namespace, 3)
    assert helm_namespace.revision_statuses()[3] == "failed"
    assert (await engine.upgrade(helm_namespace.release_request())).revision == 4


async def test_a_killed_install_is_pending_and_can_be_unlocked_and_replaced(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart, helm_settings: Settings
) -> None:
    task = asyncio.create_task(engine.install(helm_namespace.release_request(chart=slow(chart, "pre-install"))))
    await hook_runs(helm_namespace)
    (pid,) = processes_in(helm_settings.cache_dir)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(HelmError, match="killed by signal 9"):
        await task
    assert helm_namespace.revision_statuses() == {1: "pending-install"}
    with pytest.raises(HelmError, match="still in use"):
        await engine.install(helm_namespace.release_request(replace=True))
    unlock(helm_namespace, 1)
    assert (await engine.install(helm_namespace.release_request(replace=True))).status == "deployed"


async def test_a_hook_that_does_not_end_in_time_is_named(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    with pytest.raises(HelmTimeout, match=r"hook Job \S+/hello-hook did not finish"):
        await engine.install(helm_namespace.release_request(chart=slow(chart, "pre-install"), timeout=2))
    assert helm_namespace.revision_statuses() == {1: "failed"}


@pytest.fixture
def parent(
    helm_namespace: HelmNamespace, chart: MakeChart, helm_settings: Settings, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    arguments = (
        helm_settings.helm,
        str(helm_settings.cache_dir),
        str(helm_namespace.cluster.kubeconfig),
        str(slow(chart, "pre-install")),
        helm_namespace.namespace,
    )
    with (tmp_path / "parent.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", PARENT, *arguments], stderr=log, stdout=log)
        yield process
        process.kill()
        process.wait()


async def test_an_orphaned_helm_process_is_ended_by_the_next_operator(
    parent: subprocess.Popen[bytes], engine: HelmEngine, helm_namespace: HelmNamespace, helm_settings: Settings
) -> None:
    await hook_runs(helm_namespace)
    parent.kill()
    await asyncio.to_thread(parent.wait)
    assert len(processes_in(helm_settings.cache_dir)) == 1
    assert await engine.reap_orphans() == 1
    assert processes_in(helm_settings.cache_dir) == []
    assert helm_namespace.revision_statuses() == {1: "pending-install"}
    unlock(helm_namespace, 1)
    assert (await engine.install(helm_namespace.release_request(replace=True))).status == "deployed"


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%(group)s}
spec:
  group: %(group)s
  scope: Namespaced
  names: {plural: widgets, kind: Widget, singular: widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@pytest.fixture
def restarted(helm_settings: Settings, helm_namespace: HelmNamespace) -> Iterator[HelmEngine]:
    """An engine that has not discovered the cluster's kinds yet."""
    engine = HelmEngine(helm_settings, kubeconfig=str(helm_namespace.cluster.kubeconfig))
    yield engine
    engine.close()


async def test_a_release_with_a_removed_kind_can_be_uninstalled(
    engine: HelmEngine, restarted: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    group = f"{helm_namespace.namespace}.example.com"
    widget = f"apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: w}}\n"
    files = {**SIMPLE, "crds/widgets.yaml": CRD % {"group": group}, "templates/widget.yaml": widget}
    await engine.install(helm_namespace.release_request(chart=chart(files)))
    helm_namespace.cluster.kubectl("delete", "crd", f"widgets.{group}")
    with pytest.raises(HelmError, match=f"kind Widget of {group}/v1"):
        await restarted.uninstall(helm_namespace.uninstall_request())
    record = helm_namespace.get("secret", "sh.helm.release.v1.hello.v1")
    mended = serve_kinds(record, {("", "ConfigMap"): ("v1",)})
    assert mended is not None
    helm_namespace.kubectl("replace", "--filename", "-", stdin=json.dumps(mended[0]))
    await restarted.uninstall(helm_namespace.uninstall_request())
    assert helm_namespace.revision_statuses() == {}
    assert "hello" not in helm_namespace.names("configmaps")
