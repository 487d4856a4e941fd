"""What the monitor reports of custom resources, watched or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.monitor.objects import NAMESPACE, OURS, LabelledObjects, labelled
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.api.models import PORTS_MAX, SERVICES_MAX, HealthStatus
from xapp_operator.config.settings import Settings
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.monitor import xapp_monitor
from xapp_operator.monitor.xapp_monitor import XAppMonitor
from xapp_operator.reconcile.terminating import objects_being_deleted

OWNER: Final = (NAMESPACE, "hello")
GROUP: Final = "example.com"


def ref(kind: str, name: str = "it", *, api_version: str = f"{GROUP}/v1") -> ObjectRef:
    return ObjectRef(api_version=api_version, kind=kind, namespace="", name=name)


class CustomKinds(LabelledObjects):
    """Serves Widget, which has a status, and Setting, which has none; `allowed` are plurals that may be watched."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed: set[str] = set()
        self.versions: tuple[str, ...] = ("v1",)
        self.paths: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/selfsubjectaccessreviews"):
            plural = (await request.json())["spec"]["resourceAttributes"]["resource"]
            return web.json_response({"status": {"allowed": plural in self.allowed}})
        self.paths.append(request.path)
        if request.path in {"/api", "/apis"}:
            return web.json_response({"items": [_group(self.versions)] if request.path == "/apis" else []})
        if request.path.startswith(f"/apis/{GROUP}/") and request.path.split("/")[3] not in self.versions:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        return await super().handle(request)


def _served(plural: str, kind: str, *subresources: str) -> Json:
    found: list[Json] = [{"subresource": each} for each in subresources]
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "subresources": found}


def _group(versions: tuple[str, ...]) -> Json:
    served: list[Json] = [_served("widgets", "Widget", "status"), _served("settings", "Setting")]
    return {"metadata": {"name": GROUP}, "versions": [{"version": each, "resources": served} for each in versions]}


class Setup:
    """A server, and a monitor of it."""

    def __init__(self, kube: KubeClient, server: CustomKinds) -> None:
        self.server = server
        self.changed: list[tuple[str, str]] = []
        self.monitor = XAppMonitor(kube, Settings(), on_change=self.changed.append)

    async def expect(self, *refs: ObjectRef) -> None:
        """Set the inventory of the release to `refs`, as if it was read from Helm's storage."""
        self.monitor.set_inventory(OWNER, refs)
        await self.monitor.watch_kinds(OWNER)

    def health(self) -> tuple[HealthStatus, str]:
        report = self.monitor.report(OWNER)
        return report.status, report.message


def widget(**status: Any) -> JsonObject:
    body = labelled("it", {"xapp-operator.io/xapp": "hello"}, release="hello", status=status)
    return {**body, "apiVersion": f"{GROUP}/v1", "kind": "Widget"}


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    server = CustomKinds()
    one = Setup(await connect(server.handle), server)
    await one.monitor.start()
    yield one
    await one.monitor.stop()


async def test_a_custom_resource_that_may_not_be_watched_is_unknown_and_names_the_right(setup: Setup) -> None:
    await setup.expect(ref("Widget"), ref("Role", api_version="rbac.authorization.k8s.io/v1"))
    status, message = setup.health()
    assert status is HealthStatus.UNKNOWN
    assert "Widget it: " in message
    assert "may not list and watch widgets.example.com" in message
    assert 'xapp-operator.io/aggregate-to-monitor: "true"' in message
    assert setup.monitor.report(OWNER).ready == 1


async def test_an_object_that_another_release_has_taken_over_is_degraded(setup: Setup) -> None:
    await setup.server.put("configmaps", OURS, configmap(release="hello"))
    await setup.expect(ref("ConfigMap", api_version="v1"))

    async def wait(taker: str) -> None:
        await setup.server.put("configmaps", OURS, configmap(release=taker))
        known = setup.monitor.release_objects
        await eventually(
            lambda: all(each.live and each.live.labels.release == taker for each in known(OWNER)), what="the change"
        )

    await wait("ot")
    report = setup.monitor.report(OWNER, release="hello")
    assert (report.status, report.ready) == (HealthStatus.DEGRADED, 0)
    assert report.message == 'ConfigMap it: belongs to the release "ot" now'
    assert setup.health() == (HealthStatus.HEALTHY, "")  # of any release
    await wait("hello")
    assert setup.monitor.report(OWNER, release="hello").status is HealthStatus.HEALTHY


def configmap(*, release: str) -> JsonObject:
    body = labelled("it", {"xapp-operator.io/xapp": "hello"}, release=release)
    return {**body, "apiVersion": "v1", "kind": "ConfigMap"}


async def test_kinds_without_a_status_are_healthy_unwatched(setup: Setup) -> None:
    await setup.expect(
        ref("Setting"),
        ref("Role", api_version="rbac.authorization.k8s.io/v1"),
        ref("ServiceAccount", api_version="v1"),
    )
    assert setup.health() == (HealthStatus.HEALTHY, "")


