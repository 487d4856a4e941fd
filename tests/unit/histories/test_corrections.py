"""Corrections of objects that change while they are corrected: what is told, and what is left alone."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, RESYNC_SECONDS, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import (
    CONFIGMAP_TARGET,
    CORRECT,
    allow,
    change,
    install,
    refuse,
    set_live_tag,
    store,
)
from tests.unit.histories.test_removals import events
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest


@pytest.mark.parametrize(
    "refusal",
    [Refused(409, "Conflict", "the object has been modified"), Refused(404, "NotFound", "not found")],
    ids=["changed all the time", "gone meanwhile"],
)
def test_an_object_that_changes_all_the_time_is_not_called_corrected(settings: Settings, refusal: Refused) -> None:
    async def play(history: History) -> None:
        await install(history, driftDetection=CORRECT)
        refuse(history, "PATCH", "/configmaps/hello", refusal, dry_run=False)
        set_live_tag(history, "theirs")
        await history.cluster.wait(30.0)
        assert history.live_tags == {"theirs", "one"}
        assert (history.cluster.condition("Drifted") or {})["reason"] == "DriftDetected"
        assert events(history, "DriftCorrected") == []
        allow(history)

    history = run_history(settings, play)
    assert events(history, "DriftCorrected") == [("Normal", "ConfigMap hello (/data/tag, changed by kubectl)")]


@pytest.mark.parametrize(
    ("ignored", "reason"),
    [("", "DriftCorrected"), ("/data/tag", "NoDrift"), ("all", "NoDrift"), ("no pointer", "DriftDetected")],
)
def test_an_object_that_changed_meanwhile_is_corrected_as_it_is_now(
    settings: Settings, ignored: str, reason: str
) -> None:
    """A conflict is tried again; an exception from the correction that was set meanwhile is respected."""
    corrected = reason == "DriftCorrected"

    async def play(history: History) -> None:
        await install(history, driftDetection=CORRECT)
        tries: list[ApiRequest] = []

        def change_meanwhile(request: ApiRequest) -> None:
            applied = request.path.endswith("/configmaps/hello") and request.params.get("fieldManager") == "helm"
            if applied and "dryRun" not in request.params and not tries:
                tries.append(request)
                annotations = {"a": "b", **({"xapp-operator.io/ignore-drift": ignored} if ignored else {})}
                change(history, CONFIGMAP_TARGET, {"metadata": {"annotations": annotations}})

        history.cluster.refuse = change_meanwhile
        set_live_tag(history, "theirs")
        await history.cluster.wait(20.0)
        assert tries
        assert history.live_tags == ({"one"} if corrected else {"one", "theirs"})
        assert (history.cluster.condition("Drifted") or {})["reason"] == reason
        assert len(events(history, "DriftCorrected")) == corrected
        history.edit(driftDetection={"mode": "disabled"})
        set_live_tag(history, "one")

    run_history(settings, play)


@pytest.mark.parametrize("namespace", [NAMESPACE, "other"])
def test_replicas_are_left_to_a_scaler_in_the_namespace_of_the_object(settings: Settings, namespace: str) -> None:
    """The chart has a Deployment of one name in two namespaces, and one of them is scaled."""
    elsewhere = DEPLOYMENT.replace("  name: {{ .Release.Name }}", "  name: {{ .Release.Name }}\n  namespace: other")

    def deployments(history: History) -> dict[str, int]:
        found = history.cluster.server.all("deployments")
        return {each["metadata"]["namespace"]: each["spec"]["replicas"] for each in found}

    async def play(history: History) -> None:
        server = history.cluster.server
        archive = store(history, cm=CONFIGMAP, here=DEPLOYMENT, elsewhere=elsewhere)
        await install(history, archive=archive, driftDetection=CORRECT)
        chosen = deployments(history)
        assert chosen.keys() == {NAMESPACE, "other"}
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "hello"}
        body = {"metadata": {"name": "scaler", "namespace": namespace}, "spec": {"scaleTargetRef": reference}}
        server.create(Target("autoscaling", "v2", "horizontalpodautoscalers", namespace), body)
        for each in chosen:
            change(history, Target("apps", "v1", "deployments", each, "hello"), {"spec": {"replicas": 5}})
        await history.cluster.wait(2.0 * RESYNC_SECONDS)
        assert deployments(history) == {**chosen, namespace: 5}
        history.set_tag("two")

    run_history(settings, play)
