"""How often the operator tries again what keeps failing."""

from __future__ import annotations

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import Kill
from xapp_operator.config.settings import Settings

REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
UNAVAILABLE = "Internal error occurred: etcdserver: request timed out"
SECONDS = 2000.0


def test_uninstall_that_always_fails_is_retried_with_the_longest_pause(settings: Settings) -> None:
    tries: list[int] = []

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.helm.faults = [Fault(UNAVAILABLE)] * 1000
        history.delete()
        for _ in range(2):
            before = len(history.helm_steps)
            await history.cluster.wait(SECONDS)
            tries.append(len(history.helm_steps) - before)

    history = run_history(settings, happen)

    longest = settings.backoff_max_seconds
    assert SECONDS / (2 * longest) <= tries[1] <= 2 * SECONDS / longest
    assert history.outcome == "gone"


def test_upgrade_that_always_fails_is_given_up_after_its_timeout(settings: Settings) -> None:
    tries: list[int] = []

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault(UNAVAILABLE, writes=2)
        history.set_tag("two")
        for seconds in (60.0, SECONDS):
            before = len(history.helm_steps)
            await history.cluster.wait(seconds)
            tries.append(len(history.helm_steps) - before)

    def check(history: History) -> None:
        assert history.outcome == "Stalled UpgradeFailed"
        assert history.deployed_tags == ["one"]

    run_history(settings, happen, check)

    assert 2 <= tries[0] <= 10
    assert tries[1] == 0


def test_a_request_that_stays_unhandled_does_not_switch_off_the_pauses(settings: Settings) -> None:
    """`force-at` is handled by an upgrade only: a rollback and an uninstall come first, and may fail for long."""
    tries: list[int] = []

    async def happen(history: History) -> None:
        history.create(tag="one", upgrade={"onFailure": "none"})
        await history.cluster.wait(10.0)
        history.set_tag("two")
        await history.cluster.wait(10.0)
        history.cluster.helm.faults = [Fault(UNAVAILABLE)] * 1000
        history.annotate("force-at")
        history.annotate("rollback-to", "1")
        for seconds in (20.0, 2 * TIMEOUT_SECONDS):
            before = len(history.helm_steps)
            await history.cluster.wait(seconds)
            tries.append(len(history.helm_steps) - before)
        history.annotate("force-at")
        history.edit(suspend=True)
        history.delete()
        for seconds in (20.0, SECONDS):
            before = len(history.helm_steps)
            await history.cluster.wait(seconds)
            tries.append(len(history.helm_steps) - before)

    run_history(settings, happen)

    longest = settings.backoff_max_seconds
    assert [1 <= number <= 7 for number in tries[:3]] == [True, True, True], tries
    assert tries[3] <= 2 * SECONDS / longest


def test_rollbacks_that_keep_failing_cost_no_good_revision(settings: Settings) -> None:
    stored: list[set[str]] = []

    async def happen(history: History) -> None:
        history.create(tag="one", maxHistory=5)
        await history.cluster.wait(10.0)
        for tag in ("two", "three", "four"):
            history.set_tag(tag)
            await history.cluster.wait(10.0)
        history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=2)] * 1000
        history.annotate("rollback-to", "1")
        await history.cluster.wait(10 * TIMEOUT_SECONDS)
        stored.append({tag for revision, tag in history.tags.items() if revision <= 4})
        assert sum(each.command == "rollback" for each in history.helm_steps) > 2
        kept = {each["revision"] for each in (history.cluster.xapp() or {})["status"]["history"]}
        assert kept <= set(history.cluster.revisions)
        history.cluster.helm.faults = []
        history.cluster.helm.refusals['{"tag": "five"}'] = Fault(UNAVAILABLE, writes=2)
        history.set_tag("five")

    def check(history: History) -> None:
        assert history.outcome == "Stalled UpgradeFailed"
        assert history.deployed_tags == ["four"]

    run_history(settings, happen, check)
    assert stored == [{"one", "two", "three", "four"}]


