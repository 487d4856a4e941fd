"""Somebody asks for a new look at a ChartRepository with an annotation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from xapp_operator.api.names import ANNOTATION_RECONCILE_AT
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config import Settings
from xapp_operator.reconcile.inputs.impersonation import Impersonation
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.watching.secret_watch import SecretWatch

INDEX = "/index.yaml"


def repository(url: str, *, asked: str | None = None) -> dict[str, Any]:
    annotations = {} if asked is None else {ANNOTATION_RECONCILE_AT: asked}
    metadata = {"name": "acme", "namespace": "ns", "uid": "r", "resourceVersion": "1", "generation": 1}
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"url": url},
    }


class Setup:
    """A running reconciler, a repository that counts its requests, and the numbers of charts that were written."""

    def __init__(self, server: ChartServer) -> None:
        self.server = server
        self.charts: list[int] = []
        self.brought_by_status: str | None = None
        self.repositories: RepositoryReconciler

    async def handle(self, request: web.Request) -> web.StreamResponse:
        status = (await request.json())["status"]
        self.charts += [status["charts"]] if "charts" in status else []
        return web.json_response(repository(self.server.url, asked=self.brought_by_status) | {"status": status})

    def ask(self, text: str | None) -> None:
        self.repositories.update(repository(self.server.url, asked=text), deleted=False)


@pytest.fixture
async def setup(connect: Connect, tmp_path: Path) -> AsyncIterator[Setup]:
    settings = Settings(cache_dir=tmp_path, allow_loopback_repositories=True)
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart_archive())
        one = Setup(server)
        kube = await connect(one.handle)
        async with ChartSources(settings) as charts:
            one.repositories = RepositoryReconciler(
                kube,
                charts=charts,
                impersonation=Impersonation(kube, settings),
                secrets=SecretWatch(kube, settings, on_status=lambda _: None),
                on_change=lambda *_: None,
            )
            running = asyncio.create_task(one.repositories.run())
            yield one
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def test_the_index_is_read_again_once_for_each_new_text(setup: Setup) -> None:
    setup.ask(None)
    await eventually(lambda: setup.charts == [1], what="the first status")
    assert setup.server.requests[INDEX] == 1
    setup.server.add("other", "1.0.0", chart_archive())

    setup.ask("now")
    await eventually(lambda: setup.charts == [1, 2], what="the new index")
    setup.ask("now")
    setup.ask("again")
    await eventually(lambda: setup.server.requests[INDEX] == 3, what="the index to be read again")


async def test_an_annotation_that_a_status_write_returns_first_still_counts(setup: Setup) -> None:
    setup.brought_by_status = "now"
    setup.ask(None)
    await eventually(lambda: setup.charts == [1], what="the first status")

    setup.ask("now")
    await eventually(lambda: setup.server.requests[INDEX] == 2, what="the index to be read again")
