"""The ChartArchive of an uploaded chart while owners are added and removed: a new deployment must not lose it."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.support.apiserver import ARCHIVES
from tests.support.charts import archive_name, chart_archive

pytestmark = pytest.mark.integration

ARCHIVE: Final = chart_archive()
STORED: Final = archive_name(ARCHIVE)


def stored(client: GatewayClient) -> dict[str, Any] | None:
    return client.api.find(f"{ARCHIVES.format(client.namespace)}/{STORED}")


def owner(client: GatewayClient, name: str = XAPP_NAME) -> dict[str, Any]:
    """Return the reference with which the operator makes an XApp the owner."""
    uid = client.xapp(name)["metadata"]["uid"]
    return {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "XApp", "name": name, "uid": uid}


def own(client: GatewayClient, *owners: dict[str, Any]) -> None:
    client.api.patch(f"{ARCHIVES.format(client.namespace)}/{STORED}", {"metadata": {"ownerReferences": list(owners)}})


def test_a_chart_without_a_living_owner_is_released_by_a_new_upload(client: GatewayClient) -> None:
    """The garbage collector would delete it with its owner, although the new XApp refers to it."""
    client.deploy(ARCHIVE)
    own(client, owner(client))
    assert client.delete_deployment({"name": XAPP_NAME, "namespace": client.namespace}).status_code == 202

    client.deploy(ARCHIVE, xAppName="again")

    kept = stored(client)
    assert kept is not None
    assert "ownerReferences" not in kept["metadata"]


def test_a_terminating_owner_does_not_count(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    own(client, owner(client))
    client.add_finalizer()
    client.delete_deployment({"name": XAPP_NAME, "namespace": client.namespace})

    client.deploy(ARCHIVE, xAppName="again")

    kept = stored(client)
    assert kept is not None
    assert "ownerReferences" not in kept["metadata"]
    assert kept["metadata"]["annotations"]["xapp-operator.io/released-at"]
    client.remove_finalizer()


def test_deleted_owners_are_removed_and_existing_ones_stay(client: GatewayClient) -> None:
    client.deploy(ARCHIVE)
    living = owner(client)
    dead = {**living, "name": "acme-ran-dead", "uid": "00000000-0000-0000-0000-000000000000"}
    impostor = {**living, "uid": "00000000-0000-0000-0000-000000000001"}
    own(client, dead, living, impostor)

    client.deploy(ARCHIVE, xAppName="again")

    kept = stored(client)
    assert kept is not None
    assert [each["uid"] for each in kept["metadata"]["ownerReferences"]] == [living["uid"]]