def test_time_without_an_operator_does_not_count_towards_the_timeout(settings: Settings) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.downtime = 10.0 * TIMEOUT_SECONDS
        history.cluster.kill = Kill(3, after=True)
        history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=9), Fault(UNAVAILABLE)]
        history.set_tag("two")
        await history.cluster.wait(11.0 * TIMEOUT_SECONDS)
        assert history.cluster.helm.faults == []

    def check(history: History) -> None:
        assert history.cluster.lives == 2
        assert [step.command for step in history.helm_steps] == ["install", "upgrade", "upgrade", "upgrade"]
        assert history.outcome == "Ready UpgradeSucceeded"

    run_history(settings, happen, check)


def test_uninstall_without_a_right_is_stalled_and_tried_again(settings: Settings) -> None:
    forbidden = (
        'secrets is forbidden: User "system:serviceaccount:ns:deployer" cannot list resource "secrets" in API group "" '
        'in the namespace "ns"'
    )

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.helm.faults = [Fault(forbidden)] * 3
        history.delete()
        await history.cluster.wait(2.5)
        found = (history.cluster.xapp() or {})["status"]
        reasons = {each["type"]: each["reason"] for each in found["conditions"] if each["status"] != "Unknown"}
        assert reasons == dict.fromkeys(("Ready", "Stalled", "Released"), "AccessDenied")
        assert (found["phase"], "nextTryAt" in found["progress"]) == ("Uninstalling", True)
        await history.cluster.wait(60.0)
        assert history.outcome == "gone"

    run_history(settings, happen)


def test_tries_that_fail_cost_no_good_revision(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=4, timeout="300s")
        await history.cluster.wait(20.0)
        for tag in ("two", "three"):
            history.set_tag(tag)
            await history.cluster.wait(20.0)
        history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=2)] * 4
        history.set_tag("four")
        await history.cluster.wait(100.0)

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert history.tags == {1: "one", 2: "two", 3: "three", 8: "four"}


@pytest.mark.parametrize(("most", "left"), [(1, {2, 3}), (2, {2, 3}), (3, {1, 2, 3})])
def test_the_revision_before_an_upgrade_is_kept(settings: Settings, most: int, left: set[int]) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=most)
        await history.cluster.wait(20.0)
        for tag in ("two", "three"):
            history.set_tag(tag)
            await history.cluster.wait(20.0)
        assert set(history.tags) == left
        history.edit(maxHistory=5)  # the status shows no more than that

    run_history(settings, play)


def test_rollback_by_a_person_after_one_that_failed_is_waited_for(settings: Settings) -> None:
    def unlocked(history: History) -> bool:
        return any(each["reason"] == "Unlocked" for each in history.cluster.server.all("events"))

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        for values in ("1", '{"tag": "two"}'):
            history.cluster.helm.refusals[values] = Fault(REFUSED, writes=2)
        history.set_tag("two")
        await history.cluster.wait(2 * TIMEOUT_SECONDS)
        assert history.outcome == "Stalled RollbackFailed"
        history.leave_behind("pending-rollback")
        await history.cluster.wait(TIMEOUT_SECONDS - 2.0)
        assert not unlocked(history)
        assert await history.cluster.wait_for(lambda: unlocked(history), seconds=10.0)

    run_history(settings, happen)


def test_upgrade_that_failed_before_a_long_downtime_is_tried_once_more(settings: Settings) -> None:
    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=2)]
        history.cluster.downtime = 2.0 * TIMEOUT_SECONDS
        history.set_tag("two")

        def failed() -> bool:
            return bool((history.cluster.xapp() or {})["status"]["lastAttempt"]["outcome"] == "Failed")

        assert await history.cluster.wait_for(failed, seconds=20.0)
        history.cluster.restart()
        await history.cluster.wait(3.0 * TIMEOUT_SECONDS)

    history = run_history(settings, happen)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "upgrade"]
    assert (history.outcome, history.deployed_tags) == ("Ready UpgradeSucceeded", ["two"])
