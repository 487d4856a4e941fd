"""How Helm becomes the manager of items of lists that somebody put in the place of the chart's."""

from __future__ import annotations

import pytest

from tests.support.event_loop import calls_in_this_thread
from tests.support.fakes.api_server import Target
from tests.unit.kube.fake_cluster import FakeCluster
from xapp_operator.api.json import JsonObject
from xapp_operator.common.off_loop import LOOP_MAX_BYTES
from xapp_operator.kube.resources import Resource
from xapp_operator.reconcile.verbs import list_takeover
from xapp_operator.reconcile.verbs.list_takeover import take_over_lists

ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
VALUES: JsonObject = {"group": "example.com", "verb": "get"}


@pytest.mark.parametrize("size", [0, LOOP_MAX_BYTES])
@pytest.mark.parametrize("rounds", [1, 3])
async def test_an_item_of_an_object_without_a_namespace(
    monkeypatch: pytest.MonkeyPatch, rounds: int, size: int
) -> None:
    monkeypatch.setattr(list_takeover, "MAX_ROUNDS", rounds)
    cluster = FakeCluster()
    role: JsonObject = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "one", "annotations": {"large": "x" * size}},
    }
    applied: JsonObject = {**role, "rules": [{"name": "a", **VALUES}]}
    await cluster.kube.apply(ROLES, "one", applied, field_manager="helm")
    target = Target(ROLES.group, ROLES.version, ROLES.plural, "", "one")
    cluster.server.patch(target, {"rules": [{"name": "renamed", **VALUES}]}, manager="kubectl-edit")
    live = await cluster.kube.get(ROLES, "one")
    with calls_in_this_thread("xapp_operator.domain") as called:
        found = await take_over_lists(cluster.kube, ROLES, live, applied, untouched=())
    assert ("hand_over" in called) == (size == 0), "large objects are for another thread"
    assert (found.changed, found.left) == (True, ())
    stored = await cluster.kube.get(ROLES, "one")
    assert found.body == stored
    await cluster.kube.apply(ROLES, "one", applied, field_manager="helm")
    assert (await cluster.kube.get(ROLES, "one"))["rules"] == applied["rules"]