async def test_a_returned_status_counts_without_a_status_subresource(setup: Setup) -> None:
    await setup.expect(ref("Setting"))
    resource = Resource(group=GROUP, version="v1", plural="settings", kind="Setting")
    await setup.monitor.update_object(resource, {**widget(phase="Broken"), "kind": "Setting"})
    assert setup.health()[0] is HealthStatus.UNKNOWN


async def test_a_kind_that_the_cluster_does_not_serve_is_unknown(setup: Setup) -> None:
    await setup.expect(ref("Gone"))
    status, message = setup.health()
    assert status is HealthStatus.UNKNOWN
    assert "does not serve its kind" in message


async def test_a_watched_custom_resource_is_assessed_and_missed(setup: Setup) -> None:
    setup.server.allowed.add("widgets")
    await setup.expect(ref("Widget"))
    assert setup.health() == (HealthStatus.DEGRADED, "Widget it: is missing")
    await setup.server.put("widgets", OURS, widget(conditions=[{"type": "Ready", "status": "True"}]))
    await eventually(lambda: setup.health()[0] is HealthStatus.HEALTHY, what="the widget to be seen")


async def test_a_permission_granted_later_ends_the_unknown_health(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xapp_monitor, "PERMISSION_RECHECK_SECONDS", 0.01)
    await setup.server.put("widgets", OURS, widget(conditions=[{"type": "Ready", "status": "True"}]))
    await setup.expect(ref("Widget"))
    assert setup.health()[0] is HealthStatus.UNKNOWN
    setup.server.allowed.add("widgets")
    await eventually(lambda: setup.health()[0] is HealthStatus.HEALTHY, what="the kind to be watched")
    await eventually(lambda: OWNER in setup.changed, what="the change to be reported")


def service(name: str, *, namespace: str = NAMESPACE, **body: Any) -> JsonObject:
    return labelled(name, {"xapp-operator.io/xapp": "hello"}, release="hello", namespace=namespace, **body)


async def put_service(setup: Setup, body: JsonObject, *, shown: str) -> list[str]:
    """Write a Service, then one in the namespace of the release; return the reported ones once that is among them."""
    await setup.server.put("services", OURS, body)
    await setup.server.put("services", OURS, service(shown))

    def names() -> list[str]:
        return [each.name for each in setup.monitor.report(OWNER).services]

    await eventually(lambda: shown in names(), what="the second Service")
    return names()


@pytest.mark.parametrize("inventory", [None, (), (ref("Service", "shown", api_version="v1"),)])
async def test_an_object_of_another_namespace_that_the_release_does_not_name_is_not_its_own(
    setup: Setup, inventory: tuple[ObjectRef, ...] | None
) -> None:
    if inventory is not None:
        await setup.expect(*inventory)
    assert await put_service(setup, service("theirs", namespace="evil"), shown="shown") == ["shown"]
    assert setup.changed == [OWNER]
    assert setup.monitor.report(OWNER).total == (1 if inventory is None else len(inventory))
    await put_service(setup, service("theirs", namespace="evil", spec={"type": "NodePort"}), shown="another")
    assert setup.changed == [OWNER, OWNER]


async def test_an_object_of_another_namespace_that_the_release_names_is_its_own(setup: Setup) -> None:
    await setup.expect(ObjectRef(api_version="v1", kind="Service", namespace="other", name="ours"))
    assert await put_service(setup, service("ours", namespace="other"), shown="shown") == ["ours", "shown"]
    assert setup.changed == [OWNER, OWNER]
    assert setup.health() == (HealthStatus.HEALTHY, "")


async def test_an_object_elsewhere_that_is_being_deleted_counts_if_the_release_names_it(setup: Setup) -> None:
    await setup.expect(ObjectRef(api_version="v1", kind="Service", namespace="other", name="ours"))
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.example/b"]}
    for name, namespace in (("theirs", "evil"), ("ours", "other"), ("near", NAMESPACE)):
        body = service(name, namespace=namespace, metadata=deleted)
        await put_service(setup, body, shown=f"after-{name}")
    found = objects_being_deleted(OWNER, setup.monitor)
    assert [each.key for each in found] == [("Service", "other", "ours"), ("Service", NAMESPACE, "near")]


async def test_no_more_services_and_ports_are_reported_than_a_status_has_room_for(setup: Setup) -> None:
    ports = [{"port": number, "protocol": "TCP"} for number in range(1, 1001)]
    for number in range(SERVICES_MAX + 1):
        await setup.server.put("services", OURS, service(f"s{number:02}", spec={"ports": ports}))
    await eventually(lambda: setup.monitor.report(OWNER).total > SERVICES_MAX, what="all Services")
    services = setup.monitor.report(OWNER).services
    assert [each.name for each in services] == [f"s{number:02}" for number in range(SERVICES_MAX)]
    assert {len(each.ports) for each in services} == {PORTS_MAX}
