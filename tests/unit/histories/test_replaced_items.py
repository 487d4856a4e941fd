"""Items of lists whose keys somebody edits, so that an apply adds the chart's items beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import CONFIGMAP, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE, Kill
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, CORRECT, allow, change, install, refuse, store
from tests.unit.histories.test_removals import events
from xapp_operator.config.settings import Settings

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: ClusterIP, ports: [{name: http, port: 8080}, {name: metrics, port: 9000}]}
"""
WEB = Target("", "v1", "services", NAMESPACE, "web")
CHARTS_PORTS = {"http": 8080, "metrics": 9000}
THEIRS = [{"name": "http", "port": 9090}, {"name": "metrics", "port": 9000}]
OFF = {"mode": "disabled"}


def edit_port(history: History, *more: Json) -> None:
    change(history, WEB, {"spec": {"ports": [*THEIRS, *more]}}, manager="kubectl-edit")


def ports(history: History) -> dict[str, int]:
    return {each["name"]: each["port"] for each in history.cluster.server.get(WEB)["spec"]["ports"]}


def drifted(history: History) -> tuple[str, str]:
    found = history.cluster.condition("Drifted") or {}
    return found.get("reason", ""), found.get("message", "")


def statuses(history: History) -> list[str]:
    return list(history.cluster.revisions.values())


async def install_service(history: History, **spec: Any) -> None:
    await install(history, archive=store(history, cm=CONFIGMAP, web=SERVICE), **spec)


