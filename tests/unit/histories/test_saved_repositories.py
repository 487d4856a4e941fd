"""The ChartRepository of XApps that name a repository nobody has saved."""

from __future__ import annotations

import orjson

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import History, run_history
from tests.unit.histories.situations.actions import create_other
from xapp_operator.config import Settings
from xapp_operator.kube.transport import ApiRequest

URL = "https://127.0.0.1:1"
SPEC = {"method": "Remote Chart Repository", "repoName": "acme", "archive": None, "chartName": "x"}
NAMES = ("second", "third", "fourth")


def is_post(request: ApiRequest) -> bool:
    """Return whether a request creates a ChartRepository."""
    return request.method == "POST" and "/chartrepositories" in request.path


def test_many_xapps_at_once_save_it_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.latency = lambda request: 1.0 if "/chartrepositories" in request.path else 0.0
        history.create(**SPEC, url=URL)
        for name in NAMES:
            create_other(history, name, **SPEC, url=URL)
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


def test_operator_that_stops_meanwhile_saves_nothing_any_more(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        cluster.latency = lambda request: 60.0 if is_post(request) else 0.0
        create_other(history, "second", **SPEC, url=URL)
        history.create(**SPEC, url=URL)
        await cluster.wait(10.0)
        assert cluster.runtime is not None
        await cluster.runtime.__aexit__(None, None, None)
        await cluster.wait(100.0)
        assert not any("chartrepositories" in each for each in cluster.writes)
        cluster.latency = lambda _: 0.0
        cluster.restart()
        await cluster.wait(20.0)
        assert all("loopback" in (cluster.condition("Ready", name) or {})["message"] for name in ("second", "hello"))
        history.delete()
        cluster.delete("second")

    assert run_history(settings, play).outcome == "gone"


def test_url_that_is_refused_is_no_reason_to_refuse_another_one(settings: Settings) -> None:
    """An admission policy may let only some pass."""
    refused = "https://10.0.0.1:1"

    def check(request: ApiRequest) -> None:
        if is_post(request) and orjson.loads(request.body or b"{}")["spec"]["url"] == refused:
            raise Refused(403, "Forbidden", 'chartrepositories "acme" is forbidden: this url is not allowed')

    async def play(history: History) -> None:
        history.cluster.refuse = check
        history.cluster.latency = lambda request: 1.0 if is_post(request) else 0.0
        create_other(history, "refused", **SPEC, url=refused)
        history.create(**SPEC, url=URL)
        await history.cluster.wait(20.0)
        messages = [(history.cluster.condition("Ready", name) or {})["message"] for name in ("refused", "hello")]
        assert ["not allowed" in each for each in messages] == [True, False], messages
        history.delete()
        history.cluster.delete("refused")

    assert run_history(settings, play).outcome == "gone"
