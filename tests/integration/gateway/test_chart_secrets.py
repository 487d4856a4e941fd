"""The Secret of an uploaded chart while its owners come and go: who deploys a chart again must not lose it."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import pytest

from tests.integration.gateway.desk import NAME, Desk
from tests.support.apiserver import SECRETS
from tests.support.charts import chart_archive

pytestmark = pytest.mark.integration

ARCHIVE: Final = chart_archive()
SECRET: Final = f"chart-{hashlib.sha256(ARCHIVE).hexdigest()[:16]}"


def secret(desk: Desk) -> dict[str, Any] | None:
    return desk.api.find(f"{SECRETS.format(desk.namespace)}/{SECRET}")


def owner(desk: Desk, name: str = NAME) -> dict[str, Any]:
    """Return the reference with which the operator makes an XApp the owner."""
    uid = desk.xapp(name)["metadata"]["uid"]
    return {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "XApp", "name": name, "uid": uid}


def own(desk: Desk, *owners: dict[str, Any]) -> None:
    desk.api.patch(f"{SECRETS.format(desk.namespace)}/{SECRET}", {"metadata": {"ownerReferences": list(owners)}})


def test_a_chart_whose_only_owner_has_just_gone_is_freed_when_it_is_uploaded_again(desk: Desk) -> None:
    """The garbage collector would take it with its owner, after the new XApp has been told of it."""
    desk.deploy(ARCHIVE)
    own(desk, owner(desk))
    assert desk.delete({"name": NAME, "namespace": desk.namespace}).status_code == 202

    desk.deploy(ARCHIVE, xAppName="again")

    kept = secret(desk)
    assert kept is not None
    assert "ownerReferences" not in kept["metadata"]


def test_an_owner_on_its_way_out_does_not_count(desk: Desk) -> None:
    desk.deploy(ARCHIVE)
    own(desk, owner(desk))
    desk.hold()
    desk.delete({"name": NAME, "namespace": desk.namespace})

    desk.deploy(ARCHIVE, xAppName="again")

    kept = secret(desk)
    assert kept is not None
    assert "ownerReferences" not in kept["metadata"]
    assert kept["metadata"]["annotations"]["xapp-operator.io/released-at"]
    desk.let_go()


def test_living_owners_stay_and_dead_ones_go(desk: Desk) -> None:
    desk.deploy(ARCHIVE)
    living = owner(desk)
    dead = {**living, "name": "acme-ran-dead", "uid": "00000000-0000-0000-0000-000000000000"}
    impostor = {**living, "uid": "00000000-0000-0000-0000-000000000001"}
    own(desk, dead, living, impostor)

    desk.deploy(ARCHIVE, xAppName="again")

    kept = secret(desk)
    assert kept is not None
    assert [each["uid"] for each in kept["metadata"]["ownerReferences"]] == [living["uid"]]
