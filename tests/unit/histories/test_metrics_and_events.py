"""What metrics and events tell of drift, of tests, of XApps that wait for others, and of cycles among them."""

from __future__ import annotations

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.support.helm_tests import FAILS, deploy, wait_tested
from tests.unit.histories.situations.actions import create_other
from xapp_operator.config.settings import Settings

CONFIGMAP = Target("", "v1", "configmaps", NAMESPACE, "hello")
SOON = 20.0


def metric(history: History, name: str, **labels: str) -> float:
    """Return what a metric of the operator says when it is read now; 0 if it says nothing."""
    runtime = history.cluster.runtime
    assert runtime is not None
    runtime.update_metrics()
    return runtime._context.metrics.registry.get_sample_value(f"xapp_operator_{name}", labels) or 0.0


def actions(history: History, action: str, outcome: str = "succeeded") -> float:
    return metric(history, "reconcile_seconds_count", action=action, outcome=outcome)


def waiting(history: History) -> float:
    return metric(history, "xapps_by_reason", reason="DependencyNotReady")


def events(history: History, name: str = "hello") -> list[tuple[str, str]]:
    """Return type and reason of each event about an XApp."""
    found = history.cluster.server.all("events")
    return [(each["type"], each["reason"]) for each in found if each["involvedObject"]["name"] == name]


async def remove_other(history: History) -> None:
    history.cluster.delete("other")
    await history.cluster.wait(2.0 * TIMEOUT_SECONDS)  # for those who depend on it
    history.removed.clear()  # the checks at the end are about one XApp


async def change(history: History) -> None:
    """Change an object of the release by hand."""
    history.cluster.server.patch(CONFIGMAP, {"data": {"tag": "theirs"}}, manager="kubectl")
    await history.cluster.wait(SOON)


def test_drift_that_is_found(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create()
        await history.cluster.wait(SOON)
        assert metric(history, "drifted_xapps") == 0.0
        await change(history)
        assert metric(history, "drifted_xapps") == 1.0
        assert ("Warning", "DriftDetected") in events(history)
        history.delete()
        await history.cluster.wait(SOON)
        assert metric(history, "drifted_xapps") == 0.0

    assert run_history(settings, play).outcome == "gone"


def test_drift_that_is_corrected(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(driftDetection={"mode": "enabled"})
        await history.cluster.wait(SOON)
        await change(history)
        assert metric(history, "drifted_xapps") == 0.0
        assert actions(history, "correct_drift") == 1.0
        assert ("Normal", "DriftCorrected") in events(history)

    run_history(settings, play)


def test_tests_of_charts(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history)
        await wait_tested(history, "Succeeded")
        assert actions(history, "test") == 1.0
        assert ("Normal", "TestSucceeded") in events(history)
        history.edit(values={"tag": "two", **FAILS})
        await wait_tested(history, "Failed", revision=2)
        assert actions(history, "test", "failed") == 1.0
        assert ("Warning", "TestFailed") in events(history)

    run_history(settings, play)


def test_xapp_that_waits_for_another_one(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(dependsOn=[{"name": "other"}])
        await history.cluster.wait(SOON)
        assert waiting(history) == 1.0
        create_other(history)
        await history.cluster.wait(SOON)
        assert waiting(history) == 0.0
        assert metric(history, "xapps_by_reason", reason="InstallSucceeded") == 2.0
        await remove_other(history)

    run_history(settings, play)


def test_removal_that_waits_for_those_who_depend_on_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create()
        create_other(history, dependsOn=[{"name": "hello"}])
        await history.cluster.wait(SOON)
        history.delete()
        await history.cluster.wait(SOON)
        assert waiting(history) == 1.0
        await history.cluster.wait(TIMEOUT_SECONDS)
        assert history.cluster.xapp() is None
        assert waiting(history) == 0.0
        assert ("Warning", "DependentsLeft") in events(history)
        await remove_other(history)

    run_history(settings, play)


def test_cycle(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(dependsOn=[{"name": "other"}])
        create_other(history, dependsOn=[{"name": "hello"}])
        await history.cluster.wait(SOON)
        assert waiting(history) == 2.0
        for name in ("hello", "other"):
            assert ("Warning", "DependencyNotReady") in events(history, name)
        history.edit(dependsOn=None)
        await history.cluster.wait(SOON)
        assert waiting(history) == 0.0
        await remove_other(history)

    run_history(settings, play)


def test_reason_that_nobody_knows_is_no_label(settings: Settings) -> None:
    """Others may write a status, too. They must not make the metrics grow."""

    async def play(history: History) -> None:
        history.create(suspend=True)
        await history.cluster.wait(SOON)
        assert metric(history, "xapps_by_reason", reason="Suspended") == 1.0
        body = history.cluster.xapp() or {}
        conditions = [{**each, "reason": "Theirs"} for each in body["status"]["conditions"]]
        target = Target("xapp-operator.io", "v1alpha1", "xapps", NAMESPACE, "hello", "status")
        history.cluster.server.patch(target, {"status": {"conditions": conditions}})
        await history.cluster.wait(SOON)
        assert metric(history, "xapps_by_reason", reason="Theirs") == 0.0
        assert metric(history, "xapps_by_reason", reason="other") == 1.0

    run_history(settings, play)
