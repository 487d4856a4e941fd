"""Secrets of ChartRepositories are cached only while their changes arrive."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.kube.list_watch_server import ListWatchServer
from tests.unit.reconcile.xapps import xapp
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.inputs.impersonation import Impersonation
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.watching.referenced_objects import ReferencedObjects
from xapp_operator.reconcile.watching.secret_watch import SecretWatch

URL = "https://charts.example.com"
REMOTE = xapp(method="Remote Chart Repository", url=URL, repoName="acme", chartName="hello")


REPOSITORY: dict[str, Any] = {
    "metadata": {"name": "acme", "namespace": "ns", "uid": "r", "resourceVersion": "1", "generation": 1},
    "spec": {"url": URL, "secretRef": {"name": "creds"}},
}


class Setup:
    """A server with one Secret, whose password is the number of its version, and a ChartRepository that uses it."""

    def __init__(self) -> None:
        self.server = ListWatchServer()
        self.reads = 0
        self.readers: set[str | None] = set()
        self.changes_while_read = False
        self.changes: list[tuple[str, str]] = []
        self.versions: list[int] = []
        """The versions of the ChartRepository: without one, and then as a test has noted them."""
        self.secrets: SecretWatch
        self.repositories: RepositoryReconciler

    def body(self) -> dict[str, Any]:
        token = base64.b64encode(str(self.server.version).encode()).decode()
        return {
            "metadata": {
                "name": "creds",
                "namespace": "ns",
                "uid": "u",
                "resourceVersion": str(self.server.version),
                "annotations": {"xapp-operator.io/origin": URL},
            },
            "type": "xapp-operator.io/repository-credentials",
            "data": {"token": token},
        }

    async def change(self) -> None:
        self.server.version += 1
        self.server.objects["ns", "creds"] = self.body()
        await self.server.send_event("MODIFIED", self.body())

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/secrets/creds"):
            return await self.server.handle(request)
        self.reads += 1
        self.readers.add(request.headers.get("Impersonate-User"))
        body = self.body()
        if self.changes_while_read:
            self.changes_while_read = False
            known = self.secrets.resource_version("ns", "creds")
            await self.change()
            await eventually(lambda: self.secrets.resource_version("ns", "creds") != known, what="the change")
        return web.json_response(body)

    async def resolve(self) -> None:
        await self.repositories.resolve_repository(REMOTE)


@pytest.fixture
async def setup(connect: Connect, tmp_path: Path) -> AsyncIterator[Setup]:
    one = Setup()
    kube, settings = await connect(one.handle), Settings(cache_dir=tmp_path, default_service_account="deployer")
    one.secrets = SecretWatch(kube, settings, on_status=lambda _: None)
    ReferencedObjects(
        kube,
        settings,
        secrets=one.secrets,
        on_change=lambda _, namespace, name: one.repositories.invalidate_secret(namespace, name),
    )
    one.repositories = RepositoryReconciler(
        kube,
        charts=ChartSources(settings),
        impersonation=Impersonation(kube, settings),
        secrets=one.secrets,
        on_change=lambda *key: one.changes.append(key),
    )
    await one.change()
    one.versions = [one.repositories.repository_version(REMOTE)]
    one.repositories.update(REPOSITORY, deleted=False)
    assert one.repositories.reads_secrets("ns")
    assert not one.repositories.reads_secrets("other")
    yield one
    await one.secrets.stop()


async def test_a_watched_secret_is_read_once_until_it_changes(setup: Setup) -> None:
    setup.secrets.set_needed("ns", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ns"), what="the first list")
    for _ in range(3):
        await setup.resolve()
    assert setup.reads == 1

    known = setup.secrets.resource_version("ns", "creds")
    await setup.change()
    await eventually(lambda: setup.secrets.resource_version("ns", "creds") != known, what="the change")
    await setup.resolve()
    assert setup.reads == 2
    assert setup.readers == {"system:serviceaccount:ns:deployer"}


async def test_without_the_permission_to_watch_the_secret_is_read_each_time(setup: Setup) -> None:
    setup.secrets.set_needed("ns", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ns"), what="the first list")
    await setup.resolve()
    setup.server.refusal = (403, "you may not")
    await setup.server.end_watches()
    await eventually(lambda: setup.secrets.unavailable("ns"), what="the refusal")
    for _ in range(3):
        await setup.resolve()
    assert setup.reads == 4


async def test_a_secret_that_changes_while_it_is_read_is_read_again(setup: Setup) -> None:
    setup.secrets.set_needed("ns", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ns"), what="the first list")
    setup.changes_while_read = True
    for _ in range(3):
        await setup.resolve()
    assert setup.reads == 2


async def test_a_secret_of_another_name_or_namespace_changes_nothing(setup: Setup) -> None:
    setup.changes.clear()
    setup.repositories.invalidate_secret("other", "creds")
    setup.repositories.invalidate_secret("ns", "other")
    assert setup.changes == []
    setup.repositories.invalidate_secret("ns", "creds")
    assert setup.changes == [("ns", "acme")]


def test_each_state_of_a_repository_has_a_version_of_its_own(setup: Setup) -> None:
    """So that an answer of a state that is gone is never taken for one of the present state."""

    def note() -> None:
        setup.versions.append(setup.repositories.repository_version(REMOTE))

    def update(version: int, *, uid: str = "r", deleted: bool = False, **spec: Any) -> None:
        metadata = {**REPOSITORY["metadata"], "resourceVersion": str(version), "uid": uid}
        setup.repositories.update({"metadata": metadata, "spec": {**REPOSITORY["spec"], **spec}}, deleted=deleted)

    note()
    update(2, interval="6m")
    note()
    setup.repositories.invalidate_secret("ns", "creds")
    note()
    update(3, uid="again", interval="6m")
    note()
    assert len(set(setup.versions)) == 5, setup.versions
    update(4, uid="again", deleted=True)
    assert setup.repositories.repository_version(REMOTE) == setup.versions[0]
    update(5, uid="once more")
    assert setup.repositories.repository_version(REMOTE) not in setup.versions
