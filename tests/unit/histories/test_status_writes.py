"""How often the status is written: progress that is over soon is not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.fakes.api_server import Target, target_of
from tests.support.fakes.helm import FakeHelm, Fault, _Run
from tests.support.fakes.helm_by_hand import write_record
from tests.support.fakes.helm_records import encode_record
from tests.support.fakes.histories import CONFIGMAP, RESYNC_SECONDS, STORED_CHART, History, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import store
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.config.settings import Settings
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.runtime import OperatorRuntime
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.status_reports import StatusReports

STATUS = "PATCH /apis/xapp-operator.io/v1alpha1/namespaces/ns/xapps/hello/status"


def is_status(request: ApiRequest) -> bool:
    return f"{request.method} {request.path}" == STATUS


def write_status(history: History, status: Json) -> None:
    """Write a part of the status as somebody else."""
    history.note(f"status {status}")
    target = Target(XAPPS.group, XAPPS.version, XAPPS.plural, NAMESPACE, "hello", "status")
    history.cluster.server.patch(target, {"status": status})


def count(history: History) -> int:
    return history.cluster.writes.count(STATUS)


def test_install_and_upgrade_that_are_quick_write_the_status_once_each(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 0.05
        history.create(tag="one")
        await history.cluster.wait(10.0)
        assert count(history) == 1, history.cluster.writes
        history.set_tag("two")
        await history.cluster.wait(10.0)
        assert count(history) == 2, history.cluster.writes

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[XApp]:
    """The XApp at the begin of each reconcile."""
    found: list[XApp] = []
    load_draft = StatusReports.load_draft

    def note(self: StatusReports, xapp: XApp) -> StatusDraft:
        found.append(xapp)
        return load_draft(self, xapp)

    monkeypatch.setattr(StatusReports, "load_draft", note)
    return found


@pytest.mark.parametrize("response_seconds", [0.0, 0.5], ids=["response before event", "event before response"])
def test_xapp_is_not_looked_at_for_what_the_operator_does_itself(
    settings: Settings, begun: list[XApp], response_seconds: float
) -> None:
    """Neither its write of the status nor what helm does, which it sees when helm has ended, brings the key back."""

    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 0.1
        history.cluster.response_latency = lambda request: response_seconds if is_status(request) else 0.0
        history.create(tag="one")
        await history.cluster.wait(30.0)
        assert history.outcome == "Ready InstallSucceeded"
        assert len(begun) == 2, "the second because the operator has labelled the objects"

    run_history(settings, play)


def test_xapp_is_not_looked_at_for_each_change_of_objects_that_become_healthy(
    settings: Settings, begun: list[XApp]
) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 0.05
        history.cluster.set_outage(on=True)
        history.create(tag="one")
        assert await history.cluster.wait_for(lambda: history.cluster.revisions == {1: "deployed"}, seconds=1.0)
        await history.cluster.wait(0.3)
        looks = len(begun)
        [deployment] = history.cluster.server.all("deployments")
        target = replace(target_of(deployment, namespace=NAMESPACE), subresource="status")
        for pods in range(5):
            history.cluster.server.patch(target, {"status": {"updatedReplicas": pods}})
            await history.cluster.wait(0.1)
        assert len(begun) == looks
        history.cluster.set_outage(on=False)

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"


def test_suspended_xapp_is_not_looked_at_for_the_health_of_a_release_that_is_gone(
    settings: Settings, begun: list[XApp]
) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.edit(suspend=True)
        await history.cluster.wait(10.0)
        history.uninstall_by_hand()
        await history.cluster.wait(20.0)
        looks = len(begun)
        await history.cluster.wait(RESYNC_SECONDS - 25.0)
        assert len(begun) == looks
        await history.cluster.wait(10.0)
        assert len(begun) == looks + 1

    run_history(settings, play)


@pytest.mark.parametrize("late", ["request", "response"])
def test_what_a_user_changes_while_the_status_is_written_is_acted_on(settings: Settings, late: str) -> None:
    """The write of the operator and the change of the user come as two events, in either order."""
    late_writes: list[ApiRequest] = []

    def delay(request: ApiRequest) -> float:
        if not is_status(request):
            return 0.0
        late_writes.append(request)
        return 1.0

    async def play(history: History) -> None:
        setattr(history.cluster, {"request": "latency", "response": "response_latency"}[late], delay)
        history.create(tag="one")
        while not late_writes:
            await history.cluster.wait(0.1)
        history.annotate("force-at", "now")
        await history.cluster.wait(30.0)
        assert history.cluster.revisions == {1: "superseded", 2: "deployed"}

    run_history(settings, play)


def test_what_a_user_changes_is_acted_on_although_no_event_tells_of_the_write_before_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a watch was lost, a list has only the newest version: here the user's, before the response to the write."""
    left_out: list[str] = []
    update_xapp = OperatorRuntime.update_xapp

    def update(self: OperatorRuntime, body: JsonObject) -> None:
        if text(obj(body, "metadata"), "resourceVersion") not in left_out:
            update_xapp(self, body)

    monkeypatch.setattr(OperatorRuntime, "update_xapp", update)

    async def play(history: History) -> None:
        def change_at_once(request: ApiRequest) -> float:
            if not is_status(request) or left_out:
                return 0.0
            left_out.append((history.cluster.xapp() or {})["metadata"]["resourceVersion"])
            history.annotate("force-at", "now")
            return 1.0

        history.cluster.server.lag = 0.1
        history.cluster.response_latency = change_at_once
        history.create(tag="one")
        await history.cluster.wait(30.0)
        assert history.cluster.revisions == {1: "superseded", 2: "deployed"}

    run_history(settings, play)


