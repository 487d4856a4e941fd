"""What an Event holds, when it counts instead of being posted again, and that it never delays anything."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any

import pytest

from tests.unit.kube.fake_cluster import FakeCluster
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import AccessDenied, ApiUnavailable, KubeError
from xapp_operator.kube.event_recorder import (
    EventRecorder,
)
from xapp_operator.kube.resources import EVENTS
from xapp_operator.kube.transport import ApiRequest

MESSAGE_MAX_CHARACTERS = 1024
OBJECT_NAME_MAX_CHARACTERS = 200
QUEUED_EVENTS_MAX = 1000


def xapp(name: str = "one", *, namespace: str = "ns") -> JsonObject:
    metadata: JsonObject = {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "7"}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "XApp", "metadata": metadata}


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def events(cluster: FakeCluster) -> list[dict[str, Any]]:
    return sorted(cluster.server.all("events"), key=lambda each: str(each["message"]))


async def test_an_event_tells_what_happened_to_which_object(cluster: FakeCluster) -> None:
    async with EventRecorder(cluster.kube) as recorder:
        recorder.record(xapp(), event_type="Warning", reason="InstallFailed", message="no such chart")
    (event,) = events(cluster)

    assert re.fullmatch(r"one\.[0-9a-f]{16}", event["metadata"]["name"])
    assert event["metadata"]["namespace"] == "ns"
    assert event["involvedObject"] == {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "XApp",
        "namespace": "ns",
        "name": "one",
        "uid": "uid-of-one",
        "resourceVersion": "7",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "InstallFailed", "no such chart")
    assert event["count"] == 1
    assert event["firstTimestamp"] == event["lastTimestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["lastTimestamp"])
    assert event["source"] == {"component": "xapp-operator"}
    assert (event["reportingComponent"], event["reportingInstance"]) == ("xapp-operator", socket.gethostname())


async def test_an_event_that_recurs_is_counted(cluster: FakeCluster) -> None:
    async with EventRecorder(cluster.kube) as recorder:
        for message in ("one", "two", "one", "one"):
            recorder.record(xapp(), reason="Progressing", message=message)
        recorder.record(xapp("other"), reason="Progressing", message="two")
        recorder.record(xapp(), event_type="Warning", reason="Progressing", message="two")
    found = [(each["message"], each["involvedObject"]["name"], each["type"], each["count"]) for each in events(cluster)]

    assert sorted(found) == [
        ("one", "one", "Normal", 3),
        ("two", "one", "Normal", 1),
        ("two", "one", "Warning", 1),
        ("two", "other", "Normal", 1),
    ]


async def test_an_event_that_the_api_server_has_forgotten_is_posted_again(cluster: FakeCluster) -> None:
    for _ in range(2):
        async with EventRecorder(cluster.kube) as recorder:
            recorder.record(xapp(), reason="Progressing", message="same")
            recorder.record(xapp(), reason="Progressing", message="same")
        (event,) = events(cluster)
        assert event["count"] == 2
        await cluster.kube.delete(EVENTS, event["metadata"]["name"], namespace="ns")

    async with EventRecorder(cluster.kube) as recorder:
        recorder.record(xapp(), reason="Progressing", message="same")
    async with recorder:
        (event,) = events(cluster)
        await cluster.kube.delete(EVENTS, event["metadata"]["name"], namespace="ns")
        recorder.record(xapp(), reason="Progressing", message="same")
    (event,) = events(cluster)
    assert event["count"] == 1


async def test_long_messages_and_names_are_shortened(cluster: FakeCluster) -> None:
    async with EventRecorder(cluster.kube) as recorder:
        recorder.record(xapp("x" * 253), reason="Progressing", message="m" * 5000)
        recorder.record(xapp("y" * OBJECT_NAME_MAX_CHARACTERS), reason="Progressing", message="n" * 1024)
    long, exact = events(cluster)

    assert (long["message"], exact["message"]) == ("m" * (MESSAGE_MAX_CHARACTERS - 1) + "…", "n" * 1024)
    assert long["metadata"]["name"].partition(".")[0] == "x" * 200
    assert exact["metadata"]["name"].partition(".")[0] == "y" * 200


async def test_an_event_about_a_cluster_scoped_object_is_in_the_namespace_default(cluster: FakeCluster) -> None:
    async with EventRecorder(cluster.kube) as recorder:
        recorder.record(xapp(namespace=""), reason="Progressing", message="about a namespace")
    assert [each["metadata"]["namespace"] for each in events(cluster)] == ["default"]


async def test_a_failure_loses_only_its_own_event(cluster: FakeCluster) -> None:
    failures: list[Exception] = [ApiUnavailable("no"), ValueError("not expected")]

    def fail(_: ApiRequest) -> None:
        if failures:
            raise failures.pop()

    cluster.transport.before = fail
    async with EventRecorder(cluster.kube) as recorder:
        for message in ("one", "two", "three"):
            recorder.record(xapp(), reason="Progressing", message=message)
    assert [each["message"] for each in events(cluster)] == ["three"]


async def test_events_beyond_the_queue_are_dropped(cluster: FakeCluster) -> None:
    async with EventRecorder(cluster.kube) as recorder:
        for number in range(QUEUED_EVENTS_MAX + 5):
            recorder.record(xapp(), reason="Progressing", message=f"{number:04}")
    assert len(events(cluster)) == QUEUED_EVENTS_MAX
    assert events(cluster)[-1]["message"] == f"{QUEUED_EVENTS_MAX - 1:04}"


async def test_a_namespace_with_too_many_events_loses_and_delays_only_its_own(cluster: FakeCluster) -> None:
    posted: list[str] = []
    cluster.transport.before = lambda request: posted.append(request.path.split("/")[4])
    async with EventRecorder(cluster.kube) as recorder:
        recorder.record(xapp(namespace="quiet"), reason="Progressing", message="before")
        for number in range(QUEUED_EVENTS_MAX + 5):
            recorder.record(xapp(), reason="Progressing", message=f"{number:04}")
        for name in ("quiet", "other"):
            recorder.record(xapp(name, namespace=name), reason="Progressing", message="after")
    found = [(each["metadata"]["namespace"], each["message"]) for each in events(cluster)]

    assert len(found) == QUEUED_EVENTS_MAX
    assert {each for each in found if each[0] != "ns"} == {("quiet", "before"), ("quiet", "after"), ("other", "after")}
    assert [message for namespace, message in found if namespace == "ns"] == [f"{number:04}" for number in range(997)]
    assert posted[:6] == ["quiet", "ns", "other", "quiet", "ns", "ns"]


def test_a_shutdown_waits_two_seconds_for_an_api_server_that_hangs(cluster: FakeCluster) -> None:
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("the request")

    async def main() -> None:
        async with EventRecorder(cluster.kube) as recorder:
            recorder.record(xapp(), reason="Progressing", message="posted")
        assert cluster.clock.monotonic() == 0  # as soon as all events are posted
        cluster.transport.before = lambda _: hang()
        async with EventRecorder(cluster.kube) as recorder:
            recorder.record(xapp(), reason="Progressing", message="lost")
        assert ended == ["the request"]
        assert cluster.clock.monotonic() == 2
        await recorder.__aexit__()  # once is enough

    cluster.run(main())
    assert [each["message"] for each in events(cluster)] == ["posted"]


@pytest.mark.parametrize(
    ("error", "reason"), [(AccessDenied("no right"), "AccessDenied"), (ApiUnavailable("no answer"), "NotWritten")]
)
async def test_a_refused_request_is_a_warning(cluster: FakeCluster, error: KubeError, reason: str) -> None:
    async with EventRecorder(cluster.kube) as recorder:
        recorder.record_refusal(xapp(), error, otherwise="NotWritten")
    (event,) = events(cluster)
    assert (event["type"], event["reason"], event["message"]) == ("Warning", reason, error.message)
