"""A person's helm makes the next revision at the same time: helm refuses to make it again, and nothing is damaged."""

from __future__ import annotations

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import NAMESPACE
from xapp_operator.config.settings import Settings

EXISTS = "release: already exists"
RECORD = Target("", "v1", "secrets", NAMESPACE, "sh.helm.release.v1.hello.v1")


async def install(history: History) -> None:
    history.create(tag="one")
    await history.cluster.wait(20.0)
    assert history.outcome == "Ready InstallSucceeded"


def test_a_revision_of_a_persons_helm_is_no_damaged_record(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.faults = [Fault(EXISTS)] * 4
        history.set_tag("two")
        await history.cluster.wait(6.0)
        message = (history.cluster.condition("Ready") or {})["message"]
        assert "a person's helm may have made it at the same time. It is tried again" in message
        assert history.cluster.condition("Stalled") is None

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert {each.command for each in history.helm_steps} == {"install", "upgrade"}


def test_one_that_stays_makes_the_xapp_stalled_after_its_timeout(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.faults = [Fault(EXISTS)] * 100
        history.set_tag("two")
        await history.cluster.wait(3 * TIMEOUT_SECONDS)
        message = (history.cluster.condition("Stalled") or {})["message"]
        assert "correct the labels owner, name and version, or remove it" in message
        history.cluster.helm.faults.clear()
        history.annotate("retry-at")

    assert run_history(settings, play).outcome == "Ready UpgradeSucceeded"


def test_a_damaged_record_is_not_tried_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.server.patch(RECORD, {"data": {"release": "Z2FyYmFnZQ=="}})
        history.cluster.helm.faults = [Fault(EXISTS)]
        history.set_tag("two")
        await history.cluster.wait(20.0)
        assert "sh.helm.release.v1.hello.v1" in (history.cluster.condition("Stalled") or {})["message"]
        assert len(history.helm_steps) == 2
        history.delete()

    run_history(settings, play)
