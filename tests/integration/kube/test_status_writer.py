"""A status is written as the difference, once, and only to its object."""

from __future__ import annotations

import pytest

from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.errors import Conflict, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.status_writer import StatusWriter

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("crds")]


def condition(kind: str, status: str, *, message: str = "") -> JsonObject:
    return {
        "type": kind,
        "status": status,
        "reason": "Progressing",
        "message": message,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        "observedGeneration": 1,
    }


def version(body: JsonObject | None) -> str:
    return text(obj(obj({"body": body}, "body"), "metadata"), "resourceVersion")


DEPLOYING: JsonObject = {
    "observedGeneration": 1,
    "phase": "Deploying",
    "conditions": [condition("Ready", "False"), condition("Reconciling", "True")],
    "release": {"name": "a", "revision": 1, "chart": "hello"},
    "resources": {"total": 3, "ready": 0},
}


async def test_a_status_write_returns_the_stored_object(kube: KubeClient, namespace: str) -> None:
    created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    stored = await StatusWriter(kube).write(created, DEPLOYING)
    assert stored == await kube.get(XAPPS, "a", namespace=namespace)
    assert obj(stored, "status") == DEPLOYING
    assert obj(stored, "spec") == obj(created, "spec")


async def test_the_managed_fields_do_not_list_the_fields_of_the_status(kube: KubeClient, namespace: str) -> None:
    created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    stored = await StatusWriter(kube).write(created, DEPLOYING)
    managed = items(obj(stored, "metadata"), "managedFields")
    assert [each["fieldsV1"] for each in managed if each.get("subresource") == "status"] == [{"f:status": {}}]


async def test_an_equal_status_is_not_sent(kube: KubeClient, namespace: str) -> None:
    created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    writer = StatusWriter(kube)
    stored = await writer.write(created, DEPLOYING)
    assert stored is not None
    assert await writer.write(stored, {**DEPLOYING, "health": None}) is None
    # A client without a connection: a writer that sent anything would fail.
    await kube.close()
    assert await StatusWriter(kube).write(stored, DEPLOYING) is None


async def test_omitted_fields_are_removed_and_conditions_are_replaced_as_a_whole(
    kube: KubeClient, namespace: str
) -> None:
    created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    writer = StatusWriter(kube)
    stored = await writer.write(created, {**DEPLOYING, "heldRevision": 3})
    assert stored is not None
    ready = condition("Ready", "True", message="deployed")
    deployed: JsonObject = {
        "observedGeneration": 1,
        "phase": "Deployed",
        "conditions": [ready],
        "release": {"name": "a", "revision": 1},
    }
    stored = await writer.write(stored, deployed)
    assert obj(stored, "status") == deployed
    assert items(obj(stored, "status"), "conditions") == [ready]


async def test_a_stale_reader_neither_undoes_nor_skips_a_write(kube: KubeClient, namespace: str) -> None:
    created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    writer = StatusWriter(kube)
    deploying = await writer.write(created, DEPLOYING)
    assert deploying is not None
    assert await writer.write(deploying, {**DEPLOYING, "phase": "Deployed"}) is not None
    # The reader still has the old state; a return to that state is a change.
    back = await writer.write(deploying, DEPLOYING)
    assert text(obj(back, "status"), "phase") == "Deploying"


async def test_a_concurrent_change_of_metadata_does_not_fail_a_status_write(kube: KubeClient, namespace: str) -> None:
    created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    await kube.patch(XAPPS, "a", {"metadata": {"annotations": {"a": "b"}}}, namespace=namespace)
    stored = await StatusWriter(kube).write(created, DEPLOYING)
    assert obj(stored, "status") == DEPLOYING
    assert obj(obj(stored or {}, "metadata"), "annotations") == {"a": "b"}


async def test_a_status_that_others_have_written_since_it_was_read_is_not_replaced(
    kube: KubeClient, namespace: str
) -> None:
    created = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    other: JsonObject = {"phase": "Failed", "heldRevision": 3, "observedGeneration": 1}
    written = await kube.patch(XAPPS, "a", {"status": other}, namespace=namespace, subresource="status")
    with pytest.raises(Conflict, match="has been written by others since it was read"):
        await StatusWriter(kube).write(created, DEPLOYING)
    assert await kube.get(XAPPS, "a", namespace=namespace) == written


async def test_a_status_never_reaches_another_object_of_the_same_name(kube: KubeClient, namespace: str) -> None:
    first = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    await kube.delete(XAPPS, "a", namespace=namespace)
    with pytest.raises(NotFound):
        await StatusWriter(kube).write(first, DEPLOYING)
    second = await kube.create(XAPPS, xapp_manifest("a", namespace=namespace))
    with pytest.raises(Conflict):
        await StatusWriter(kube).write(first, DEPLOYING)
    assert version(await kube.get(XAPPS, "a", namespace=namespace)) == version(second)
