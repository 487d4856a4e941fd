"""Helm impersonates the given user, in a pod and outside."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from tests.integration.helm.conftest import SIMPLE, HelmNamespace, MakeChart, hook
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, ApiUnavailable, HelmError
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.runner import write_pod_kubeconfig
from xapp_operator.helm.requests import LeftObject, LeftReason

pytestmark = pytest.mark.integration

ALL = "*:configmaps,secrets"


async def test_the_api_server_sees_the_impersonated_user(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    user = helm_namespace.create_account("deployer", "*:secrets")
    with pytest.raises(AccessDenied, match=f"{user} may not get configmaps in namespace {helm_namespace.namespace}"):
        await engine.install(helm_namespace.release_request(user=user))
    assert helm_namespace.revision_statuses() == {}


async def test_a_permitted_user_installs_upgrades_rolls_back_and_uninstalls(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    user = helm_namespace.create_account("deployer", ALL)
    await engine.install(helm_namespace.release_request(user=user))
    await engine.upgrade(helm_namespace.release_request(user=user))
    await engine.rollback(helm_namespace.rollback_request(1, user=user))
    assert max(helm_namespace.revision_statuses()) == 3
    assert await engine.uninstall(helm_namespace.uninstall_request(user=user)) == ()
    assert helm_namespace.revision_statuses() == {}


async def test_a_missing_delete_permission_is_named_at_uninstall(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    user = helm_namespace.create_account("deployer", "*:secrets", "get,list,create,patch:configmaps")
    await engine.install(helm_namespace.release_request(user=user))
    with pytest.raises(AccessDenied, match="may not delete configmaps"):
        await engine.uninstall(helm_namespace.uninstall_request(user=user))
    assert helm_namespace.revision_statuses() == {1: "uninstalling"}


async def test_unreadable_objects_are_reported_at_uninstall(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    await engine.install(helm_namespace.release_request())
    unverified = await engine.uninstall(
        helm_namespace.uninstall_request(user=helm_namespace.create_account("deployer", "*:secrets"))
    )
    assert unverified == (LeftObject("ConfigMap/hello", LeftReason.UNVERIFIED),)


async def test_unreadable_release_records_do_not_mean_that_there_is_no_release(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    await engine.install(helm_namespace.release_request())
    with pytest.raises(AccessDenied, match="list secrets"):
        await engine.uninstall(helm_namespace.uninstall_request(user=helm_namespace.create_account("deployer")))


async def test_hooks_run_as_the_user_too(engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart) -> None:
    user = helm_namespace.create_account("deployer", ALL)
    archive = chart({**SIMPLE, "templates/h.yaml": hook("pre-install")})
    with pytest.raises(AccessDenied, match="jobs of API group batch"):
        await engine.install(helm_namespace.release_request(chart=archive, user=user))


def pod_kubeconfig(helm_namespace: HelmNamespace, folder: Path, *, server: str = "") -> Path:
    """Write a kubeconfig as in a pod, with the administrator's token as the mounted one."""
    cluster = yaml.safe_load(helm_namespace.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    (folder / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    (folder / "token").write_text(helm_namespace.cluster.token)
    write_pod_kubeconfig(
        folder / "kubeconfig", server=server or helm_namespace.cluster.server, account_folder=str(folder)
    )
    return folder / "kubeconfig"


async def test_the_impersonated_user_is_seen_in_a_pod_too(
    helm_settings: Settings, helm_namespace: HelmNamespace, tmp_path: Path
) -> None:
    engine = HelmEngine(helm_settings, kubeconfig=str(pod_kubeconfig(helm_namespace, tmp_path)))
    try:
        with pytest.raises(AccessDenied, match=f"system:serviceaccount:{helm_namespace.namespace}:deployer may not"):
            await engine.install(helm_namespace.release_request(user=helm_namespace.create_account("deployer")))
        assert (await engine.install(helm_namespace.release_request())).status == "deployed"
    finally:
        engine.close()


async def test_an_unavailable_api_server_is_a_transient_error(
    helm_settings: Settings, helm_namespace: HelmNamespace, tmp_path: Path
) -> None:
    engine = HelmEngine(
        helm_settings, kubeconfig=str(pod_kubeconfig(helm_namespace, tmp_path, server="https://127.0.0.1:1"))
    )
    try:
        with pytest.raises(ApiUnavailable, match="connection refused") as caught:
            await engine.install(helm_namespace.release_request())
        assert not caught.value.permanent
    finally:
        engine.close()


async def test_without_a_cluster_a_release_is_refused(offline: HelmEngine, helm_namespace: HelmNamespace) -> None:
    with pytest.raises(HelmError, match="KUBECONFIG"):
        await offline.install(helm_namespace.release_request())
