"""Why a workload is not healthy, from its pods and from the events about it, and what is read for that."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from tests.unit.monitor.objects import labelled
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import AccessDenied
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.request_encoding import ListResult
from xapp_operator.kube.resources import EVENTS, PODS, Resource
from xapp_operator.monitor.live_objects import LiveObject, owned_live_object
from xapp_operator.monitor.root_cause import MAX_EVENTS_READ, find_root_cause

FORBIDDEN = 'pods "k1" is forbidden: violates PodSecurity "restricted:latest"'


class Reader:
    """Lists pods and events of one namespace, and knows what was asked for."""

    def __init__(self, *, pods: list[JsonObject] | None = None, events: list[JsonObject] | None = None) -> None:
        self._listed = {PODS: pods or [], EVENTS: events or []}
        self.selectors: list[str] = []
        self.refused: set[Resource] = set()

    async def list_pages(self, resource: Resource, **options: Any) -> AsyncGenerator[ListResult]:
        assert options["namespace"] == "ric"
        assert options["limit"] <= MAX_EVENTS_READ
        if resource in self.refused:
            raise AccessDenied("no")
        found = self._listed[resource]
        if resource == EVENTS:
            self.selectors.append(options["field_selector"])
            found = [each for each in found if _selector(each) == options["field_selector"]]
        yield ListResult(items=found, resource_version="1")


def _selector(event: JsonObject) -> str:
    involved: Any = event["involvedObject"]
    return f"involvedObject.kind={involved['kind']},involvedObject.name={involved['name']}"


def workload(kind: str, *, selector: bool = True) -> LiveObject:
    body = labelled("k1", {}, spec={"selector": {"matchLabels": {"app": "k1"} if selector else {}}})
    return owned_live_object({**body, "apiVersion": "apps/v1", "kind": kind}, kind=kind, owner=("ric", "k1"))


def refusal(kind: str, *, name: str = "k1", reason: str = "FailedCreate", at: str = "10:00:00") -> JsonObject:
    return {
        "type": "Warning",
        "reason": reason,
        "message": FORBIDDEN,
        "lastTimestamp": f"2026-01-01T{at}Z",
        "involvedObject": {"kind": kind, "name": name},
    }


def pod(*, ready: bool, phase: str = "Running") -> JsonObject:
    conditions: list[Any] = [{"type": "Ready", "status": "True" if ready else "False"}]
    return labelled("k1-0", {}, status={"phase": phase, "conditions": conditions})


async def cause_of(reader: Reader, *workloads: LiveObject) -> str | None:
    found = await find_root_cause(cast("KubeReader", reader), workloads)
    return found.message if found else None


@pytest.mark.parametrize("kind", ["DaemonSet", "Job", "StatefulSet"])
@pytest.mark.parametrize("selector", [True, False])
async def test_an_event_tells_why_pods_are_refused(kind: str, selector: bool) -> None:
    reader = Reader(events=[refusal("Pod"), refusal(kind, name="other"), refusal(kind)])
    assert await cause_of(reader, workload(kind, selector=selector)) == f"{kind} k1: FailedCreate: {FORBIDDEN}"
    assert reader.selectors == [f"involvedObject.kind={kind},involvedObject.name=k1"]


@pytest.mark.parametrize("pods", [[pod(ready=True)], [pod(ready=False, phase="Succeeded")]])
async def test_further_pods_are_refused_beside_those_that_are_well(pods: list[JsonObject]) -> None:
    reader = Reader(pods=pods, events=[refusal("Job")])
    assert await cause_of(reader, workload("Job")) == f"Job k1: FailedCreate: {FORBIDDEN}"


async def test_events_of_the_workload_are_not_read_when_a_pod_is_to_blame() -> None:
    reader = Reader(pods=[pod(ready=False)], events=[refusal("StatefulSet")])
    assert await cause_of(reader, workload("StatefulSet")) == "pod k1-0: is running but not ready"
    assert reader.selectors == ["involvedObject.kind=Pod,involvedObject.name=k1-0"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "Service"])
async def test_events_of_other_kinds_are_not_read(kind: str) -> None:
    reader = Reader(events=[refusal(kind)])
    assert await cause_of(reader, workload(kind)) is None
    assert reader.selectors == []


@pytest.mark.parametrize(("created_at", "is_over"), [("10:00:01", True), ("10:00:00", False), ("09:59:59", False)])
async def test_a_refusal_is_over_once_a_pod_was_created(created_at: str, is_over: bool) -> None:
    events = [refusal("StatefulSet"), refusal("StatefulSet", reason="SuccessfulCreate", at=created_at)]
    for order in (events, events[::-1]):
        cause = await cause_of(Reader(events=order), workload("StatefulSet"))
        assert cause == (None if is_over else f"StatefulSet k1: FailedCreate: {FORBIDDEN}")


async def test_without_the_permission_to_list_events_there_is_no_cause() -> None:
    reader = Reader(events=[refusal("StatefulSet")])
    reader.refused.add(EVENTS)
    assert await cause_of(reader, workload("StatefulSet")) is None
