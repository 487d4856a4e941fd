"""A release through its life: real helm, real API server."""

from __future__ import annotations

import random

import pytest

from tests.integration.helm.conftest import CONFIGMAP, SIMPLE, WORKLOAD, MakeChart, Place, hook
from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import LABEL_XAPP
from xapp_operator.errors import HelmError
from xapp_operator.helm.engine import HelmEngine

pytestmark = pytest.mark.integration


def data(place: Place, name: str = "hello") -> dict[str, str]:
    found: dict[str, str] = place.get("configmap", name)["data"]
    return found


async def test_install_answers_with_what_was_released(engine: HelmEngine, place: Place, chart: MakeChart) -> None:
    archive = chart({**SIMPLE, "templates/NOTES.txt": "Well done, {{ .Release.Name }}."}, name="well", version="1.2.3")
    result = await engine.install(place.release(chart=archive, values={"data": {"b": "two"}}, labels={LABEL_XAPP: "x"}))
    assert (result.revision, result.status) == (1, "deployed")
    assert (result.chart_name, result.chart_version, result.app_version) == ("well", "1.2.3", "1.0")
    assert result.notes == "Well done, hello."
    assert "kind: ConfigMap" in result.manifest
    assert result.first_deployed == result.last_deployed != ""
    assert data(place) == {"a": "one", "b": "two"}
    record = place.get("secret", "sh.helm.release.v1.hello.v1")
    assert record["metadata"]["labels"][LABEL_XAPP] == "x"


async def test_labels_last_through_an_upgrade_that_changes_one(engine: HelmEngine, place: Place) -> None:
    await engine.install(place.release(labels={LABEL_XAPP: "x", "attempt": "1"}))
    await engine.upgrade(place.release(labels={"attempt": "2"}))
    labels = place.get("secret", "sh.helm.release.v1.hello.v2")["metadata"]["labels"]
    assert (labels[LABEL_XAPP], labels["attempt"]) == ("x", "2")


async def test_a_value_removed_from_the_request_is_gone_after_the_upgrade(engine: HelmEngine, place: Place) -> None:
    await engine.install(place.release(values={"data": {"b": "two"}}))
    await engine.upgrade(place.release(values={}))
    assert data(place) == {"a": "one"}


async def test_kubectl_scale_does_not_break_the_next_upgrade(
    engine: HelmEngine, place: Place, chart: MakeChart
) -> None:
    archive = chart(WORKLOAD)
    await engine.install(place.release(chart=archive))
    place.kubectl("scale", "deployment/hello", "--replicas=3")
    result = await engine.upgrade(place.release(chart=archive, values={"tag": 2}))
    spec = place.get("deployment", "hello")["spec"]
    assert result.revision == 2
    assert spec["replicas"] == 1
    assert spec["template"]["spec"]["containers"][0]["image"].endswith(":2")


async def test_large_values_are_taken_over_standard_input(engine: HelmEngine, place: Place, chart: MakeChart) -> None:
    archive = chart({"values.yaml": "", "templates/c.yaml": CONFIGMAP.replace(".Values.data", '(dict "a" "x")')})
    noise = random.Random(1)
    values: JsonObject = {"filler": {f"key{n}": f"{noise.getrandbits(400):x}" for n in range(2500)}}
    result = await engine.install(place.release(chart=archive, values=values))
    assert result.status == "deployed"


async def test_history_is_bounded_by_upgrades(engine: HelmEngine, place: Place) -> None:
    await engine.install(place.release())
    for number in range(4):
        await engine.upgrade(place.release(values={"data": {"n": str(number)}}, history_max=2))
    assert place.records() == {4: "superseded", 5: "deployed"}


async def test_rollback_answers_with_the_new_revision(engine: HelmEngine, place: Place) -> None:
    await engine.install(place.release(values={"data": {"a": "first"}}))
    await engine.upgrade(place.release(values={"data": {"a": "second"}}))
    result = await engine.rollback(place.way_back(1))
    assert (result.revision, result.status, result.chart_name) == (3, "deployed", "hello")
    assert "first" in result.manifest
    assert data(place) == {"a": "first"}


