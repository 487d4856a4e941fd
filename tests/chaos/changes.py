"""The ordinary changes of a round, good and bad ones, while the fault happens."""

from __future__ import annotations

from typing import Final

from tests.chaos.fleet import FIRST_VERSION, ROLLBACK_TO, Kind, ManagedXApp
from tests.chaos.scene import Scene
from tests.support.release_records import UnreadableRecord, read_record
from tests.support.xapps import XAppClient

BROKEN_TIMEOUT: Final = "15s"
REFUSED_REPLICAS: Final = -1
"""The API server refuses a Deployment with so many, after helm has created other objects of the revision."""
BREAKABLE: Final = frozenset({Kind.PLAIN, Kind.DRIFT, Kind.DEPENDENT, Kind.HOOKED})
GOOD_STATUSES: Final = ("superseded", "deployed")


def change_some(scene: Scene, count: int) -> list[ManagedXApp]:
    """Change up to `count` XApps, and return those to apply."""
    free = [each for each in scene.fleet.xapps if each.key not in scene.changed]
    chosen = scene.rng.sample(free, min(count, len(free)))
    for xapp in chosen:
        scene.changed.add(xapp.key)
        _change(scene, xapp)
    return chosen


def _change(scene: Scene, xapp: ManagedXApp) -> None:
    draw = scene.rng.random()
    was_settled, before = xapp.settled, xapp.in_force
    if was_settled and draw < 0.15 and xapp.kind is not Kind.FROM and _roll_back(scene, xapp):
        return
    xapp.set_greeting(scene.greeting(xapp))
    if xapp.kind is Kind.STORED:
        xapp.spec["version"] = scene.rng.choice(scene.fleet.versions)
    if was_settled and not xapp.base and draw > 0.7:
        _break(scene, xapp, before)


def _break(scene: Scene, xapp: ManagedXApp, before: str) -> None:
    """Make the change one that fails, so that mostly the values before it stay in force."""
    match xapp.kind:
        case Kind.STORED:
            xapp.spec["version"] = "9.9.9"
            xapp.stalled = frozenset({"ChartPullFailed"})
        case Kind.SAMPLE:
            xapp.spec["values"]["replicas"] = "many"
            xapp.stalled = frozenset({"ValuesInvalid"})
        case _ if xapp.kind in BREAKABLE and scene.rng.random() < 0.5:
            refuse(xapp, before, stays=scene.rng.random() < 0.5)
            return
        case Kind.PLAIN | Kind.DRIFT | Kind.DEPENDENT:
            xapp.spec["values"]["fail"] = "CrashLoopBackOff"
            xapp.spec["timeout"] = BROKEN_TIMEOUT
            xapp.stalled = frozenset({"HealthCheckFailed", "UpgradeFailed"})
        case _:
            return
    xapp.in_force = before


def refuse(xapp: ManagedXApp, before: str, *, stays: bool) -> None:
    """Make the change one that helm fails in the middle. The failed revision stays, or the one before it returns."""
    xapp.spec["values"]["replicas"] = REFUSED_REPLICAS
    xapp.stalled = frozenset({"UpgradeFailed"})
    if stays:
        xapp.spec["upgrade"] = {"onFailure": "none"}
        xapp.deployed = before
    else:
        xapp.in_force = before


def _roll_back(scene: Scene, xapp: ManagedXApp) -> bool:
    """Ask for an earlier revision, which is then held, if there is one."""
    selector = f"owner=helm,name={xapp.name},status in (superseded)"
    names = scene.kubectl(xapp, "get", "secrets", "-l", selector, "-o", "jsonpath={.items[*].metadata.labels.version}")
    if not names:
        return False
    revision = int(scene.rng.choice(sorted(names.split(), key=int)))
    try:
        record = read_record(XAppClient(scene.system.cluster, xapp.namespace), xapp.name, revision)
    except UnreadableRecord:
        return False
    values = record.get("config") or {}
    greeting = values.get("greeting")
    if greeting is None or values.keys() & {"fail", "replicas"}:
        return False
    xapp.annotations[ROLLBACK_TO] = f"{revision}@{scene.number}"
    xapp.in_force = str(greeting)
    return True


def mend_version(xapp: ManagedXApp) -> None:
    """Give an XApp of the stored chart a version that exists."""
    if xapp.kind is Kind.STORED:
        xapp.spec["version"] = FIRST_VERSION
