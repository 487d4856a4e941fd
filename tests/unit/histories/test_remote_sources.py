"""XApps whose chart comes from a repository that goes away, fails, or withdraws a version."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from tests.support.charts import chart_archive
from tests.support.fakes.api_server import Target
from tests.support.fakes.chart_repository import INDEX, REMOTE_SPEC, REPOSITORY_URL, FakeChartRepository
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history
from tests.support.fakes.operator import NAMESPACE
from xapp_operator.charts.downloader import Downloader
from xapp_operator.config import Settings

REPOSITORIES = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE)


def archive(version: str) -> bytes:
    files = {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT}
    return chart_archive({"values.yaml": "tag: one\n", **files}, version=version)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> FakeChartRepository:
    repository = FakeChartRepository()
    repository.charts["0.1.0"] = archive("0.1.0")
    monkeypatch.setattr(Downloader, "get", repository.get)
    return repository


def save_repository(history: History) -> None:
    """Save the repository with an interval in which nobody but the tests reads the index."""
    body = {"metadata": {"name": "acme"}, "spec": {"url": REPOSITORY_URL, "interval": "1000h"}}
    history.cluster.server.create(REPOSITORIES, body)


async def deploy(history: History, version: str = "0.x") -> None:
    save_repository(history)
    history.create(**REMOTE_SPEC, chartVersion=version)
    await history.cluster.wait(20.0)
    assert history.outcome == "Ready InstallSucceeded"


def test_source_that_fails_for_a_moment_is_tried_again_soon(
    settings: Settings, repository: FakeChartRepository
) -> None:
    slow = settings.model_copy(update={"resync_seconds": 100_000.0})

    async def play(history: History) -> None:
        await deploy(history)
        repository.charts["0.2.0"] = archive("0.2.0")
        repository.statuses[INDEX] = HTTPStatus.SERVICE_UNAVAILABLE
        history.annotate("reconcile-at")
        await history.cluster.wait(5.0)
        assert history.outcome == "Ready InstallSucceeded"
        repository.statuses.clear()
        await history.cluster.wait(100.0)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade"]

    assert run_history(slow, play).outcome == "Ready UpgradeSucceeded"


def test_source_that_stays_away_is_asked_ever_more_rarely(settings: Settings, repository: FakeChartRepository) -> None:
    patient = settings.model_copy(update={"resync_seconds": 100_000.0, "backoff_max_seconds": 300.0})

    async def play(history: History) -> None:
        await deploy(history)
        repository.down, before = True, len(repository.requests)
        history.annotate("reconcile-at")
        await history.cluster.wait(1000.0)
        assert 5 <= len(repository.requests) - before <= 13

    assert run_history(patient, play).outcome == "Ready InstallSucceeded"
