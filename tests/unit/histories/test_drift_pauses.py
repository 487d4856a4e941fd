"""Pauses between comparisons of objects that change again and again."""

from __future__ import annotations

import random

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import CONFIGMAP, History, run_history
from tests.unit.histories.situations.actions import allow, install, refuse, set_live_tag, store
from tests.unit.histories.situations.drift import CLUSTER_ROLE
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

PAUSE_SECONDS = 2.0
"""The second pause in a row, which the upgrade does not fill."""


def test_a_pause_lasts_to_its_end_although_an_upgrade_has_the_manifest_at_hand(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest shows without a request which objects are as they were applied; others are asked for later."""
    monkeypatch.setattr(random, "uniform", lambda low, high: (low + high) / 2)
    compared: list[float] = []
    read: list[float] = []

    async def play(history: History) -> None:
        cluster, now = history.cluster, history.cluster.clock.monotonic

        def note(request: ApiRequest) -> None:
            if request.path.endswith("/configmaps/hello") and "dryRun" in request.params:
                compared.append(now())
            if request.method == "GET" and request.path.endswith("/clusterroles/hello"):
                read.append(now())

        cluster.helm.pause, cluster.server.lag = 0.0, 0.1
        cluster.server.unwatchable.add("clusterroles")
        await install(history, archive=store(history, cm=CONFIGMAP, role=CLUSTER_ROLE))
        cluster.refuse = note
        set_live_tag(history, "theirs")
        assert await cluster.wait_for(lambda: len(compared) == 1, seconds=10.0)
        await cluster.wait(10.0)
        set_live_tag(history, "again")
        assert await cluster.wait_for(lambda: len(compared) == 2, seconds=10.0)
        read.clear()
        history.set_tag("two")
        assert await cluster.wait_for(lambda: cluster.revisions.get(2) == "deployed", seconds=10.0)
        await cluster.wait(20.0)

    run_history(settings.model_copy(update={"backoff_first_seconds": PAUSE_SECONDS / 2}), play)
    assert read[0] == pytest.approx(compared[1] + PAUSE_SECONDS, abs=0.01)


def test_an_object_that_cannot_be_read_for_the_first_comparison_is_asked_for_with_growing_pauses(
    settings: Settings,
) -> None:
    async def play(history: History) -> None:
        history.cluster.server.unwatchable.add("clusterroles")
        refuse(history, "GET", "/clusterroles/hello", Refused(500, "InternalError", "etcdserver: request timed out"))
        await install(history, 90.0, archive=store(history, cm=CONFIGMAP, role=CLUSTER_ROLE))
        assert history.outcome == "Ready InstallSucceeded"
        assert history.cluster.transport is not None
        asked = [each.path.rpartition("/")[2] for each in history.cluster.transport.requests if "roles" in each.path]
        assert 5 <= asked.count("hello") <= 9
        allow(history)

    run_history(settings, play)
