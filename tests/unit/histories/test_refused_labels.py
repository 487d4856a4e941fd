"""Labels that the cluster refuses after a step of helm: the release is deployed, and it is no failed release."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import RESYNC_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, allow, install, refuse
from xapp_operator.config.settings import Settings

MAY_NOT = (
    'configmaps "hello" is forbidden: User "system:serviceaccount:ns:robot" cannot patch resource "configmaps" in API '
    'group "" in the namespace "ns"'
)
DENIED = Refused(403, "Forbidden", MAY_NOT)
NEW_LABELS = {"version": "0.2.0"}
"""Of the spec, and so in the labels: the fake helm applies none."""


def steps(history: History) -> list[str]:
    return [each.command for each in history.helm_steps]


def condition(history: History, kind: str) -> tuple[str, str, str]:
    found: dict[str, Any] = history.cluster.condition(kind) or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def last_attempt(history: History) -> str:
    outcome: str = (history.cluster.xapp() or {})["status"]["lastAttempt"]["outcome"]
    return outcome


def version_label(history: History) -> str | None:
    labels: dict[str, str] = history.cluster.server.get(CONFIGMAP_TARGET)["metadata"]["labels"]
    return labels.get("xapp-operator.io/version")


async def wait_outcome(history: History, outcome: str, seconds: float = 60.0) -> None:
    assert await history.cluster.wait_for(lambda: history.outcome == outcome, seconds=seconds), history.describe()


async def upgrade_without_the_right(history: History, tag: str = "two", refusal: Refused = DENIED) -> None:
    await install(history)
    refuse(history, "PATCH", "/configmaps/hello", refusal)
    history.edit(values={"tag": tag}, **NEW_LABELS)


def check_labelled(history: History) -> None:
    assert history.outcome == "Ready UpgradeSucceeded"
    assert version_label(history) == "0.2.0"


def test_an_upgrade_whose_labels_may_not_be_written_is_no_failure(settings: Settings) -> None:
    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        assert 'cannot patch resource "configmaps"' in condition(history, "Stalled")[2]
        assert condition(history, "Released")[:2] == ("True", "UpgradeSucceeded")
        await history.cluster.wait(60.0)
        assert last_attempt(history) == "Succeeded"
        assert history.cluster.revisions == {1: "superseded", 2: "deployed"}
        allow(history)

    def check(history: History) -> None:
        assert history.outcome == "Ready UpgradeSucceeded"
        assert steps(history) == ["install", "upgrade"]
        assert version_label(history) == "0.2.0"

    run_history(settings, play, check)


def test_an_install_whose_labels_may_not_be_written_is_no_failure(settings: Settings) -> None:
    async def play(history: History) -> None:
        refuse(history, "PATCH", "/configmaps/hello", DENIED)
        history.create()
        await wait_outcome(history, "Stalled AccessDenied")
        assert condition(history, "Released")[:2] == ("True", "InstallSucceeded")
        allow(history)

    def check(history: History) -> None:
        assert history.outcome == "Ready InstallSucceeded"
        assert steps(history) == ["install"]

    run_history(settings, play, check)


def test_labels_that_are_there_need_no_right(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        refuse(history, "PATCH", "/configmaps/hello", DENIED)
        history.set_tag("two")
        await wait_outcome(history, "Ready UpgradeSucceeded")
        await history.cluster.wait(60.0)
        told = [each["reason"] for each in history.cluster.server.all("events")]
        assert told == ["InstallSucceeded", "UpgradeSucceeded"]

    run_history(settings, play)


@pytest.mark.parametrize("on_failure", ["rollback", "none"])
def test_an_upgrade_that_is_never_healthy_is_treated_as_one_with_labels(settings: Settings, on_failure: str) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": on_failure})
        refuse(history, "PATCH", "/configmaps/hello", DENIED)
        history.edit(values={"tag": BROKEN}, **NEW_LABELS)
        await wait_outcome(history, "Stalled HealthCheckFailed", seconds=120.0)
        undone = ["rollback"] if on_failure == "rollback" else []
        assert steps(history) == ["install", "upgrade", *undone]
        allow(history)

    run_history(settings, play)


def test_retry_at_ends_the_pause_between_the_tries(settings: Settings) -> None:
    paused = settings.model_copy(update={"backoff_first_seconds": 3000.0, "backoff_max_seconds": 3000.0})

    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        allow(history)
        await history.cluster.wait(2.0 * RESYNC_SECONDS)
        assert history.outcome == "Stalled AccessDenied"
        history.annotate("retry-at")
        await wait_outcome(history, "Ready UpgradeSucceeded", seconds=20.0)
        assert steps(history) == ["install", "upgrade"]

    run_history(paused, play)


def test_a_rollback_does_not_wait_for_labels_of_the_revision_before(settings: Settings) -> None:
    paused = settings.model_copy(update={"backoff_first_seconds": 3000.0, "backoff_max_seconds": 3000.0})

    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        allow(history)
        history.annotate("rollback-to", "1")
        await wait_outcome(history, "Ready RollbackSucceeded", seconds=20.0)
        assert steps(history) == ["install", "upgrade", "rollback"]

    run_history(paused, play)


def test_a_restart_does_not_call_it_ready(settings: Settings) -> None:
    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        history.cluster.restart()
        for _ in range(60):
            await history.cluster.wait(1.0)
            assert history.outcome == "Stalled AccessDenied"
        allow(history)

    run_history(settings, play, check_labelled)


def test_what_is_not_healthy_is_told_with_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        history.cluster.crash()
        await history.cluster.wait(5.0)
        told = condition(history, "Ready")[2]
        assert told.startswith("Deployment hello: ")
        assert "; revision 2 is deployed, but the operator cannot label its objects" in told
        history.cluster.set_outage(on=False)
        await history.cluster.wait(5.0)
        assert condition(history, "Ready")[2].startswith("revision 2 is deployed, but")
        allow(history)
        await wait_outcome(history, "Ready UpgradeSucceeded", 2 * RESYNC_SECONDS)

    run_history(settings, play)


def test_a_failure_that_passes_does_not_hide_the_missing_right(settings: Settings) -> None:
    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        refuse(history, "PATCH", "/configmaps/hello", Refused(500, "InternalError", "not now"))
        for _ in range(60):
            await history.cluster.wait(1.0)
            assert history.outcome == "Stalled AccessDenied"
        allow(history)

    run_history(settings, play, check_labelled)


def test_the_refusal_keeps_no_values_in_memory(settings: Settings) -> None:
    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        assert history.cluster.runtime is not None
        (refused,) = history.cluster.runtime._context.incompletely_labelled.values()
        assert refused is not None
        assert (refused.__traceback__, refused.__context__) == (None, None)
        allow(history)
        await wait_outcome(history, "Ready UpgradeSucceeded", 2 * RESYNC_SECONDS)

    run_history(settings, play)


def test_the_refusal_is_told_in_one_event(settings: Settings) -> None:
    async def play(history: History) -> None:
        await upgrade_without_the_right(history)
        await wait_outcome(history, "Stalled AccessDenied")
        await history.cluster.wait(30.0)
        told = [each["message"] for each in history.cluster.server.all("events") if each["type"] == "Warning"]
        assert told == [MAY_NOT]
        allow(history)

    run_history(settings, play)
