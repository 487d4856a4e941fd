"""The health of an xApp is one snapshot: its overall status follows from the objects in the same response."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from aiohttp import web

from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from tests.unit.kube.conftest import Connect, connect
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.health.health_report import LOOKUPS_MAX, REPORT_PODS_MAX, get_health_report
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import EVENTS, PODS, SECRETS, Resource
from xapp_operator.monitor.live_objects import LiveObject, to_live_object
from xapp_operator.monitor.object_labels import read_labels
from xapp_operator.monitor.registry import XAppRegistry

__all__ = ["connect"]

NAMESPACE = "ric-xapps"
NAME = "acme-ran-hello"
CRASHING: JsonObject = {
    "metadata": {"name": "hello-1", "labels": {"app": "hello"}, "creationTimestamp": "2026-11-20T08:00:00Z"},
    "spec": {"containers": [{"name": "core"}]},
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "core",
                "ready": False,
                "restartCount": 4,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "message": "no database"}},
            }
        ],
    },
}
FOOS: JsonObject = {
    "metadata": {"name": "example.com"},
    "versions": [
        {
            "version": "v1",
            "resources": [{"resource": "foos", "responseKind": {"kind": "Foo"}, "scope": "Namespaced"}],
        }
    ],
}
Report = Callable[..., Awaitable[JsonObject]]


class Objects:
    """The cached objects, which may change while a report is being built."""

    def __init__(self, *objects: LiveObject) -> None:
        self.now = objects

    def objects(self, namespace: str, release: str) -> tuple[LiveObject, ...]:
        assert (namespace, release) == (NAMESPACE, NAME)
        return self.now


class LimitedCaller:
    """A caller with permissions for some resources only."""

    def __init__(self, client: KubeClient, rights: tuple[Resource, ...]) -> None:
        self.client = client
        self._rights = rights

    async def is_allowed(
        self, verb: str, *, namespace: str | None, resource: Resource, subresource: str | None = None
    ) -> bool:
        return resource in self._rights and subresource is None


def deployment(*, ready: bool, replicaset: str = "hello-1a") -> LiveObject:
    body: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "hello", "namespace": NAMESPACE, "generation": 1},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "hello"}}},
        "status": {
            "observedGeneration": 1,
            "replicas": 1,
            "updatedReplicas": 1,
            **({"readyReplicas": 1, "availableReplicas": 1} if ready else {"unavailableReplicas": 1}),
            "conditions": [
                {"type": "Available", "status": "True" if ready else "False"},
                {"type": "Progressing", "status": "True", "message": f'ReplicaSet "{replicaset}" is progressing.'},
            ],
        },
    }
    return to_live_object(body, kind="Deployment", owner=(NAMESPACE, NAME), labels=read_labels({}, ()))


def foo(name: str, **metadata: Json) -> JsonObject:
    return {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name, **metadata}}


def release_secret(*objects: JsonObject) -> JsonObject:
    manifest = "---\n".join(json.dumps(each) + "\n" for each in objects)
    release = {"name": NAME, "namespace": NAMESPACE, "version": 1, "info": {"status": "deployed"}, "manifest": manifest}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    return {"metadata": {"name": f"sh.helm.release.v1.{NAME}.v1"}, "data": {"release": packed}}


@pytest.fixture
def report(connect: Connect) -> Report:
    async def build(
        objects: Objects,
        *,
        recorded: str,
        rights: tuple[Resource, ...] = (SECRETS,),
        pods: tuple[JsonObject, ...] = (),
        release: JsonObject | None = None,
        foo_status: int = 200,
        foo_release: str = NAME,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> JsonObject:
        async def handler(request: web.Request) -> web.StreamResponse:
            meanwhile()
            items: list[Json] = [*pods] if request.path.endswith("/pods") else []
            if request.path in {"/api", "/apis"}:
                return web.json_response({"items": [FOOS] if request.path == "/apis" else []})
            if "/foos/" in request.path:
                found = foo(request.path.rpartition("/")[2], annotations={"meta.helm.sh/release-name": foo_release})
                body = found if foo_status == 200 else {"kind": "Status"}
                return web.json_response(body, status=foo_status)
            if "/secrets/" in request.path and release is not None:
                return web.json_response(release)
            if "/secrets/" in request.path:
                return web.json_response({"kind": "Status", "code": 404}, status=404)
            return web.json_response({"metadata": {}, "items": items})

        status = ready_status(health=recorded, phase="Deployed" if recorded == "Healthy" else "Degraded")
        context = XAppContext(
            caller=cast("Caller", LimitedCaller(await connect(handler), rights)),
            permissions=(),
            host="",
            query=StrictQuery(b""),
            entry=build_xapp_entry(raw_xapp(NAME, namespace=NAMESPACE, status=status)),
            registry=cast("XAppRegistry", objects),
        )
        return await get_health_report(context)

    return build


def statuses(report: JsonObject) -> tuple[Json, list[Json]]:
    resources = cast("list[JsonObject]", report["resources"])
    return report["status"], [each["status"] for each in resources]


@pytest.mark.parametrize("recorded", ["Degraded", "Progressing", "Unknown"])
async def test_an_older_record_does_not_overrule_healthy_objects(report: Report, recorded: str) -> None:
    found = await report(Objects(deployment(ready=True)), recorded=recorded)
    assert statuses(found) == ("Healthy", ["Healthy"])
    assert found["message"] is None


async def test_a_healthy_record_does_not_hide_an_object_that_is_not_ready(report: Report) -> None:
    found = await report(Objects(deployment(ready=False)), recorded="Healthy")
    assert statuses(found) == ("Progressing", ["Progressing"])
    assert "Deployment hello" in str(found["message"])


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
async def test_a_change_while_the_report_is_built_is_in_all_of_it_or_in_none(
    report: Report, before: bool, after: bool
) -> None:
    objects = Objects(deployment(ready=before))
    read: list[None] = []

    def change() -> None:
        read.append(None)
        objects.now = (deployment(ready=after),)

    found = await report(objects, recorded="Degraded", rights=(SECRETS, PODS), meanwhile=change)
    assert read, "nothing was read after the objects"
    overall, [resource] = statuses(found)
    assert overall == resource


async def test_the_root_cause_is_that_of_the_pods_in_the_same_answer(report: Report) -> None:
    found = await report(Objects(deployment(ready=False)), recorded="Healthy", rights=(PODS, SECRETS), pods=(CRASHING,))
    assert found["status"] == "Degraded"
    assert "hello-1" in str(found["message"])
    assert "Helm install succeeded" not in str(found["message"])


def of_replicaset(pod: JsonObject, template: str, **metadata: Json) -> JsonObject:
    owner: JsonObject = {"kind": "ReplicaSet", "name": f"hello-{template}", "controller": True}
    labels: JsonObject = {"app": "hello", "pod-template-hash": template}
    return {**pod, "metadata": {"labels": labels, "ownerReferences": [owner], **metadata}}


async def test_the_root_cause_is_that_of_the_newest_replicaset_during_a_rollout(report: Report) -> None:
    waiting: JsonObject = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}
    pending: JsonObject = {"status": {"phase": "Pending", "conditions": [waiting]}}
    # The old pod is the younger one: it was evicted and made again during the rollout.
    old = of_replicaset(CRASHING, "1a", name="hello-1a-x", creationTimestamp="2026-11-20T09:00:00Z")
    new = of_replicaset(pending, "2b", name="hello-2b-x", creationTimestamp="2026-11-20T08:00:00Z")
    now = Objects(deployment(ready=False, replicaset="hello-2b"))
    found = await report(now, recorded="Degraded", rights=(PODS, SECRETS), pods=(old, new))
    assert found["message"] == "pod hello-2b-x: Unschedulable: no node"


async def test_the_status_is_unknown_when_the_objects_that_could_explain_it_may_not_be_read(report: Report) -> None:
    found = await report(Objects(deployment(ready=True)), recorded="Degraded", rights=())
    assert statuses(found) == ("Unknown", ["Healthy"])
    assert "get secrets" in str(found["message"])


async def test_custom_resources_that_are_not_watched_are_looked_up(report: Report) -> None:
    objects = Objects(deployment(ready=True))
    found = await report(objects, recorded="Degraded", release=release_secret(foo("it")))
    assert statuses(found) == ("Healthy", ["Healthy", "Healthy"])
    found = await report(objects, recorded="Degraded", release=release_secret(foo("it")), foo_status=404)
    assert statuses(found) == ("Degraded", ["Healthy", "Degraded"])


async def test_an_object_that_another_release_has_taken_over_is_degraded(report: Report) -> None:
    """As in the status of the XApp: see `test_adoption`."""
    found = await report(Objects(), recorded="Degraded", release=release_secret(foo("it")), foo_release='their "one"')
    assert statuses(found) == ("Degraded", ["Degraded"])
    assert found["message"] == 'Foo it: belongs to the release "their \\"one\\"" now'


@pytest.mark.parametrize("status", [403, 410, 500])
async def test_the_status_is_unknown_when_a_custom_resource_cannot_be_looked_up(report: Report, status: int) -> None:
    found = await report(
        Objects(deployment(ready=True)), recorded="Degraded", release=release_secret(foo("it")), foo_status=status
    )
    assert statuses(found) == ("Unknown", ["Healthy"])
    assert "all kinds of the release" in str(found["message"])


async def test_the_status_is_unknown_when_there_are_more_objects_than_are_looked_up(report: Report) -> None:
    release = release_secret(*(foo(f"foo-{number}") for number in range(LOOKUPS_MAX + 1)))
    found = await report(Objects(deployment(ready=True)), recorded="Degraded", release=release)
    assert statuses(found) == ("Unknown", ["Healthy"] * (LOOKUPS_MAX + 1))
    assert "at most 50 objects" in str(found["message"])


async def test_pods_and_events_that_may_not_be_listed_are_unknown_and_not_none(report: Report) -> None:
    hidden = await report(Objects(deployment(ready=True)), recorded="Healthy", pods=(CRASHING,))
    shown = await report(
        Objects(deployment(ready=True)), recorded="Healthy", rights=(PODS, EVENTS, SECRETS), pods=(CRASHING,)
    )

    assert (hidden["pods"], hidden["podsTotal"], hidden["events"], hidden["eventsTotal"]) == ([], None, [], None)
    assert (shown["podsTotal"], shown["eventsTotal"]) == (1, 0)


async def test_more_pods_than_are_shown_are_counted(report: Report) -> None:
    pods = tuple({**CRASHING, "metadata": {"name": f"hello-{at}"}} for at in range(REPORT_PODS_MAX + 40))
    found = await report(Objects(deployment(ready=True)), recorded="Healthy", rights=(PODS,), pods=pods)

    assert (len(cast("list[Json]", found["pods"])), found["podsTotal"]) == (100, 140)


async def test_without_objects_the_health_of_the_record_is_used(report: Report) -> None:
    found = await report(Objects(), recorded="Unknown")
    assert statuses(found) == ("Unknown", [])
    assert found["message"] == "Helm install succeeded"
