"""The lifecycle of a release with the real helm and a real API server."""

from __future__ import annotations

import random

import pytest

from tests.integration.helm.conftest import CONFIGMAP, SIMPLE, WORKLOAD, HelmNamespace, MakeChart, hook
from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import LABEL_XAPP
from xapp_operator.errors import HelmError
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.requests import LeftObject, LeftReason

pytestmark = pytest.mark.integration


def data(helm_namespace: HelmNamespace, name: str = "hello") -> dict[str, str]:
    found: dict[str, str] = helm_namespace.get("configmap", name)["data"]
    return found


async def test_install_returns_the_release(engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart) -> None:
    archive = chart({**SIMPLE, "templates/NOTES.txt": "Well done, {{ .Release.Name }}."}, name="well", version="1.2.3")
    result = await engine.install(
        helm_namespace.release_request(chart=archive, values={"data": {"b": "two"}}, labels={LABEL_XAPP: "x"})
    )
    assert (result.revision, result.status) == (1, "deployed")
    assert (result.chart_name, result.chart_version, result.app_version) == ("well", "1.2.3", "1.0")
    assert "kind: ConfigMap" in result.manifest
    assert result.first_deployed == result.last_deployed != ""
    assert data(helm_namespace) == {"a": "one", "b": "two"}
    record = helm_namespace.get("secret", "sh.helm.release.v1.hello.v1")
    assert record["metadata"]["labels"][LABEL_XAPP] == "x"


