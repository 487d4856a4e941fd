"""Deletions of XApps after somebody has deleted the records of their releases: in each state, and after failures."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import delete_record
from tests.support.fakes.histories import CONFIGMAP, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.generation import PERMANENT
from tests.unit.histories.situations.actions import create_other, store
from tests.unit.histories.states import STATES
from tests.unit.histories.states.scene import Scene, watch_plans
from tests.unit.histories.test_every_state import END_SECONDS, left, remove_others
from tests.unit.histories.test_removals import LABELS, OWNER, events, install, wait_gone
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.removals import UNCLAIMED

SERVICES = Target("", "v1", "services", NAMESPACE)
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: theirs, labels: {xapp-operator.io/xapp: hello}}
"""

EXCEPT = {
    "killed in an install",
    "unlocking after an install",  # in both, the status does not tell of the install yet
    "adopting an equal release",  # it is not the XApp's own yet
    "leaving a release whose uninstall has begun",
    "a held revision is gone",  # it is installed anew at once
}
TEST_POD = "hello-probe"
"""Nothing says of which release a hook is, but the record."""


def delete_records(history: History) -> None:
    for revision in history.cluster.revisions:
        delete_record(history, revision)


@pytest.mark.parametrize("name", [each for each in STATES if each not in EXCEPT])
def test_an_xapp_that_is_deleted_after_its_records_goes_away_with_all_that_it_had(
    name: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = STATES[name]

    async def play(history: History) -> None:
        scene = Scene(history)
        watch_plans(scene, monkeypatch)
        await state.reach(scene)
        delete_records(history)
        await history.cluster.wait(1.0)
        history.delete()
        state.recover(scene)
        await history.cluster.wait(END_SECONDS)
        assert history.outcome == "gone"
        history.removed.clear()
        if not state.foreign:
            assert left(history) - {TEST_POD} == state.stays
            await remove_others(scene)

    run_history(settings, play)


async def fail_to_upgrade(history: History) -> None:
    """Let an upgrade fail after it has created an object of a new kind; then delete all records."""
    await install(history, upgrade={"onFailure": "none"})
    history.cluster.helm.faults = [Fault(PERMANENT, writes=4)]
    history.edit(values={"tag": "two"}, archive=store(history, arole=ROLE, configmap=CONFIGMAP))
    await history.cluster.wait(20.0)
    assert history.outcome == "Stalled UpgradeFailed"
    assert [each["metadata"]["name"] for each in history.cluster.server.all("clusterroles")] == ["theirs"]
    delete_records(history)


@pytest.mark.parametrize("seconds", [0.0, 20.0])
@pytest.mark.parametrize("restarted", [False, True])
def test_what_only_a_failed_upgrade_had_goes_too(settings: Settings, seconds: float, restarted: bool) -> None:
    async def play(history: History) -> None:
        await fail_to_upgrade(history)
        await history.cluster.wait(seconds)
        if restarted:
            history.cluster.restart()
            await history.cluster.wait(seconds)
        history.delete()
        await wait_gone(history)
        for plural in ("clusterroles", "configmaps", "deployments"):
            assert history.cluster.server.all(plural) == []

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == []


def test_the_status_tells_of_a_failed_upgrade_for_as_long_as_a_deletion_waits(settings: Settings) -> None:
    async def play(history: History) -> None:
        await fail_to_upgrade(history)
        create_other(history, dependsOn=[{"name": "hello"}])
        await history.cluster.wait(20.0)
        history.delete()
        await history.cluster.wait(10.0)
        history.cluster.restart()
        await history.cluster.wait(10.0)
        history.cluster.delete("other")
        await wait_gone(history)
        assert history.cluster.server.all("configmaps") == []

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == []


def test_objects_of_others_stay_if_their_release_could_not_be_taken_over(settings: Settings) -> None:
    """An XApp of that name may have left them with the release."""

    async def play(history: History) -> None:
        history.install_by_hand("one")
        history.cluster.server.create(SERVICES, {"metadata": {"name": "left", "labels": LABELS, "annotations": OWNER}})
        history.cluster.helm.faults = [Fault("execution error at (hello/templates/x.yaml:1:4): no")] * 9
        history.create(tag="two", adopt=True)
        await history.cluster.wait(20.0)
        assert (history.cluster.xapp() or {})["status"]["lastAttempt"]["revisionBefore"] == 1
        delete_record(history, 1)
        history.delete()
        await wait_gone(history)
        assert [each["metadata"]["name"] for each in history.cluster.server.all("services")] == ["left"]
        assert history.live_tags == {"one"}
        history.removed.clear()

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == [("Warning", UNCLAIMED + "Service/left")]
