"""Objects that are still being deleted when helm applies them: once they are gone, they are created again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN
from tests.unit.histories.situations.actions import (
    CONFIGMAP_TARGET,
    RECORD,
    allow,
    change,
    forbidden,
    install,
    refuse,
    store,
)
from tests.unit.histories.test_removals import events
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

RECREATED = [
    ("Normal", "created again, because it was still being deleted when revision 1 was deployed: ConfigMap hello")
]
THEIRS = {"tag": "one", "more": "theirs"}
TOLD = "; still being deleted since before revision 1 was deployed, and created again once gone: ConfigMap hello"


def config_map(history: History) -> Json | None:
    return history.cluster.server.find("configmaps", "hello")


def hold(history: History) -> None:
    """Let something keep the ConfigMap while it is being deleted, as Kubernetes keeps a claim that a pod uses."""
    change(history, CONFIGMAP_TARGET, {"metadata": {"finalizers": ["example.com/hold"]}})


def let_go(history: History) -> None:
    change(history, CONFIGMAP_TARGET, {"metadata": {"finalizers": None}})


def create_theirs(history: History) -> None:
    body: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hello"}, "data": {**THEIRS}}
    history.cluster.server.create(CONFIGMAP_TARGET, body)


def delete_config_map(history: History) -> None:
    history.note("delete the ConfigMap")
    history.cluster.server.delete(CONFIGMAP_TARGET, {})


def is_ready(history: History) -> bool:
    return history.outcome.startswith("Ready")


def ready_message(history: History) -> str:
    return str((history.cluster.condition("Ready") or {})["message"])


async def install_over(history: History, **spec: Any) -> None:
    """Let a person uninstall the release, and the operator install it while the ConfigMap is still being deleted."""
    await install(history, **spec)
    hold(history)
    await history.cluster.wait(5.0)
    history.uninstall_by_hand()
    assert await history.cluster.wait_for(lambda: history.cluster.revisions == {1: "deployed"}, seconds=20.0)
    assert len(history.helm_steps) == 2
    assert "deletionTimestamp" in (config_map(history) or {})["metadata"]


def stored_note(history: History) -> list[str]:
    status: Json = (history.cluster.xapp() or {})["status"]
    return [f"{each['kind']} {each['name']}" for each in status.get("terminating", ())]


@pytest.mark.parametrize("mode", ["disabled", "warn", "enabled"])
@pytest.mark.parametrize("seconds", [8.0, 2.0 * TIMEOUT_SECONDS])
def test_an_install_over_an_object_that_is_being_deleted(settings: Settings, mode: str, seconds: float) -> None:
    """It ends Ready, however long the object takes; nobody has changed anything, so there is no drift."""

    async def play(history: History) -> None:
        await install_over(history, driftDetection={"mode": mode})
        await history.cluster.wait(seconds)
        assert ready_message(history).endswith(TOLD)
        assert stored_note(history) == ["ConfigMap hello"]
        let_go(history)
        assert await history.cluster.wait_for(lambda: is_ready(history), seconds=20.0)

    history = run_history(settings, play)
    assert events(history, "Recreated") == RECREATED
    assert events(history, "DriftDetected") == events(history, "DriftCorrected") == []
    assert stored_note(history) == []
    assert len(history.helm_steps) == 2


@pytest.mark.parametrize("mode", ["disabled", "warn"])
def test_the_object_goes_while_there_is_no_operator(settings: Settings, mode: str) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install_over(history, driftDetection={"mode": mode})
        await cluster.wait(8.0)
        cluster.downtime = 10.0
        cluster.restart()
        await cluster.wait(2.0)
        let_go(history)
        assert config_map(history) is None
        assert await cluster.wait_for(lambda: is_ready(history), seconds=40.0)

    assert events(run_history(settings, play), "Recreated") == RECREATED


def test_the_operator_ends_with_helm_and_the_object_goes_before_it_starts(settings: Settings) -> None:
    """What is being deleted is noted before the step, and found in the manifest after the restart."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await install(history, driftDetection={"mode": "disabled"})
        hold(history)
        await cluster.wait(5.0)
        delete_config_map(history)
        await cluster.wait(5.0)

        def end(plural: str, body: Json) -> None:
            labels = body["metadata"].get("labels", {})
            if plural == "secrets" and (labels.get("version"), labels.get("status")) == ("2", "deployed"):
                cluster.restart()

        cluster.server.on_stored.append(end)
        cluster.downtime = 10.0
        history.annotate("force-at")
        assert await cluster.wait_for(lambda: cluster.revisions.get(2) == "deployed", seconds=20.0)
        cluster.server.on_stored.remove(end)
        let_go(history)
        assert config_map(history) is None
        assert await cluster.wait_for(lambda: config_map(history) is not None, seconds=40.0)

    assert len(events(run_history(settings, play), "Recreated")) == 1


