"""What the operator keeps in memory of an XApp that is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from cachetools import LRUCache

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import LAG_SECONDS, STORED_CHART, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.support.helm_tests import ENABLED, ENDLESS, store_chart
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, allow, change, forbidden, refuse
from xapp_operator.config.settings import Settings

KEY = (NAMESPACE, "hello")
TIMED_OUT = Refused(500, "InternalError", "etcdserver: request timed out")


def find(wanted: frozenset[object], root: object) -> Iterator[str]:
    """Yield the paths below `root`, through objects of the operator, that lead to one of `wanted`."""
    seen: set[int] = set()
    stack: list[tuple[str, object]] = [("runtime", root)]
    while stack:
        path, found = stack.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, str | tuple) and found in wanted:
            seen.discard(id(found))
            yield path
        else:
            stack.extend((f"{path}{step}", each) for step, each in _parts(found))


def _parts(found: object) -> Iterator[tuple[str, object]]:
    if isinstance(found, LRUCache):
        return  # bounded, and its other entries push them out
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield f"[{key!r}] (key)", key
            yield f"[{key!r}]", value
    elif isinstance(found, list | tuple | set | frozenset):
        yield from (("[]", each) for each in found)
    elif type(found).__module__.startswith("xapp_operator."):
        yield from ((f".{name}", value) for name, value in _attributes(found))


def _attributes(found: object) -> Iterator[tuple[str, Any]]:
    yield from getattr(found, "__dict__", {}).items()
    for kind in type(found).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(found, name):
                yield name, getattr(found, name)


def chart_target(name: str) -> Target:
    return Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, name)


def fail_upgrades(history: History) -> None:
    history.cluster.helm.refusals['{"tag": "two"}'] = Fault("Internal error occurred: etcdserver: request timed out")
    history.edit(values={"tag": "two"}, test={"enabled": True})


def lack_values(history: History) -> None:
    history.edit(valuesFrom=[{"kind": "Secret", "name": "missing"}])


def change_objects_by_hand(history: History) -> None:
    history.edit(driftDetection={"mode": "enabled"})
    changed = {"metadata": {"labels": {"xapp-operator.io/xapp-name": None}}, "data": {"tag": "by hand"}}
    history.cluster.server.patch(CONFIGMAP_TARGET, changed)


def leave_the_release(history: History) -> None:
    history.orphaned = True
    history.edit(deletionPolicy="Orphan")
    history.cluster.server.patch(CONFIGMAP_TARGET, {"data": {"tag": "by hand"}})


def forbid_comparisons(history: History) -> None:
    """Let nobody apply the ConfigMap, also not as a trial."""
    refuse(history, "PATCH", "/configmaps/hello", forbidden("configmaps"))
    history.cluster.server.patch(CONFIGMAP_TARGET, {"data": {"tag": "by hand"}})


def forbid_corrections(history: History) -> None:
    """Let a change by hand be found, but not undone."""
    refuse(history, "PATCH", "/configmaps/hello", forbidden("configmaps"), dry_run=False)
    change_objects_by_hand(history)


def refuse_status(history: History) -> None:
    refuse(history, "PATCH", "/xapps/hello/status", TIMED_OUT)
    history.set_tag("two")


def refuse_labels(history: History) -> None:
    refuse(history, "PATCH", "/configmaps/hello", TIMED_OUT)
    history.set_tag("two")


def refuse_owners_of_charts(history: History) -> None:
    name = STORED_CHART["metadata"]["name"]
    refuse(history, "PATCH", f"/chartarchives/{name}", TIMED_OUT)
    history.cluster.server.patch(chart_target(name), {"metadata": {"ownerReferences": None}})


def wait_for_the_chart(history: History) -> None:
    changes = store_chart(history, "probe")
    name = changes["archive"]["chartArchiveRef"]["name"]
    history.cluster.latency = lambda request: 1000.0 if request.path.endswith(f"/chartarchives/{name}") else 0.0
    history.edit(**changes)


def run_tests_without_an_end(history: History) -> None:
    history.edit(test=ENABLED, values={"tag": "two", **ENDLESS}, **store_chart(history, "probe"))


def delete_while_helm_fails(history: History) -> None:
    """Let a new process read the record of a release that is being removed, so that it compares no objects."""
    history.cluster.helm.faults = [Fault("Internal error occurred: etcdserver: request timed out")] * 4
    history.delete()
    history.cluster.restart()


TROUBLES = [
    fail_upgrades,
    lack_values,
    wait_for_the_chart,
    run_tests_without_an_end,
    change_objects_by_hand,
    leave_the_release,
    forbid_comparisons,
    forbid_corrections,
    refuse_status,
    refuse_labels,
    refuse_owners_of_charts,
    delete_while_helm_fails,
]


@pytest.mark.parametrize("by_force", [False, True], ids=["deleted", "removed by force"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_nothing_is_kept_of_an_xapp_that_is_gone(
    settings: Settings, trouble: Callable[[History], None], *, by_force: bool
) -> None:
    during: list[str] = []
    after: list[str] = []

    async def happen(history: History) -> None:
        history.create(tag="one")
        cluster = history.cluster
        await cluster.wait(10.0)
        body = cluster.xapp()
        assert body is not None
        wanted = frozenset({KEY, body["metadata"]["uid"]})
        trouble(history)
        await cluster.wait(10.0)
        during.extend(find(wanted, cluster.runtime))
        allow(history)
        if by_force:
            remove_by_force(history)
        else:
            history.delete()
            assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=120.0)
            history.uninstall_by_hand()
        await cluster.wait(LAG_SECONDS + 1.0)
        after.extend(find(wanted, cluster.runtime))

    run_history(settings, happen)

    assert len(during) > 3
    assert after == [], "\n".join(after)


def suspend(history: History) -> None:
    history.edit(suspend=True)


def lose_labels(history: History) -> None:
    """Let each observation fail after the record is read."""
    refuse(history, "GET", "/configmaps/hello", TIMED_OUT)
    change(history, CONFIGMAP_TARGET, {"metadata": {"labels": {"xapp-operator.io/xapp": None}}})


@pytest.mark.parametrize("trouble", [suspend, lose_labels])
def test_the_manifest_of_a_release_that_is_not_compared_is_not_kept(
    settings: Settings, trouble: Callable[[History], None]
) -> None:
    """A new process reads it once, to learn what the release consists of, and it may have megabytes."""
    kept: list[str] = []

    async def happen(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        trouble(history)
        await history.cluster.wait(10.0)
        history.cluster.restart()
        await history.cluster.wait(10.0)
        kept.extend(find(frozenset({KEY}), history.cluster.runtime))
        allow(history)

    run_history(settings, happen)

    assert kept
    assert [path for path in kept if "manifests" in path] == []


@pytest.mark.parametrize(
    ("path", "deleted"), [("/secrets", False), ("/namespaces/ns", True)], ids=["never released", "never deleted"]
)
def test_nothing_is_kept_of_an_xapp_that_could_do_nothing(settings: Settings, path: str, *, deleted: bool) -> None:
    """No object of a release starts a reconcile after it is gone."""
    during: list[str] = []
    after: list[str] = []

    async def happen(history: History) -> None:
        refuse(history, "GET", path, TIMED_OUT)
        history.create(archive={"chartArchiveRef": {"name": "missing"}})
        wanted = frozenset({KEY, (history.cluster.xapp() or {})["metadata"]["uid"]})
        await history.cluster.wait(10.0)
        if deleted:
            history.delete()
            await history.cluster.wait(10.0)
        during.extend(find(wanted, history.cluster.runtime))
        remove_by_force(history)
        await history.cluster.wait(10.0)
        after.extend(find(wanted, history.cluster.runtime))

    run_history(settings, happen)

    assert len(during) > 3
    assert after == [], "\n".join(after)


def remove_by_force(history: History) -> None:
    """Remove the XApp, its release and its chart without the operator."""
    history.cluster.edit({"metadata": {"finalizers": None}})
    history.delete()
    history.uninstall_by_hand()
    history.removed.clear()
    for each in history.cluster.server.all("chartarchives"):
        history.cluster.server.delete(chart_target(each["metadata"]["name"]), {})
