"""What the history tells of revisions that failed: what the operator knows of its own steps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import roll_back_by_hand
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import Kill
from xapp_operator.config.settings import Settings

TWO = '{"tag": "two"}'
REFUSED = 'ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name"'
TOLD = 'ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value'
UNAVAILABLE = "Internal error occurred: etcdserver: request timed out"


def rows(history: History) -> dict[int, Json]:
    status: Json = (history.cluster.xapp() or {})["status"]
    return {each["revision"]: each for each in status["history"]}


def told(row: Json) -> list[str | None]:
    """Return what a row tells of what was tried, and when it was deployed."""
    return [row.get(each) for each in ("status", "action", "chart", "chartVersion", "appVersion", "deployedAt")]


async def fail_to_upgrade(history: History, **spec: Any) -> None:
    """Install `one`, and fail to upgrade to `two`."""
    history.create(tag="one", **spec)
    await history.cluster.wait(10.0)
    history.cluster.helm.refusals[TWO] = Fault(REFUSED, writes=2)
    history.set_tag("two")
    await history.cluster.wait(TIMEOUT_SECONDS / 2)


@pytest.mark.parametrize(("on_failure", "newest"), [("rollback", 3), ("none", 2)])
def test_an_upgrade_that_failed_tells_what_was_tried_and_why(settings: Settings, on_failure: str, newest: int) -> None:
    async def play(history: History) -> None:
        await fail_to_upgrade(history, upgrade={"onFailure": on_failure})
        found = rows(history)
        assert list(found) == list(range(newest, 0, -1))
        assert told(found[2]) == ["failed", "Upgrade", "hello", "0.1.0", "1.0", None]
        assert found[2]["description"].startswith(TOLD)
        assert found[2]["wasHealthy"] is False
        assert found[2]["chartDigest"] == found[1]["chartDigest"]
        assert found[2]["valuesDigest"] != found[1]["valuesDigest"]
        history.set_tag("three")
        await history.cluster.wait(10.0)
        assert rows(history)[2] == found[2]

    run_history(settings, play)


def test_an_install_that_failed_tells_what_was_tried_and_why(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.faults = [Fault(REFUSED, writes=2)]
        history.create(tag="one")
        await history.cluster.wait(10.0)
        assert told(rows(history)[1]) == ["failed", "Install", "hello", "0.1.0", "1.0", None]
        assert rows(history)[1]["description"].startswith(TOLD)
        history.annotate("retry-at")
        await history.cluster.wait(10.0)
        assert told(rows(history)[1])[1:] == ["Install", "hello", "0.1.0", "1.0", None]

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"


def test_a_rollback_that_failed_tells_what_it_copied_and_why(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.refusals["1"] = Fault(REFUSED, writes=2)
        await fail_to_upgrade(history)
        found = rows(history)
        assert told(found[3]) == ["failed", "Rollback", "hello", "0.1.0", "1.0", None]
        assert found[3]["description"].startswith(TOLD)
        assert [found[3][each] for each in ("chartDigest", "valuesDigest")] == [
            found[1][each] for each in ("chartDigest", "valuesDigest")
        ]

    run_history(settings, play)


def test_an_upgrade_that_was_interrupted_says_so(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.helm.pause = 5.0
        history.set_tag("two")
        await history.cluster.wait(10.0)
        history.cluster.helm.pause = 0.0
        history.set_tag("three")
        await history.cluster.wait(10.0)
        found = rows(history)[2]
        assert told(found) == ["failed", "Upgrade", "hello", "0.1.0", "1.0", None]
        assert found["description"] == "interrupted before it was over"

    run_history(settings, play)


def test_of_a_failure_that_the_operator_did_not_see_the_end_of_nothing_is_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        history.cluster.helm.faults = [Fault(REFUSED, writes=2)]
        history.set_tag("two")
        history.cluster.kill = Kill(4, after=True)
        await history.cluster.wait(2.0 * TIMEOUT_SECONDS)
        assert history.cluster.revisions[2] == "failed"
        assert told(rows(history)[2]) == ["failed", None, None, None, None, None]

    run_history(settings, play)


def test_a_failed_revision_leaves_room_for_the_one_that_a_rollback_needs(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", maxHistory=2)
        await history.cluster.wait(20.0)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        history.cluster.helm.refusals["1"] = Fault(UNAVAILABLE, writes=2)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(6.0)
        assert history.cluster.revisions == {1: "superseded", 2: "superseded", 4: "failed"}
        assert list(rows(history)) == [2, 1]
        history.cluster.helm.refusals.clear()

    run_history(settings, play)


@pytest.mark.parametrize("on_failure", ["rollback", "none"])
def test_what_a_person_rolls_back_to_may_be_a_revision_that_failed(settings: Settings, on_failure: str) -> None:
    async def play(history: History) -> None:
        await fail_to_upgrade(history, upgrade={"onFailure": on_failure})
        roll_back_by_hand(history, 2)
        await history.cluster.wait(30.0)
        release = (history.cluster.xapp() or {})["status"]["release"]
        assert (release["description"], history.deployed_tags) == ("Rollback to 2", ["two"])
        assert release["valuesDigest"] == rows(history)[2]["valuesDigest"]

    history = run_history(settings, play)
    assert history.outcome == "Stalled UpgradeFailed"
