"""Values and charts that change while an XApp reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import BROKEN, Kill
from tests.support.fakes.value_secrets import create_values, replace_secret, secret
from tests.support.helm_tests import ENABLED, outcome_of, store_chart
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, create_other
from tests.unit.histories.test_release_inputs import archive, store
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS = 30.0
READ_SECONDS = 3.0
ARCHIVE_KEY = "chart.tgz"
REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "two": must be three'
UNAVAILABLE = "Internal error occurred: etcdserver: request timed out"
SLOW_HELM_SECONDS = 6.0
"""Between two writes of a helm that has the only place."""
TIMEOUT_IS_OVER = 400.0


def live(history: History, field: str) -> str:
    return str(history.cluster.server.get(CONFIGMAP_TARGET)["data"][field])


def delay_reads(history: History, name: str) -> None:
    """Let the Secret with that name be read slowly, by whoever reads it from now on."""

    def latency(request: ApiRequest) -> float:
        return READ_SECONDS if request.method == "GET" and request.path.endswith(f"/secrets/{name}") else 0.0

    history.cluster.latency = latency


@pytest.mark.parametrize("after", [1.5, 2.5, 3.5])
def test_values_that_change_while_the_others_are_read_are_used(settings: Settings, after: float) -> None:
    async def play(history: History) -> None:
        create_values(history, "first", "text: one")
        create_values(history, "second", "address: kept")
        sources = [{"kind": "Secret", "name": "first"}, {"kind": "Secret", "name": "second"}]
        history.create(archive=store(history, archive()), valuesFrom=sources)
        await history.cluster.wait(SECONDS)
        assert live(history, "text") == "one"
        delay_reads(history, "second")
        history.cluster.restart()
        await history.cluster.wait(after)
        replace_secret(history, secret("first", values__yaml="text: two"))
        await history.cluster.wait(SECONDS)
        assert live(history, "text") == "two"

    run_history(settings, play)


def test_an_archive_that_changes_while_the_values_are_read_is_used(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_values(history, "values", "text: kept")
        history.cluster.create(secret("chart", **{"chart__tgz": archive()}))
        reference = {"secretRef": {"name": "chart", "key": ARCHIVE_KEY}, "chartArchiveRef": None, "digest": None}
        history.create(archive=reference, valuesFrom=[{"kind": "Secret", "name": "values"}])
        await history.cluster.wait(SECONDS)
        assert live(history, "version") == "0.1.0"
        delay_reads(history, "values")
        history.cluster.restart()
        await history.cluster.wait(2.0)
        history.note("another chart")
        replace_secret(history, secret("chart", **{"chart__tgz": archive("0.2.0")}))
        await history.cluster.wait(SECONDS)
        assert live(history, "version") == "0.2.0"

    run_history(settings, play)


def one_place(settings: Settings) -> Settings:
    return settings.model_copy(update={"helm_concurrency": 1})


async def change_while_helm_waits(history: History, last: str, **spec: Any) -> None:
    """Plan an upgrade from `one` to `two`, and change the values to `last` before it gets the only place for helm."""
    create_values(history, "values", "tag: one")
    history.create(valuesFrom=[{"kind": "Secret", "name": "values"}], values={}, **spec)
    await history.cluster.wait(SECONDS)
    history.cluster.helm.pause = SLOW_HELM_SECONDS
    create_other(history)
    await history.cluster.wait(5.0)
    for tag in ("two", last):
        replace_secret(history, secret("values", values__yaml=f"tag: {tag}"))
        await history.cluster.wait(4.0)
    assert [each.command for each in history.helm_steps] == ["install"]


async def end_with_the_first(history: History) -> None:
    """Wait until a timeout is over, and remove the other XApp, which is not checked."""
    await history.cluster.wait(TIMEOUT_IS_OVER)
    history.cluster.delete("other")
    assert await history.cluster.wait_for(lambda: history.cluster.xapp("other") is None, seconds=TIMEOUT_IS_OVER)
    history.removed.clear()


def check_rolled_back(history: History) -> None:
    assert history.outcome == "Stalled HealthCheckFailed"
    assert history.deployed_tags == ["one"]
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]


def test_values_that_change_while_helm_waits_and_are_never_healthy_are_rolled_back(settings: Settings) -> None:
    async def play(history: History) -> None:
        await change_while_helm_waits(history, BROKEN)
        await end_with_the_first(history)

    run_history(one_place(settings), play, check_rolled_back)


def test_they_are_rolled_back_also_if_the_operator_is_killed_right_after_helm(settings: Settings) -> None:
    async def play(history: History) -> None:
        await change_while_helm_waits(history, BROKEN)
        assert await history.cluster.wait_for(lambda: BROKEN in history.deployed_tags, seconds=TIMEOUT_IS_OVER)
        history.cluster.kill = Kill(0, after=False)
        await end_with_the_first(history)

    history = run_history(one_place(settings), play, check_rolled_back)
    assert history.cluster.lives == 2


def test_values_that_change_while_helm_waits_and_that_it_refuses_are_not_tried_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.refusals['{"tag": "three"}'] = Fault(REFUSED, writes=1)
        await change_while_helm_waits(history, "three")
        await end_with_the_first(history)

    history = run_history(one_place(settings), play)
    assert history.outcome == "Stalled UpgradeFailed"
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]


def test_values_that_change_while_helm_waits_have_tries_of_their_own(settings: Settings) -> None:
    def last_attempt(history: History) -> tuple[int, str]:
        found = (history.cluster.xapp() or {})["status"]["lastAttempt"]
        return found["count"], found["firstAt"]

    async def play(history: History) -> None:
        create_values(history, "values", "tag: one")
        history.create(valuesFrom=[{"kind": "Secret", "name": "values"}], values={})
        await history.cluster.wait(SECONDS)
        history.cluster.helm.pause = SLOW_HELM_SECONDS
        history.cluster.helm.faults = [Fault(UNAVAILABLE)]
        replace_secret(history, secret("values", values__yaml="tag: two"))
        await history.cluster.wait(SLOW_HELM_SECONDS / 2)
        create_other(history)
        assert await history.cluster.wait_for(lambda: last_attempt(history)[0] == 2, seconds=SECONDS)
        planned = last_attempt(history)[1]
        replace_secret(history, secret("values", values__yaml="tag: three"))
        await end_with_the_first(history)
        assert last_attempt(history)[0] == 1
        assert last_attempt(history)[1] > planned

    history = run_history(one_place(settings), play)
    assert [each.what for each in history.helm_steps][1:] == ['{"tag": "two"}', '{"tag": "three"}']


def test_values_that_change_while_helm_waits_are_tested(settings: Settings) -> None:
    async def play(history: History) -> None:
        await change_while_helm_waits(history, "three", test=ENABLED, **store_chart(history, "probe"))
        await end_with_the_first(history)

    history = run_history(one_place(settings), play)
    assert outcome_of(history) == ("True", "TestSucceeded", "1 test of revision 2 passed")
