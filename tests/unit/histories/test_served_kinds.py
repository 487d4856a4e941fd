"""A kind of the chart that the cluster does not serve for a while."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import CONFIGMAP, History, run_history
from tests.support.fakes.kinds import DISCOVERY, KINDS, discovery_of_kinds
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import store
from xapp_operator.config import Settings
from xapp_operator.kube import discovery

GROUP = ("example.com", "v1")
WIDGET = Target(*GROUP, "widgets", NAMESPACE, "hello")
TEMPLATE = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: hello}
"""


@pytest.fixture(autouse=True)
def widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the kind Widget, and read at each miss what is served."""
    monkeypatch.setattr(discovery, "MISSING_KIND_MAX_AGE_SECONDS", -1.0)
    monkeypatch.setitem(KINDS, GROUP, {"widgets": ("Widget", True)})
    monkeypatch.setitem(DISCOVERY, "/apis", discovery_of_kinds(core=False))


@pytest.mark.parametrize("back", [True, False])
def test_a_kind_that_is_away_when_the_operator_starts(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    """The resync finds it, and whether its object came back; otherwise it is drift."""

    async def play(history: History) -> None:
        chart = store(history, cm=CONFIGMAP, widget=TEMPLATE)
        history.create(archive=chart, driftDetection={"mode": "enabled"})
        cluster, served = history.cluster, DISCOVERY["/apis"]
        assert await cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
        found = cluster.server.get(WIDGET)
        others = [each for each in served["items"] if each["metadata"]["name"] != GROUP[0]]
        monkeypatch.setitem(DISCOVERY, "/apis", {**served, "items": others})
        cluster.server.delete(WIDGET, {})
        cluster.restart()
        await cluster.wait(2.0 * settings.resync_seconds)
        assert not history.outcome.startswith("Ready")
        assert "does not serve its kind" in str(cluster.xapp())
        monkeypatch.setitem(DISCOVERY, "/apis", served)
        if back:
            cluster.server.create(WIDGET, {**found, "metadata": {**found["metadata"]}})
        assert await cluster.wait_for(
            lambda: history.outcome.startswith("Ready") and cluster.server.find("widgets", "hello") is not None,
            seconds=1.5 * settings.resync_seconds,
        )

    run_history(settings, play)
