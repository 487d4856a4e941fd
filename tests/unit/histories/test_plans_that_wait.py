"""Steps whose plan is not right any more when they have a place for their helm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import upgrade_by_hand
from tests.support.fakes.histories import STORED_CHART, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.support.fakes.value_secrets import LOST_VALUES, create_values, delete_values, replace_secret, secret
from tests.unit.histories.situations.actions import create_other, install, remove_other, take_the_place
from xapp_operator.config.settings import Settings

HELM_ENDS: Final = 80.0
"""After so long, the helm of the other XApp has ended."""
LONG: Final = 900.0
UNAVAILABLE: Final = "Internal error occurred: etcdserver: request timed out"
SOURCES: Final = [{"kind": "Secret", "name": "values"}]
ARCHIVE: Final = Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, STORED_CHART["metadata"]["name"])


def remove_release(history: History) -> None:
    """Remove the release hello, as a person's `helm uninstall` does; that of another XApp stays."""
    history.note("uninstall by hand")
    server = history.cluster.server
    for group, plural in (("", "secrets"), ("apps", "deployments"), ("", "configmaps")):
        for body in server.all(plural):
            name = body["metadata"]["name"]
            if name == "hello" or name.startswith("sh.helm.release.v1.hello."):
                server.delete(Target(group, "v1", plural, NAMESPACE, name), {})


async def replace_release(history: History) -> None:
    """Install something else under the name of the release, as a person may."""
    remove_release(history)
    await history.cluster.wait(3.0)
    history.install_by_hand("three")


def commands(history: History) -> list[str]:
    return [each.command for each in history.helm_steps]


def message(history: History) -> str:
    ready = history.cluster.condition("Ready")
    return "" if ready is None else str(ready["message"])


