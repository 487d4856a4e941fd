"""The health of live objects, and of all objects of an xApp."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.health.health_states import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    TABLES,
    UNKNOWN,
    Object,
    condition,
    custom,
)
from xapp_operator.api.models import HealthStatus
from xapp_operator.domain.health.health_result import HealthResult
from xapp_operator.domain.health.resource_health import (
    ResourceHealth,
    assess,
    missing_resource,
    overall_health,
)

ALL = [
    pytest.param(body, status, message, id=f"{body['kind']}: {name}")
    for table in TABLES
    for name, body, status, message in table
]


@pytest.mark.parametrize(("body", "status", "message"), ALL)
def test_the_health_of_an_object_is_assessed(body: Object, status: HealthStatus, message: str) -> None:
    result = assess(body)
    assert (result.status, message in result.message) == (status, True), result.message
    assert bool(result.message) == bool(message)
    assert (result.kind, result.name, result.namespace) == (body["kind"], "it", "ns")


def test_a_cluster_scoped_object_has_an_empty_namespace() -> None:
    result = assess(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}, "status": {"phase": "Active"}}
    )
    assert result.namespace == ""


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "conditions", "type", "phase", "replicas", "containerStatuses"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


@given(
    st.sampled_from([body for table in TABLES for _, body, *_ in table]),
    JUNK,
    JUNK,
)
def test_a_malformed_object_is_assessed_without_an_error(body: Object, spec: Any, status: Any) -> None:
    result = assess({**body, "spec": spec, "status": status})
    assert isinstance(result, ResourceHealth)


def test_a_pod_is_judged_by_its_containers_whatever_generation_its_kubelet_has_seen() -> None:
    waiting: Object = {"name": "main", "state": {"waiting": {"reason": "ErrImageNeverPull"}}}
    status: Object = {"phase": "Pending", "observedGeneration": 1, "containerStatuses": [waiting]}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "generation": 2}, "status": status}
    assert "ErrImageNeverPull" in assess(pod).message


def test_a_foreign_message_is_truncated_to_one_line() -> None:
    result = assess(custom(condition("Stalled", "True", "Bad", "line one\n  line two\t" + "x" * 100_000)))
    assert result.message.startswith("Bad: line one line two xxx")
    assert len(result.message) == 1536
    assert result.message.endswith("x…")
    longest = "x" * (1536 - 3)
    assert assess(custom(condition("Stalled", "True", "B", longest))).message == f"B: {longest}"


def health(kind: str, name: str, status: HealthStatus, message: str = "") -> ResourceHealth:
    return ResourceHealth(kind=kind, name=name, namespace="ns", status=status, message=message)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([], HealthResult(status=HEALTHY, message="")),
        ([health("Service", "a", HEALTHY, "note")], HealthResult(status=HEALTHY, message="")),
        (
            [health("Service", "a", HEALTHY), health("Deployment", "b", PROGRESSING, "0 of 1 replicas ready")],
            HealthResult(status=PROGRESSING, message="Deployment b: 0 of 1 replicas ready"),
        ),
        (
            [
                health("Pod", "z", UNKNOWN, "its node does not answer"),
                health("Deployment", "b", PROGRESSING, "waits"),
                health("StatefulSet", "c", DEGRADED, "broken"),
            ],
            HealthResult(
                status=DEGRADED,
                message="StatefulSet c: broken; Deployment b: waits; Pod z: its node does not answer",
            ),
        ),
        ([health("Pod", "a", UNKNOWN)], HealthResult(status=UNKNOWN, message="Pod a: Unknown")),
        (
            [missing_resource(kind="Deployment", name="web", namespace="ns")],
            HealthResult(status=DEGRADED, message="Deployment web: is missing"),
        ),
        (
            [health("Pod", name, PROGRESSING, "waits") for name in "gfedcba"],
            HealthResult(
                status=PROGRESSING,
                message="Pod a: waits; Pod b: waits; Pod c: waits; Pod d: waits; Pod e: waits; and 2 more",
            ),
        ),
    ],
)
def test_the_worst_object_decides_and_is_named_first(resources: list[ResourceHealth], expected: HealthResult) -> None:
    assert overall_health(resources) == expected
    assert overall_health(reversed(resources)) == expected


def test_the_combined_message_is_bounded_and_says_the_whole_of_what_it_names() -> None:
    many = [health("Pod", f"{number}" * 60, DEGRADED, "x" * 900) for number in range(10)]
    two = "; ".join(f"Pod {each.name}: {each.message}" for each in many[:2])
    assert overall_health(many).message == f"{two}; and 8 more"
    assert overall_health(many[:2]).message == two
    widest = [health("K" * 63, f"{number}" * 253, DEGRADED, "x" * 1536) for number in range(2)]
    assert overall_health(widest).message.endswith("x; and 1 more")
    endless = [health("Pod", f"{number}", DEGRADED, "x" * 5000) for number in range(2)]
    assert overall_health(endless).message.endswith("x…; and 1 more")
    assert len(overall_health(endless).message) == 1994  # with room for "; and 1000000 more"
    assert len(overall_health(endless[:1]).message) == 2000
    for length, named in ((970, 2), (971, 1)):
        pair = [health("Pod", "a" * 5, DEGRADED, "x" * length), health("Pod", "b" * 5, DEGRADED, "x" * 988)]
        assert overall_health(pair).message.count("Pod") == named


@pytest.mark.parametrize("succeeded", [1, 2])
def test_a_job_whose_pods_have_all_finished_waits_to_be_marked(succeeded: int) -> None:
    status: Object = {"startTime": "2026-01-01T00:00:00Z", "succeeded": succeeded, "ready": 0}
    job: Object = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 1}, "status": status}
    assert assess(job).message == "all its pods have finished, but it is not marked complete yet"