def test_a_correction_brings_the_port_of_the_chart_back(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install_service(history, driftDetection=CORRECT)
        edit_port(history)
        await history.cluster.wait(20.0)
        assert ports(history) == CHARTS_PORTS
        assert drifted(history) == ("DriftCorrected", "corrected: Service web (/spec/ports/0, changed by kubectl-edit)")

    history = run_history(settings, play)
    assert statuses(history) == ["deployed"]


def test_an_upgrade_brings_the_port_of_the_chart_back_and_no_revision_fails(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install_service(history)
        edit_port(history)
        await history.cluster.wait(30.0)
        assert drifted(history) == ("DriftDetected", "Service web (/spec/ports/0, changed by kubectl-edit)")
        assert ports(history)["http"] == 9090, "warn changes nothing"
        managers = {each["manager"] for each in history.cluster.server.get(WEB)["metadata"]["managedFields"]}
        assert "kubectl-edit" in managers
        history.set_tag("two")
        await history.cluster.wait(30.0)
        assert ports(history) == CHARTS_PORTS

    history = run_history(settings, play)
    assert statuses(history) == ["superseded", "deployed"]
    assert drifted(history)[0] == "NoDrift"


@pytest.mark.parametrize("rollback", [False, True])
def test_a_step_that_was_refused_because_of_an_edit_is_repeated(settings: Settings, rollback: bool) -> None:
    """Without drift detection nobody knew of the edit before."""

    async def play(history: History) -> None:
        await install_service(history, driftDetection=OFF)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        edit_port(history)
        await history.cluster.wait(20.0)
        if rollback:
            history.annotate("rollback-to", "1")
        else:
            history.set_tag("three")
        await history.cluster.wait(30.0)
        assert ports(history) == CHARTS_PORTS

    history = run_history(settings, play)
    assert statuses(history) == ["superseded", "superseded", "failed", "deployed"]
    assert events(history, "UpgradeFailed") == events(history, "RollbackFailed") == []
    told = {each["revision"]: each["status"] for each in (history.cluster.xapp() or {})["status"]["history"]}
    assert told[3] == "failed"


@pytest.mark.parametrize("value", ["one", ".inf"])
def test_objects_in_which_nothing_was_replaced_do_not_keep_a_step_from_being_repeated(
    settings: Settings, value: str
) -> None:
    """Others manage a field of one, which is read later, or whose manifest cannot be compared. One is gone."""
    other = Target("", "v1", "services", NAMESPACE, "other")
    template = SERVICE.replace("web", "other").replace("ClusterIP", f"ClusterIP, value: {value}")

    async def play(history: History) -> None:
        cluster = history.cluster
        chart = store(history, cm=CONFIGMAP, web=SERVICE, other=template)
        await install(history, archive=chart, driftDetection=OFF)
        change(history, other, {"spec": {"more": "theirs"}})
        cluster.server.delete(CONFIGMAP_TARGET, {})
        edit_port(history)
        await cluster.wait(20.0)
        cluster.latency = lambda request: 2.0 if request.path.endswith("/services/other") else 0.0
        history.set_tag("two")
        await cluster.wait(30.0)
        assert ports(history) == CHARTS_PORTS

    history = run_history(settings, play)
    assert statuses(history) == ["superseded", "failed", "deployed"]
    assert events(history, "UpgradeFailed") == []


def test_a_new_item_of_the_chart_takes_the_place_of_one_that_somebody_added(settings: Settings) -> None:
    """The manifest that was refused tells, not the one before it. Objects that nobody else manages are not read."""
    more = SERVICE.replace("port: 9000}", "port: 9000}, {name: mesh, port: 16000}")

    async def play(history: History) -> None:
        cluster = history.cluster
        await install_service(history, driftDetection=OFF)
        ports_of_chart = [{"name": name, "port": port} for name, port in CHARTS_PORTS.items()]
        change(history, WEB, {"spec": {"ports": [*ports_of_chart, {"name": "mesh", "port": 15000}]}}, manager="mesh")
        await cluster.wait(20.0)
        reads = count_config_map_reads(history)
        history.edit(archive=store(history, version="0.2.0", cm=CONFIGMAP, web=more))
        await cluster.wait(30.0)
        assert ports(history) == {**CHARTS_PORTS, "mesh": 16000}
        assert count_config_map_reads(history) == reads

    history = run_history(settings, play)
    assert statuses(history) == ["superseded", "failed", "deployed"]


def count_config_map_reads(history: History) -> int:
    assert history.cluster.transport is not None
    requests = history.cluster.transport.requests
    return sum(each.method == "GET" and each.path.endswith("/configmaps/hello") for each in requests)


@pytest.mark.parametrize("path", ["/secrets", "/secrets/sh.helm.release.v1.hello.v2"])
def test_a_step_that_was_refused_fails_as_it_is_if_the_records_cannot_be_read(settings: Settings, path: str) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install_service(history, driftDetection=OFF)
        edit_port(history)
        await cluster.wait(20.0)
        refuse(history, "GET", path, Refused(500, "InternalError", "no"))
        history.set_tag("two")
        assert await cluster.wait_for(lambda: events(history, "UpgradeFailed") != [], seconds=20.0)
        ((_, message),) = events(history, "UpgradeFailed")
        assert "Service" in message
        assert statuses(history) == ["deployed", "failed"]
        allow(history)
        await cluster.wait(60.0)
        assert ports(history) == CHARTS_PORTS

    run_history(settings, play)


def test_a_step_is_repeated_because_of_an_edit_in_another_namespace(settings: Settings) -> None:
    elsewhere = replace(WEB, namespace="other")

    async def play(history: History) -> None:
        server = history.cluster.server
        chart = store(history, cm=CONFIGMAP, web=SERVICE.replace("name: web", "name: web, namespace: other"))
        await install(history, archive=chart, driftDetection=OFF)
        change(history, elsewhere, {"spec": {"ports": THEIRS}}, manager="kubectl-edit")
        await history.cluster.wait(20.0)
        history.set_tag("two")
        await history.cluster.wait(30.0)
        assert [each["port"] for each in server.get(elsewhere)["spec"]["ports"]] == [*CHARTS_PORTS.values()]

    history = run_history(settings, play)
    assert statuses(history) == ["superseded", "failed", "deployed"]


def test_an_object_that_another_release_has_taken_over_is_left_alone(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install_service(history, driftDetection=OFF)
        change(history, WEB, {"metadata": {"annotations": {"meta.helm.sh/release-name": "theirs"}}})
        edit_port(history)
        await history.cluster.wait(20.0)
        history.set_tag("two")
        await history.cluster.wait(30.0)
        assert ports(history)["http"] == 9090
        edit_port(history)
        change(history, WEB, {"metadata": {"annotations": {"meta.helm.sh/release-name": "hello"}}})
        await history.cluster.wait(60.0)

    run_history(settings, play)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("mode", [CORRECT, {"mode": "warn"}, OFF])
@pytest.mark.parametrize("write", range(4))
def test_an_operator_that_is_killed_in_between_goes_on(settings: Settings, mode: Json, write: int, after: bool) -> None:
    async def play(history: History) -> None:
        await install_service(history, driftDetection=mode)
        edit_port(history)
        if mode != CORRECT:
            await history.cluster.wait(20.0)
            history.set_tag("two")

        history.cluster.kill = Kill(write, after=after)
        await history.cluster.wait(120.0)
        assert ports(history) == CHARTS_PORTS

    run_history(settings, play)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", range(10))
@pytest.mark.parametrize(("command", "most"), [("upgrade", 1), ("rollback", 2)])
def test_an_upgrade_that_was_repeated_is_not_made_again_when_its_answer_is_lost(
    settings: Settings, command: str, most: int, write: int, after: bool
) -> None:
    """The operator is killed at a write of the second run, or soon after it. A rollback is the same however often."""

    async def play(history: History) -> None:
        def kill_in_the_second_run(plural: str, body: Json) -> None:
            labels = body["metadata"].get("labels", {})
            if plural == "secrets" and labels.get("version") == "3" and labels.get("status") == "failed":
                history.cluster.kill = Kill(write, after=after)

        await install_service(history, driftDetection=OFF)
        if command == "rollback":
            history.set_tag("two")
            await history.cluster.wait(20.0)
        else:
            history.annotate("force-at")
            await history.cluster.wait(20.0)
        edit_port(history)
        await history.cluster.wait(20.0)
        history.cluster.server.on_stored.append(kill_in_the_second_run)
        if command == "rollback":
            history.annotate("rollback-to", "1")
        else:
            history.set_tag("three")
        await history.cluster.wait(120.0)
        assert ports(history) == CHARTS_PORTS

    history = run_history(settings, play)
    ended = [each.command for each in history.helm_steps[2:] if each.done]
    assert ended in [[command] * count for count in range(1, most + 1)], history.describe()
    assert statuses(history).count("deployed") == 1
    assert (history.cluster.xapp() or {})["status"].get("heldRevision") == (1 if command == "rollback" else None)


def test_a_port_that_a_controller_added_stays(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install_service(history, driftDetection=CORRECT)
        mesh = {"name": "mesh", "port": 15000}
        ports_of_chart = [{"name": name, "port": port} for name, port in CHARTS_PORTS.items()]
        change(history, WEB, {"spec": {"ports": [*ports_of_chart, mesh]}}, manager="mesh")
        await history.cluster.wait(20.0)
        assert drifted(history) == ("", "")
        edit_port(history, mesh)
        await history.cluster.wait(20.0)
        assert ports(history) == {**CHARTS_PORTS, "mesh": 15000}
        history.set_tag("two")
        await history.cluster.wait(20.0)
        assert ports(history) == {**CHARTS_PORTS, "mesh": 15000}

    run_history(settings, play)


@pytest.mark.parametrize("ignored", ["all", "/spec/ports", "no JSON pointer"])
def test_an_edit_that_an_annotation_protects_stays_and_the_failure_names_it(settings: Settings, ignored: str) -> None:
    async def play(history: History) -> None:
        await install_service(history, driftDetection=CORRECT)
        change(history, WEB, {"metadata": {"annotations": {"xapp-operator.io/ignore-drift": ignored}}})
        edit_port(history)
        await history.cluster.wait(20.0)
        assert drifted(history)[0] == ("DriftDetected" if ignored == "no JSON pointer" else "")
        history.set_tag("two")
        await history.cluster.wait(90.0)
        assert ports(history)["http"] == 9090
        stalled = history.cluster.condition("Stalled") or {}
        assert (
            "Service web: kubectl-edit replaced /spec/ports/0, and the annotation xapp-operator.io/ignore-drift"
            in (stalled["message"])
        )
        change(history, WEB, {"metadata": {"annotations": {"xapp-operator.io/ignore-drift": None}}})
        history.annotate("retry-at")
        await history.cluster.wait(60.0)
        assert ports(history) == CHARTS_PORTS

    run_history(settings, play)


def test_known_replacements_cost_no_request(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install_service(history)
        edit_port(history)
        await history.cluster.wait(30.0)
        assert history.cluster.transport is not None
        before = len(history.cluster.transport.requests)
        await history.cluster.wait(30.0)
        assert len(history.cluster.transport.requests) == before

    run_history(settings, play)