def test_a_release_that_a_person_has_installed_meanwhile_is_not_uninstalled(narrow: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        await take_the_place(history)
        history.delete()
        await history.cluster.wait(5.0)
        await replace_release(history)
        await history.cluster.wait(HELM_ENDS)
        assert history.cluster.xapp() is None
        history.removed.clear()
        await remove_other(history)
        assert history.live_tags == {"three"}
        history.orphaned = True  # what is left is the person's

    assert commands(run_history(narrow, play)) == ["install"]


def test_a_release_that_a_person_has_installed_meanwhile_is_not_taken_over(narrow: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        await take_the_place(history)
        history.set_tag("two")
        await history.cluster.wait(5.0)
        await replace_release(history)
        await history.cluster.wait(HELM_ENDS)
        await remove_other(history)
        assert history.outcome == "Stalled AccessDenied"
        assert "adopt: true" in message(history)
        assert history.live_tags == {"three"}

    assert commands(run_history(narrow, play)) == ["install"]


def _delete_dependency(history: History) -> None:
    history.cluster.delete("base")


def _break_dependency(history: History) -> None:
    history.cluster.edit({"spec": {"values": {"tag": BROKEN}, "upgrade": {"onFailure": "none"}}}, "base")


@pytest.mark.parametrize("lose", [_delete_dependency, _break_dependency])
@pytest.mark.parametrize("is_new", [True, False])
def test_dependencies_that_are_lost_meanwhile_are_waited_for(
    narrow: Settings, lose: Callable[[History], None], is_new: bool
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        history.store_chart()
        create_other(history, "base")
        await cluster.wait(20.0)
        if not is_new:
            await install(history, dependsOn=[{"name": "base"}])
        await take_the_place(history)
        if is_new:
            history.create(tag="one", dependsOn=[{"name": "base"}])
        else:
            history.set_tag("two")
        await cluster.wait(5.0)
        lose(history)
        await cluster.wait(HELM_ENDS)
        cluster.helm.pause = 0.2
        await cluster.wait(HELM_ENDS)
        assert history.outcome == "NotReady DependencyNotReady"
        assert commands(history) == ([] if is_new else ["install"])
        history.edit(dependsOn=None)
        await cluster.wait(20.0)
        cluster.delete("base")
        await cluster.wait(20.0)
        await remove_other(history)

    assert run_history(narrow, play).outcome.startswith("Ready")


async def _upgrade_to_unhealthy(history: History) -> None:
    """Upgrade, and wait until the rollback of the upgrade waits for a place."""
    await install(history)
    history.cluster.set_outage(on=True)
    history.set_tag("two")
    await history.cluster.wait(TIMEOUT_SECONDS - 5.0)
    await take_the_place(history)
    await history.cluster.wait(15.0)
    assert history.helm_steps[-1].command == "upgrade"


def test_an_upgrade_that_became_healthy_meanwhile_is_not_rolled_back(narrow: Settings) -> None:
    async def play(history: History) -> None:
        await _upgrade_to_unhealthy(history)
        history.cluster.set_outage(on=False)
        await history.cluster.wait(HELM_ENDS)
        await remove_other(history)

    history = run_history(narrow, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert commands(history) == ["install", "upgrade"]


def test_an_upgrade_that_stays_unhealthy_is_rolled_back(narrow: Settings) -> None:
    async def play(history: History) -> None:
        await _upgrade_to_unhealthy(history)
        await history.cluster.wait(HELM_ENDS)
        history.cluster.set_outage(on=False)
        await remove_other(history)

    history = run_history(narrow, play)
    assert history.outcome.startswith("Stalled")
    assert commands(history) == ["install", "upgrade", "rollback"]
    assert history.live_tags == {"one"}


def test_the_repair_of_a_person_is_not_undone(narrow: Settings) -> None:
    async def play(history: History) -> None:
        await _upgrade_to_unhealthy(history)
        upgrade_by_hand(history, "three")
        history.cluster.set_outage(on=False)
        await history.cluster.wait(HELM_ENDS)
        await remove_other(history)

    history = run_history(narrow, play)
    assert "rollback" not in commands(history)


def test_dependents_that_come_meanwhile_are_waited_for(narrow: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await install(history, timeout="10m")
        await take_the_place(history)
        history.delete()
        await cluster.wait(5.0)
        create_other(history, "dependent", dependsOn=[{"name": "hello"}])
        await cluster.wait(HELM_ENDS)
        cluster.helm.pause = 0.2
        await cluster.wait(HELM_ENDS)
        assert commands(history) == ["install"]
        cluster.delete("dependent")
        assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=60.0)
        await remove_other(history)

    assert commands(run_history(narrow, play)) == ["install", "uninstall"]


def _restore_values(history: History) -> None:
    if history.cluster.server.find("secrets", "values") is not None:
        delete_values(history)
    create_values(history, "values", "text: kept\n")


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(("lose", "told"), LOST_VALUES)
def test_values_that_are_gone_meanwhile_are_waited_for(
    narrow: Settings, lose: Callable[[History], None], told: str, is_new: bool
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        create_values(history, "values", "text: kept\n")
        spec: dict[str, Any] = {"valuesFrom": SOURCES, "timeout": "10m"}
        if not is_new:
            await install(history, **spec)
        await take_the_place(history)
        history.create(tag="one", **spec) if is_new else history.set_tag("two")
        await cluster.wait(5.0)
        lose(history)
        await cluster.wait(HELM_ENDS)
        assert history.outcome == "Stalled ValuesInvalid"
        assert told in message(history)
        await remove_other(history)
        _restore_values(history)
        await cluster.wait(20.0)

    history = run_history(narrow, play)
    assert history.outcome.startswith("Ready")
    assert commands(history) == (["install"] if is_new else ["install", "upgrade"])


@pytest.mark.parametrize("is_new", [True, False])
def test_a_chart_that_is_gone_meanwhile_is_waited_for(narrow: Settings, is_new: bool) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        if not is_new:
            await install(history)
        await take_the_place(history)
        history.create(tag="one") if is_new else history.set_tag("two")
        await cluster.wait(5.0)
        cluster.server.delete(ARCHIVE, {})
        await cluster.wait(HELM_ENDS)
        assert history.outcome == "Stalled ChartPullFailed"
        history.store_chart()
        await cluster.wait(20.0)
        await remove_other(history)

    assert run_history(narrow, play).outcome.startswith("Ready")


@pytest.mark.parametrize(("lose", "told"), LOST_VALUES)
def test_values_that_are_gone_for_a_moment_before_the_watch_shows_it_do_no_harm(
    settings: Settings, lose: Callable[[History], None], told: str
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        create_values(history, "values", "text: kept\n")
        await install(history, valuesFrom=SOURCES)
        cluster.server.lag = 3.0
        lose(history)
        await cluster.wait(1.0)
        cluster.server.lag = 0.0
        history.annotate("force-at")
        await cluster.wait(1.0)
        assert told in message(history)
        _restore_values(history)
        await cluster.wait(20.0)

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready")
    assert commands(history) == ["install"]


def test_an_upgrade_that_is_tried_again_while_its_values_are_gone_is_not_rolled_back_at_once(
    settings: Settings,
) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        create_values(history, "values", "text: kept\n")
        await install(history, valuesFrom=SOURCES, timeout="10m")
        cluster.helm.faults.append(Fault(UNAVAILABLE, 1))
        history.set_tag("two")
        assert await cluster.wait_for(lambda: len(history.helm_steps) == 2, seconds=20.0)
        cluster.server.lag = 8.0
        delete_values(history)
        await cluster.wait(4.0)
        _restore_values(history)
        cluster.server.lag = 2.0
        await cluster.wait(60.0)

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready")
    assert "rollback" not in commands(history)


@pytest.mark.parametrize("is_forced", [False, True])
def test_values_that_went_back_meanwhile_are_no_reason_for_an_upgrade(narrow: Settings, is_forced: bool) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        create_values(history, "values", "text: kept\n")
        await install(history, valuesFrom=SOURCES)
        await take_the_place(history)
        replace_secret(history, secret("values", values__yaml="text: changed\n"))
        await cluster.wait(5.0)
        if is_forced:
            history.annotate("force-at")
        replace_secret(history, secret("values", values__yaml="text: kept\n"))
        await cluster.wait(HELM_ENDS)
        await remove_other(history)

    history = run_history(narrow, play)
    assert history.outcome.startswith("Ready")
    assert commands(history) == (["install", "upgrade"] if is_forced else ["install"])
