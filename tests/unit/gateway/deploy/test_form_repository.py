"""The ChartRepository that a deployment form names, and that nobody has saved."""

from __future__ import annotations

from typing import cast

import pytest

from tests.unit.gateway.deploy.test_forms import REMOTE, checked
from tests.unit.gateway.xapp_objects import raw_xapp
from xapp_operator.api.json import JsonObject, obj
from xapp_operator.errors import ChartSourceError, NotFound
from xapp_operator.gateway.catalog.records import build_xapp_entry
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.deploy.form_repository import ensure_form_repository
from xapp_operator.kube.client import KubeClient

FORM = checked(**REMOTE)


class EmptyCluster:
    """A client that finds nothing, and keeps what is created."""

    def __init__(self) -> None:
        self.created: list[JsonObject] = []

    async def get(self, _resource: object, name: str, *, namespace: str) -> JsonObject:
        raise NotFound(f"{namespace}/{name} does not exist")

    async def create(self, _resource: object, body: JsonObject, *, dry_run: bool) -> JsonObject:
        assert not dry_run
        self.created.append(body)
        return body


def store_with(*, repository: str, configured: str | None, method: str = "Remote Chart Repository") -> XAppRecordStore:
    store = XAppRecordStore()
    status: JsonObject = {} if configured is None else {"configuredRepository": configured}
    spec: JsonObject = {"method": method, "repoName": repository}
    store.put(build_xapp_entry(raw_xapp("x", namespace=FORM.spec.namespace, spec=spec, status=status)))
    return store


async def test_one_that_had_more_than_a_url_is_not_created_again() -> None:
    cluster, store = EmptyCluster(), store_with(repository="acme", configured="acme")
    with pytest.raises(ChartSourceError, match="the ChartRepository acme was deleted") as caught:
        await ensure_form_repository(cast("KubeClient", cluster), FORM, is_configured=store.is_repository_configured)
    assert [each.field for each in caught.value.errors] == ["xAppForm.repoName"]
    assert cluster.created == []


@pytest.mark.parametrize(
    "store",
    [
        XAppRecordStore(),
        store_with(repository="acme", configured=None),
        store_with(repository="acme", configured="before"),
        store_with(repository="other", configured="other"),
    ],
)
async def test_any_other_is_created_from_its_url(store: XAppRecordStore) -> None:
    cluster = EmptyCluster()
    await ensure_form_repository(cast("KubeClient", cluster), FORM, is_configured=store.is_repository_configured)
    assert [obj(each, "spec") for each in cluster.created] == [{"url": REMOTE["url"]}]