async def test_rollback_to_a_revision_that_is_not_there_is_permanent(engine: HelmEngine, place: Place) -> None:
    await engine.install(place.release())
    with pytest.raises(HelmError, match="no 7 version") as caught:
        await engine.rollback(place.way_back(7))
    assert caught.value.permanent


async def test_uninstall_leaves_neither_object_nor_record(engine: HelmEngine, place: Place) -> None:
    await engine.install(place.release())
    await engine.upgrade(place.release())
    assert await engine.uninstall(place.removal())
    assert "hello" not in place.names("configmaps")
    assert place.records() == {}


async def test_uninstalling_what_is_not_there_is_done(engine: HelmEngine, place: Place) -> None:
    assert not (await engine.uninstall(place.removal())).found


async def test_what_the_chart_wants_kept_is_kept_and_told(engine: HelmEngine, place: Place, chart: MakeChart) -> None:
    kept = CONFIGMAP.replace("metadata:", "metadata:\n  annotations: {helm.sh/resource-policy: keep}")
    await engine.install(place.release(chart=chart({**SIMPLE, "templates/configmap.yaml": kept})))
    assert (await engine.uninstall(place.removal())).kept == ("ConfigMap/hello",)
    assert "hello" in place.names("configmaps")


async def test_uninstall_without_hooks_passes_a_hook_that_fails(
    engine: HelmEngine, place: Place, chart: MakeChart
) -> None:
    await engine.install(place.release(chart=chart({**SIMPLE, "templates/h.yaml": hook("pre-delete", fails=True)})))
    with pytest.raises(HelmError, match=r"hook Job \S+/hello-hook failed"):
        await engine.uninstall(place.removal())
    assert (await engine.uninstall(place.removal(no_hooks=True))).found
    assert place.records() == {}


async def test_hooks_run_before_the_install_counts_as_done(engine: HelmEngine, place: Place, chart: MakeChart) -> None:
    archive = chart({**SIMPLE, "templates/h.yaml": hook("pre-install")})
    assert (await engine.install(place.release(chart=archive))).status == "deployed"
    assert place.get("job", "hello-hook")["status"]["succeeded"] == 1


async def test_a_failed_install_can_be_replaced(engine: HelmEngine, place: Place, chart: MakeChart) -> None:
    with pytest.raises(HelmError, match="hello-hook"):
        await engine.install(
            place.release(chart=chart({**SIMPLE, "templates/h.yaml": hook("pre-install", fails=True)}))
        )
    with pytest.raises(HelmError, match="still in use"):
        await engine.install(place.release())
    result = await engine.install(place.release(replace=True))
    assert (result.revision, result.status) == (2, "deployed")


async def test_objects_of_others_are_taken_over_when_asked(engine: HelmEngine, place: Place) -> None:
    place.kubectl("create", "configmap", "hello", "--from-literal=mine=yes")
    with pytest.raises(HelmError, match="adopt: true"):
        await engine.install(place.release())
    await engine.install(place.release(take_ownership=True))
    assert data(place)["a"] == "one"


async def test_a_test_hook_that_succeeds_is_no_error(engine: HelmEngine, place: Place, chart: MakeChart) -> None:
    await engine.install(place.release(chart=chart({**SIMPLE, "templates/t.yaml": hook("test")})))
    await engine.test(place.trial())


async def test_a_test_hook_that_fails_is_named(engine: HelmEngine, place: Place, chart: MakeChart) -> None:
    await engine.install(place.release(chart=chart({**SIMPLE, "templates/t.yaml": hook("test", fails=True)})))
    with pytest.raises(HelmError, match="hello-hook"):
        await engine.test(place.trial())


async def test_an_answer_over_the_output_bound_is_no_failure(
    engine: HelmEngine, place: Place, chart: MakeChart
) -> None:
    archive = chart({**SIMPLE, "files/zeros": b"\0" * (14 * 1024 * 1024)}, name="huge", version="2.0.0")
    result = await engine.install(place.release(chart=archive))
    assert (result.revision, result.status, result.chart_name, result.chart_version) == (1, "deployed", "huge", "2.0.0")
    assert "kind: ConfigMap" in result.manifest
