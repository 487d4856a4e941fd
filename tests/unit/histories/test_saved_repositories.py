"""The ChartRepository of XApps that name a repository nobody has saved."""

from __future__ import annotations

from tests.support.fakes.histories import History, run_history
from tests.unit.histories.situations.actions import create_other
from xapp_operator.config import Settings

SPEC = {"method": "Remote Chart Repository", "url": "https://127.0.0.1:1", "repoName": "acme", "archive": None}
NAMES = ("second", "third", "fourth")


def test_many_xapps_at_once_save_it_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.latency = lambda request: 1.0 if "/chartrepositories" in request.path else 0.0
        history.create(**SPEC, chartName="x")
        for name in NAMES:
            create_other(history, name, **SPEC, chartName="x")
        await history.cluster.wait(20.0)
        assert history.cluster.transport is not None
        asked = [each.method for each in history.cluster.transport.requests if "/chartrepositories" in each.path]
        assert asked.count("POST") == 1
        assert "GET" not in asked
        assert all("loopback" in (history.cluster.condition("Ready", name) or {})["message"] for name in NAMES)
        history.delete()
        for name in NAMES:
            history.cluster.delete(name)

    assert run_history(settings, play).outcome == "gone"
