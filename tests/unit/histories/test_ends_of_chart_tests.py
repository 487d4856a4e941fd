"""Tests of a chart that end, or cannot begin, while a reconcile is under way."""

from __future__ import annotations

import pytest

from tests.support.fakes.helm_by_hand import change_by_hand
from tests.support.fakes.histories import History, run_history
from tests.support.helm_tests import ENABLED, FAILS, deploy, events, last_test, pods, wait_tested
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, change
from xapp_operator.config import Settings
from xapp_operator.kube.transport import ApiRequest


@pytest.mark.parametrize("fails", [False, True])
def test_tests_that_end_while_a_reconcile_observes_are_not_run_again(settings: Settings, *, fails: bool) -> None:
    """Their result is the newest fact then: it must not be lost, and the tests run once."""
    tested: list[str] = []

    def compare_slowly(request: ApiRequest) -> float:
        return 15.0 if "dryRun" in request.params else 0.0

    async def play(history: History) -> None:
        deploy(history, test={**ENABLED, "onFailure": "rollback"})
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two", "seconds": "10s", **(FAILS if fails else {})})
        await wait_tested(history, "Running", revision=2)
        history.cluster.latency = compare_slowly
        change_by_hand(history, "configmaps")
        await history.cluster.wait(5.0)
        change(history, CONFIGMAP_TARGET, {"data": {"tag": "two"}})
        tested.extend(pods(history).values())
        history.cluster.latency = lambda _: 0.0
        await history.cluster.wait(60.0)
        assert list(pods(history).values()) == tested
        assert last_test(history)["count"] == 1

    def check(history: History) -> None:
        assert history.outcome == ("Stalled TestFailed" if fails else "Ready UpgradeSucceeded")
        reasons = [reason for _, reason, _ in events(history)]
        assert reasons == ["TestSucceeded", "TestFailed" if fails else "TestSucceeded"]

    run_history(settings, play, check)
