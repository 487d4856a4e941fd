"""Charts from a repository: when its index is read, what is said of it, and what a new version leads to."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.eventually import eventually
from tests.support.fakes.api_server import Target
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.histories import CONFIGMAP, STORED_CHART, make_settings, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE, FakeCluster

INDEX = "/index.yaml"
FILES = {"values.yaml": "tag: one\n", "templates/configmap.yaml": CONFIGMAP}
REPOSITORY = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE, "acme")


def credentials(origin: str, username: str, password: str) -> Json:
    data = {"username": username, "password": password}
    return {
        "metadata": {"name": "creds", "annotations": {"xapp-operator.io/origin": origin}},
        "type": "xapp-operator.io/repository-credentials",
        "data": {key: base64.b64encode(each.encode()).decode() for key, each in data.items()},
    }


class _SystemClock(FakeClock):
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class Setup:
    """An operator, and a repository that counts its requests."""

    def __init__(self, cluster: FakeCluster, charts: ChartServer) -> None:
        self.cluster = cluster
        self.charts = charts

    def add(self, version: str) -> None:
        self.charts.add("hello", version, chart_archive(FILES, version=version))

    def create(self, **spec: Any) -> None:
        source = {"method": "Remote Chart Repository", "url": self.charts.url, "repoName": "acme", "chartName": "hello"}
        self.cluster.create(xapp_body(archive=None, **{**source, **spec}))

    def annotate(self, name: str, value: str) -> None:
        self.cluster.edit({"metadata": {"annotations": {f"xapp-operator.io/{name}": value}}})

    def ready(self) -> Json:
        return self.cluster.condition("Ready") or {}

    async def wait(self, condition: Callable[[], object], what: str) -> None:
        await eventually(condition, what=what)

    async def wait_deployed(self, version: str) -> None:
        def reached() -> bool:
            release = (self.cluster.xapp() or {}).get("status", {}).get("release", {})
            return release.get("chartVersion") == version and self.ready().get("status") == "True"

        await self.wait(reached, f"version {version}")


@pytest.fixture
def signed() -> bool:
    """Say whether charts must be signed."""
    return False


@pytest.fixture
async def setup(tmp_path: Path, signed: bool) -> AsyncIterator[Setup]:
    changed = {"allow_loopback_repositories": True, "require_signatures": signed}
    cluster = FakeCluster(make_settings(tmp_path).model_copy(update=changed), _SystemClock())
    with ChartServer() as charts:
        one = Setup(cluster, charts)
        one.add("0.1.0")
        await cluster.start()
        yield one
        await cluster.stop()


async def test_the_index_is_read_once_for_an_install(setup: Setup) -> None:
    setup.create(version="0.1.0")
    await setup.wait_deployed("0.1.0")
    stored = setup.cluster.server.get(REPOSITORY)
    assert stored["spec"] == {"url": setup.charts.url}
    await setup.wait(lambda: "status" in setup.cluster.server.get(REPOSITORY), "the status of the ChartRepository")
    status = setup.cluster.server.get(REPOSITORY)["status"]
    assert status["charts"] == 1
    assert [(each["type"], each["status"], each["message"]) for each in status["conditions"]] == [
        ("Ready", "True", "the index lists 1 chart")
    ]
    assert setup.charts.requests == {INDEX: 1, "/hello-0.1.0.tgz": 1}


async def test_a_new_version_in_the_index_is_found_when_somebody_asks(setup: Setup) -> None:
    setup.create(version="0.1.0", chartVersion="0.x")
    await setup.wait_deployed("0.1.0")
    setup.add("0.2.0")
    read = setup.charts.requests[INDEX]
    setup.annotate("reconcile-at", "now")
    await setup.wait_deployed("0.2.0")
    assert setup.charts.requests[INDEX] == read + 1
    setup.cluster.edit({"spec": {"values": {"tag": "two"}}})
    await setup.wait(lambda: len(setup.cluster.revisions) == 3, "the upgrade")
    assert setup.charts.requests[INDEX] == read + 1


async def test_a_missing_version_is_named_until_it_is_there(setup: Setup) -> None:
    setup.create(version="0.3.0")
    await setup.wait(lambda: "0.3.0" in setup.ready().get("message", ""), "the message")
    assert setup.ready()["status"] == "False"
    setup.add("0.3.0")
    setup.annotate("retry-at", "now")
    await setup.wait_deployed("0.3.0")


async def test_another_address_under_a_known_name_is_refused(setup: Setup) -> None:
    repository = {"metadata": {"name": "acme"}, "spec": {"url": "https://charts.example.com?sig=hunter2"}}
    body = setup.cluster.server.create(
        Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE), repository
    )
    runtime = await eventually(lambda: setup.cluster.runtime, what="the operator")
    setup.create(version="0.1.0")
    await setup.wait(lambda: setup.ready().get("status") == "False", "the refusal")
    assert setup.ready()["message"] == (
        "repoName acme is saved with another url (https://charts.example.com). Use that url, or another repoName."
    )
    changed = setup.cluster.server.patch(REPOSITORY, {"spec": {"url": setup.charts.url}})
    assert body["metadata"]["uid"] == changed["metadata"]["uid"]
    runtime.update_repository(changed, deleted=False)
    await setup.wait_deployed("0.1.0")


async def test_credentials_that_come_while_the_repository_thinks_are_used(setup: Setup) -> None:
    """It refuses the earlier ones with the message that the status has already, so that nothing is written."""
    server, username, password = setup.cluster.server, "jane", "open sesame"
    repositories = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE)
    with ChartServer(username=username, password=password) as private:
        private.add("hello", "0.1.0", chart_archive(FILES, version="0.1.0"))
        spec = {"url": private.url, "allowPlainHTTP": True}
        server.create(repositories, {"metadata": {"name": "acme"}, "spec": spec})
        runtime = await eventually(lambda: setup.cluster.runtime, what="the operator")
        setup.create(version="0.1.0", url=private.url)
        await setup.wait(lambda: setup.cluster.condition("Stalled"), "the refusal")
        with private.holding(INDEX):
            read = private.requests[INDEX]
            runtime.update_repository(server.patch(REPOSITORY, {"spec": {"interval": "6m"}}), deleted=False)
            await setup.wait(lambda: private.requests[INDEX] > read, "the next try")
            server.create(Target("", "v1", "secrets", NAMESPACE), credentials(private.url, username, password))
            change = {"spec": {"secretRef": {"name": "creds"}}}
            runtime.update_repository(server.patch(REPOSITORY, change), deleted=False)
            queue = runtime._queue
            await setup.wait(lambda: not queue and not queue._processing, "the reconcile that finds the try running")
            assert setup.cluster.condition("Stalled"), "the failure is not told until there is an answer"
        await setup.wait_deployed("0.1.0")


async def test_an_index_that_changes_upgrades_what_follows_it(setup: Setup) -> None:
    setup.create(version="0.1.0", chartVersion="0.x")
    await setup.wait_deployed("0.1.0")
    runtime = setup.cluster.runtime
    assert runtime is not None
    setup.add("0.2.0")
    change = {"metadata": {"annotations": {"xapp-operator.io/reconcile-at": "now"}}}
    runtime.update_repository(setup.cluster.server.patch(REPOSITORY, change), deleted=False)
    await setup.wait_deployed("0.2.0")


@pytest.mark.parametrize("signed", [True])
@pytest.mark.parametrize("is_remote", [True, False])
async def test_an_unsigned_chart_is_refused_where_signatures_are_required(setup: Setup, is_remote: bool) -> None:
    if is_remote:
        setup.create(version="0.1.0")
    else:
        setup.cluster.create(STORED_CHART)
        setup.cluster.create(xapp_body())
    await setup.wait(lambda: "signature" in setup.ready().get("message", ""), "the refusal")
    assert setup.ready()["status"] == "False"
    assert setup.cluster.revisions == {}


async def test_a_repository_that_fails_is_named_until_it_answers(setup: Setup) -> None:
    setup.charts.statuses[INDEX] = HTTPStatus.INTERNAL_SERVER_ERROR
    setup.create(version="0.1.0")
    await setup.wait(lambda: setup.ready().get("reason") == "ChartPullFailed", "the failure of the repository")
    setup.charts.statuses.clear()
    setup.annotate("retry-at", "now")
    await setup.wait_deployed("0.1.0")


async def test_a_repository_that_fails_again_is_not_one_that_failed_all_the_time(setup: Setup) -> None:
    tries: list[int] = []

    def note(plural: str, body: Json) -> None:
        progress = body["status"].get("progress", {}) if plural == "xapps" and "status" in body else {}
        if "nextTryAt" in progress:
            tries.append(progress["attempt"])

    setup.cluster.server.on_stored.append(note)
    setup.charts.statuses[INDEX] = HTTPStatus.INTERNAL_SERVER_ERROR
    setup.create(version="0.3.0")
    await setup.wait(lambda: len(tries) > 1, "the second try")
    setup.charts.statuses.clear()
    setup.annotate("retry-at", "now")
    await setup.wait(lambda: "0.3.0" in setup.ready().get("message", ""), "the answer of the repository")
    before = len(tries)
    setup.charts.statuses[INDEX] = HTTPStatus.INTERNAL_SERVER_ERROR
    setup.annotate("retry-at", "again")
    await setup.wait(lambda: len(tries) > before, "the failure of the repository")
    assert tries[:2] == [1, 2]
    assert tries[before] == 1
