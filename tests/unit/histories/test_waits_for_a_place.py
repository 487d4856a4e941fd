"""Steps that wait for a place for their helm: the wait is no part of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import STORED_CHART, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.helm_tests import deploy, wait_tested
from tests.unit.histories.situations.actions import create_other, remove_other, take_the_place
from tests.unit.histories.test_status_writes import count, is_status
from xapp_operator.config.settings import Settings
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile import status_reports
from xapp_operator.reconcile.status.status_rendering import render_status
from xapp_operator.reconcile.status_reports import QUEUED

UNAVAILABLE = "Internal error occurred: etcdserver: request timed out"


def status_of(history: History) -> Json:
    found: Json = (history.cluster.xapp() or {})["status"]
    return found


def seconds_of(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def test_a_long_wait_is_reported_as_that(narrow: Settings) -> None:
    """Until helm runs, its timeout has not begun."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await take_the_place(history)
        history.create(tag="one")
        await cluster.wait(25.0)
        assert count(history) == 0
        await cluster.wait(10.0)
        status = status_of(history)
        assert status["progress"].keys() == {"step", "startedAt"}
        assert (status["phase"], status["progress"]["step"]) == ("Pending", "queued")
        assert "lastAttempt" not in status
        messages = {each["message"] for each in status["conditions"]}
        assert messages == {"waits until helm has ended for other XApps"}
        assert await cluster.wait_for(lambda: count(history) == 2, seconds=60.0)
        progress = status_of(history)["progress"]
        assert progress["step"] == "helm"
        assert 20.0 < seconds_of(progress["deadline"]) - cluster.clock.now() < 30.0
        await cluster.wait(100.0)
        await remove_other(history)

    history = run_history(narrow, play)
    assert history.outcome == "Ready InstallSucceeded"


