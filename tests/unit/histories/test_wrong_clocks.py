"""The clock of the operator's machine is wrong from the start: nothing comes earlier or later than it should."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.clock import START
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import STORED_CHART, History, Play, run_history, xapp_body
from tests.support.fakes.operator import BROKEN
from tests.unit.histories.test_removals import (
    CLUSTER_ROLES,
    LABELS,
    OWNER,
    delete_namespace,
    delete_records,
    events,
    install,
    is_gone,
    wait_gone,
)
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.runtime import UNOWNED_CHECK_SECONDS

HOUR = 3600.0
YEAR = 365 * 24 * HOUR
PASSING = "Internal error occurred: etcdserver: request timed out"

wrong_clocks = pytest.mark.parametrize("ahead", [HOUR, -HOUR, YEAR, -YEAR])


def run_with_wrong_clock(settings: Settings, play: Play, ahead: float) -> History:
    def watch(history: History) -> None:
        history.cluster.machine.ahead = ahead

    return run_history(settings, play, watch=watch)


async def start_again(history: History, ahead: float) -> None:
    """End the operator; the next one starts on a machine with another clock."""
    history.cluster.machine.ahead = ahead
    history.cluster.restart()
    await history.cluster.wait(5.0)


async def comes_at(history: History, condition: Callable[[], bool], seconds: float) -> None:
    """Check that a condition comes true in so many seconds, and not before."""
    await history.cluster.wait(seconds - 20.0)
    assert not condition()
    assert await history.cluster.wait_for(condition, seconds=60.0)


def is_stalled(history: History) -> bool:
    return history.outcome.startswith("Stalled")


@wrong_clocks
def test_dependents_are_waited_for_until_the_timeout(settings: Settings, ahead: float) -> None:
    async def play(history: History) -> None:
        await install(history, timeout="10m")
        other = xapp_body(tag="one", dependsOn=[{"name": "hello"}], xAppName="other")
        other["metadata"]["name"] = "other"
        history.cluster.create(other)
        await history.cluster.wait(20.0)
        history.delete()
        await comes_at(history, lambda: "uninstall" in [each.command for each in history.helm_steps], 600.0)
        history.cluster.delete("other")
        assert await history.cluster.wait_for(lambda: history.cluster.xapp("other") is None, seconds=60.0)
        history.removed.clear()  # the revision that was left then is that of the first
        await wait_gone(history)

    run_with_wrong_clock(settings, play, ahead)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("ahead", [HOUR, YEAR])
def test_a_deletion_in_the_future_counts_when_it_is_seen(settings: Settings, ahead: float, restarts: bool) -> None:
    """One of several API servers, whose clock is ahead, has marked the deletion."""

    async def play(history: History) -> None:
        await install(history, timeout="10m")
        other = xapp_body(tag="one", dependsOn=[{"name": "hello"}], xAppName="other")
        other["metadata"]["name"] = "other"
        history.cluster.create(other)
        await history.cluster.wait(20.0)
        history.cluster.clock.offset += ahead
        history.delete()
        history.cluster.clock.offset -= ahead
        if restarts:
            history.cluster.restart()
        await comes_at(history, lambda: "uninstall" in [each.command for each in history.helm_steps], 600.0)
        history.cluster.delete("other")
        assert await history.cluster.wait_for(lambda: history.cluster.xapp("other") is None, seconds=60.0)
        history.removed.clear()  # the revision that was left then is that of the first
        await wait_gone(history)

    run_history(settings, play)


@wrong_clocks
def test_a_kind_without_an_answer_is_given_up_after_the_timeout(settings: Settings, ahead: float) -> None:
    async def play(history: History) -> None:
        def check(request: ApiRequest) -> None:
            if request.path.endswith("/clusterroles") and "labelSelector" in request.params:
                raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")

        await install(history, timeout="10m")
        metadata = {"name": "ours", "labels": LABELS, "annotations": OWNER}
        history.cluster.server.create(CLUSTER_ROLES, {"metadata": metadata})
        history.cluster.refuse = check
        delete_records(history)
        history.uninstall_by_hand()
        delete_namespace(history)
        await comes_at(history, lambda: is_gone(history), 600.0)

    history = run_with_wrong_clock(settings, play, ahead)
    assert len(events(history, "LeftBehind")) == 1


@wrong_clocks
def test_a_release_that_a_person_left_pending_is_taken_after_the_timeout(settings: Settings, ahead: float) -> None:
    async def play(history: History) -> None:
        await history.cluster.wait(5.0)
        history.install_by_hand("one", status="pending-install")
        await history.cluster.wait(60.0)
        history.create(tag="two", adopt=True, timeout="10m")
        await comes_at(history, lambda: "pending-install" not in history.cluster.revisions.values(), 540.0)

    run_with_wrong_clock(settings, play, ahead)


@wrong_clocks
def test_a_failing_install_is_tried_until_the_timeout(settings: Settings, ahead: float) -> None:
    """The first operator tells in the status when it began, the second one has another clock."""

    async def play(history: History) -> None:
        refusals = history.cluster.helm.refusals
        refusals['{"tag": "one"}'] = Fault(PASSING)
        history.create(tag="one", timeout="10m")
        await history.cluster.wait(60.0)
        await start_again(history, ahead)
        await comes_at(history, lambda: is_stalled(history), 535.0)

    run_history(settings, play)


@wrong_clocks
def test_an_install_that_becomes_healthy_late_is_ready(settings: Settings, ahead: float) -> None:
    async def play(history: History) -> None:
        history.create(tag=BROKEN, timeout="10m")
        await history.cluster.wait(60.0)
        await start_again(history, ahead)
        await history.cluster.wait(300.0)
        assert history.outcome.startswith("NotReady")
        assert not is_stalled(history)
        history.cluster.heal()
        await history.cluster.wait(30.0)
        assert history.outcome == "Ready InstallSucceeded"

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install"]


@wrong_clocks
def test_an_upgrade_is_rolled_back_after_its_timeout(settings: Settings, ahead: float) -> None:
    async def play(history: History) -> None:
        await install(history, timeout="10m")
        history.set_tag(BROKEN)
        await history.cluster.wait(60.0)
        await start_again(history, ahead)
        await comes_at(history, lambda: history.deployed_tags == ["one"], 535.0)
        await history.cluster.wait(20.0)
        released = history.cluster.condition("Released") or {}
        assert (released["status"], released["reason"]) == ("True", "RollbackSucceeded")

    run_history(settings, play)


@wrong_clocks
def test_a_chart_that_nobody_uses_stays_for_an_hour(settings: Settings, ahead: float) -> None:
    def is_deleted(history: History) -> bool:
        return history.cluster.server.find("chartarchives", STORED_CHART["metadata"]["name"]) is None

    async def play(history: History) -> None:
        await history.cluster.wait(5.0)
        history.store_chart()
        await history.cluster.wait(HOUR - 20.0)
        assert not is_deleted(history)
        assert await history.cluster.wait_for(lambda: is_deleted(history), seconds=UNOWNED_CHECK_SECONDS + 60.0)

    run_with_wrong_clock(settings, play, ahead)


@wrong_clocks
def test_the_times_in_the_status_and_in_events_are_those_of_the_api_server(settings: Settings, ahead: float) -> None:
    async def play(history: History) -> None:
        await install(history)
        status = (history.cluster.xapp() or {})["status"]
        times = [status["lastAttempt"]["firstAt"], *(each["lastTransitionTime"] for each in status["conditions"])]
        times += [each["lastTimestamp"] for each in history.cluster.server.all("events")]
        for time in times:
            assert 0.0 <= datetime.fromisoformat(time).timestamp() - START <= history.cluster.clock.monotonic()

    run_with_wrong_clock(settings, play, ahead)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_an_api_server_whose_clock_is_set_is_followed(settings: Settings, jump: float) -> None:
    """Nothing tells that but its responses."""

    async def play(history: History) -> None:
        await install(history, timeout="10m")
        cluster = history.cluster
        cluster.clock.offset += jump
        cluster.machine.ahead -= jump
        for _ in range(2):
            history.annotate("reconcile-at")
            await cluster.wait(15.0)
        history.set_tag(BROKEN)
        await comes_at(history, lambda: history.deployed_tags == ["one"], 600.0)

    run_history(settings, play)