def test_status_that_somebody_else_writes_is_corrected(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(30.0)
        write_status(history, {"phase": "Failed"})
        assert (history.cluster.xapp() or {})["status"]["phase"] == "Failed"
        await history.cluster.wait(5.0)
        assert (history.cluster.xapp() or {})["status"]["phase"] == "Deployed"

    run_history(settings, play)


def test_helm_that_takes_its_time_is_reported(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.pause = 4.0
        history.create(tag="one")
        await history.cluster.wait(7.0)
        progress = (history.cluster.xapp() or {})["status"]["progress"]
        assert (progress["step"], progress["attempt"]) == ("helm", 1)
        assert history.cluster.revisions == {1: "pending-install"}

    run_history(settings, play)


@pytest.mark.parametrize(("seconds", "writes"), [(1.0, 2), (5.0, 3)])
def test_start_of_objects_after_a_reported_helm_is_only_reported_if_it_takes_its_time(
    settings: Settings, seconds: float, writes: int
) -> None:
    """Until then, the status goes on to say that helm runs."""

    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 4.0
        history.cluster.set_outage(on=True)
        history.create(tag="one")
        while history.cluster.revisions != {1: "deployed"}:
            await history.cluster.wait(0.1)
        await history.cluster.wait(seconds)
        assert history.outcome == "NotReady Progressing"
        history.cluster.set_outage(on=False)
        await history.cluster.wait(10.0)
        assert count(history) == writes, history.cluster.writes

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"


def test_objects_that_take_their_time_are_reported(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 0.05
        history.cluster.set_outage(on=True)
        history.create(tag="one")
        await history.cluster.wait(1.0)
        assert count(history) == 0
        await history.cluster.wait(4.0)
        assert (history.cluster.xapp() or {})["status"]["progress"]["step"] == "objects"
        history.cluster.set_outage(on=False)

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"


@pytest.mark.parametrize("name", ["force-at", "reconcile-at"])
def test_step_that_was_asked_for_is_recorded_before_helm_runs(settings: Settings, name: str) -> None:
    """So that each annotation is acted on once, also when the operator is killed."""
    writes: list[str] = []

    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        before = len(history.cluster.writes)
        annotations = {f"xapp-operator.io/{name}": "now"}
        history.cluster.edit({"metadata": {"annotations": annotations}, "spec": {"values": {"tag": "two"}}})
        await history.cluster.wait(10.0)
        writes.extend(history.cluster.writes[before:])

    run_history(settings, play)
    assert writes[:2] == [STATUS, "upgrade: create record pending-upgrade"]


@pytest.mark.parametrize("name", ["force-at", "retry-at", "rollback-to", "reconcile-at"])
def test_install_with_an_annotation_is_recorded_before_helm_runs(settings: Settings, name: str) -> None:
    async def play(history: History) -> None:
        body = xapp_body()
        body["metadata"]["annotations"] = {f"xapp-operator.io/{name}": "1"}
        history.cluster.create(STORED_CHART)
        history.cluster.create(body)
        await history.cluster.wait(10.0)

    writes = run_history(settings, play).cluster.writes
    assert writes.index(STATUS) < writes.index("install: create record pending-install")


def test_chart_that_is_waited_for_is_reported_although_objects_are_too(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 0.05
        history.cluster.set_outage(on=True)
        history.create(tag="one")
        await history.cluster.wait(0.5)
        history.cluster.latency = lambda request: 10.0 if "/chartarchives/" in request.path else 0.0
        history.edit(archive=store(history, version="0.2.0", cm=CONFIGMAP))
        await history.cluster.wait(1.0)
        assert history.cluster.revisions == {1: "deployed"}
        assert (history.cluster.xapp() or {})["status"]["progress"]["step"] == "chart"
        history.cluster.set_outage(on=False)

    run_history(settings, play)


def test_dependent_that_is_waited_for_is_reported_although_objects_are_too(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 0.05
        history.cluster.set_outage(on=True)
        history.create(tag="one")
        other = xapp_body(dependsOn=[{"name": "hello"}])
        other["metadata"]["name"] = "other"
        history.cluster.create(other)
        await history.cluster.wait(0.5)
        history.delete()
        await history.cluster.wait(0.5)
        assert history.cluster.revisions == {1: "deployed"}
        assert history.outcome == "NotReady DependencyNotReady"
        history.cluster.set_outage(on=False)

    run_history(settings, play)


def test_failure_of_helm_is_reported_at_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.server.lag, history.cluster.helm.pause = 0.1, 0.05
        history.cluster.helm.faults = [Fault("Internal error occurred: etcdserver: request timed out", writes=0)]
        history.create(tag="one")
        await history.cluster.wait(0.9)
        assert history.outcome == "NotReady InstallFailed"

    run_history(settings, play)


@pytest.mark.parametrize("time", ["first_deployed", "last_deployed"])
def test_times_that_helm_does_not_print_are_left_out(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, time: str
) -> None:
    install = FakeHelm._install

    async def omit(self: FakeHelm, run: _Run) -> str:
        record = json.loads(await install(self, run))
        del record["info"][time]
        return json.dumps(record)

    monkeypatch.setattr(FakeHelm, "_install", omit)

    async def play(history: History) -> None:
        history.create(tag="one")

    check_only_missing_time(run_history(settings, play), time)


@pytest.mark.parametrize("time", ["first_deployed", "last_deployed"])
def test_times_that_the_record_lacks_are_left_out(settings: Settings, time: str) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(5.0)
        [record] = history.records
        del record["info"][time]
        write_record(history, 1, {"data": {"release": encode_record(record)}})
        history.cluster.restart()  # it reads the record, for the objects of the release

    check_only_missing_time(run_history(settings, play), time)


def check_only_missing_time(history: History, time: str) -> None:
    assert history.outcome == "Ready InstallSucceeded"
    release = (history.cluster.xapp() or {})["status"]["release"]
    name = {"first_deployed": "firstDeployed", "last_deployed": "lastDeployed"}
    assert name.pop(time) not in release
    assert all(other in release for other in name.values())
