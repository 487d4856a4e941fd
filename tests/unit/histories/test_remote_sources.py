"""XApps whose chart comes from a repository that goes away, fails, or withdraws a version."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from tests.support.charts import chart_archive
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.chart_repository import REMOTE_SPEC, REPOSITORY_URL, FakeChartRepository
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.support.served_charts import INDEX
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

BROKEN_DEPLOYMENT = DEPLOYMENT.replace("{{ .Values.tag }}", BROKEN)
REPOSITORY = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE, "acme")
REPOSITORIES = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE)
PERMANENT = Fault('Deployment.apps "hello" is invalid: spec.selector: Invalid value: field is immutable', 2)


def archive(version: str, deployment: str = DEPLOYMENT) -> bytes:
    files = {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": deployment}
    return chart_archive({"values.yaml": "tag: one\n", **files}, version=version)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> FakeChartRepository:
    repository = FakeChartRepository()
    repository.add("hello", "0.1.0", archive("0.1.0"))
    repository.serve(monkeypatch)
    return repository


def save_repository(history: History) -> None:
    """Save the repository with an interval in which nobody but the tests reads the index."""
    body = {"metadata": {"name": "acme"}, "spec": {"url": REPOSITORY_URL, "interval": "1000h"}}
    history.cluster.server.create(REPOSITORIES, body)


def ask_repository(history: History) -> None:
    """Ask for a new look at the repository."""
    history.tokens += 1
    change = {"metadata": {"annotations": {"xapp-operator.io/reconcile-at": f"token {history.tokens}"}}}
    history.cluster.server.patch(REPOSITORY, change)


async def deploy(history: History, version: str = "0.x") -> None:
    save_repository(history)
    history.create(**REMOTE_SPEC, chartVersion=version)
    await history.cluster.wait(20.0)
    assert history.outcome == "Ready InstallSucceeded"


async def look_again(history: History) -> None:
    """Let the operator read the index again."""
    history.annotate("reconcile-at")
    await history.cluster.wait(100.0)


def test_source_that_fails_for_a_moment_is_tried_again_soon(
    settings: Settings, repository: FakeChartRepository
) -> None:
    slow = settings.model_copy(update={"resync_seconds": 100_000.0})

    async def play(history: History) -> None:
        await deploy(history)
        repository.add("hello", "0.2.0", archive("0.2.0"))
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
        repository.down = True
        history.annotate("reconcile-at")
        await history.cluster.wait(1000.0)
        assert 5 <= repository.refused[INDEX] <= 13

    assert run_history(patient, play).outcome == "Ready InstallSucceeded"


@pytest.mark.parametrize("refused", [True, False])
def test_healthy_xapp_stays_ready_without_its_source_after_a_bad_version_was_withdrawn(
    settings: Settings, repository: FakeChartRepository, refused: bool
) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        if refused:
            history.cluster.helm.faults.append(PERMANENT)
        repository.add("hello", "0.2.0", archive("0.2.0", DEPLOYMENT if refused else BROKEN_DEPLOYMENT))
        await look_again(history)
        assert history.outcome == ("Stalled UpgradeFailed" if refused else "Stalled HealthCheckFailed")
        del repository.charts["hello", "0.2.0"]
        await look_again(history)
        assert history.outcome == "Ready RollbackSucceeded"
        released = history.cluster.condition("Released") or {}
        assert (released["status"], released["reason"]) == ("True", "RollbackSucceeded")
        repository.down = True
        history.cluster.restart()
        await history.cluster.wait(100.0)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]

    assert run_history(settings, play).outcome == "Ready RollbackSucceeded"


def test_healthy_xapp_stays_ready_without_its_version_after_a_bad_spec_was_changed_back(
    settings: Settings, repository: FakeChartRepository
) -> None:
    async def play(history: History) -> None:
        await deploy(history, "0.1.0")
        history.set_tag(BROKEN)
        await history.cluster.wait(100.0)
        history.set_tag("one")
        await history.cluster.wait(100.0)
        repository.add("hello", "0.0.1", repository.charts.pop(("hello", "0.1.0")))
        await look_again(history)
        ready = history.cluster.condition("Ready") or {}
        assert "the next upgrade will need its source" in ready["message"]
        history.cluster.set_outage(on=True)
        await history.cluster.wait(100.0)
        assert history.outcome == "NotReady HealthCheckFailed"
        history.cluster.restart()
        await history.cluster.wait(100.0)
        history.cluster.set_outage(on=False)
        await history.cluster.wait(100.0)

    assert run_history(settings, play).outcome == "Ready RollbackSucceeded"


def test_version_that_comes_back_after_it_was_withdrawn_is_tried_again(
    settings: Settings, repository: FakeChartRepository
) -> None:
    async def play(history: History) -> None:
        await deploy(history)
        history.cluster.helm.faults.append(PERMANENT)
        repository.add("hello", "0.2.0", archive("0.2.0"))
        await look_again(history)
        withdrawn = repository.charts.pop(("hello", "0.2.0"))
        await look_again(history)
        repository.add("hello", "0.2.0", withdrawn)
        await look_again(history)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback", "upgrade"]

    assert run_history(settings, play).outcome == "Ready UpgradeSucceeded"


def test_first_good_index_ends_a_stall(settings: Settings, repository: FakeChartRepository) -> None:
    slow = settings.model_copy(update={"resync_seconds": 100_000.0})

    async def play(history: History) -> None:
        save_repository(history)
        repository.statuses[INDEX] = HTTPStatus.NOT_FOUND
        history.create(**REMOTE_SPEC)
        await history.cluster.wait(20.0)
        assert history.outcome == "Stalled ChartPullFailed"
        repository.statuses.clear()
        ask_repository(history)
        await history.cluster.wait(20.0)

    assert run_history(slow, play).outcome == "Ready InstallSucceeded"


def ready_repository(history: History) -> str:
    (ready,) = (
        each["status"]
        for each in history.cluster.server.get(REPOSITORY)["status"]["conditions"]
        if each["type"] == "Ready"
    )
    return str(ready)


def test_repository_that_failed_for_a_moment_is_looked_at_again_soon(
    settings: Settings, repository: FakeChartRepository
) -> None:
    async def play(history: History) -> None:
        repository.statuses[INDEX] = HTTPStatus.SERVICE_UNAVAILABLE
        save_repository(history)
        await history.cluster.wait(10.0)
        assert ready_repository(history) == "False"
        repository.statuses.clear()
        await history.cluster.wait(60.0)
        assert ready_repository(history) == "True"
        repository.statuses[INDEX] = HTTPStatus.SERVICE_UNAVAILABLE
        ask_repository(history)
        await history.cluster.wait(10.0)
        assert ready_repository(history) == "False"  # what is cached does not answer
        repository.statuses.clear()
        await history.cluster.wait(60.0)
        assert ready_repository(history) == "True"

    run_history(settings, play)


def test_refused_status_of_a_repository_is_written_ever_more_rarely(
    settings: Settings, repository: FakeChartRepository
) -> None:
    patient = settings.model_copy(update={"backoff_max_seconds": 300.0})

    def check(request: ApiRequest) -> None:
        if request.method == "PATCH" and "/chartrepositories" in request.path:
            raise Refused(403, "Forbidden", "no")

    async def play(history: History) -> None:
        history.cluster.refuse = check
        save_repository(history)
        await history.cluster.wait(1000.0)
        assert history.cluster.transport is not None
        writes = [each for each in history.cluster.transport.requests if each.method == "PATCH"]
        assert 5 <= len(writes) <= 13
        assert repository.requests.total() == 1
        history.cluster.server.delete(REPOSITORY, {})

    run_history(patient, play)
