"""The clock of the operator is wrong for a while, or is set right: whatever has a time to last lasts so long."""

from __future__ import annotations

import itertools

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.helm import Fault, HelmFailed
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history, xapp_body
from tests.support.fakes.operator import BROKEN
from tests.support.helm_tests import PASSING, deploy, last_test, refuse_tests, wait_tested
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

HOUR = 3600.0
YEAR = 365 * 24 * HOUR
JUMPS = [HOUR, -HOUR]


async def jump_for_ten_seconds(history: History, jump: float) -> None:
    history.cluster.clock.offset += jump
    history.annotate("reconcile-at")
    await history.cluster.wait(10.0)
    history.cluster.clock.offset -= jump
    history.annotate("reconcile-at")


def unlocked(history: History) -> bool:
    return "pending-install" not in history.cluster.revisions.values()


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("restart", [False, True])
def test_an_upgrade_that_becomes_healthy_in_time_stays(settings: Settings, jump: float, restart: bool) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", timeout="10m")
        await history.cluster.wait(20.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(20.0)
        if restart:
            history.cluster.restart()
            await history.cluster.wait(20.0)
        await jump_for_ten_seconds(history, jump)
        await history.cluster.wait(10.0)
        history.cluster.heal()
        await history.cluster.wait(60.0)
        assert history.outcome == "Ready UpgradeSucceeded"

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]


@pytest.mark.parametrize("jump", JUMPS)
def test_an_upgrade_that_never_becomes_healthy_is_rolled_back_in_time(settings: Settings, jump: float) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(5.0)
        history.cluster.clock.offset += jump
        history.annotate("reconcile-at")
        await history.cluster.wait(TIMEOUT_SECONDS - 10.0)
        assert history.deployed_tags == [BROKEN]
        assert await history.cluster.wait_for(lambda: history.deployed_tags == ["one"], seconds=20.0)

    run_history(settings, play)


@pytest.mark.parametrize("jump", JUMPS)
def test_a_failed_try_is_not_given_up_before_its_timeout(settings: Settings, jump: float) -> None:
    async def play(history: History) -> None:
        refusals = history.cluster.helm.refusals
        history.create(tag="one", timeout="10m")
        await history.cluster.wait(20.0)
        refusals['{"tag": "two"}'] = Fault("Internal error occurred: etcdserver: request timed out")
        history.set_tag("two")
        await history.cluster.wait(20.0)
        history.cluster.clock.offset += jump
        await history.cluster.wait(100.0)
        refusals.clear()
        await history.cluster.wait(100.0)
        assert history.outcome == "Ready UpgradeSucceeded"

    run_history(settings, play)


@pytest.mark.parametrize("jump", [-2 * HOUR, -YEAR, YEAR])
def test_a_release_that_a_person_left_pending_is_waited_for(settings: Settings, jump: float) -> None:
    """Its namespace is not watched before it has an XApp: the release is first seen while the clock is wrong."""

    async def play(history: History) -> None:
        await history.cluster.wait(5.0)
        history.install_by_hand("one", status="pending-install")
        history.cluster.clock.offset += jump
        history.create(tag="two", adopt=True, timeout="1h")
        await history.cluster.wait(20.0)
        history.cluster.clock.offset -= jump
        history.annotate("reconcile-at")
        await history.cluster.wait(HOUR - 60.0)
        assert history.helm_steps == []
        assert not unlocked(history)
        assert await history.cluster.wait_for(lambda: unlocked(history), seconds=90.0)

    run_history(settings, play)


def test_dependents_are_waited_for_until_the_timeout(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, timeout="10m")
        other = xapp_body(tag="one", dependsOn=[{"name": "hello"}], xAppName="other")
        other["metadata"]["name"] = "other"
        history.cluster.create(other)
        await history.cluster.wait(20.0)
        history.delete()
        await history.cluster.wait(10.0)
        await jump_for_ten_seconds(history, HOUR)
        await history.cluster.wait(60.0)
        assert not is_gone(history)
        history.cluster.delete("other")
        assert await history.cluster.wait_for(lambda: history.cluster.xapp("other") is None, seconds=60.0)
        history.removed.clear()  # the revision that was left then is that of the first
        await wait_gone(history)

    history = run_history(settings, play)
    assert events(history, "DependentsLeft") == []


def test_a_kind_without_an_answer_is_not_given_up_before_the_timeout(settings: Settings) -> None:
    async def play(history: History) -> None:
        def check(request: ApiRequest) -> None:
            if request.path.endswith("/clusterroles") and "labelSelector" in request.params:
                raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")

        await install(history, timeout="10m")
        server = history.cluster.server
        server.create(CLUSTER_ROLES, {"metadata": {"name": "ours", "labels": LABELS, "annotations": OWNER}})
        history.cluster.refuse = check
        delete_records(history)
        history.uninstall_by_hand()
        delete_namespace(history)
        await history.cluster.wait(10.0)
        await jump_for_ten_seconds(history, HOUR)
        await history.cluster.wait(200.0)
        assert not is_gone(history)
        history.cluster.refuse = lambda _: None
        await wait_gone(history)
        assert server.all("clusterroles") == []

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == []


def test_interrupted_tests_are_run_again_after_the_same_pauses(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = refuse_tests(monkeypatch, lambda: HelmFailed(PASSING), times=6)

    async def play(history: History) -> None:
        deploy(history, timeout="10m")
        assert await history.cluster.wait_for(lambda: len(runs) == 5, seconds=60.0)
        history.cluster.clock.offset += HOUR
        history.annotate("reconcile-at")
        await wait_tested(history, "Succeeded", seconds=200.0)

    history = run_history(settings, play)
    assert last_test(history)["count"] == 7
    pauses = [after - before for before, after in itertools.pairwise(runs)]
    assert pauses == sorted(pauses)
    # A pause is twice the one before, in whole seconds.
    assert pauses[4] == pytest.approx(2 * pauses[3], abs=2.0)
