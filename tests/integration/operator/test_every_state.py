"""XApps that are changed ten times within a second, suspended or deleted, in each of their states, with the real helm.

`tests/unit/histories/test_every_state.py` does the same on stand-ins, in many more states.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pytest

from tests.chaos.helm_processes import HelmWatch
from tests.chaos.snapshot import Record
from tests.integration.operator.every_state import BROKEN, STATES, Scene, State, chart, helm_folder
from tests.support.apiserver import ApiServer
from tests.support.chart_server import ChartServer
from tests.support.operator import OperatorProcess
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

CHANGED, SUSPENDED, DELETED = "changed", "suspended", "deleted"
NAMES: Final = (CHANGED, SUSPENDED, DELETED)
CHANGES: Final = 10
SECONDS_BETWEEN: Final = 0.08
CHANGES_SECONDS: Final = 3.0
"""They take 0.8 s, and longer on a busy machine."""
BROKEN_CHANGES: Final = (3, 7)
KINDS_OF_RELEASE: Final = Counter(ConfigMap=1, Deployment=1, Pod=1, Service=1)


@pytest.fixture
def scene(xapps: XAppClient, operator: OperatorProcess) -> Iterator[Scene]:
    with ApiServer(xapps.cluster) as api, ChartServer() as charts:
        charts.add("workload", "0.1.0", chart())
        yield Scene(xapps, api, operator, charts, xapps.uploaded_manifest("any", chart()))


@pytest.fixture
def helm_watch(operator: OperatorProcess) -> Iterator[HelmWatch]:
    watch = HelmWatch({"operator": helm_folder(operator)})
    watch.start()
    yield watch
    watch.close()


def change_ten_times(scene: Scene, state: State, name: str) -> None:
    """Change the spec ten times in about a second: to what keeps the state, or fails, and at last to good values."""
    began = time.monotonic()
    for number in range(CHANGES - 1):
        values = {**state.values, **(BROKEN if number in BROKEN_CHANGES else {})}
        scene.edit(name, {**values, "greeting": f"change {number}"})
        time.sleep(max(0.0, began + (number + 1) * SECONDS_BETWEEN - time.monotonic()))
    scene.edit(name, {"greeting": "last"}, suspend=False)
    assert time.monotonic() - began < CHANGES_SECONDS


def reach(scene: Scene, state: State) -> None:
    """Deploy what comes before the state."""
    for number, values in enumerate(state.deployed):
        for name in NAMES:
            if number:
                scene.edit(name, values)
            else:
                scene.create(name, values)
        scene.wait_all(NAMES, Scene.is_ready, "Ready")


def check_removal(scene: Scene, name: str) -> None:
    """Check that an XApp, its release and its objects go away."""
    scene.wait(lambda: scene.find(name) is None, f"{name} to be gone")
    assert scene.records(name) == {}
    scene.wait(lambda: scene.objects(name) == {}, f"the objects of {name} to be gone")


def check_end(scene: Scene, state: State, name: str, greeting: str, before: Mapping[int, Record]) -> None:
    """Check that an XApp becomes Ready with its last spec, without a revision that was lost or made twice.

    Nothing else of it exists than what a new release with these values consists of, and its records.
    """
    scene.wait(lambda: scene.is_ready(name) and scene.greeting(name) == greeting, f"{name}: {greeting}", xapp=name)
    writes, records = scene.writes_of_records(name), scene.records(name)
    assert writes == {"create": sorted(records), "delete": []}
    assert sorted(records) == list(range(1, len(records) + 1))
    *earlier, newest = (records[number].status for number in sorted(records))
    assert newest == "deployed"
    assert set(earlier) <= {"superseded", "failed"}
    for number, record in before.items():
        assert records[number].manifest_digest == record.manifest_digest
    assert scene.deployed_greetings(name).count(greeting) == 1 or state.refuses
    # How many specs in between are begun depends on the machine, but none is begun twice.
    assert len(records) - len(before) <= CHANGES
    scene.wait(lambda: scene.kinds(name) == KINDS_OF_RELEASE, f"nothing else than the release of {name}")


ACTS: Final[Mapping[str, Callable[[Scene, State, str], None]]] = {
    DELETED: lambda scene, _, name: scene.delete(name),
    SUSPENDED: lambda scene, _, name: scene.suspend(name),
    CHANGED: change_ten_times,
}


@pytest.mark.parametrize("name", STATES)
def test_an_xapp_that_is_changed_suspended_or_deleted_in_any_state_converges(
    scene: Scene, helm_watch: HelmWatch, name: str
) -> None:
    state = STATES[name]
    reach(scene, state)
    with state.surroundings(scene):
        for each in NAMES:
            state.enter(scene, each)
        scene.wait_all(NAMES, state.holds, name)
        before = {each: scene.records(each) for each in NAMES}
        for each, act in ACTS.items():
            scene.wait_all([each], state.holds, name)
            act(scene, state, each)
        if not state.is_held:
            check_removal(scene, DELETED)
        if not state.deleting:
            scene.wait(lambda: scene.is_suspended(SUSPENDED), "the suspension", xapp=SUSPENDED)
            assert scene.helm(SUSPENDED) == []
        resting = scene.resting(SUSPENDED)
    check_removal(scene, DELETED)
    if state.deleting:
        check_removal(scene, CHANGED)
        check_removal(scene, SUSPENDED)
    else:
        check_end(scene, state, CHANGED, "last", before[CHANGED])
        scene.edit(SUSPENDED, {"greeting": "resumed"})
        scene.wait(lambda: scene.is_suspended(SUSPENDED), "the change of a suspended XApp to be seen", xapp=SUSPENDED)
        assert scene.resting(SUSPENDED) == resting
        scene.patch(SUSPENDED, {"spec": {"suspend": False}})
        check_end(scene, state, SUSPENDED, "resumed", before[SUSPENDED])
    assert helm_watch.take() == []
