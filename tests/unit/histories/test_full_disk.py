"""The folder with the charts cannot be written: the disk is full, or read-only."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.charts import chart_archive
from tests.support.fakes.api_server import Target
from tests.support.fakes.chart_repository import REMOTE_SPEC, REPOSITORY_URL, FakeChartRepository
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN, NAMESPACE
from xapp_operator.charts.archives.chart_cache import ChartCache
from xapp_operator.config.settings import Settings
from xapp_operator.helm.processes.workspace import Workspace

REPOSITORY = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE, "acme")


@dataclass
class Disk:
    full: bool = False


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, store = Disk(), ChartCache.store

    def store_if_possible(*args: Any, **kwargs: Any) -> Any:
        if disk.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return store(*args, **kwargs)

    monkeypatch.setattr(ChartCache, "store", store_if_possible)
    return disk


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> FakeChartRepository:
    repository = FakeChartRepository()
    repository.add("hello", "0.1.0", archive("0.1.0"))
    repository.serve(monkeypatch)
    return repository


def archive(version: str) -> bytes:
    """Return an archive that no other test has stored."""
    files = {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT}
    return chart_archive({"values.yaml": "tag: one\n", "README.md": "full disk", **files}, version=version)


def save_repository(history: History, *, interval: str) -> None:
    spec = {"url": REPOSITORY_URL, "interval": interval}
    target = Target(REPOSITORY.group, REPOSITORY.version, REPOSITORY.plural, NAMESPACE)
    history.cluster.server.create(target, {"metadata": {"name": "acme"}, "spec": spec})


def test_a_full_folder_of_helm_is_waited_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not a failure of the release, so it is neither Stalled nor rolled back after spec.timeout."""
    disk, call_folder = Disk(), Workspace.call_folder

    def make_folder(workspace: Workspace) -> Any:
        if disk.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return call_folder(workspace)

    monkeypatch.setattr(Workspace, "call_folder", make_folder)

    async def play(history: History) -> None:
        await history.cluster.wait(5.0)  # the operator asks helm for its version when it starts
        for revision, tag in enumerate(("one", "two"), start=1):
            disk.full = True
            if revision == 1:
                history.create(tag=tag)
            else:
                history.set_tag(tag)
            await history.cluster.wait(5.0 * TIMEOUT_SECONDS)
            ready = history.cluster.condition("Ready") or {}
            assert ready["message"].startswith("helm cannot run (no space left on device): make room")
            assert not history.cluster.condition("Stalled")
            disk.full = False
            await history.cluster.wait(5.0 * TIMEOUT_SECONDS)
            assert history.cluster.revisions[revision] == "deployed"

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]
    assert history.outcome == "Ready UpgradeSucceeded"


@pytest.mark.usefixtures("repository")
def test_status_of_a_new_xapp_says_that_the_disk_is_full(settings: Settings, disk: Disk) -> None:
    async def play(history: History) -> None:
        disk.full = True
        save_repository(history, interval="1000h")
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(10.0)
        message = (history.cluster.condition("Ready") or {})["message"]
        assert "the cache of charts cannot be used (no space left on device)" in message
        disk.full = False
        await history.cluster.wait(300.0)
        assert history.outcome == "Ready InstallSucceeded"
        history.delete()

    assert run_history(settings, play).outcome == "gone"


def test_broken_upgrade_is_undone_while_a_newer_chart_cannot_be_stored(
    settings: Settings, repository: FakeChartRepository, disk: Disk
) -> None:
    async def play(history: History) -> None:
        save_repository(history, interval="10s")
        history.create(**REMOTE_SPEC, chartVersion="0.x")
        await history.cluster.wait(20.0)
        history.set_tag(BROKEN)
        await history.cluster.wait(5.0)
        disk.full = True
        repository.add("hello", "0.2.0", archive("0.2.0"))
        await history.cluster.wait(600.0)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]
        history.cluster.server.delete(REPOSITORY, {})
        disk.full = False
        history.delete()

    assert run_history(settings, play).outcome == "gone"
