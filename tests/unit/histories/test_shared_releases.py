"""XApps of one namespace whose release has the same name: never do two helm processes work on it at a time.

`FakeHelm` refuses a second process for a release, which the operator would not expect.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import CONFIGMAP, PAUSE_SECONDS, History, run_history, xapp_body
from tests.support.helm_tests import ENDLESS, deploy, pods, runs_by_outcome, wait_running
from tests.unit.histories.situations.actions import store
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS = 20.0
SLOW_SECONDS = 3.0
"""Between two writes of helm, which makes three in an install."""
WAITS = "helm is working on the release for another XApp"


def create_other(history: History, name: str = "other", *, tag: str = "two", **spec: Any) -> None:
    body = xapp_body(tag=tag, **{"releaseName": "hello", **spec})
    body["metadata"]["name"] = name
    history.cluster.create(body)


def ready(history: History, name: str = "other") -> tuple[str, str, str]:
    found: dict[str, Any] = history.cluster.condition("Ready", name) or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def remove_finalizers(history: History, name: str = "hello") -> None:
    history.note("delete")
    history.cluster.edit({"metadata": {"finalizers": None}}, name)
    history.cluster.delete(name)


@pytest.mark.parametrize("number", [1, 5])
def test_one_of_several_xapps_installs_the_release(settings: Settings, number: int) -> None:
    names = [f"other-{each}" for each in range(number)]

    async def play(history: History) -> None:
        history.cluster.helm.pause = SLOW_SECONDS
        history.create(tag="one")
        for name in names:
            create_other(history, name)
        await history.cluster.wait(5.0)
        assert [ready(history, name) for name in names] == [("False", "Progressing", WAITS)] * number
        await history.cluster.wait(SECONDS)
        for name in names:
            status, reason, message = ready(history, name)
            assert (status, reason) == ("False", "AccessDenied")
            assert message.startswith("the Helm release with this name belongs to the XApp hello.")

    history = run_history(settings, play)
    assert history.deployed_tags == ["one"]
    assert [each.command for each in history.helm_steps] == ["install"]


def test_one_of_two_xapps_takes_over_the_release_of_a_person(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("three")
        history.cluster.helm.pause = SLOW_SECONDS
        # Both have seen a free release before one of them begins.
        history.cluster.latency = lambda request: 10.0 if request.path.endswith("/sh.helm.release.v1.hello.v1") else 0.0
        history.create(tag="one", adopt=True)
        create_other(history, adopt=True)
        await history.cluster.wait(60.0)
        assert "belongs to the XApp hello." in ready(history)[2]

    history = run_history(settings, play)
    assert history.deployed_tags == ["one"]
    assert [each.command for each in history.helm_steps] == ["upgrade"]


def delay_reads(history: History, *seconds: float) -> None:
    """Let the first reads of the record last so long."""
    left = list(seconds)

    def latency(request: ApiRequest) -> float:
        is_read = request.method == "GET" and request.path.endswith("/sh.helm.release.v1.hello.v1")
        return left.pop(0) if is_read and left else 0.0

    history.cluster.latency = latency


def test_a_step_is_not_made_for_a_release_that_another_xapp_has_changed_meanwhile(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("three")
        # The other XApp compares a free release with its chart until the helm of the first one has ended.
        delay_reads(history, 1.0, 10.0)
        history.create(tag="one", adopt=True)
        create_other(history, adopt=True)
        await history.cluster.wait(60.0)
        assert "belongs to the XApp hello." in ready(history)[2]
        assert history.cluster.condition("Released", "other") is None
        assert history.cluster.runtime is not None
        metrics = history.cluster.runtime._context.metrics.render().decode()
        assert runs_by_outcome(metrics, action="upgrade") == {"succeeded": 1.0}

    history = run_history(settings, play)
    assert history.deployed_tags == ["one"]
    assert [each.command for each in history.helm_steps] == ["upgrade"]


def test_a_release_that_another_xapp_has_adopted_meanwhile_is_left_to_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        delay_reads(history, 3.0, 3.1, 0.0, 3.0)  # both have seen a free release before one of them adopts it
        history.create(tag="one", adopt=True)
        create_other(history, tag="one", adopt=True)
        await history.cluster.wait(60.0)
        assert "belongs to the XApp hello." in ready(history)[2]
        adopted = [each for each in history.cluster.server.all("events") if each["reason"] == "Adopted"]
        assert [each["involvedObject"]["name"] for each in adopted] == ["hello"]

    assert run_history(settings, play).outcome == "Ready InstallSucceeded"


def test_after_a_failure_without_a_release_another_xapp_goes_on_at_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.pause = 80.0  # by then, the other xApp waits for long between two looks
        history.cluster.helm.refusals['{"tag": "one"}'] = Fault("the chart cannot be rendered")
        history.create(tag="one", timeout="1h")
        assert await history.cluster.wait_for(lambda: bool(history.helm_steps), seconds=SECONDS)
        create_other(history, archive=store(history, name="other", cm=CONFIGMAP))
        await history.cluster.wait(70.0)
        assert ready(history)[2] == WAITS
        history.cluster.helm.pause = PAUSE_SECONDS
        assert await history.cluster.wait_for(lambda: not history.cluster.helm.running, seconds=60.0)
        await history.cluster.wait(0.5)
        assert history.helm_steps[1].what == '{"tag": "two"}'
        await history.cluster.wait(SECONDS)
        assert ready(history)[:2] == ("True", "InstallSucceeded")

    run_history(settings, play)


def test_an_xapp_without_a_release_goes_away_while_helm_works_for_another(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.pause = SLOW_SECONDS
        history.create(tag="one")
        create_other(history)
        assert await history.cluster.wait_for(lambda: ready(history)[2] == WAITS, seconds=SECONDS)
        history.cluster.delete("other")
        assert await history.cluster.wait_for(lambda: history.cluster.xapp("other") is None, seconds=4.0)
        assert history.cluster.helm.running == {"hello"}
        history.removed.clear()

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"
    assert [each.command for each in history.helm_steps] == ["install"]


def test_the_helm_of_an_xapp_that_is_gone_is_waited_for(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.pause = 15.0  # and the other xApp would wait for 30 s
        history.create(tag="one", timeout="1h")
        assert await history.cluster.wait_for(lambda: bool(history.cluster.revisions), seconds=60.0)
        remove_finalizers(history)
        create_other(history, adopt=True)
        assert await history.cluster.wait_for(lambda: ready(history)[2] == WAITS, seconds=SECONDS)
        assert await history.cluster.wait_for(lambda: ready(history)[0] == "True", seconds=300.0)
        history.removed.clear()

    history = run_history(settings, play)
    assert history.deployed_tags == ["two"]
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]


@pytest.mark.parametrize("name", ["hello", "other"])
def test_tests_of_an_xapp_that_is_gone_are_waited_for(settings: Settings, name: str) -> None:
    async def play(history: History) -> None:
        deploy(history, values={**ENDLESS}, timeout="1h")
        await wait_running(history)
        history.cluster.helm.last_breath = 8.0
        remove_finalizers(history)
        assert pods(history)
        create_other(history, name, adopt=True)
        assert await history.cluster.wait_for(lambda: ready(history, name)[2] == WAITS, seconds=SECONDS)
        assert await history.cluster.wait_for(lambda: ready(history, name)[0] == "True", seconds=10.0)
        history.removed.clear()

    history = run_history(settings, play)
    assert history.deployed_tags == ["two"]
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]


def test_an_xapp_stays_stalled_while_helm_works_for_the_owner_of_the_release(settings: Settings) -> None:
    seen = set[tuple[str, str]]()

    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        create_other(history)
        await history.cluster.wait(SECONDS)
        history.cluster.helm.pause = SLOW_SECONDS
        history.set_tag("two")
        for _ in range(30):
            await history.cluster.wait(1.0)
            stalled = history.cluster.condition("Stalled", "other") or {}
            seen.add((ready(history)[1], stalled.get("status", "")))

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]
    assert seen == {("AccessDenied", "True")}
