"""Which pods belong to an xApp, and their order."""

from __future__ import annotations

from aiohttp import web

from tests.unit.kube.conftest import Connect, Handler, connect
from xapp_operator.api.json import JsonObject, obj
from xapp_operator.gateway.catalog.records import HookObject
from xapp_operator.gateway.xapps.pods import container_names, pod_name, read_pods
from xapp_operator.monitor.hook_pods import JOB_LABEL
from xapp_operator.monitor.live_objects import LiveObject, to_live_object
from xapp_operator.monitor.object_labels import read_labels

__all__ = ["connect"]


def pod(name: str, *, age: int = 0, ready: bool = True, leaving: bool = False, job: str = "") -> JsonObject:
    """Return a pod created in the minute `age`."""
    metadata: JsonObject = {
        "name": name,
        "creationTimestamp": f"2026-11-20T08:{age:02}:00Z",
        "labels": {JOB_LABEL: job},
    }
    if leaving:
        metadata["deletionTimestamp"] = "2026-11-20T09:00:00Z"
    conditions: list[JsonObject] = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": metadata, "status": {"conditions": [*conditions]}}


def live(kind: str, name: str, *, namespace: str = "ran", **labels: str) -> LiveObject:
    spec: JsonObject = {"selector": {"matchLabels": {**labels}}}
    body: JsonObject = {"kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return to_live_object(body, kind=kind, owner=("ran", "hello"), labels=read_labels({}, ()))


def answering(pods: dict[str, list[JsonObject]], requests: list[str]) -> Handler:
    """Respond to lists by their label selector, or else by the name in their field selector."""

    async def handler(request: web.Request) -> web.StreamResponse:
        selector, field = request.query.get("labelSelector"), request.query.get("fieldSelector")
        requests.append(f"{request.path} {selector} {field}")
        key = (field or "").removeprefix("metadata.name=") if selector is None else selector
        return web.json_response({"metadata": {}, "items": pods.get(key, [])})

    return handler


async def names(
    connect: Connect, pods: dict[str, list[JsonObject]], *objects: LiveObject, only: str | None = None
) -> list[str]:
    requests: list[str] = []
    client = await connect(answering(pods, requests))
    return [pod_name(each) for each in await read_pods(client, objects, namespace="ran", name=only)]


async def test_the_newest_ready_pod_comes_first_and_terminating_pods_last(connect: Connect) -> None:
    pods = [
        pod("old", age=1),
        pod("leaving", age=9, leaving=True),
        pod("new", age=5),
        pod("starting", age=7, ready=False),
    ]
    found = await names(connect, {"app=web": pods}, live("Deployment", "web", app="web"))
    assert found == ["new", "old", "starting", "leaving"]


async def test_pods_of_all_workloads_count_once(connect: Connect) -> None:
    pods = {"app=a": [pod("one", age=1), pod("two", age=2)], "app=b": [pod("two", age=2)], "bare": [pod("bare")]}
    objects = (live("Deployment", "a", app="a"), live("StatefulSet", "b", app="b"), live("Pod", "bare"))
    assert await names(connect, pods, *objects) == ["two", "one", "bare"]


async def test_pods_of_a_cron_job_are_matched_by_the_name_of_their_job(connect: Connect) -> None:
    jobs = ("clean-29012345", "clean-up-29012345", "clean-by-hand")
    pods = {JOB_LABEL: [pod(f"{job}-x2x9z", job=job) for job in jobs]}
    assert await names(connect, pods, live("CronJob", "clean")) == ["clean-29012345-x2x9z"]


async def test_objects_of_other_namespaces_match_no_pods(connect: Connect) -> None:
    elsewhere = live("Deployment", "web", namespace="elsewhere", app="web")
    assert await names(connect, {"app=web": [pod("web")]}, elsewhere) == []


async def test_a_deleted_bare_pod_is_left_out(connect: Connect) -> None:
    assert await names(connect, {}, live("Pod", "bare")) == []


async def test_a_pod_is_selected_by_its_name(connect: Connect) -> None:
    requests: list[str] = []
    client = await connect(answering({"app=web": [pod("web-1")]}, requests))
    objects = (live("Deployment", "web", app="web"), live("Pod", "bare"))
    await read_pods(client, objects, namespace="ran", name="web-1")
    assert requests == ["/api/v1/namespaces/ran/pods app=web metadata.name=web-1"]


async def test_pods_of_a_hook_are_among_them(connect: Connect) -> None:
    check = pod("check")
    obj(check, "metadata")["annotations"] = {"helm.sh/hook": "pre-install"}
    pods = {f"{JOB_LABEL}=preflight": [pod("preflight-x2x9z")], "check": [check], "other": [pod("other")]}
    requests: list[str] = []
    client = await connect(answering(pods, requests))

    async def found(kind: str, hook: str, only: str | None = None) -> list[str]:
        each = await read_pods(client, (), namespace="ran", name=only, hook=HookObject(kind, hook))
        return [pod_name(pod) for pod in each]

    assert await found("Job", "preflight") == ["preflight-x2x9z"]
    assert await found("Pod", "check") == ["check"]
    assert await found("Pod", "other") == []  # it is no hook
    assert await found("Pod", "check", only="other") == []
    assert await found("ConfigMap", "check") == []
    requests.clear()
    assert await found("Job", "x,app=web") == []
    assert requests == []


async def test_pods_are_read_with_the_right_to_list_them_alone(connect: Connect) -> None:
    requests: list[str] = []
    client = await connect(answering({}, requests))
    await read_pods(client, (live("Pod", "bare"),), namespace="ran")
    assert requests == ["/api/v1/namespaces/ran/pods None metadata.name=bare"]


def test_regular_containers_are_listed_first() -> None:
    spec: JsonObject = {
        "initContainers": [{"name": "setup"}],
        "containers": [{"name": "main"}, {"name": "side"}],
        "ephemeralContainers": [{"name": "debug"}],
    }
    assert container_names({"spec": spec}) == ["main", "side", "setup", "debug"]
