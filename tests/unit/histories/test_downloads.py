"""XApps whose chart is being downloaded while something else happens, or does not arrive as it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fakes.chart_repository import REMOTE_SPEC, FakeChartRepository
from tests.support.fakes.histories import History, run_history
from tests.support.served_charts import INDEX
from tests.unit.histories.situations.actions import create_other
from tests.unit.histories.test_remote_sources import archive, deploy, save_repository
from xapp_operator.config.settings import Settings

FIRST, SECOND = "/hello-0.1.0.tgz", "/hello-0.2.0.tgz"
SOON = 20.0
READING = "the chart is read from its source"


@pytest.fixture
def empty(settings: Settings, tmp_path: Path) -> Settings:
    """Settings with a chart cache of its own, which is empty."""
    return settings.model_copy(update={"cache_dir": tmp_path})


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> FakeChartRepository:
    repository = FakeChartRepository()
    for version in ("0.1.0", "0.2.0"):
        repository.add("hello", version, archive(version))
    repository.serve(monkeypatch)
    return repository


def create(history: History) -> None:
    save_repository(history)
    history.create(**REMOTE_SPEC, chartVersion="0.1.0")


def message(history: History, name: str = "hello") -> str:
    return str((history.cluster.condition("Ready", name) or {}).get("message"))


def versions(history: History) -> list[str]:
    return [each["chart"]["metadata"]["version"] for each in history.records]


@pytest.mark.parametrize("path", [INDEX, FIRST])
def test_xapp_that_is_deleted_meanwhile_goes_at_once(
    empty: Settings, repository: FakeChartRepository, path: str
) -> None:
    async def play(history: History) -> None:
        with repository.holding(path):
            create(history)
            await history.cluster.wait(SOON)
            history.delete()
            await history.cluster.wait(SOON)
            assert history.cluster.xapp() is None
        await history.cluster.wait(SOON)
        assert history.helm_steps == []

    assert run_history(empty, play).outcome == "gone"


def test_spec_that_is_changed_meanwhile_is_installed(empty: Settings, repository: FakeChartRepository) -> None:
    async def play(history: History) -> None:
        with repository.holding(FIRST):
            create(history)
            await history.cluster.wait(SOON)
            assert message(history) == READING
            history.edit(chartVersion="0.2.0")
            await history.cluster.wait(SOON)
            assert history.outcome == "Ready InstallSucceeded"
        await history.cluster.wait(SOON)
        assert versions(history) == ["0.2.0"]

    assert run_history(empty, play).outcome == "Ready InstallSucceeded"


def test_operator_that_restarts_meanwhile_downloads_again(empty: Settings, repository: FakeChartRepository) -> None:
    async def play(history: History) -> None:
        with repository.holding(FIRST):
            create(history)
            await history.cluster.wait(SOON)
            history.cluster.restart()
            await history.cluster.wait(SOON)
        await history.cluster.wait(SOON)
        assert repository.requests[FIRST] == 2

    assert run_history(empty, play).outcome == "Ready InstallSucceeded"


def test_xapp_that_is_suspended_meanwhile_is_not_installed(empty: Settings, repository: FakeChartRepository) -> None:
    async def play(history: History) -> None:
        with repository.holding(FIRST):
            create(history)
            await history.cluster.wait(SOON)
            history.edit(suspend=True)
            await history.cluster.wait(SOON)
        await history.cluster.wait(SOON)
        assert history.helm_steps == []
        history.edit(suspend=False)

    assert run_history(empty, play).outcome == "Ready InstallSucceeded"


def test_upgrade_that_is_withdrawn_during_its_download_does_not_happen_later(
    empty: Settings, repository: FakeChartRepository
) -> None:
    async def play(history: History) -> None:
        await deploy(history, "0.1.0")
        with repository.holding(SECOND):
            history.edit(chartVersion="0.2.0")
            await history.cluster.wait(SOON)
            assert message(history) == READING
            history.edit(chartVersion="0.1.0")
            await history.cluster.wait(SOON)
            assert history.outcome == "Ready InstallSucceeded"
        await history.cluster.wait(SOON)
        assert versions(history) == ["0.1.0"]

    run_history(empty, play)


@pytest.mark.parametrize("path", [INDEX, FIRST])
def test_half_a_download_is_not_used(empty: Settings, repository: FakeChartRepository, path: str) -> None:
    async def play(history: History) -> None:
        with repository.truncating(path):
            create(history)
            await history.cluster.wait(SOON)
            assert history.outcome == "NotReady ChartPullFailed"
            assert history.cluster.condition("Stalled") is None
            assert "the response was incomplete" in message(history)
        await history.cluster.wait(100.0)

    assert run_history(empty, play).outcome == "Ready InstallSucceeded"


def test_chart_may_have_moved(empty: Settings, repository: FakeChartRepository) -> None:
    async def play(history: History) -> None:
        repository.files["/moved.tgz"] = repository.charts["hello", "0.1.0"]
        with repository.redirecting(FIRST, "/moved.tgz"):
            create(history)
            await history.cluster.wait(SOON)

    assert run_history(empty, play).outcome == "Ready InstallSucceeded"


def test_slow_download_keeps_nobody_else_waiting(empty: Settings, repository: FakeChartRepository) -> None:
    async def play(history: History) -> None:
        with repository.trickling(FIRST):
            save_repository(history)
            create_other(history, **REMOTE_SPEC, chartVersion="0.1.0")
            await history.cluster.wait(5.0)
            history.create(**REMOTE_SPEC, chartVersion="0.2.0")
            await history.cluster.wait(SOON)
            assert history.outcome == "Ready InstallSucceeded"
            assert "sends less than 10,240 bytes in 10 s" in message(history, "other")
        await history.cluster.wait(100.0)
        assert (history.cluster.condition("Ready", "other") or {})["status"] == "True"
        history.cluster.delete("other")
        await history.cluster.wait(SOON)
        history.removed.clear()  # the checks at the end are about one XApp

    run_history(empty, play)
