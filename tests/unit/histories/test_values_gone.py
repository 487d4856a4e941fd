"""Values that go away, or become invalid, while an upgrade to them is not healthy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Refused
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, RESYNC_SECONDS, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.support.fakes.value_secrets import (
    LOST_VALUES,
    create_values,
    delete_values,
    replace_secret,
    secret,
)
from tests.support.helm_tests import FAILS, TEST, VALUES
from tests.unit.histories.situations.actions import allow
from tests.unit.histories.test_release_inputs import ready
from tests.unit.histories.test_removals import events
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS: Final = 20.0
TIMEOUT_IS_OVER: Final = 5.0 * TIMEOUT_SECONDS
UNAVAILABLE: Final = "Internal error occurred: etcdserver: request timed out"
SOURCES: Final = [{"kind": "Secret", "name": "values"}]


async def deploy(history: History, **spec: Any) -> None:
    """Deploy a chart with one test and a Deployment, with values from a Secret."""
    create_values(history, "values", "text: kept\n")
    templates = {"configmap": CONFIGMAP, "deployment": DEPLOYMENT, "probe": TEST.replace("NAME", "probe")}
    files = {f"templates/{name}.yaml": template for name, template in templates.items()}
    stored = chart_archive_manifest(chart_archive({"values.yaml": VALUES, **files}), namespace=NAMESPACE)
    history.cluster.create(stored)
    archive = {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
    history.create(values={"tag": "one"}, archive=archive, valuesFrom=SOURCES, **spec)
    await history.cluster.wait(SECONDS)
    assert history.outcome.startswith("Ready")


async def upgrade(history: History, values: Json) -> None:
    history.edit(values=values)
    assert await history.cluster.wait_for(lambda: history.cluster.revisions.get(2) == "deployed", seconds=SECONDS)


def commands(history: History) -> list[str]:
    return [each.command for each in history.helm_steps if each.command != "test"]


@pytest.mark.parametrize(("lose", "told"), LOST_VALUES)
def test_an_unhealthy_upgrade_is_rolled_back_without_its_values(
    settings: Settings, lose: Callable[[History], None], told: str
) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        await upgrade(history, {"tag": BROKEN})
        lose(history)
        await history.cluster.wait(SECONDS)
        assert history.outcome == "NotReady Progressing"
        assert "Deployment hello" in ready(history)[1]
        assert told in ready(history)[1]
        await history.cluster.wait(TIMEOUT_IS_OVER)

    history = run_history(settings, play)
    assert commands(history) == ["install", "upgrade", "rollback"]
    assert (history.live_tags, history.outcome) == ({"one"}, "Stalled ValuesInvalid")
    message = ready(history)[1]
    assert message.startswith(told)
    assert "Before that: not healthy after 30s (spec.timeout): " in message
    assert "rolled back to revision 1" in message


@pytest.mark.parametrize(("lose", "told"), LOST_VALUES)
def test_tests_of_an_upgrade_run_and_roll_it_back_without_its_values(
    settings: Settings, lose: Callable[[History], None], told: str
) -> None:
    async def play(history: History) -> None:
        await deploy(history, test={"enabled": True, "onFailure": "rollback"})
        await upgrade(history, {"tag": "two", **FAILS})
        lose(history)
        await history.cluster.wait(TIMEOUT_IS_OVER)

    history = run_history(settings, play)
    assert commands(history) == ["install", "upgrade", "rollback"]
    assert (history.live_tags, history.outcome) == ({"one"}, "Stalled ValuesInvalid")
    assert ready(history)[1].startswith(told)
    assert "Before that: test Pod hello-probe failed" in ready(history)[1]


def test_a_rollback_that_fails_is_tried_again_without_the_values(settings: Settings) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        await upgrade(history, {"tag": BROKEN})
        delete_values(history)
        history.cluster.helm.faults = [Fault(UNAVAILABLE, writes=1)]
        await history.cluster.wait(TIMEOUT_IS_OVER)
        assert history.cluster.helm.faults == []

    history = run_history(settings, play)
    assert commands(history) == ["install", "upgrade", "rollback", "rollback"]
    assert history.live_tags == {"one"}


def before_second_read(history: History, act: Callable[[], None]) -> None:
    """Act right before the values are read for helm: the first read is that of the observation."""
    reads = 0

    def check(request: ApiRequest) -> None:
        nonlocal reads
        reads += request.method == "GET" and request.path.endswith("/secrets/values")
        if reads == 2:
            allow(history)
            act()

    history.cluster.refuse = check


@pytest.mark.parametrize(("lose", "told"), LOST_VALUES)
def test_values_that_go_away_right_before_helm_are_no_failed_attempt(
    settings: Settings, lose: Callable[[History], None], told: str
) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        before_second_read(history, lambda: lose(history))
        history.edit(values={"tag": "two"})
        await history.cluster.wait(SECONDS)
        status: Json = (history.cluster.xapp() or {})["status"]
        assert status["lastAttempt"]["action"] == "Install"

    history = run_history(settings, play)
    assert commands(history) == ["install"]
    assert history.outcome == "Stalled ValuesInvalid"
    assert ready(history)[1].startswith(told)


@pytest.mark.parametrize(("text", "steps"), [("kept", ["install"]), ("third", ["install", "upgrade"])])
def test_values_that_change_right_before_helm_are_deployed_unless_they_are_already(
    settings: Settings, text: str, steps: list[str]
) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        before_second_read(history, lambda: set_text(history, text))
        set_text(history, "second")
        await history.cluster.wait(SECONDS)
        assert history.outcome.startswith("Ready")

    history = run_history(settings, play)
    assert commands(history) == steps
    assert history.records[-1]["config"]["text"] == text


def test_values_that_change_right_before_the_first_install_are_deployed(settings: Settings) -> None:
    async def play(history: History) -> None:
        before_second_read(history, lambda: set_text(history, "other"))
        await deploy(history)

    history = run_history(settings, play)
    assert commands(history) == ["install"]
    assert history.records[-1]["config"]["text"] == "other"


def set_text(history: History, text: str) -> None:
    replace_secret(history, secret("values", values__yaml=f"text: {text}\n"))


def test_values_that_cannot_be_read_for_now_are_a_failed_attempt(settings: Settings) -> None:
    def fail() -> None:
        raise Refused(500, "InternalError", "no")

    async def play(history: History) -> None:
        await deploy(history)
        before_second_read(history, fail)
        history.edit(values={"tag": "two"})
        await history.cluster.wait(SECONDS)

    history = run_history(settings, play)
    assert len(events(history, "UpgradeFailed")) == 1
    assert commands(history) == ["install", "upgrade"]


def test_values_that_only_helm_does_not_get_end_in_a_failed_attempt(settings: Settings) -> None:
    """Otherwise it would be planned again and again."""
    reads = 0

    def check(request: ApiRequest) -> None:
        nonlocal reads
        if request.method == "GET" and request.path.endswith("/secrets/values"):
            reads += 1
            if reads % 2 == 0:
                raise Refused(404, "NotFound", "secrets values not found")

    async def play(history: History) -> None:
        await deploy(history)
        history.cluster.refuse = check
        history.edit(values={"tag": "two"})
        await history.cluster.wait(SECONDS)
        attempt = (history.cluster.xapp() or {})["status"]["lastAttempt"]
        assert (attempt["action"], attempt["outcome"], attempt["reason"]) == ("Upgrade", "Failed", "ValuesInvalid")
        allow(history)
        history.annotate("retry-at")

    assert commands(run_history(settings, play)) == ["install", "upgrade"]


def test_values_that_come_back_are_not_tried_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        await upgrade(history, {"tag": BROKEN})
        delete_values(history)
        await history.cluster.wait(TIMEOUT_IS_OVER)
        create_values(history, "values", "text: kept\n")
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Stalled HealthCheckFailed"
        assert history.live_tags == {"one"}
        delete_values(history)
        create_values(history, "values", "text: other\n")
        history.edit(values={"tag": "three"})

    history = run_history(settings, play)
    assert commands(history) == ["install", "upgrade", "rollback", "upgrade"]
    assert (history.live_tags, history.outcome) == ({"three"}, "Ready UpgradeSucceeded")


def test_a_changed_spec_whose_values_are_missing_stalls(settings: Settings) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        await upgrade(history, {"tag": BROKEN})
        history.edit(valuesFrom=[{"kind": "Secret", "name": "never"}])
        await history.cluster.wait(TIMEOUT_IS_OVER)

    history = run_history(settings, play)
    assert commands(history) == ["install", "upgrade"]
    message = "Secret never in valuesFrom does not exist. Create it, or set optional: true."
    assert (history.outcome, ready(history)[1]) == ("Stalled ValuesInvalid", message)


def test_an_upgrade_stays_if_the_spec_says_so(settings: Settings) -> None:
    async def play(history: History) -> None:
        await deploy(history, upgrade={"onFailure": "none"})
        await upgrade(history, {"tag": BROKEN})
        delete_values(history)
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Stalled ValuesInvalid"
        await history.cluster.wait(TIMEOUT_IS_OVER)

    history = run_history(settings, play)
    assert commands(history) == ["install", "upgrade"]
    assert history.outcome == "Stalled ValuesInvalid"
    assert "Before that: not healthy after 30s (spec.timeout): " in ready(history)[1]


def test_an_upgrade_that_became_healthy_without_its_values_stays(settings: Settings) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        await upgrade(history, {"tag": "two"})
        delete_values(history)
        await history.cluster.wait(SECONDS)
        message = "Secret values in valuesFrom does not exist. Create it, or set optional: true."
        assert (history.outcome, ready(history)[1]) == ("Stalled ValuesInvalid", message)
        history.cluster.set_outage(on=True)
        await history.cluster.wait(TIMEOUT_IS_OVER)
        history.cluster.set_outage(on=False)

    history = run_history(settings, play)
    assert commands(history) == ["install", "upgrade"]
    assert (history.live_tags, history.outcome) == ({"two"}, "Stalled ValuesInvalid")


@pytest.mark.parametrize(("lose", "told"), LOST_VALUES)
def test_an_xapp_without_its_values_is_not_called_ready_while_they_are_read(
    settings: Settings, lose: Callable[[History], None], told: str
) -> None:
    """The resync reads them again, which may take a while."""
    shown: list[tuple[str, str]] = []

    def note(plural: str, body: Json) -> None:
        conditions = body.get("status", {}).get("conditions", ())
        shown.extend((each["status"], each["message"]) for each in conditions if each["type"] == "Ready")

    async def play(history: History) -> None:
        cluster = history.cluster
        await deploy(history)
        lose(history)
        await cluster.wait(SECONDS)
        assert history.outcome == "Stalled ValuesInvalid"
        cluster.latency = lambda request: 1.0 if request.path.endswith("/secrets/values") else 0.0
        cluster.server.on_stored.append(note)
        cluster.restart()
        await cluster.wait(4.0 * RESYNC_SECONDS)
        cluster.server.on_stored.remove(note)

    run_history(settings, play)
    assert all(status == "False" and told in message for status, message in shown)
