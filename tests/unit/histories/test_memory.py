"""What the operator keeps in memory of an XApp that is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from cachetools import LRUCache

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import LAG_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from xapp_operator.config import Settings

KEY = (NAMESPACE, "hello")


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


def fail_upgrades(history: History) -> None:
    history.cluster.helm.refusals['{"tag": "two"}'] = Fault("Internal error occurred: etcdserver: request timed out")
    history.edit(values={"tag": "two"}, test={"enabled": True})


def lack_values(history: History) -> None:
    history.edit(valuesFrom=[{"kind": "Secret", "name": "missing"}])


def change_objects_by_hand(history: History) -> None:
    history.edit(driftDetection={"mode": "enabled"})
    changed = {"metadata": {"labels": {"xapp-operator.io/xapp-name": None}}, "data": {"tag": "by hand"}}
    history.cluster.server.patch(Target("", "v1", "configmaps", NAMESPACE, "hello"), changed)


def leave_the_release(history: History) -> None:
    history.orphaned = True
    history.edit(deletionPolicy="Orphan")
    history.cluster.server.patch(Target("", "v1", "configmaps", NAMESPACE, "hello"), {"data": {"tag": "by hand"}})


def forbid_comparisons(history: History) -> None:
    """Let nobody apply the ConfigMap, also not as a trial."""
    server = history.cluster.server
    apply = server.apply

    def refuse(target: Target, body: Json, **options: Any) -> Json:
        if target.plural == "configmaps":
            raise Refused(403, "Forbidden", "configmaps is forbidden")
        return apply(target, body, **options)

    server.apply = refuse  # type: ignore[method-assign]
    server.patch(Target("", "v1", "configmaps", NAMESPACE, "hello"), {"data": {"tag": "by hand"}})


@pytest.mark.parametrize(
    "trouble", [fail_upgrades, lack_values, change_objects_by_hand, leave_the_release, forbid_comparisons]
)
def test_nothing_is_kept_of_an_xapp_that_is_gone(settings: Settings, trouble: Callable[[History], None]) -> None:
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
        history.delete()
        assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=120.0)
        history.uninstall_by_hand()
        await cluster.wait(LAG_SECONDS + 1.0)
        after.extend(find(wanted, cluster.runtime))

    run_history(settings, happen)

    assert len(during) > 3
    assert after == [], "\n".join(after)
