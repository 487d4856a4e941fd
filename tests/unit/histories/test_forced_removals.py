"""An XApp that goes away without the operator, because a person removed its finalizers: its release stays."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import STORED_CHART, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import create_other
from tests.unit.histories.test_memory import KEY, find
from tests.unit.histories.test_status_writes import is_status, write_status
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS = 60.0
DELAYS = [0.5, 1.0, 2.2, 2.5, 2.8, 3.0, 3.5, 4.0, 5.0]
"""Seconds after the creation: before, during and after the install, which begins when the watch shows the XApp."""


async def create_and_remove(history: History, delay: float) -> str:
    """Create the only XApp of the namespace and remove it by force; return its uid."""
    history.create(tag="one")
    await history.cluster.wait(delay)
    uid = (history.cluster.xapp() or {})["metadata"]["uid"]
    history.note("delete")
    history.cluster.edit({"metadata": {"finalizers": None}})
    history.cluster.delete()
    await history.cluster.wait(SECONDS)
    history.uninstall_by_hand()
    await history.cluster.wait(SECONDS)
    history.removed.clear()
    return str(uid)


@pytest.mark.parametrize("delay", DELAYS)
def test_a_release_that_was_removed_afterwards_is_installed_again(settings: Settings, delay: float) -> None:
    async def play(history: History) -> None:
        await create_and_remove(history, delay)
        history.create(tag="one")

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"
    assert history.cluster.lives == 1


@pytest.mark.parametrize("delay", DELAYS)
def test_nothing_is_kept_of_it(settings: Settings, delay: float) -> None:
    after: list[str] = []

    async def play(history: History) -> None:
        uid = await create_and_remove(history, delay)
        name = STORED_CHART["metadata"]["name"]  # as Kubernetes does, when its owner is gone
        history.cluster.server.delete(Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, name), {})
        await history.cluster.wait(SECONDS)
        after.extend(find(frozenset({KEY, uid}), history.cluster.runtime))

    run_history(settings, play)
    assert after == [], "\n".join(after)


def test_it_does_not_come_back_by_the_response_to_a_write(settings: Settings) -> None:
    late: list[ApiRequest] = []

    def delay(request: ApiRequest) -> float:
        if not is_status(request) or late:
            return 0.0
        late.append(request)
        return 5.0

    async def play(history: History) -> None:
        cluster = history.cluster
        history.create(tag="one")
        await cluster.wait(SECONDS)
        cluster.response_latency = delay
        write_status(history, {"phase": "Failed"})
        assert await cluster.wait_for(lambda: bool(late), seconds=SECONDS)
        cluster.edit({"metadata": {"finalizers": None}})
        cluster.delete()
        await cluster.wait(20.0)
        create_other(history, dependsOn=[{"name": "hello"}])
        await cluster.wait(SECONDS)
        assert (cluster.condition("Ready", "other") or {})["reason"] == "DependencyNotReady"
        cluster.delete("other")
        history.uninstall_by_hand()
        await cluster.wait(SECONDS)
        history.removed.clear()

    run_history(settings, play)
