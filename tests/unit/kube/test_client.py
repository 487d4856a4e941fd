"""What each call of the client sends, and what it makes of the answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.support.fakes.api_server import FakeApiServer
from tests.support.fakes.clock import FakeClock
from tests.unit.kube.conftest import Connect
from tests.unit.kube.fake_cluster import FakeCluster, Transport, fake_credentials
from tests.unit.kube.test_advertise_address import node
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, ApiUnavailable, Conflict, KubeError, NotFound, Unauthenticated
from xapp_operator.kube import advertise_address
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.created_objects import delete_created
from xapp_operator.kube.reader import first_page, is_namespace_terminating
from xapp_operator.kube.request_encoding import PodLogOptions
from xapp_operator.kube.resources import CONFIGMAPS, NAMESPACES, NODES, PODS, SERVICES, XAPPS
from xapp_operator.kube.transport import ApiRequest, RequestIdentity

CACHE_SECONDS = 60.0


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


class Recorder:
    """Answers every request with `answer`, and records the requests."""

    def __init__(self, answer: JsonObject | None = None) -> None:
        self.answer = answer or {}
        self.seen: list[tuple[str, str, dict[str, str], Any]] = []
        self.accepts: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read() or b"null")
        self.seen.append((request.method, request.path, dict(request.query), body))
        self.accepts.append(request.headers["Accept"])
        return web.json_response(self.answer)


async def test_a_list_is_read_in_pages(connect: Connect) -> None:
    async def pages(request: web.Request) -> web.StreamResponse:
        start = int(request.query.get("continue", "0"))
        metadata = {"resourceVersion": str(start + 7)} | ({"continue": str(start + 1)} if start < 2 else {})
        return web.json_response({"metadata": metadata, "items": [{"metadata": {"name": f"{start}"}}]})

    found = await (await connect(pages)).list(PODS, namespace="ns")
    assert [text(obj(each, "metadata"), "name") for each in found.items] == ["0", "1", "2"]
    assert {(each["apiVersion"], each["kind"]) for each in found.items} == {("v1", "Pod")}
    assert found.resource_version == "9"


async def test_a_deletion_says_what_it_is_limited_to(connect: Connect) -> None:
    recorder = Recorder({"kind": "Status"})
    client = await connect(recorder.handle)
    assert await client.delete(PODS, "a", namespace="ns") == {"kind": "Status"}
    await client.delete(
        PODS, "a", namespace="ns", uid="u", resource_version="7", propagation="Background", dry_run=True
    )
    await client.delete(PODS, "a", namespace="ns", uid="u")

    plain = {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert [body for *_, body in recorder.seen] == [
        plain,
        plain
        | {
            "preconditions": {"uid": "u", "resourceVersion": "7"},
            "propagationPolicy": "Background",
            "dryRun": ["All"],
        },
        plain | {"preconditions": {"uid": "u"}},
    ]


async def test_a_preview_stores_nothing_and_an_apply_takes_the_fields_over(connect: Connect) -> None:
    recorder = Recorder({"kind": "Pod"})
    client = await connect(recorder.handle)
    body: JsonObject = {"kind": "Pod", "metadata": {"name": "a"}}
    assert await client.apply(PODS, "a", body, namespace="ns", field_manager="helm") == {"kind": "Pod"}
    assert await client.preview_apply(PODS, "a", body, namespace="ns", field_manager="helm") == {"kind": "Pod"}

    (method, path, applied, sent), (*_, previewed, _) = recorder.seen
    assert (method, path, sent) == ("PATCH", "/api/v1/namespaces/ns/pods/a", body)
    assert (applied["fieldManager"], applied["force"], "dryRun" in applied) == ("helm", "true", False)
    assert previewed == applied | {"dryRun": "All"}


@pytest.mark.parametrize(("answer", "expected"), [({"allowed": True}, True), ({"allowed": False}, False), ({}, False)])
async def test_a_review_asks_for_exactly_what_is_meant(connect: Connect, answer: JsonObject, expected: bool) -> None:
    recorder = Recorder({"status": answer})
    client = await connect(recorder.handle)
    assert await client.is_allowed(PODS, "get", namespace="ns", subresource="log", name="a") is expected
    assert await client.is_allowed(NAMESPACES, "create") is expected

    attributes = [body["spec"]["resourceAttributes"] for *_, body in recorder.seen]
    assert attributes == [
        {"group": "", "verb": "get", "resource": "pods", "namespace": "ns", "subresource": "log", "name": "a"},
        {"group": "", "verb": "create", "resource": "namespaces"},
    ]


async def test_discovery_reads_the_documents_of_the_api_server(cluster: FakeCluster) -> None:
    resource = await cluster.kube.discovery.resource_for(api_version="xapp-operator.io/v1alpha1", kind="XApp")
    assert (resource.plural, resource.namespaced, resource.has_status) == ("xapps", True, True)
    assert [each.path for each in cluster.requests("GET")] == ["/api", "/apis"]
    assert all("as=APIGroupDiscoveryList" in each.headers["Accept"] for each in cluster.requests("GET"))


async def test_a_connection_is_that_of_the_identity(cluster: FakeCluster) -> None:
    assert (await cluster.kube.connection()).token is None
    other = await cluster.kube.with_token("abc").connection()
    assert (other.token, other.certificate_data, other.private_key_data) == ("abc", None, None)
    with pytest.raises(ValueError, match="a connection cannot impersonate"):
        await cluster.kube.impersonate("jane").connection()
    for user in ("ja\nne", ""):
        with pytest.raises(Unauthenticated, match="must be printable text"):
            cluster.kube.impersonate(user)


def test_a_namespaced_object_needs_a_namespace(cluster: FakeCluster) -> None:
    with pytest.raises(ValueError, match="pods is namespaced: give the object a namespace"):
        cluster.kube.create(PODS, {"metadata": {"name": "a"}}).send(None)
    with pytest.raises(ValueError, match="a subresource needs the name of its object"):
        PODS.path(namespace="ns", subresource="log")


def test_the_options_of_a_log_are_its_parameters() -> None:
    assert PodLogOptions(container="main").query_params() == {"container": "main"}
    everything = PodLogOptions(
        container="main",
        tail_lines=0,
        since_seconds=1,
        since_time="now",
        follow=True,
        previous=True,
        timestamps=True,
        limit_bytes=2,
    )
    assert everything.query_params() == {
        "container": "main",
        "tailLines": "0",
        "sinceSeconds": "1",
        "sinceTime": "now",
        "limitBytes": "2",
        "follow": "true",
        "previous": "true",
        "timestamps": "true",
    }


async def test_a_namespace_is_terminating_when_it_is_being_deleted_or_gone(cluster: FakeCluster) -> None:
    await cluster.create(NAMESPACES, "here")
    await cluster.create(NAMESPACES, "ending", metadata={"finalizers": ["example.com/wait"]})
    await cluster.kube.delete(NAMESPACES, "ending")

    terminating = {name: await is_namespace_terminating(cluster.kube, name) for name in ("here", "ending", "gone")}
    assert terminating == {"here": False, "ending": True, "gone": True}


async def test_only_the_first_page_is_read(connect: Connect) -> None:
    recorder = Recorder({"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "a"}}]})
    client = await connect(recorder.handle)
    found = await first_page(client, SERVICES, "ns", limit=1, label_selector="a=b", field_selector="c=d")

    assert [obj(each, "metadata") for each in found] == [{"name": "a"}]
    assert [query for _, _, query, _ in recorder.seen] == [
        {"labelSelector": "a=b", "fieldSelector": "c=d", "limit": "1"}
    ]


async def test_metadata_alone_can_be_read(connect: Connect) -> None:
    recorder = Recorder({"metadata": {}, "items": [{"metadata": {"name": "a"}}]})
    client = await connect(recorder.handle)
    await client.get(PODS, "a", namespace="ns", metadata_only=True)
    assert (await client.list(PODS, namespace="ns", metadata_only=True)).items == [{"metadata": {"name": "a"}}]
    await client.get(PODS, "a", namespace="ns")
    await client.list(PODS, namespace="ns")
    assert ["PartialObjectMetadata" in each for each in recorder.accepts] == [True, True, False, False]
    assert [query for _, _, query, _ in recorder.seen] == [{}, {"limit": "500"}] * 2


class Streams(Transport):
    """Streams that end at once; each with the longest pause that its reader allows."""

    def __init__(self) -> None:
        super().__init__(FakeApiServer(), fake_credentials("http://127.0.0.1:6443"))
        self.opened: list[tuple[ApiRequest, float | None]] = []

    @asynccontextmanager
    async def stream(
        self, request: ApiRequest, *, identity: RequestIdentity, read_timeout: float | None
    ) -> AsyncIterator[AsyncGenerator[bytes]]:
        self.opened.append((request, read_timeout))
        yield nothing()


async def nothing() -> AsyncGenerator[bytes]:
    chunks: tuple[bytes, ...] = ()
    for each in chunks:
        yield each


async def test_a_watch_asks_for_what_is_wanted_and_may_be_silent_for_its_time() -> None:
    streams = Streams()
    client = KubeClient(streams)
    assert [each async for each in client.watch(PODS, timeout_seconds=30)] == []
    everything = client.watch(
        PODS, namespace="ns", label_selector="a=b", resource_version="7", metadata_only=True, initial_events=True
    )
    assert [each async for each in everything] == []

    (plain, pause), (full, long_pause) = streams.opened
    both = {"watch": "true", "allowWatchBookmarks": "true"}
    assert (plain.method, plain.path, plain.headers, pause) == ("GET", "/api/v1/pods", {}, 40)
    assert plain.params == both | {"timeoutSeconds": "30"}
    assert (full.method, full.path) == ("GET", "/api/v1/namespaces/ns/pods")
    assert full.headers == {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    seconds = int(full.params["timeoutSeconds"])
    assert full.params == both | {
        "timeoutSeconds": str(seconds),
        "labelSelector": "a=b",
        "resourceVersion": "7",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert 60 <= seconds <= 90
    assert long_pause == seconds + 10


@pytest.mark.parametrize(("follow", "pause"), [(False, 30), (True, None)])
async def test_only_a_log_that_is_followed_may_be_silent(follow: bool, pause: float | None) -> None:
    streams = Streams()
    options = PodLogOptions(container="main", follow=follow)
    async with KubeClient(streams).stream_log("a", options, namespace="ns") as chunks:
        assert [each async for each in chunks] == []
    [(request, allowed)] = streams.opened
    assert (request.method, request.path, request.headers) == (
        "GET",
        "/api/v1/namespaces/ns/pods/a/log",
        {"Accept": "*/*"},
    )
    assert (request.params, allowed) == (options.query_params(), pause)


async def test_a_client_that_was_left_is_closed(connect: Connect) -> None:
    recorder = Recorder({"gitVersion": "v1"})
    async with await connect(recorder.handle) as client:
        assert await client.server_version() == "v1"
    with pytest.raises(ApiUnavailable, match="this process is ending"):
        await client.server_version()


@pytest.mark.parametrize("status", [400, 418])
async def test_a_status_of_400_or_more_is_an_error(connect: Connect, status: int) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "message": "no"}, status=status)

    with pytest.raises(KubeError, match="no"):
        await (await connect(refuse)).server_version()


async def test_a_created_object_is_deleted_again_but_no_other(cluster: FakeCluster) -> None:
    async def make() -> JsonObject:
        return obj(await cluster.create(CONFIGMAPS, "a", namespace="ns"), "metadata")

    def exists() -> bool:
        return cluster.server.find("configmaps", "a") is not None

    created = await make()
    await cluster.kube.patch(CONFIGMAPS, "a", {"data": {"x": "y"}}, namespace="ns")
    await delete_created(cluster.kube, CONFIGMAPS, created, if_unchanged=True)
    assert exists()
    await delete_created(cluster.kube, CONFIGMAPS, created)
    assert not exists()
    await make()
    await delete_created(cluster.kube, CONFIGMAPS, created)
    assert exists()  # a later one of the same name
    again = obj(await cluster.kube.get(CONFIGMAPS, "a", namespace="ns"), "metadata")
    await delete_created(cluster.kube, CONFIGMAPS, again, if_unchanged=True)
    assert not exists()
    await delete_created(cluster.kube, CONFIGMAPS, again)  # only logged


async def test_the_address_of_a_node_is_read_once_a_minute(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(advertise_address, "time", clock)
    found = AdvertiseAddress(cluster.kube, Settings())
    assert await found.get() is None
    await cluster.kube.create(NODES, node("a", internal="10.0.0.2", created=2))
    assert await found.get() is None
    clock.advance(CACHE_SECONDS)
    assert await found.get() == "10.0.0.2"

    await cluster.kube.create(NODES, node("older", internal="10.0.0.1", created=1))
    clock.advance(CACHE_SECONDS - 1)
    assert await found.get() == "10.0.0.2"
    assert len(cluster.requests("GET")) == 2
    clock.advance(1)
    assert await found.get() == "10.0.0.2"  # it stays while the node has it
    assert len(cluster.requests("GET")) == 3
    await cluster.kube.delete(NODES, "a")
    clock.advance(CACHE_SECONDS)
    assert await found.get() == "10.0.0.1"


async def test_a_configured_address_is_taken_as_it_is(cluster: FakeCluster) -> None:
    assert await AdvertiseAddress(cluster.kube, Settings(cluster_advertise_address="192.0.2.1")).get() == "192.0.2.1"
    assert cluster.transport.requests == []


async def test_a_failure_of_the_api_server_is_an_error_of_its_kind(cluster: FakeCluster) -> None:
    with pytest.raises(NotFound):
        await cluster.kube.get(XAPPS, "a", namespace="ns")
    created = await cluster.create(CONFIGMAPS, "a", namespace="ns")
    await cluster.kube.patch(CONFIGMAPS, "a", {"data": {"x": "y"}}, namespace="ns")
    with pytest.raises(Conflict):
        await cluster.kube.replace(CONFIGMAPS, created)

    def deny(_: ApiRequest) -> None:
        raise AccessDenied("no")

    cluster.transport.before = deny
    with pytest.raises(AccessDenied):
        await cluster.kube.server_version()


async def test_clients_of_other_identities_share_what_is_discovered(cluster: FakeCluster) -> None:
    others: list[KubeClient] = [cluster.kube.with_token("abc"), cluster.kube.impersonate("jane")]
    assert [each.discovery is cluster.kube.discovery for each in others] == [True, True]


async def test_a_client_writes_only_while_it_may(cluster: FakeCluster) -> None:
    """Whoever it acts as: also as the identity of an XApp."""
    leads = True
    client = cluster.kube.writing_while(lambda: leads)
    for each in (client, client.impersonate("jane"), client.for_callers()):
        leads = True
        await each.create(NAMESPACES, {"metadata": {"name": "x"}}, dry_run=True)
        leads = False
        sent = len(cluster.transport.requests)
        with pytest.raises(ApiUnavailable, match="lost its Lease"):
            await each.create(NAMESPACES, {"metadata": {"name": "x"}}, dry_run=True)
        assert len(cluster.transport.requests) == sent
        await each.list(NAMESPACES)
