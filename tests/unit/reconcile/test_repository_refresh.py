"""Somebody asks for a new look at a ChartRepository with an annotation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
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
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.inputs.impersonation import Impersonation
from xapp_operator.reconcile.repository_reconciler import RepositoryReconciler
from xapp_operator.reconcile.watching.secret_watch import SecretWatch

INDEX = "/index.yaml"


def repository(url: str, *, asked: str | None = None, interval: str = "5m") -> dict[str, Any]:
    annotations = {} if asked is None else {ANNOTATION_RECONCILE_AT: asked}
    metadata = {"name": "acme", "namespace": "ns", "uid": "r", "resourceVersion": "1", "generation": 1}
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {**metadata, "annotations": annotations},
        "spec": {"url": url, "interval": interval},
    }


def new_version(body: dict[str, Any], version: int, *, uid: str = "r") -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "uid": uid, "resourceVersion": str(version)}}


def looked_at(seconds_ago: float, *, ready: str = "True", generation: int = 1) -> dict[str, Any]:
    """Return the status that an earlier operator wrote at its last look."""
    at = (datetime.now(UTC) - timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "Fetched",
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": at,
    }
    return {"observedGeneration": generation, "charts": 7, "lastFetched": at, "conditions": [condition]}


class Setup:
    """A running reconciler, a repository that counts its requests, and the numbers of charts that were written."""

    def __init__(self, server: ChartServer) -> None:
        self.server = server
        self.charts: list[int] = []
        self.ready: list[str] = []
        self.changes: list[tuple[str, str]] = []
        self.stored: dict[str, Any] = repository(server.url)
        self.before_answer: Callable[[], None] = lambda: None
        self.writing = 0
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.repositories: RepositoryReconciler

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({"kind": "Status", "code": 403, "reason": "Forbidden"}, status=403)
        status = (await request.json())["status"]
        self.ready += [each["status"] for each in status["conditions"] if each["type"] == "Ready"]
        self.charts += [status["charts"]] if "charts" in status else []
        self.before_answer()
        self.writing += 1
        await self.may_write.wait()
        self.writing -= 1
        return web.json_response(self.stored | {"status": status})

    async def end_of_looks(self) -> None:
        """Wait until no look is going on or due."""
        queue = self.repositories._queue
        await eventually(lambda: not len(queue) and not queue._processing, what="the end of the look")

    def ask(self, text: str | None) -> None:
        self.show(repository(self.server.url, asked=text))

    def show(self, body: dict[str, Any]) -> None:
        """Store a ChartRepository and let the watch show it at once."""
        self.stored = body
        self.repositories.update(body, deleted=False)


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
                on_change=lambda *key: one.changes.append(key),
            )
            running = asyncio.create_task(one.repositories.run())
            yield one
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def test_the_index_is_read_again_once_for_each_new_text(setup: Setup) -> None:
    setup.ask(None)
    await eventually(lambda: setup.charts == [1], what="the first status")
    await setup.end_of_looks()
    assert setup.server.requests[INDEX] == 1
    setup.server.add("other", "1.0.0", chart_archive())

    setup.ask("now")
    await eventually(lambda: setup.charts == [1, 2], what="the new index")
    setup.ask("now")
    setup.ask("again")
    await eventually(lambda: setup.server.requests[INDEX] == 3, what="the index to be read again")


async def test_an_annotation_that_a_status_write_returns_first_still_counts(setup: Setup) -> None:
    setup.stored = repository(setup.server.url, asked="now")
    setup.repositories.update(repository(setup.server.url), deleted=False)
    await eventually(lambda: setup.charts[:1] == [1], what="the first status")

    setup.ask("now")
    await eventually(lambda: setup.server.requests[INDEX] == 2, what="the index to be read again")


async def test_an_address_that_a_status_write_returns_first_is_used(setup: Setup) -> None:
    setup.stored = changed = repository(f"{setup.server.url}/elsewhere")
    setup.repositories.update(repository(setup.server.url), deleted=False)
    await eventually(lambda: setup.charts == [1], what="the first status")

    setup.show(changed)
    await eventually(lambda: setup.server.requests[f"/elsewhere{INDEX}"] == 1, what="the index of the new address")
    assert ("ns", "acme") in setup.changes[1:], "the XApps that use it are not told"


async def test_a_late_event_about_an_earlier_state_changes_nothing(setup: Setup) -> None:
    setup.show(new_version(repository(setup.server.url), 3))
    setup.repositories.update(new_version(repository(f"{setup.server.url}/elsewhere"), 2), deleted=False)
    await eventually(lambda: setup.charts == [1], what="the status")
    assert setup.server.requests[f"/elsewhere{INDEX}"] == 0


@pytest.mark.parametrize("late", [False, True], ids=["deleted before", "deletion seen afterwards"])
async def test_a_repository_that_is_made_again_is_looked_at(setup: Setup, late: bool) -> None:
    first, deleted = repository(setup.server.url), new_version(repository(setup.server.url), 2)
    setup.repositories.update(first, deleted=False)
    await eventually(lambda: setup.charts == [1], what="the first status")
    if not late:
        setup.repositories.update(deleted, deleted=True)
    setup.show(new_version(first, 3, uid="again"))
    if late:
        setup.repositories.update(deleted, deleted=True)
    await eventually(lambda: setup.charts == [1, 1], what="the status of the second one")
    assert sum(setup.repositories.count_ready()) == 1


async def test_a_repository_that_is_deleted_while_its_status_is_written_stays_away(setup: Setup) -> None:
    body = repository(setup.server.url)
    setup.before_answer = lambda: setup.repositories.update(new_version(body, 2), deleted=True)
    setup.show(body)
    await eventually(lambda: setup.charts == [1], what="the status")
    await setup.end_of_looks()
    assert setup.repositories.count_ready() == (0, 0)
    setup.repositories.update(new_version(body, 2), deleted=True)  # told twice
    assert setup.repositories.count_ready() == (0, 0)


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        (dict, None),
        (partial(looked_at, 301), None),
        (partial(looked_at, -3600), None),
        (partial(looked_at, -0.9), None),
        (partial(looked_at, 10, ready="False"), None),
        (partial(looked_at, 10, generation=0), None),
        (lambda: {key: value for key, value in looked_at(10).items() if key != "lastFetched"}, None),
        (partial(looked_at, 10), "now"),
        (partial(looked_at, 3600), "2020-01-01T00:00:00Z"),
        (partial(looked_at, 3600), "2999-01-01T00:00:00Z"),
        (partial(looked_at, 10), "2020-01-01T00:00:00"),
    ],
    ids=[
        "new",
        "older than the interval",
        "of a clock that was ahead",
        "of a clock that was a little ahead",
        "failed",
        "of an earlier spec",
        "without its time",
        "asked for",
        "old, and asked for before",
        "old, and asked for since",
        "asked for at a time without zone",
    ],
)
async def test_after_a_restart_a_repository_is_looked_at_once_that_is_due(
    setup: Setup, status: Callable[[], dict[str, Any]], asked: str | None
) -> None:
    setup.show(repository(setup.server.url, asked=asked) | {"status": status()})
    await eventually(lambda: setup.charts == [1], what="the look")
    assert setup.changes == [("ns", "acme")]


@pytest.mark.parametrize("seconds_ago", [0.0, 10.0])
@pytest.mark.parametrize("asked", [None, "2020-01-01T00:00:00Z"], ids=["never asked for", "asked for before"])
async def test_a_restart_looks_at_no_repository_that_was_looked_at(
    setup: Setup, asked: str | None, seconds_ago: float
) -> None:
    body = repository(f"{setup.server.url}/elsewhere", asked=asked) | {"status": looked_at(seconds_ago)}
    setup.repositories.update(body, deleted=False)
    new = repository(setup.server.url)
    setup.repositories.update({**new, "metadata": {**new["metadata"], "name": "new"}}, deleted=False)
    await eventually(lambda: len(setup.charts) > 0, what="the look at another one")
    assert setup.server.requests[f"/elsewhere{INDEX}"] == 0


async def test_the_first_look_after_a_restart_counts_as_a_change(setup: Setup) -> None:
    body = repository(setup.server.url, interval="10s") | {"status": looked_at(9)}
    setup.show(body)
    await eventually(lambda: setup.charts == [1], what="the look")
    assert setup.changes == [("ns", "acme")] * 2, "XApps may have read another index before"


async def test_repositories_are_counted_by_whether_they_are_ready(setup: Setup) -> None:
    def put(name: str, status: dict[str, Any]) -> None:
        body = repository(setup.server.url) | {"status": status}
        body["metadata"]["name"] = name
        setup.repositories.update(body, deleted=False)

    put("ready", looked_at(10))
    put("failing", looked_at(10, ready="False"))
    put("changed", looked_at(10, generation=0))
    assert setup.repositories.count_ready() == (1, 2)
    setup.repositories.update({**repository(setup.server.url), "status": {}}, deleted=False)  # acme
    await eventually(lambda: setup.repositories.count_ready()[0] > 1, what="what was written to count")


async def test_eight_repositories_are_looked_at_at_a_time(setup: Setup) -> None:
    setup.may_write.clear()
    for number in range(9):
        body = repository(setup.server.url)
        body["metadata"].update(namespace=f"ns{number % 3}", name=f"acme{number}")
        setup.repositories.update(body, deleted=False)
    queue = setup.repositories._queue
    await eventually(lambda: (setup.writing, len(queue)) == (8, 1), what="eight looks")
    setup.may_write.set()
    await eventually(lambda: len(setup.charts) == 9, what="the last look")


async def test_an_index_is_read_again_once_and_not_at_every_later_look(setup: Setup) -> None:
    setup.ask(None)
    await eventually(lambda: setup.charts == [1], what="the first status")
    await setup.end_of_looks()
    setup.ask("now")
    await eventually(lambda: setup.server.requests[INDEX] == 2, what="the index to be read again")
    await setup.end_of_looks()
    setup.show(repository(setup.server.url, asked="now", interval="6m"))
    await setup.end_of_looks()
    assert setup.server.requests[INDEX] == 2


@pytest.mark.parametrize("seen", [True, False], ids=["deletion seen", "deletion not seen"])
async def test_what_was_asked_of_a_deleted_repository_is_not_asked_of_its_successor(setup: Setup, seen: bool) -> None:
    setup.ask(None)
    await eventually(lambda: setup.charts == [1], what="the first status")
    await setup.end_of_looks()
    setup.show(new_version(repository(setup.server.url, asked="now"), 2))
    if seen:
        setup.repositories.update(new_version(repository(setup.server.url), 3), deleted=True)
    setup.show(new_version(repository(setup.server.url), 4, uid="again"))
    await eventually(lambda: setup.charts == [1, 1], what="the status of the second one")
    assert setup.server.requests[INDEX] == 1


async def test_nothing_of_a_deleted_repository_is_kept(setup: Setup) -> None:
    setup.ask(None)
    await eventually(lambda: setup.charts == [1], what="the first status")
    await setup.end_of_looks()
    repositories = setup.repositories
    assert repositories._loaded
    assert repositories._index_digests
    repositories.update(new_version(setup.stored, 2), deleted=True)
    assert not repositories._loaded
    assert not repositories._index_digests


async def test_a_repository_that_does_not_answer_is_not_ready(setup: Setup) -> None:
    setup.show(repository("http://127.0.0.1:9"))
    await eventually(lambda: setup.ready == ["False"], what="the status")


async def test_a_repository_whose_credentials_may_not_be_read_is_not_ready(setup: Setup) -> None:
    body = repository(setup.server.url)
    body["spec"]["secretRef"] = {"name": "forbidden"}
    setup.show(body)
    await eventually(lambda: setup.ready == ["False"], what="the status")


async def test_a_repository_is_not_looked_at_when_its_deleted_predecessor_was_due(setup: Setup) -> None:
    body = repository(f"{setup.server.url}/elsewhere")
    due_soon = body | {"status": looked_at(299.8)}
    setup.repositories.update(due_soon, deleted=False)
    setup.repositories.update(due_soon, deleted=True)
    setup.repositories.update(new_version(body, 2, uid="again") | {"status": looked_at(0)}, deleted=False)
    other = repository(setup.server.url) | {"status": looked_at(299.4)}
    setup.repositories.update({**other, "metadata": {**other["metadata"], "name": "other"}}, deleted=False)
    await eventually(lambda: len(setup.charts) > 0, what="the look at another one, which is due later")
    assert setup.server.requests[f"/elsewhere{INDEX}"] == 0
