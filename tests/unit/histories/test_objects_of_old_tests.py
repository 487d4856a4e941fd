"""The objects of tests of a revision that is no longer the newest: when they go, and what tells if they do not."""

from __future__ import annotations

from tests.support.fakes.helm_by_hand import write_record
from tests.support.fakes.histories import History, run_history
from tests.support.helm_tests import ENABLED, FAILS, deploy, last_test, pods, store_chart, wait_tested
from tests.unit.histories.test_removals import events, wait_gone
from xapp_operator.config.settings import Settings

DISABLED = {"enabled": False}


async def upgrade(history: History, tag: str) -> None:
    history.edit(values={"tag": tag}, test=DISABLED)
    assert await history.cluster.wait_for(
        lambda: history.live_tags == {tag} and history.outcome.startswith("Ready"), seconds=60.0
    )
    await history.cluster.wait(5.0)


async def remove(history: History) -> None:
    history.delete()
    await wait_gone(history)


def test_objects_of_tests_go_when_a_revision_without_tests_is_tested(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        assert pods(history).keys() == {"hello-probe"}
        history.edit(values={"tag": "two"}, **store_chart(history))
        await wait_tested(history, "Succeeded", revision=2)
        assert last_test(history)["revision"] == 2
        assert pods(history) == {}
        await remove(history)

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == []


def test_objects_of_tests_that_have_another_name_now_go_when_these_run(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two"}, **store_chart(history, "other"))
        await wait_tested(history, "Succeeded", revision=2)
        assert pods(history).keys() == {"hello-other"}
        await remove(history)
        assert pods(history) == {}

    run_history(settings, play)


def test_objects_of_tests_go_with_their_revision(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, maxHistory=2)
        await wait_tested(history, "Succeeded")
        await upgrade(history, "two")
        assert pods(history).keys() == {"hello-probe"}
        await upgrade(history, "three")
        assert history.cluster.revisions.keys() == {2, 3}
        assert pods(history) == {}
        await remove(history)

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == []


def test_objects_of_tests_of_a_damaged_revision_stay_with_an_event(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        await upgrade(history, "two")
        write_record(history, 1, {"data": {"release": "eHg="}})
        await remove(history)
        assert pods(history).keys() == {"hello-probe"}

    history = run_history(settings, play)
    ((kind, message),) = events(history, "LeftBehind")
    assert kind == "Warning"
    assert message.startswith("objects of the tests of revision 1 may stay: ")
    assert "eHg=" not in message


def test_the_log_of_tests_that_failed_stays_after_the_rollback_until_the_next_upgrade(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, maxHistory=1, test={**ENABLED, "onFailure": "rollback"})
        await wait_tested(history, "Succeeded")
        history.edit(values={"tag": "two", **FAILS})
        assert await history.cluster.wait_for(lambda: history.outcome == "Stalled TestFailed", seconds=60.0)
        await history.cluster.wait(20.0)
        assert history.live_tags == {"one"}
        assert pods(history).keys() == {"hello-probe"}
        await upgrade(history, "three")
        assert pods(history) == {}
        await remove(history)

    run_history(settings, play)