async def test_labels_survive_an_upgrade_that_changes_one(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    await engine.install(helm_namespace.release_request(labels={LABEL_XAPP: "x", "attempt": "1"}))
    await engine.upgrade(helm_namespace.release_request(labels={"attempt": "2"}))
    labels = helm_namespace.get("secret", "sh.helm.release.v1.hello.v2")["metadata"]["labels"]
    assert (labels[LABEL_XAPP], labels["attempt"]) == ("x", "2")


async def test_a_value_removed_from_the_request_is_gone_after_the_upgrade(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    await engine.install(helm_namespace.release_request(values={"data": {"b": "two"}}))
    await engine.upgrade(helm_namespace.release_request(values={}))
    assert data(helm_namespace) == {"a": "one"}


async def test_kubectl_scale_does_not_break_the_next_upgrade(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    archive = chart(WORKLOAD)
    await engine.install(helm_namespace.release_request(chart=archive))
    helm_namespace.kubectl("scale", "deployment/hello", "--replicas=3")
    result = await engine.upgrade(helm_namespace.release_request(chart=archive, values={"tag": 2}))
    spec = helm_namespace.get("deployment", "hello")["spec"]
    assert result.revision == 2
    assert spec["replicas"] == 1
    assert spec["template"]["spec"]["containers"][0]["image"].endswith(":2")


async def test_large_values_are_passed_on_standard_input(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    archive = chart({"values.yaml": "", "templates/c.yaml": CONFIGMAP.replace(".Values.data", '(dict "a" "x")')})
    noise = random.Random(1)
    values: JsonObject = {"filler": {f"key{n}": f"{noise.getrandbits(400):x}" for n in range(2500)}}
    result = await engine.install(helm_namespace.release_request(chart=archive, values=values))
    assert result.status == "deployed"


async def test_rollback_makes_a_new_revision(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    await engine.install(helm_namespace.release_request(values={"data": {"a": "first"}}))
    await engine.upgrade(helm_namespace.release_request(values={"data": {"a": "second"}}))
    await engine.rollback(helm_namespace.rollback_request(1))
    assert helm_namespace.revision_statuses() == {1: "superseded", 2: "superseded", 3: "deployed"}
    assert data(helm_namespace) == {"a": "first"}


async def test_a_rollback_to_a_missing_revision_is_a_permanent_error(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    await engine.install(helm_namespace.release_request())
    with pytest.raises(HelmError, match="no 7 version") as caught:
        await engine.rollback(helm_namespace.rollback_request(7))
    assert caught.value.permanent


async def test_uninstall_leaves_neither_object_nor_record(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    await engine.install(helm_namespace.release_request())
    await engine.upgrade(helm_namespace.release_request())
    assert await engine.uninstall(helm_namespace.uninstall_request()) == ()
    assert "hello" not in helm_namespace.names("configmaps")
    assert helm_namespace.revision_statuses() == {}


async def test_uninstalling_a_missing_release_succeeds(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    assert await engine.uninstall(helm_namespace.uninstall_request()) is None


async def test_objects_with_resource_policy_keep_are_kept_and_reported(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    kept = CONFIGMAP.replace("metadata:", "metadata:\n  annotations: {helm.sh/resource-policy: keep}")
    await engine.install(helm_namespace.release_request(chart=chart({**SIMPLE, "templates/configmap.yaml": kept})))
    assert await engine.uninstall(helm_namespace.uninstall_request()) == (
        LeftObject("ConfigMap/hello", LeftReason.KEPT),
    )
    assert helm_namespace.revision_statuses() == {}
    assert "hello" in helm_namespace.names("configmaps")


async def test_uninstall_without_hooks_skips_a_failing_hook(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    await engine.install(
        helm_namespace.release_request(chart=chart({**SIMPLE, "templates/h.yaml": hook("pre-delete", fails=True)}))
    )
    with pytest.raises(HelmError, match=r"hook Job \S+/hello-hook failed"):
        await engine.uninstall(helm_namespace.uninstall_request())
    assert await engine.uninstall(helm_namespace.uninstall_request(no_hooks=True)) == ()
    assert helm_namespace.revision_statuses() == {}


async def test_install_returns_after_its_hooks(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    archive = chart({**SIMPLE, "templates/h.yaml": hook("pre-install")})
    assert (await engine.install(helm_namespace.release_request(chart=archive))).status == "deployed"
    assert helm_namespace.get("job", "hello-hook")["status"]["succeeded"] == 1


async def test_a_failed_install_can_be_replaced(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    with pytest.raises(HelmError, match="hello-hook"):
        await engine.install(
            helm_namespace.release_request(chart=chart({**SIMPLE, "templates/h.yaml": hook("pre-install", fails=True)}))
        )
    with pytest.raises(HelmError, match="still in use"):
        await engine.install(helm_namespace.release_request())
    result = await engine.install(helm_namespace.release_request(replace=True))
    assert (result.revision, result.status) == (2, "deployed")


async def test_foreign_objects_are_adopted_with_take_ownership(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    helm_namespace.kubectl("create", "configmap", "hello", "--from-literal=mine=yes")
    with pytest.raises(HelmError, match="adopt: true"):
        await engine.install(helm_namespace.release_request())
    await engine.install(helm_namespace.release_request(take_ownership=True))
    assert data(helm_namespace)["a"] == "one"


async def test_a_successful_test_hook_raises_no_error(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    await engine.install(helm_namespace.release_request(chart=chart({**SIMPLE, "templates/t.yaml": hook("test")})))
    assert helm_namespace.names("jobs") == set()
    await engine.test(helm_namespace.test_request())
    assert helm_namespace.names("jobs") == {"hello-hook"}


async def test_a_test_hook_that_fails_is_named(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    await engine.install(
        helm_namespace.release_request(chart=chart({**SIMPLE, "templates/t.yaml": hook("test", fails=True)}))
    )
    with pytest.raises(HelmError, match="hello-hook"):
        await engine.test(helm_namespace.test_request())


async def test_output_over_the_limit_does_not_fail_the_release(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    archive = chart({**SIMPLE, "files/zeros": b"\0" * (14 * 1024 * 1024)}, name="huge", version="2.0.0")
    result = await engine.install(helm_namespace.release_request(chart=archive))
    assert (result.revision, result.status, result.chart_name, result.chart_version) == (1, "deployed", "huge", "2.0.0")
    assert "kind: ConfigMap" in result.manifest
