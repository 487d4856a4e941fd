"""The kinds that a cluster serves, and when they are read again."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.fakes.clock import FakeClock
from xapp_operator.api.json import JsonObject, items
from xapp_operator.errors import NotFound
from xapp_operator.kube import discovery
from xapp_operator.kube.discovery import (
    Discovery,
)
from xapp_operator.kube.resources import PODS, Resource

API_VERSIONS_MAX_AGE_SECONDS = 60.0
MISSING_KIND_MAX_AGE_SECONDS = 1.0
RESOURCES_MAX_AGE_SECONDS = 600.0

ALL = ["create", "delete", "get", "list"]


def served(kind: str, *, namespaced: bool = True, verbs: object = ALL, status: bool = False) -> JsonObject:
    return {
        "resource": f"{kind.lower()}s",
        "responseKind": {"kind": kind},
        "scope": "Namespaced" if namespaced else "Cluster",
        "verbs": verbs,  # type: ignore[dict-item]
        "subresources": [{"subresource": "scale"}, {"subresource": "status" if status else "exec"}],
    }


def group(name: str, **versions: list[JsonObject]) -> JsonObject:
    return {
        "metadata": {"name": name},
        "versions": [{"version": version, "resources": [*each]} for version, each in versions.items()],
    }


class FakeDocuments:
    """The documents of an API server, and the reads of them."""

    def __init__(self) -> None:
        self.core = group("", v1=[served("Pod", status=True), served("Namespace", namespaced=False)])
        self.groups: list[JsonObject] = [
            group("apps", v1=[served("Deployment")], v1beta1=[served("Deployment"), served("Old")]),
            group("rbac", v1=[served("ClusterRole", namespaced=False), served("Review", verbs=["create"])]),
            group("odd", v1=[served("Odd", verbs=None), served("Readable", verbs=["list"])]),
        ]
        self.read: list[str] = []

    async def fetch(self, path: str, accept: str) -> JsonObject:
        assert accept.startswith("application/json;g=apidiscovery.k8s.io;v=v2;")
        self.read.append(path)
        await asyncio.sleep(0)
        return {"items": [self.core] if path == "/api" else self.groups}  # type: ignore[dict-item]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    made = FakeClock()
    monkeypatch.setattr(discovery, "time", made)
    return made


@pytest.fixture
def documents() -> FakeDocuments:
    return FakeDocuments()


DEPLOYMENT = Resource("apps", "v1", "deployments", "Deployment")
OLD_DEPLOYMENT = Resource("apps", "v1beta1", "deployments", "Deployment")


async def test_a_kind_has_the_resource_that_the_cluster_serves(documents: FakeDocuments) -> None:
    found = Discovery(documents.fetch)
    assert await found.resource_for(api_version="apps/v1", kind="Deployment") == DEPLOYMENT
    assert await found.resource_for(api_version="apps/v1beta1", kind="Deployment") == OLD_DEPLOYMENT
    pod = await found.resource_for(api_version="v1", kind="Pod")
    assert (pod.group, pod.plural, pod.namespaced, pod.has_status) == ("", "pods", True, True)
    assert pod == PODS  # whether it has a status or not
    namespace = await found.resource_for(api_version="v1", kind="Namespace")
    assert (namespace.namespaced, namespace.has_status) == (False, False)
    assert documents.read == ["/api", "/apis"]


async def test_what_can_be_removed_is_listed_by_scope(documents: FakeDocuments) -> None:
    found = Discovery(documents.fetch)
    documents.core = group(
        "", v1=[served("Pod"), *(served(each, namespaced=False) for each in ("Namespace", "PersistentVolume"))]
    )
    wide = [served("Wide", namespaced=False)]
    documents.groups.append(group("extra", v1=wide, v0=wide))
    cluster_scoped = await found.cluster_scoped_resources()
    assert [(each.api_version, each.kind) for each in cluster_scoped] == [
        ("extra/v1", "Wide"),
        ("rbac/v1", "ClusterRole"),
        ("v1", "PersistentVolume"),
        ("v1", "Namespace"),
    ]
    namespaced = await found.namespaced_resources()
    assert {(each.api_version, each.kind) for each in namespaced} == {
        ("v1", "Pod"),
        ("apps/v1", "Deployment"),
        ("apps/v1beta1", "Old"),
    }


async def test_helm_gets_the_versions_and_kinds_sorted(documents: FakeDocuments) -> None:
    documents.groups = documents.groups[:1]
    assert await Discovery(documents.fetch).api_versions() == (
        "apps/v1",
        "apps/v1/Deployment",
        "apps/v1beta1",
        "apps/v1beta1/Deployment",
        "apps/v1beta1/Old",
        "v1",
        "v1/Namespace",
        "v1/Pod",
    )


async def test_simultaneous_requests_share_one_read(documents: FakeDocuments) -> None:
    found = Discovery(documents.fetch)
    await asyncio.gather(*(found.namespaced_resources() for _ in range(5)), found.served_kinds(), found.api_versions())
    assert documents.read == ["/api", "/apis"]


async def test_documents_are_read_again_when_they_are_old(documents: FakeDocuments, clock: FakeClock) -> None:
    found = Discovery(documents.fetch)
    await found.namespaced_resources()
    documents.groups = []
    waits = (
        (found.served_kinds, MISSING_KIND_MAX_AGE_SECONDS),
        (found.api_versions, API_VERSIONS_MAX_AGE_SECONDS),
        (found.namespaced_resources, RESOURCES_MAX_AGE_SECONDS),
        (found.cluster_scoped_resources, RESOURCES_MAX_AGE_SECONDS),
    )
    for ask, seconds in waits:
        before = len(documents.read)
        clock.advance(seconds)
        await ask()
        assert len(documents.read) == before
        clock.advance(0.5)
        await ask()
        assert len(documents.read) == before + 2
    assert await found.served_kinds() == {("v1", "Pod"), ("v1", "Namespace")}


async def test_a_kind_that_is_missing_is_looked_for_again_at_most_each_second(
    documents: FakeDocuments, clock: FakeClock
) -> None:
    found = Discovery(documents.fetch)
    for _ in range(3):
        with pytest.raises(NotFound, match="the cluster does not serve New of new/v1: install its CustomResource"):
            await found.resource_for(api_version="new/v1", kind="New")
    assert len(documents.read) == 2
    documents.groups = [*documents.groups, group("new", v1=[served("New")])]
    clock.advance(MISSING_KIND_MAX_AGE_SECONDS + 1)
    assert (await found.resource_for(api_version="new/v1", kind="New")).plural == "news"
    clock.advance(MISSING_KIND_MAX_AGE_SECONDS + 1)
    await found.resource_for(api_version="new/v1", kind="New")
    assert len(documents.read) == 4


async def test_a_group_is_stale_while_its_api_server_does_not_answer(documents: FakeDocuments) -> None:
    away = group("away", v1=[], v2=[served("Thing")])
    versions = items(away, "versions")
    versions[0]["freshness"], versions[1]["freshness"] = "Stale", "Current"
    documents.groups.append(away)
    assert await Discovery(documents.fetch).stale_groups() == {"away"}


async def test_versions_of_a_kind_begin_with_the_preferred_one(documents: FakeDocuments) -> None:
    found = await Discovery(documents.fetch).served_versions()
    assert found["apps", "Deployment"] == ("apps/v1", "apps/v1beta1")
    assert (found["apps", "Old"], found["", "Pod"]) == (("apps/v1beta1",), ("v1",))
