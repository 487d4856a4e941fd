"""Which pods are of the newest revision of their workload, and whose fault the root cause is during a rollout."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.unit.domain.health.test_pod_health import UNSCHEDULABLE, Object, last, pod, running, waiting
from xapp_operator.domain.health.pod_health import workload_root_cause
from xapp_operator.domain.health.revisions import newest_revision, replaced_pods


def owned(kind: str, name: str, revision: str) -> dict[str, Any]:
    """Return the metadata that the controller of a workload gives to its pod of one revision."""
    of_deployment = kind == "ReplicaSet"
    label = "pod-template-hash" if of_deployment else "controller-revision-hash"
    owner = f"{name}-{revision}" if of_deployment else name
    return {
        "labels": {label: revision},
        "ownerReferences": [{"kind": kind, "name": owner, "controller": True}],
    }


def at(minute: int) -> str:
    return f"2026-01-01T00:{minute:02}:00Z"


def crashing(name: str, *, created: int, **metadata: Any) -> Object:
    state = waiting("CrashLoopBackOff", restarts=7, last=last(42))
    return pod("Running", state, ready=False, name=name, creationTimestamp=at(created), **metadata)


def unschedulable(name: str, *, created: int, **metadata: Any) -> Object:
    return pod("Pending", conditions=(UNSCHEDULABLE,), name=name, creationTimestamp=at(created), **metadata)


def healthy(name: str, *, created: int, **metadata: Any) -> Object:
    return pod("Running", running(ready=True), ready=True, name=name, creationTimestamp=at(created), **metadata)


V1, V2 = owned("ReplicaSet", "web", "1a"), owned("ReplicaSet", "web", "2b")


@pytest.mark.parametrize(
    ("workload", "revision"),
    [
        ({"status": {"updateRevision": "db-2b", "currentRevision": "db-1a"}}, "db-2b"),
        *(
            ({"status": {"conditions": [{"type": "Progressing", "status": "True", "message": message}]}}, "web-2b")
            for message in (
                'ReplicaSet "web-2b" is progressing.',
                'ReplicaSet "web-2b" has timed out progressing.',
                'ReplicaSet "web-2b" has successfully progressed.',
                'Created new replica set "web-2b"',
                'Found new replica set "web-2b"',
            )
        ),
        ({"status": {"conditions": [{"type": "Progressing", "status": "Unknown", "message": "it is paused"}]}}, ""),
        ({"status": {"conditions": [{"type": "Available", "status": "True", "message": 'ReplicaSet "a"'}]}}, ""),
        ({}, ""),
    ],
)
def test_a_workload_names_its_newest_revision(workload: Object, revision: str) -> None:
    assert newest_revision(workload) == revision


@pytest.mark.parametrize(
    ("pods", "revisions"),
    [
        pytest.param([crashing("old", created=1, **V1), unschedulable("new", created=5, **V2)], (), id="younger"),
        pytest.param(
            [crashing("old", created=9, **V1), unschedulable("new", created=5, **V2)], ("web-2b",), id="named"
        ),
        pytest.param(
            [
                crashing("old", created=1, **V1),
                crashing("old-again", created=9, **V1),
                unschedulable("new", created=5, **V2),
            ],
            (),
            id="an old pod was replaced during the rollout",
        ),
        pytest.param(
            [
                crashing("db-0", created=9, **owned("StatefulSet", "db", "db-1a")),
                unschedulable("db-1", created=5, **owned("StatefulSet", "db", "db-2b")),
            ],
            ("db-2b",),
            id="StatefulSet",
        ),
        pytest.param(
            [
                crashing("agent-x", created=1, **owned("DaemonSet", "agent", "1a")),
                unschedulable("agent-y", created=5, **owned("DaemonSet", "agent", "2b")),
            ],
            ("web-2b",),
            id="DaemonSet",
        ),
    ],
)
def test_a_fault_of_the_newest_revision_comes_before_that_of_a_replaced_pod(
    pods: list[Object], revisions: tuple[str, ...]
) -> None:
    for order in permutations(pods):
        cause = workload_root_cause(order, [], revisions)
        assert cause is not None
        assert "Unschedulable" in cause.message


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([crashing("old", created=1, **V1)], id="no new pod exists yet"),
        pytest.param([crashing("old", created=1, **V1), healthy("new", created=5, **V2)], id="the new pod is healthy"),
        pytest.param(
            [
                crashing("old", created=1, **V1),
                unschedulable("new", created=5, deletionTimestamp=at(6), **V2),
            ],
            id="the new pod is being deleted",
        ),
        pytest.param(
            [
                crashing("api", created=1, **owned("ReplicaSet", "api", "3c")),
                unschedulable("web", created=5, **V2),
            ],
            id="another workload",
        ),
        pytest.param([crashing("bare", created=1), unschedulable("web", created=5, **V2)], id="a pod without owner"),
    ],
)
def test_an_old_pod_is_the_cause_where_no_new_one_is_unhealthy(pods: list[Object]) -> None:
    for order in permutations(pods):
        cause = workload_root_cause(order, [], ("web-2b",))
        assert cause is not None
        assert "CrashLoopBackOff" in cause.message


def test_pods_of_jobs_and_of_bare_replicasets_have_no_revision() -> None:
    job = {"ownerReferences": [{"kind": "Job", "name": "j", "controller": True}], "labels": {"pod-template-hash": "x"}}
    bare = {"ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "controller": True}]}
    pods = [
        crashing(f"{kind}-{index}", created=index, **meta)
        for kind, meta in (("j", job), ("r", bare))
        for index in (1, 2)
    ]

    assert replaced_pods(pods, ()) == frozenset()
