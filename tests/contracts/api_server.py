"""What the operator relies on in an API server."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.api.json import Json, JsonObject, integer, items, obj, text
from xapp_operator.domain.replaced_items import find_replaced, hand_over
from xapp_operator.errors import AlreadyExists, Conflict, Invalid, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, DEPLOYMENTS, SERVICES, XAPPS

WATCH_SECONDS = 30.0


def config_map(name: str, *, data: dict[str, str] | None = None, **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {**(data or {"a": "one"})},
    }


def service(*ports: tuple[str, int]) -> JsonObject:
    listed: list[Json] = [{"name": name, "port": number} for name, number in ports]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": listed}}


def ports_of(body: JsonObject) -> dict[str, int]:
    return {text(each, "name"): integer(each, "port") for each in items(obj(body, "spec"), "ports")}


def deployment(container: str) -> JsonObject:
    labels: JsonObject = {"app": "a"}
    pod: JsonObject = {"containers": [{"name": container, "image": "x:1", "workingDir": "/a"}]}
    spec: JsonObject = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


def containers_of(body: JsonObject) -> list[str]:
    return sorted(text(each, "name") for each in items(obj(obj(obj(body, "spec"), "template"), "spec"), "containers"))


def version_of(body: JsonObject) -> str:
    return text(obj(body, "metadata"), "resourceVersion")


def generation_of(body: JsonObject) -> int:
    return integer(obj(body, "metadata"), "generation")


def fields_of(body: JsonObject) -> dict[str, object]:
    """Return the managed fields by manager."""
    return {text(each, "manager"): each["fieldsV1"] for each in items(obj(body, "metadata"), "managedFields")}


class ApiServerContract:
    """`kube` is a client, `namespace` a namespace of its own; the kinds of the operator are installed."""

    async def test_object_is_created_once(self, kube: KubeClient, namespace: str) -> None:
        created = await kube.create(CONFIGMAPS, config_map("a"), namespace=namespace)

        assert text(obj(created, "metadata"), "uid")
        assert await kube.get(CONFIGMAPS, "a", namespace=namespace) == created
        with pytest.raises(AlreadyExists):
            await kube.create(CONFIGMAPS, config_map("a"), namespace=namespace)
        with pytest.raises(Invalid):
            await kube.create(CONFIGMAPS, config_map("Not A Name"), namespace=namespace)
        with pytest.raises(NotFound):
            await kube.get(CONFIGMAPS, "b", namespace=namespace)

    async def test_write_with_an_old_version_is_a_conflict(self, kube: KubeClient, namespace: str) -> None:
        created = await kube.create(CONFIGMAPS, config_map("a"), namespace=namespace)
        change: JsonObject = {"data": {"a": "two"}}
        changed = await kube.patch(CONFIGMAPS, "a", change, namespace=namespace)

        assert int(version_of(changed)) > int(version_of(created))
        with pytest.raises(Conflict):
            await kube.replace(CONFIGMAPS, created, namespace=namespace)
        old: JsonObject = {"metadata": {"resourceVersion": version_of(created)}, "data": {"a": "three"}}
        with pytest.raises(Conflict):
            await kube.patch(CONFIGMAPS, "a", old, namespace=namespace)
        same = await kube.patch(CONFIGMAPS, "a", change, namespace=namespace)
        assert version_of(same) == version_of(changed)
        replaced = await kube.replace(CONFIGMAPS, config_map("a", data={"b": "new"}), namespace=namespace)
        assert replaced["data"] == {"b": "new"}
        assert obj(replaced, "metadata")["uid"] == obj(created, "metadata")["uid"]

    async def test_null_in_a_patch_removes(self, kube: KubeClient, namespace: str) -> None:
        created = config_map("a", data={"a": "one", "b": "two"}, labels={"x": "1", "y": "2"})
        await kube.create(CONFIGMAPS, created, namespace=namespace)

        patch: JsonObject = {"data": {"a": None}, "metadata": {"labels": {"x": None, "z": "3"}}}
        patched = await kube.patch(CONFIGMAPS, "a", patch, namespace=namespace)

        assert patched["data"] == {"b": "two"}
        assert obj(patched, "metadata")["labels"] == {"y": "2", "z": "3"}

    async def test_status_has_its_own_path_and_no_generation(self, kube: KubeClient, namespace: str) -> None:
        created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace), namespace=namespace)
        assert (created["status"], generation_of(created)) == ({"observedGeneration": -1}, 1)

        status: JsonObject = {"status": {"phase": "Deployed"}, "spec": {"owner": "joe"}}
        written = await kube.patch(XAPPS, "a", status, namespace=namespace, subresource="status")
        assert written["status"] == {"observedGeneration": -1, "phase": "Deployed"}
        assert obj(written, "spec")["owner"] == "jane"
        assert generation_of(written) == 1

        both: JsonObject = {"status": {"phase": "Failed"}, "spec": {"owner": "joe"}}
        edited = await kube.patch(XAPPS, "a", both, namespace=namespace)
        assert obj(edited, "status")["phase"] == "Deployed"
        assert generation_of(edited) == 2
        annotated: JsonObject = {"metadata": {"annotations": {"a": "b"}}}
        assert generation_of(await kube.patch(XAPPS, "a", annotated, namespace=namespace)) == 2

    async def test_finalizer_holds_an_object_that_is_deleted(self, kube: KubeClient, namespace: str) -> None:
        await kube.create(XAPPS, xapp_manifest("a", namespace=namespace), namespace=namespace)
        held: JsonObject = {"metadata": {"finalizers": ["example.com/held"]}}
        await kube.patch(XAPPS, "a", held, namespace=namespace)

        await kube.delete(XAPPS, "a", namespace=namespace)

        deleted = await kube.get(XAPPS, "a", namespace=namespace)
        assert text(obj(deleted, "metadata"), "deletionTimestamp")
        assert generation_of(deleted) == 2
        await kube.delete(XAPPS, "a", namespace=namespace)
        assert version_of(await kube.get(XAPPS, "a", namespace=namespace)) == version_of(deleted)
        await kube.patch(XAPPS, "a", {"metadata": {"finalizers": []}}, namespace=namespace)
        with pytest.raises(NotFound):
            await kube.get(XAPPS, "a", namespace=namespace)

    async def test_delete_needs_the_object_that_is_meant(self, kube: KubeClient, namespace: str) -> None:
        created = await kube.create(CONFIGMAPS, config_map("a"), namespace=namespace)

        with pytest.raises(Conflict):
            await kube.delete(CONFIGMAPS, "a", namespace=namespace, uid="another")
        await kube.delete(CONFIGMAPS, "a", namespace=namespace, uid=text(obj(created, "metadata"), "uid"))
        with pytest.raises(NotFound):
            await kube.delete(CONFIGMAPS, "a", namespace=namespace)

    async def test_list_selects_by_labels(self, kube: KubeClient, namespace: str) -> None:
        for name in ("a", "b"):
            await kube.create(CONFIGMAPS, config_map(name, labels={"app": name}), namespace=namespace)

        found = await kube.list(CONFIGMAPS, namespace=namespace, label_selector="app=b", metadata_only=True)

        assert [text(obj(each, "metadata"), "name") for each in found.items] == ["b"]
        assert "data" not in found.items[0]

    async def test_apply_keeps_what_others_have_set(self, kube: KubeClient, namespace: str) -> None:
        await kube.create(CONFIGMAPS, config_map("a", data={"theirs": "x", "a": "one"}), namespace=namespace)
        body = config_map("a", data={"a": "two"}, labels={"app": "a"})

        preview = await kube.preview_apply(CONFIGMAPS, "a", body, namespace=namespace, field_manager="helm")
        assert preview["data"] == {"theirs": "x", "a": "two"}
        assert (await kube.get(CONFIGMAPS, "a", namespace=namespace))["data"] == {"theirs": "x", "a": "one"}
        applied = await kube.apply(CONFIGMAPS, "a", body, namespace=namespace, field_manager="helm")

        assert applied["data"] == {"theirs": "x", "a": "two"}
        fields = [each for each in items(obj(applied, "metadata"), "managedFields") if each["manager"] == "helm"]
        assert [(each["operation"], each["fieldsV1"]) for each in fields] == [
            ("Apply", {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:app": {}}}})
        ]

    async def test_a_change_takes_its_fields_from_who_applied_them(self, kube: KubeClient, namespace: str) -> None:
        body = config_map("a", data={"a": "one", "b": "two", "c": "three"})
        await kube.apply(CONFIGMAPS, "a", body, namespace=namespace, field_manager="helm")

        changed = await kube.patch(CONFIGMAPS, "a", {"data": {"a": "theirs", "c": None}}, namespace=namespace)

        assert fields_of(changed) == {"helm": {"f:data": {"f:b": {}}}, "xapp-operator": {"f:data": {"f:a": {}}}}
        applied = await kube.apply(CONFIGMAPS, "a", body, namespace=namespace, field_manager="helm")
        assert fields_of(applied) == {"helm": {"f:data": {"f:a": {}, "f:b": {}, "f:c": {}}}}

    async def test_an_item_of_another_manager_with_the_same_name_makes_an_apply_invalid(
        self, kube: KubeClient, namespace: str
    ) -> None:
        charts = service(("http", 8080), ("metrics", 9000))
        await kube.apply(SERVICES, "a", charts, namespace=namespace, field_manager="helm")
        change: JsonObject = {"spec": service(("http", 9090), ("metrics", 9000))["spec"]}
        edited = await kube.patch(SERVICES, "a", change, namespace=namespace)

        with pytest.raises(Invalid) as refused:
            await kube.preview_apply(SERVICES, "a", charts, namespace=namespace, field_manager="helm")

        fields = [each.field for each in refused.value.errors]
        assert fields == ["spec.ports[1].name"]
        replaced = find_replaced(edited, charts, refused=fields)
        assert [(each.path, each.managers) for each in replaced] == [(("spec", "ports", "0"), ("xapp-operator",))]
        entries = hand_over(edited, replaced, api_version="v1")
        metadata: JsonObject = {"managedFields": entries, "resourceVersion": version_of(edited)}
        handed = await kube.patch(SERVICES, "a", {"metadata": metadata}, namespace=namespace)
        assert ports_of(handed) == {"http": 9090, "metrics": 9000}
        assert fields_of(handed).keys() == {"helm"}
        applied = await kube.apply(SERVICES, "a", charts, namespace=namespace, field_manager="helm")
        assert ports_of(applied) == {"http": 8080, "metrics": 9000}

    async def test_an_item_that_is_renamed_stays_beside_the_one_that_is_applied_until_its_manager_is_changed(
        self, kube: KubeClient, namespace: str
    ) -> None:
        charts = deployment("main")
        await kube.apply(DEPLOYMENTS, "a", charts, namespace=namespace, field_manager="helm")
        edited = await kube.patch(DEPLOYMENTS, "a", {"spec": deployment("renamed")["spec"]}, namespace=namespace)

        both = await kube.preview_apply(DEPLOYMENTS, "a", charts, namespace=namespace, field_manager="helm")

        assert containers_of(both) == ["main", "renamed"]
        replaced = find_replaced(edited, charts, desired=both)
        metadata: JsonObject = {"managedFields": hand_over(edited, replaced, api_version="apps/v1")}
        handed = await kube.patch(DEPLOYMENTS, "a", {"metadata": metadata}, namespace=namespace)
        assert generation_of(handed) == generation_of(edited), "no pod restarts because of that"
        applied = await kube.apply(DEPLOYMENTS, "a", charts, namespace=namespace, field_manager="helm")
        assert containers_of(applied) == ["main"]

    async def test_watch_shows_what_the_selector_picks(self, kube: KubeClient, namespace: str) -> None:
        await kube.create(CONFIGMAPS, config_map("old", labels={"app": "a"}), namespace=namespace)
        seen: list[tuple[str, str]] = []
        listed = asyncio.Event()

        async def follow() -> None:
            watch = kube.watch(CONFIGMAPS, namespace=namespace, label_selector="app=a", initial_events=True)
            async with aclosing(watch) as events:
                async for event in events:
                    if event.ends_initial_events:
                        listed.set()
                    elif event.type != "BOOKMARK":
                        seen.append((event.type, text(obj(event.object, "metadata"), "name")))
                    if event.type == "DELETED" and seen[-1][1] == "new":
                        return

        async with asyncio.timeout(WATCH_SECONDS):
            following = asyncio.create_task(follow())
            await listed.wait()
            await kube.create(CONFIGMAPS, config_map("new", labels={"app": "b"}), namespace=namespace)
            for label in ("a", "b"):
                change: JsonObject = {"metadata": {"labels": {"app": label}}}
                await kube.patch(CONFIGMAPS, "old", change, namespace=namespace)
                await kube.patch(CONFIGMAPS, "new", change, namespace=namespace)
            await following

        assert seen == [
            ("ADDED", "old"),
            ("ADDED", "new"),
            ("DELETED", "old"),
            ("DELETED", "new"),
        ]

    async def test_discovery_names_the_kinds_of_charts(self, kube: KubeClient) -> None:
        found = await kube.discovery.resource_for(api_version="apps/v1", kind="Deployment")

        assert (found.plural, found.namespaced, found.has_status) == ("deployments", True, True)
