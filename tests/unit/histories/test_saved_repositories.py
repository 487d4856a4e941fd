"""The ChartRepository of XApps that name a repository nobody has saved."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from tests.support.charts import chart_archive
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.chart_repository import REMOTE_SPEC, REPOSITORY_URL, FakeChartRepository
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.unit.histories.situations.actions import create_other
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

URL = "https://127.0.0.1:1"
SPEC = {"method": "Remote Chart Repository", "repoName": "acme", "archive": None, "chartName": "x"}
REPOSITORY = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE, "acme")
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


def refuse_for_quota(history: History) -> None:
    """Delete the ChartRepository, and let a quota refuse another one."""

    def check(request: ApiRequest) -> None:
        if is_post(request):
            raise Refused(403, "Forbidden", 'chartrepositories "acme" is forbidden: exceeded quota: q, used: 5')

    history.cluster.refuse = check
    history.cluster.server.delete(REPOSITORY, {})


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> FakeChartRepository:
    repository = FakeChartRepository()
    files = {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT}
    repository.add("hello", "0.1.0", chart_archive({"values.yaml": "tag: one\n", **files}))
    repository.serve(monkeypatch)
    return repository


@pytest.mark.usefixtures("repository")
def test_bad_upgrade_is_undone_while_it_cannot_be_saved_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(20.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(5.0)
        refuse_for_quota(history)
        await history.cluster.wait(300.0)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]
        assert history.outcome == "Stalled HealthCheckFailed"
        history.delete()

    assert run_history(settings, play).outcome == "gone"


@pytest.mark.usefixtures("repository")
def test_healthy_xapp_stays_ready_and_drift_is_corrected_while_it_cannot_be_saved_again(settings: Settings) -> None:
    config_map = Target("", "v1", "configmaps", NAMESPACE, "hello")

    async def play(history: History) -> None:
        history.create(**REMOTE_SPEC, driftDetection={"mode": "enabled"})
        await history.cluster.wait(20.0)
        refuse_for_quota(history)
        await history.cluster.wait(20.0)
        history.cluster.server.patch(config_map, {"data": {"tag": "changed"}}, manager="somebody")
        assert history.cluster.transport is not None
        before = len(history.cluster.transport.requests)
        await history.cluster.wait(1000.0)
        posts = [each for each in history.cluster.transport.requests[before:] if is_post(each)]
        assert 5 <= len(posts) <= 50
        assert history.outcome == "Ready InstallSucceeded"
        assert history.cluster.server.get(config_map)["data"] == {"tag": "one"}
        history.cluster.refuse = lambda _: None
        await history.cluster.wait(100.0)
        history.delete()
        history.cluster.server.delete(REPOSITORY, {})  # it is there again

    assert run_history(settings, play).outcome == "gone"


@pytest.mark.usefixtures("repository")
def test_bad_upgrade_is_undone_while_the_credentials_cannot_be_read(settings: Settings) -> None:
    credentials = Target("", "v1", "secrets", NAMESPACE, "creds")

    def check(request: ApiRequest) -> None:
        if request.method == "GET" and request.path.endswith("/secrets/creds"):
            raise Refused(500, "InternalError", "etcd is ill")

    async def play(history: History) -> None:
        server = history.cluster.server
        metadata = {"name": "creds", "annotations": {"xapp-operator.io/origin": REPOSITORY_URL}}
        secret = {"metadata": metadata, "type": "kubernetes.io/basic-auth", "data": {"username": "", "password": ""}}
        server.create(replace(credentials, name=""), secret)
        spec = {"url": REPOSITORY_URL, "interval": "1000h", "secretRef": {"name": "creds"}}
        server.create(replace(REPOSITORY, name=""), {"metadata": {"name": "acme"}, "spec": spec})
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(20.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(5.0)
        history.cluster.refuse = check
        server.patch(credentials, {"data": {"password": "eA=="}})
        await history.cluster.wait(300.0)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]
        assert history.outcome == "Stalled HealthCheckFailed"
        history.delete()
        server.delete(REPOSITORY, {})

    assert run_history(settings, play).outcome == "gone"