def test_neither_it_nor_the_helm_that_runs_holds_a_worker(narrow: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await take_the_place(history)
        history.create(tag="one")
        await cluster.wait(10.0)
        create_other(history, "third", suspend=True)
        await cluster.wait(10.0)
        assert history.helm_steps == []
        assert (cluster.xapp("third") or {})["status"]["phase"] == "Suspended"
        cluster.delete("third")
        await cluster.wait(100.0)
        await remove_other(history)

    history = run_history(narrow.model_copy(update={"workers": 1}), play)
    assert history.outcome == "Ready InstallSucceeded"


def test_it_does_not_count_towards_the_timeout_of_a_first_try(narrow: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await take_the_place(history)
        history.create(tag="one")
        cluster.helm.faults = [Fault(UNAVAILABLE)]
        await cluster.wait(2 * TIMEOUT_SECONDS)
        assert history.helm_steps == []
        assert await cluster.wait_for(lambda: len(history.helm_steps) > 0, seconds=20.0)
        cluster.helm.pause = 0.2
        await cluster.wait(TIMEOUT_SECONDS)
        await remove_other(history)

    history = run_history(narrow, play)
    assert history.outcome == "Ready InstallSucceeded"
    assert [each.command for each in history.helm_steps] == ["install", "install"]


def test_it_does_not_count_towards_the_timeout_of_a_second_try(narrow: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        cluster.create(STORED_CHART)
        create_other(history)
        await cluster.wait(20.0)
        cluster.helm.faults = [Fault(UNAVAILABLE), None, Fault(UNAVAILABLE)]
        cluster.helm.pause = 8.0
        history.create(tag="one")
        assert await cluster.wait_for(lambda: len(history.helm_steps) == 1, seconds=20.0)
        cluster.edit({"spec": {"values": {"tag": "two"}}}, "other")
        await cluster.wait(44.0)
        assert len(history.helm_steps) == 1
        assert status_of(history)["progress"].keys() == {"step", "startedAt"}
        assert status_of(history)["progress"]["step"] == "queued"
        assert (cluster.condition("Ready") or {})["message"] == QUEUED.message
        assert await cluster.wait_for(lambda: len(history.helm_steps) == 2, seconds=100.0)
        await cluster.wait(4.0)
        waited, progress = status_of(history)["lastAttempt"], status_of(history)["progress"]
        assert (waited["outcome"], waited["count"]) == ("Running", 2)
        assert (progress["step"], progress["attempt"]) == ("helm", 2)
        assert TIMEOUT_SECONDS - 8 < seconds_of(progress["deadline"]) - cluster.clock.now() < TIMEOUT_SECONDS
        await cluster.wait(2 * TIMEOUT_SECONDS)
        await remove_other(history)

    history = run_history(narrow, play)
    assert [each.command for each in history.helm_steps] == ["install"] * 3
    assert history.outcome == "Ready InstallSucceeded"


def roll_back(history: History) -> None:
    history.annotate("rollback-to", "1")


async def prepare_rollback(history: History) -> None:
    """Deploy twice, and let the helm of another XApp take the place then."""
    history.create(tag="one")
    await history.cluster.wait(20.0)
    history.set_tag("two")
    await history.cluster.wait(20.0)
    await take_the_place(history)


@pytest.mark.parametrize(
    ("change", "step"),
    [(roll_back, "helm is rolling the release back"), (History.delete, "helm is uninstalling the release")],
    ids=["rollback", "uninstall"],
)
def test_a_long_wait_of_a_recorded_step_is_reported_as_that_until_helm_runs(
    narrow: Settings, change: Callable[[History], None], step: str
) -> None:
    said: list[str] = []

    async def play(history: History) -> None:
        cluster = history.cluster
        await prepare_rollback(history)

        def note(plural: str, body: Json) -> None:
            if plural == "xapps" and body["metadata"]["name"] == "hello":
                conditions = body["status"]["conditions"]
                said.extend(each["message"] for each in conditions if each["type"] == "Reconciling")

        cluster.server.on_stored.append(note)
        change(history)
        await cluster.wait(25.0)
        assert QUEUED.message not in said
        await cluster.wait(10.0)
        assert status_of(history)["progress"]["step"] == "queued"
        assert (cluster.condition("Ready") or {})["message"] == QUEUED.message
        await cluster.wait(100.0)
        await remove_other(history)

    run_history(narrow, play)
    assert list(dict.fromkeys(said)) == [step, QUEUED.message]
    assert said[said.index(QUEUED.message) + 1] == step


@pytest.mark.parametrize("change", [roll_back, History.delete], ids=["rollback", "uninstall"])
def test_report_of_helm_that_is_refused_is_written_again(narrow: Settings, change: Callable[[History], None]) -> None:
    refused: list[ApiRequest] = []

    def refuse(request: ApiRequest) -> None:
        if is_status(request) and not refused:
            refused.append(request)
            raise Refused(500, "InternalError", "etcdserver: request timed out")

    async def play(history: History) -> None:
        cluster = history.cluster
        await prepare_rollback(history)
        change(history)
        await cluster.wait(35.0)
        assert (cluster.condition("Ready") or {})["message"] == QUEUED.message
        cluster.refuse = refuse
        assert await cluster.wait_for(lambda: bool(refused), seconds=100.0)
        await cluster.wait(12.0)
        assert cluster.helm.running == {"hello"}
        assert status_of(history)["progress"]["step"] == "helm"
        await cluster.wait(100.0)
        await remove_other(history)

    run_history(narrow, play)


def test_slow_deletion_of_tests_is_no_wait_for_a_place(settings: Settings) -> None:
    said: set[str] = set()

    def note(plural: str, body: Json) -> None:
        if plural == "xapps":
            said.update(each["message"] for each in body["status"]["conditions"])

    async def play(history: History) -> None:
        cluster = history.cluster
        deploy(history)
        await wait_tested(history, "Succeeded")
        cluster.latency = lambda request: 40.0 if request.method == "DELETE" and "/pods/" in request.path else 0.0
        cluster.server.on_stored.append(note)
        history.delete()
        await cluster.wait(120.0)

    assert run_history(settings, play).outcome == "gone"
    assert said
    assert QUEUED.message not in said


def suspend(history: History) -> None:
    history.edit(suspend=True)


def change_values(history: History) -> None:
    history.set_tag("two")


@pytest.mark.parametrize("after", [5.0, 40.0], ids=["not told", "told"])
@pytest.mark.parametrize("change", [suspend, change_values])
def test_a_step_that_is_interrupted_in_it_was_never_begun(
    narrow: Settings, change: Callable[[History], None], after: float
) -> None:
    told: set[str] = set()

    async def play(history: History) -> None:
        def note(plural: str, body: Json) -> None:
            if plural == "xapps" and body["metadata"]["name"] == "hello" and not history.helm_steps:
                told.update(each["message"] for each in body.get("status", {}).get("conditions", ()))
                told.update({"lastAttempt"} & body.get("status", {}).keys())

        cluster = history.cluster
        await take_the_place(history)
        cluster.server.on_stored.append(note)
        history.create(tag="one")
        await cluster.wait(after)
        change(history)
        await cluster.wait(70.0)
        if change is suspend:
            assert status_of(history)["phase"] == "Suspended"
            history.edit(suspend=False)
        await cluster.wait(100.0)
        await remove_other(history)

    history = run_history(narrow, play)
    assert len(history.helm_steps) == 1
    assert told
    assert told.isdisjoint({"helm is installing the chart", "lastAttempt"})


def test_an_unexpected_exception_in_its_report_is_logged_and_does_not_end_the_step(
    narrow: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(xapp: Any, draft: Any, decision: Wait | Nothing, *rest: Any, **others: Any) -> Json:
        if decision is QUEUED:
            raise ZeroDivisionError
        return render_status(xapp, draft, decision, *rest, **others)

    monkeypatch.setattr(f"{status_reports.__name__}.render_status", fail)

    async def play(history: History) -> None:
        await take_the_place(history)
        history.create(tag="one")
        assert await history.cluster.wait_for(lambda: bool(history.helm_steps), seconds=100.0)
        await history.cluster.wait(3.0)
        assert status_of(history)["progress"]["step"] == "helm"
        await history.cluster.wait(100.0)
        await remove_other(history)
        assert ["progress not written" in each for each in history.unexpected] == [True]
        history.unexpected.clear()

    assert run_history(narrow, play).outcome == "Ready InstallSucceeded"


@pytest.mark.parametrize("pause", [4.0, 0.6], ids=["helm runs", "helm has ended"])
def test_an_operator_that_ends_waits_for_no_report_of_progress(settings: Settings, pause: float) -> None:
    """Another one may lead by the time it would be stored."""

    async def play(history: History) -> None:
        def latency(request: ApiRequest) -> float:
            return 60.0 if request.method == "PATCH" and request.path.endswith("/status") else 0.0

        cluster = history.cluster
        cluster.helm.pause = pause
        cluster.latency = latency
        history.create(tag="one")
        assert await cluster.wait_for(lambda: len(history.helm_steps) == 1, seconds=20.0)
        await cluster.wait(4.0)
        assert cluster.runtime is not None
        began = cluster.clock.monotonic()
        await cluster.runtime.__aexit__(None, None, None)
        assert cluster.clock.monotonic() - began < 20.0
        await cluster.wait(100.0)
        assert not any(each.endswith("/status") for each in cluster.writes)
        cluster.latency = lambda _: 0.0
        cluster.restart()
        await cluster.wait(20.0)

    assert run_history(settings, play).outcome == "Ready InstallSucceeded"
