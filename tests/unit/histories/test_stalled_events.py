"""The event that tells why an XApp is Stalled, where no step of helm has told it."""

from __future__ import annotations

from typing import Any

from tests.support.fakes.api_server import Refused
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import STORED_CHART, History, run_history
from tests.support.fakes.operator import BROKEN
from tests.unit.histories.situations.actions import allow, install, refuse
from tests.unit.histories.test_annotations import REFUSED
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.finalizers import FINALIZER_NOT_WRITTEN

GONE = {"chartArchiveRef": {"name": "gone"}, "digest": None}
STORED = {"chartArchiveRef": {"name": STORED_CHART["metadata"]["name"]}}
MISSING = [{"kind": "Secret", "name": "settings"}]


def warnings(history: History) -> list[tuple[str, int]]:
    """Return reason and count of each Warning."""
    found = (each for each in history.cluster.server.all("events") if each["type"] == "Warning")
    return [(each["reason"], each["count"]) for each in found]


def messages(history: History) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["type"] == "Warning"]


async def wait_stalled(history: History, reason: str) -> str:
    """Return the message."""

    def stalled() -> dict[str, Any]:
        return history.cluster.condition("Stalled") or {}

    assert await history.cluster.wait_for(lambda: stalled().get("reason") == reason, seconds=60.0), history.describe()
    await history.cluster.wait(5.0)
    message: str = stalled()["message"]
    return message


def test_a_chart_that_does_not_exist_is_told_in_one_event(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(archive=GONE)
        message = await wait_stalled(history, "ChartPullFailed")
        assert warnings(history) == [("ChartPullFailed", 1)]
        assert messages(history) == [message]
        history.cluster.restart()
        await history.cluster.wait(400.0)
        assert warnings(history) == [("ChartPullFailed", 1)], "not after a restart or a resync"
        history.edit(archive=STORED)

    run_history(settings, play)


def test_each_reason_has_an_event(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(archive=GONE)
        await wait_stalled(history, "ChartPullFailed")
        history.edit(archive=STORED, valuesFrom=MISSING)
        await wait_stalled(history, "ValuesInvalid")
        history.edit(valuesFrom=None, dependsOn=[{"name": "hello"}])
        await wait_stalled(history, "DependencyNotReady")
        reasons = ["ChartPullFailed", "ValuesInvalid", "DependencyNotReady"]
        assert warnings(history) == [(each, 1) for each in reasons]

    run_history(settings, play)


def test_a_new_spec_that_stalls_for_the_same_reason_is_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(archive=GONE)
        await wait_stalled(history, "ChartPullFailed")
        history.edit(owner="joe")
        await wait_stalled(history, "ChartPullFailed")
        assert len(messages(history)) == 1, "nothing new"
        history.edit(archive={"chartArchiveRef": {"name": "gone-too"}})
        message = await wait_stalled(history, "ChartPullFailed")
        assert messages(history)[1:] == [message]
        history.edit(archive=STORED)

    run_history(settings, play)


def test_a_cause_that_comes_and_goes_is_counted_in_one_event(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(archive=GONE)
        for _ in range(3):
            await wait_stalled(history, "ChartPullFailed")
            history.edit(archive=STORED)
            assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
            history.edit(archive={"chartArchiveRef": {"name": "gone"}}, values={"tag": "two"})
        await wait_stalled(history, "ChartPullFailed")
        assert warnings(history) == [("ChartPullFailed", 4)]
        history.edit(archive=STORED)

    run_history(settings, play)


def test_a_step_of_helm_that_failed_is_told_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault(REFUSED, writes=1)
        history.set_tag("two")
        await wait_stalled(history, "UpgradeFailed")
        assert len(messages(history)) == 1, messages(history)

    run_history(settings, play)


def test_an_upgrade_that_was_rolled_back_is_told_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.set_tag(BROKEN)
        await wait_stalled(history, "HealthCheckFailed")
        assert warnings(history) == [("RollbackSucceeded", 1)]

    run_history(settings, play)


def test_an_upgrade_that_is_not_rolled_back_is_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        history.set_tag(BROKEN)
        message = await wait_stalled(history, "HealthCheckFailed")
        assert warnings(history) == [("HealthCheckFailed", 1)]
        assert messages(history) == [message]

    run_history(settings, play)


def test_a_status_that_cannot_be_written_is_told_when_it_is(settings: Settings) -> None:
    async def play(history: History) -> None:
        refuse(history, "PATCH", "/xapps/hello/status", Refused(500, "InternalError", "not now"))
        history.create(archive=GONE)
        await history.cluster.wait(60.0)
        assert messages(history) == []
        allow(history)
        await wait_stalled(history, "ChartPullFailed")
        assert warnings(history) == [("ChartPullFailed", 1)]
        history.edit(archive=STORED)

    run_history(settings, play)


def test_what_becomes_ready_has_no_warning(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.set_tag("two")
        await history.cluster.wait(30.0)
        assert history.outcome.startswith("Ready")
        assert warnings(history) == []
        told = [each["reason"] for each in history.cluster.server.all("events")]
        assert told == ["InstallSucceeded", "UpgradeSucceeded"]

    run_history(settings, play)


def test_a_finalizer_that_is_refused_is_told_by_its_own_event(settings: Settings) -> None:
    async def play(history: History) -> None:
        refuse(history, "PATCH", "/xapps/hello", Refused(422, "Invalid", "the field is immutable"))
        history.create()
        await wait_stalled(history, "InstallFailed")
        assert {reason for reason, _ in warnings(history)} == {FINALIZER_NOT_WRITTEN}
        allow(history)

    run_history(settings, play)