def test_a_step_over_nothing_notes_nothing(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        assert stored_note(history) == []

    assert events(run_history(settings, play), "Recreated") == []


@pytest.mark.parametrize("restart", [False, True])
def test_what_a_person_deletes_after_the_step_stays_away(settings: Settings, restart: bool) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install(history, driftDetection={"mode": "warn"})
        hold(history)
        await cluster.wait(5.0)
        delete_config_map(history)
        await cluster.wait(5.0)
        if restart:
            cluster.restart()
            await cluster.wait(10.0)
        assert stored_note(history) == []
        let_go(history)
        await cluster.wait(30.0)
        assert config_map(history) is None
        assert (cluster.condition("Drifted") or {})["message"] == "ConfigMap hello is missing"

    assert events(run_history(settings, play), "Recreated") == []


def test_what_a_person_deletes_after_it_was_created_again_stays_away(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install_over(history)
        let_go(history)
        assert await cluster.wait_for(lambda: is_ready(history), seconds=20.0)
        await cluster.wait(5.0)
        delete_config_map(history)
        await cluster.wait(60.0)
        assert config_map(history) is None

    assert events(run_history(settings, play), "Recreated") == RECREATED


def test_an_object_that_somebody_else_creates_again_is_left_alone(settings: Settings) -> None:
    """Even if the watches do not show it, for it has no labels."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await install_over(history, driftDetection={"mode": "disabled"})
        let_go(history)
        create_theirs(history)
        await cluster.wait(30.0)
        assert stored_note(history) == []
        assert (config_map(history) or {})["data"]["more"] == "theirs"

    assert events(run_history(settings, play), "Recreated") == []


@pytest.mark.parametrize("then", ["it stays", "it is deleted", "it was being deleted"])
def test_somebody_else_creates_the_object_right_before_the_operator(settings: Settings, then: str) -> None:
    """What is being deleted is not what the chart needs; what somebody deletes later stays away."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await install_over(history, driftDetection={"mode": "disabled"})
        await cluster.wait(10.0)

        def create(request: ApiRequest) -> None:
            if request.path.endswith(f"/{RECORD.name}"):
                allow(history)
                create_theirs(history)
                if then == "it was being deleted":
                    hold(history)
                    delete_config_map(history)

        def delete(request: ApiRequest, *_: object) -> None:
            if config_map(history) is not None and request.path.endswith("/configmaps/hello"):
                cluster.on_response.remove(delete)
                if then == "it is deleted":
                    delete_config_map(history)
                elif then == "it was being deleted":
                    let_go(history)

        cluster.refuse = create
        cluster.on_response.append(delete)
        let_go(history)
        await cluster.wait(60.0)
        assert stored_note(history) == []
        data = (config_map(history) or {}).get("data")
        assert data == {"it stays": THEIRS, "it is deleted": None, "it was being deleted": {"tag": "one"}}[then]

    recreated = RECREATED if then == "it was being deleted" else []
    assert events(run_history(settings, play), "Recreated") == recreated


def test_an_automatic_rollback_to_a_revision_with_such_an_object(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install(history)
        hold(history)
        await cluster.wait(5.0)
        history.edit(archive=store(history, dep=DEPLOYMENT), values={"tag": BROKEN})
        assert await cluster.wait_for(lambda: cluster.condition("Stalled") is not None, seconds=3.0 * TIMEOUT_SECONDS)
        assert "ConfigMap hello" in ready_message(history)
        let_go(history)
        await cluster.wait(10.0)
        assert (config_map(history) or {})["data"]["tag"] == "one"
        assert stored_note(history) == []
        assert "ConfigMap hello" not in ready_message(history)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]
    assert len(events(history, "Recreated")) == 1


def test_an_xapp_that_is_created_again_while_its_objects_go(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install(history)
        hold(history)
        await cluster.wait(5.0)
        history.delete()
        assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=60.0)
        history.removed.clear()  # the ConfigMap is left until something lets it go
        history.create(archive=store(history, cm=CONFIGMAP, dep=DEPLOYMENT))
        await cluster.wait(15.0)
        assert ready_message(history).endswith(TOLD)
        let_go(history)
        assert await cluster.wait_for(lambda: is_ready(history), seconds=20.0)

    assert events(run_history(settings, play), "Recreated") == RECREATED


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [(forbidden("configmaps"), "AccessDenied"), (Refused(422, "Invalid", "no"), "CorrectionRefused")],
    ids=["denied", "invalid"],
)
def test_the_cluster_refuses_to_create_the_object_again(settings: Settings, refusal: Refused, reason: str) -> None:
    """It is tried again with growing pauses, and not forgotten meanwhile, even by an operator that starts anew."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await install_over(history)
        refuse(history, "PATCH", "/configmaps/hello", refusal)
        let_go(history)
        await cluster.wait(20.0)
        assert len(events(history, reason)) >= 1
        assert ready_message(history).endswith(TOLD)
        cluster.restart()
        await cluster.wait(20.0)
        assert config_map(history) is None
        allow(history)
        assert await cluster.wait_for(lambda: is_ready(history), seconds=60.0)

    assert events(run_history(settings, play), "Recreated") == RECREATED


def test_a_cluster_that_does_not_answer_counts_as_a_failure(settings: Settings) -> None:
    def failures(history: History) -> float:
        assert history.cluster.runtime is not None
        labels = {"action": "recreate", "outcome": "failed"}
        registry = history.cluster.runtime._context.metrics.registry
        return registry.get_sample_value("xapp_operator_reconcile_seconds_count", labels) or 0.0

    async def play(history: History) -> None:
        cluster = history.cluster
        await install_over(history)
        refuse(history, "PATCH", "/configmaps/hello", Refused(500, "InternalError", "no"))
        let_go(history)
        assert await cluster.wait_for(lambda: failures(history) > 0, seconds=20.0)
        allow(history)
        assert await cluster.wait_for(lambda: is_ready(history), seconds=60.0)

    assert events(run_history(settings, play), "Recreated") == RECREATED


@pytest.mark.parametrize("held", [True, False])
def test_the_end_of_an_xapp_tells_which_objects_are_still_being_deleted(settings: Settings, held: bool) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install(history)
        if held:
            hold(history)
        await cluster.wait(5.0)
        cluster.server.lag = 0.0
        history.delete()
        assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=60.0)
        history.removed.clear()  # what is left is told of
        if held:
            let_go(history)

    told = (
        "the release is uninstalled, but these objects are still being deleted, because a finalizer or a pod holds "
        "them: ConfigMap/hello"
    )
    assert events(run_history(settings, play), "LeftBehind") == ([("Normal", told)] if held else [])
