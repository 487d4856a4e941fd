"""Events appear on their object, repeated events are counted, and a failure to post has no effect."""

from __future__ import annotations

import pytest

from tests.integration.kube.conftest import config_map
from tests.support.eventually import eventually_async
from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.event_recorder import MESSAGE_MAX_CHARACTERS, EventRecorder
from xapp_operator.kube.resources import CONFIGMAPS, EVENTS, NAMESPACES

pytestmark = pytest.mark.integration


async def events_of(kube: KubeClient, body: JsonObject, *, namespace: str) -> list[JsonObject]:
    uid = text(obj(body, "metadata"), "uid")
    found = await kube.list(EVENTS, namespace=namespace, field_selector=f"involvedObject.uid={uid}")
    return sorted(found.items, key=lambda event: text(event, "message"))


async def make(kube: KubeClient, namespace: str, name: str = "a") -> JsonObject:
    return await kube.create(CONFIGMAPS, config_map(name), namespace=namespace)


async def test_an_event_names_its_object_and_what_happened(kube: KubeClient, namespace: str) -> None:
    body = await make(kube, namespace)
    async with EventRecorder(kube) as recorder:
        recorder.record(body, event_type="Warning", reason="InstallFailed", message="no such chart")
    (event,) = await events_of(kube, body, namespace=namespace)
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "InstallFailed", "no such chart")
    assert text(obj(event, "involvedObject"), "name") == "a"
    assert text(obj(event, "source"), "component") == "xapp-operator"
    assert event["firstTimestamp"] == event["lastTimestamp"]


async def test_the_same_event_again_is_counted(kube: KubeClient, namespace: str) -> None:
    body = await make(kube, namespace)
    async with EventRecorder(kube) as recorder:
        for message in ("one", "two", "one", "one"):
            recorder.record(body, reason="Progressing", message=message)
    counts = {
        text(event, "message"): integer(event, "count") for event in await events_of(kube, body, namespace=namespace)
    }
    assert counts == {"one": 3, "two": 1}


async def test_the_same_message_about_another_object_is_another_event(kube: KubeClient, namespace: str) -> None:
    bodies = [await make(kube, namespace, name) for name in ("a", "b")]
    async with EventRecorder(kube) as recorder:
        for body in bodies:
            recorder.record(body, reason="Progressing", message="same")
    for body in bodies:
        assert [integer(event, "count") for event in await events_of(kube, body, namespace=namespace)] == [1]


async def test_an_expired_event_is_posted_again(kube: KubeClient, namespace: str) -> None:
    body = await make(kube, namespace)
    async with EventRecorder(kube) as recorder:
        recorder.record(body, reason="Progressing", message="same")

        async def posted() -> list[JsonObject]:
            return await events_of(kube, body, namespace=namespace)

        (event,) = await eventually_async(posted, what="the event")
        await kube.delete(EVENTS, text(obj(event, "metadata"), "name"), namespace=namespace)
        recorder.record(body, reason="Progressing", message="same")
        (again,) = await eventually_async(posted, what="the event again")
    assert integer(again, "count") == 1


async def test_a_long_message_is_truncated(kube: KubeClient, namespace: str) -> None:
    body = await make(kube, namespace)
    async with EventRecorder(kube) as recorder:
        recorder.record(body, reason="Progressing", message="x" * 5000)
    (event,) = await events_of(kube, body, namespace=namespace)
    assert text(event, "message") == "x" * (MESSAGE_MAX_CHARACTERS - 1) + "…"


async def test_an_event_about_a_cluster_scoped_object_is_in_namespace_default(kube: KubeClient, namespace: str) -> None:
    body = await kube.get(NAMESPACES, namespace)
    async with EventRecorder(kube) as recorder:
        recorder.record(body, reason="Progressing", message="about a namespace")
    (event,) = await events_of(kube, body, namespace="default")
    await kube.delete(EVENTS, text(obj(event, "metadata"), "name"), namespace="default")


async def test_a_failed_event_post_is_ignored(kube: KubeClient, namespace: str) -> None:
    body = await make(kube, namespace)
    nobody = kube.impersonate(f"system:serviceaccount:{namespace}:default")
    async with EventRecorder(nobody) as recorder:
        recorder.record(body, reason="Progressing", message="not allowed")
        recorder.record({}, reason="Progressing", message="about nothing")
        for number in range(5000):
            recorder.record(body, reason="Progressing", message=f"too many {number}")
    assert await events_of(kube, body, namespace=namespace) == []
