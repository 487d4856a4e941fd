"""The start and the end of what runs in an operator that leads."""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.fakes.api_server import FakeTransport, Refused, Target
from tests.support.fakes.clock import START, FakeClock, run_in_fake_time
from tests.support.fakes.histories import STORED_CHART, History, make_settings, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.kinds import KINDS
from tests.support.fakes.operator import NAMESPACE, FakeCluster, fake_credentials
from tests.unit.histories.test_memory import find
from tests.unit.reconcile.xapps import xapp
from xapp_operator.api.names import FINALIZER
from xapp_operator.common.bounded_process import ProcessResult
from xapp_operator.config.settings import Settings
from xapp_operator.errors import HelmError, NotReady
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.transport import ApiRequest, RequestIdentity
from xapp_operator.reconcile.runtime import LISTING_SECONDS, OperatorRuntime
from xapp_operator.telemetry.metrics import Metrics


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return make_settings(tmp_path)


@asynccontextmanager
async def _running(
    tmp_path: Path, clock: FakeClock, *, refuse: Callable[[ApiRequest], None] = lambda _: None
) -> AsyncIterator[tuple[FakeCluster, OperatorRuntime]]:
    cluster = FakeCluster(make_settings(tmp_path), clock)
    async with (
        KubeClient(FakeTransport(cluster.server, fake_credentials(), refuse=refuse)) as kube,
        OperatorRuntime(kube, cluster.settings, Metrics(), clock=clock, start_helm=cluster.helm) as runtime,
    ):
        yield cluster, runtime


class _SilentTransport(FakeTransport):
    """The connection to an API server that does not answer a list of some kind."""

    def __init__(self, cluster: FakeCluster, plural: str = "chartarchives") -> None:
        super().__init__(cluster.server, fake_credentials())
        self.is_waiting = asyncio.Event()
        self._plural = plural

    @asynccontextmanager
    async def stream(
        self, request: ApiRequest, *, identity: RequestIdentity, read_timeout: float | None
    ) -> AsyncIterator[AsyncGenerator[bytes]]:
        if request.path.endswith(f"/{self._plural}"):
            self.is_waiting.set()
            await asyncio.Event().wait()
        async with super().stream(request, identity=identity, read_timeout=read_timeout) as chunks:
            yield chunks


async def test_a_start_that_is_ended_leaves_nothing_open(tmp_path: Path) -> None:
    cluster = FakeCluster(make_settings(tmp_path))
    transport = _SilentTransport(cluster)
    async with KubeClient(transport) as kube:
        runtime = OperatorRuntime(kube, cluster.settings, Metrics(), clock=cluster.clock, start_helm=cluster.helm)
        folder = runtime.helm_folder
        start = asyncio.create_task(runtime.__aenter__())
        async with asyncio.timeout(5):
            await transport.is_waiting.wait()
        assert folder.exists()
        start.cancel()
        await asyncio.gather(start, return_exceptions=True)
        assert start.cancelled()
    assert not folder.exists()
    del runtime, start
    gc.collect()  # aiohttp warns about sessions that were not closed


def test_a_start_goes_on_if_helm_may_not_run_now(tmp_path: Path) -> None:
    clock = FakeClock()

    async def refuse(*_: object, **__: object) -> ProcessResult:
        raise HelmError("helm is not started, because another operator may be leading now")

    async def live() -> None:
        cluster = FakeCluster(make_settings(tmp_path), clock)
        async with (
            KubeClient(FakeTransport(cluster.server, fake_credentials())) as kube,
            OperatorRuntime(kube, cluster.settings, Metrics(), clock=clock, start_helm=refuse),
        ):
            assert len(cluster.server.watched) >= 4

    run_in_fake_time(live(), clock)


def test_a_start_ends_if_helm_cannot_be_used(tmp_path: Path) -> None:
    async def refuse(*_: object, **__: object) -> ProcessResult:
        raise HelmError("helm is too old", permanent=True)

    async def start() -> None:
        cluster = FakeCluster(make_settings(tmp_path))
        async with KubeClient(FakeTransport(cluster.server, fake_credentials())) as kube:
            runtime = OperatorRuntime(kube, cluster.settings, Metrics(), clock=cluster.clock, start_helm=refuse)
            with pytest.raises(HelmError, match="too old"):
                await runtime.__aenter__()

    run_in_fake_time(start())


@pytest.mark.parametrize("plural", ["chartarchives", "configmaps"])
def test_a_start_waits_a_minute_for_each_list(tmp_path: Path, plural: str) -> None:
    clock = FakeClock()

    async def start() -> None:
        cluster = FakeCluster(make_settings(tmp_path), clock)
        async with KubeClient(_SilentTransport(cluster, plural)) as kube:
            runtime = OperatorRuntime(kube, cluster.settings, Metrics(), clock=clock, start_helm=cluster.helm)
            with pytest.raises(NotReady, match=f"{plural}.* could not be listed within 60 seconds"):
                await runtime.__aenter__()

    run_in_fake_time(start(), clock)
    assert clock.monotonic() == pytest.approx(60.0, abs=0.5)


async def _hang() -> Any:
    await asyncio.Event().wait()


def test_a_start_removes_what_helm_left_behind_in_an_operator_that_was_killed(tmp_path: Path) -> None:
    clock = FakeClock()

    async def start() -> None:
        killed = tmp_path / "killed"
        async with _running(tmp_path, clock) as (_, runtime):
            killed = runtime.helm_folder.with_name("killed")
            killed.mkdir()
            killed.with_suffix(".lock").touch()
        async with _running(tmp_path, clock):
            assert not killed.exists()

    run_in_fake_time(start(), clock)


def test_a_changed_secret_of_a_repository_is_used_at_once(tmp_path: Path) -> None:
    clock = FakeClock()
    repository: dict[str, Any] = {
        "metadata": {"name": "acme", "namespace": NAMESPACE, "uid": "r", "resourceVersion": "1", "generation": 1},
        "spec": {"url": "http://127.0.0.1:1", "secretRef": {"name": "creds"}},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "namespace": NAMESPACE}}
    user = xapp(method="Remote Chart Repository", url="http://127.0.0.1:1", repoName="acme", chartName="hello")

    async def live() -> None:
        async with _running(tmp_path, clock) as (cluster, runtime):
            runtime.update_repository(repository, deleted=False)
            await asyncio.sleep(1.0)
            before = runtime.repositories.repository_version(user)
            cluster.create({**secret, "type": "xapp-operator.io/repository-credentials"})
            await asyncio.sleep(1.0)
            assert runtime.repositories.repository_version(user) != before

    run_in_fake_time(live(), clock)


def test_a_stop_ends_everything(tmp_path: Path) -> None:
    """No task, no watch, no wait and no helm folder is left, whatever ran."""
    clock = FakeClock()

    async def live() -> None:
        cluster = FakeCluster(make_settings(tmp_path), clock)
        cluster.create(STORED_CHART)
        body = xapp_body(valuesFrom=[{"kind": "Secret", "name": "later"}])
        body["metadata"]["finalizers"] = [FINALIZER]
        cluster.create(body)
        other = xapp_body()
        other["metadata"]["name"] = "other"
        cluster.create(other)  # the watch never tells of it
        transport = FakeTransport(cluster.server, fake_credentials())
        async with KubeClient(transport) as kube:
            runtime = OperatorRuntime(kube, cluster.settings, Metrics(), clock=clock, start_helm=cluster.helm)
            folder = runtime.helm_folder
            async with runtime:
                runtime.update_xapp(cluster.xapp() or {})
                runtime._context.test_runs.start(("ns", "tested"), _hang)
                await runtime._context.resolver.resolve(("ns", "slow"), _hang, version=1)
                await asyncio.sleep(30.0)
                assert cluster.condition("Ready") is not None
                assert len(cluster.server.watched) >= 4
            assert cluster.server.watched == []
            assert not folder.exists()
            assert [each.get_name() for each in asyncio.all_tasks() if each is not asyncio.current_task()] == []
            await asyncio.sleep(LISTING_SECONDS)
            assert not runtime._xapps.is_complete, "the timer that ends the wait for other XApps"

    run_in_fake_time(live(), clock)


async def _deploy(history: History) -> tuple[OperatorRuntime, Json]:
    """Deploy an XApp; return the operator and the XApp."""
    history.create(tag="one")
    await history.cluster.wait(20.0)
    runtime, found = history.cluster.runtime, history.cluster.xapp()
    assert runtime is not None
    assert found is not None
    return runtime, found


def test_an_xapp_with_the_name_of_one_that_is_gone_is_another_one(settings: Settings) -> None:
    """The watch may have been away while it was deleted and created."""

    async def play(history: History) -> None:
        runtime, found = await _deploy(history)
        monitor = runtime._context.monitor
        assert monitor.has_inventory(("ns", "hello"))
        runtime.update_xapp({**found, "metadata": {**found["metadata"], "resourceVersion": "100000"}})
        assert monitor.has_inventory(("ns", "hello"))
        runtime.update_xapp({**found, "metadata": {**found["metadata"], "resourceVersion": "100001", "uid": "new"}})
        assert not monitor.has_inventory(("ns", "hello"))
        history.cluster.restart()

    run_history(settings, play)


def test_xapps_that_a_list_lacks_are_forgotten(settings: Settings) -> None:
    """kopf does not tell that they were deleted while its watch was too old."""

    async def play(history: History) -> None:
        runtime, found = await _deploy(history)
        key, version = ("ns", "hello"), int(found["metadata"]["resourceVersion"])
        for plural, namespace, uids, listed in (
            ("xapps", None, {found["metadata"]["uid"]}, version),
            ("xapps", "another", set(), version),
            ("xapps", None, set(), version - 1),
            ("chartrepositories", None, set(), version),
        ):
            runtime.keep_listed(plural, namespace, uids, version=listed)
            assert runtime._xapps.get(key) is not None
        assert runtime._context.monitor.has_inventory(key)
        runtime.keep_listed("xapps", "ns", set(), version=version)
        assert runtime._xapps.get(key) is None
        assert not runtime._context.monitor.has_inventory(key)
        history.cluster.restart()

    run_history(settings, play)


@pytest.mark.parametrize("listed", [None, "ns"], ids=["all namespaces", "one namespace"])
def test_chart_repositories_that_a_list_lacks_are_forgotten(tmp_path: Path, listed: str | None) -> None:
    clock = FakeClock()

    async def live() -> None:
        async with _running(tmp_path, clock) as (cluster, runtime):
            runtime.update_repository(_repository(7, secretRef={"name": "creds"}), deleted=False)
            await asyncio.sleep(1.0)
            for namespace, uids, version in ((None, {"r"}, 7), ("another", set(), 7), (None, set(), 6)):
                runtime.keep_listed("chartrepositories", namespace, uids, version=version)
                assert sum(runtime.repositories.count_ready()) == 1
            assert cluster.server.watched.count("secrets") == 1
            runtime.keep_listed("chartrepositories", listed, set(), version=7)
            await asyncio.sleep(1.0)
            assert sum(runtime.repositories.count_ready()) == 0
            assert cluster.server.watched.count("secrets") == 0

    run_in_fake_time(live(), clock)


def test_a_chart_goes_although_another_xapp_has_the_name_of_an_earlier_owner(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        name = STORED_CHART["metadata"]["name"]
        chart = Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, name)
        owners = history.cluster.server.get(chart)["metadata"]["ownerReferences"]
        owners.append({**owners[0], "name": "other", "uid": "earlier"})
        history.cluster.server.patch(chart, {"metadata": {"ownerReferences": owners}})
        archive = {"chartArchiveRef": {"name": "another"}, "digest": STORED_CHART["spec"]["digest"]}
        other = xapp_body(suspend=True, archive=archive)
        other["metadata"]["name"] = "other"
        history.cluster.create(other)
        await history.cluster.wait(20.0)
        history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
        assert history.cluster.server.find("chartarchives", name) is None

    run_history(settings, play)


def test_a_deletion_is_worked_on_before_the_watch_tells_of_it(tmp_path: Path) -> None:
    clock = FakeClock()

    async def live() -> None:
        cluster = FakeCluster(make_settings(tmp_path), clock)
        cluster.create(STORED_CHART)
        body = xapp_body()
        body["metadata"]["finalizers"] = [FINALIZER]
        cluster.create(body)
        async with (
            KubeClient(FakeTransport(cluster.server, fake_credentials())) as kube,
            OperatorRuntime(kube, cluster.settings, Metrics(), clock=clock, start_helm=cluster.helm) as runtime,
        ):
            runtime.update_xapp(cluster.xapp() or {})
            await asyncio.sleep(30.0)
            assert cluster.server.find("deployments", "hello") is not None
            cluster.delete()
            assert await runtime.wait_removed(cluster.xapp() or {}, seconds=10.0)
            assert cluster.server.find("deployments", "hello") is None

    run_in_fake_time(live(), clock)


def test_the_networks_of_the_cluster_are_read_before_charts_are(tmp_path: Path) -> None:
    clock = FakeClock()

    async def start() -> list[str]:
        settings = make_settings(tmp_path).model_copy(update={"repository_denied_networks": ("nodes",)})
        cluster = FakeCluster(settings, clock)
        transport = FakeTransport(cluster.server, fake_credentials())
        async with (
            KubeClient(transport) as kube,
            OperatorRuntime(kube, settings, Metrics(), clock=clock, start_helm=cluster.helm),
        ):
            return [each.path for each in transport.requests]

    paths = run_in_fake_time(start(), clock)
    assert "/api/v1/nodes" in paths


def test_an_operator_of_some_namespaces_lists_nothing_of_the_others(tmp_path: Path) -> None:
    clock = FakeClock()

    async def start() -> set[str]:
        settings = make_settings(tmp_path).model_copy(update={"namespaces": (NAMESPACE, "other")})
        cluster = FakeCluster(settings, clock)
        transport = FakeTransport(cluster.server, fake_credentials())
        async with (
            KubeClient(transport) as kube,
            OperatorRuntime(kube, settings, Metrics(), clock=clock, start_helm=cluster.helm),
        ):
            return {each.path for each in transport.requests if each.path.endswith("/xapps")}

    group = "/apis/xapp-operator.io/v1alpha1"
    assert run_in_fake_time(start(), clock) == {f"{group}/namespaces/{each}/xapps" for each in (NAMESPACE, "other")}


def _repository(version: int, **spec: Any) -> dict[str, Any]:
    """Return a ChartRepository that was looked at a moment ago."""
    at = datetime.fromtimestamp(START, UTC).isoformat()
    ready = {"type": "Ready", "status": "True", "reason": "Fetched", "message": "", "observedGeneration": 1}
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {"name": "acme", "namespace": "ns", "uid": "r", "resourceVersion": str(version), "generation": 1},
        "spec": {"url": "https://charts.example.com", **spec},
        "status": {"lastFetched": at, "conditions": [{**ready, "lastTransitionTime": at}]},
    }


def test_secrets_of_a_namespace_are_watched_while_an_xapp_or_a_repository_is_there_that_may_need_one(
    tmp_path: Path,
) -> None:
    clock = FakeClock()

    async def live() -> None:
        async with _running(tmp_path, clock) as (cluster, runtime):

            async def watches() -> int:
                await asyncio.sleep(1.0)
                return cluster.server.watched.count("secrets")

            runtime.update_repository(_repository(1), deleted=False)
            assert await watches() == 0
            runtime.update_repository(_repository(2, secretRef={"name": "creds"}), deleted=False)
            assert await watches() == 1
            cluster.create(xapp_body())
            runtime.update_xapp(cluster.xapp() or {})
            runtime.update_repository(_repository(3, secretRef={"name": "creds"}), deleted=True)
            assert await watches() == 1
            runtime.delete_xapp(cluster.xapp() or {})
            assert await watches() == 0

    run_in_fake_time(live(), clock)


def test_nothing_is_kept_of_an_xapp_whose_deletion_is_seen_after_its_name_is_used_again(tmp_path: Path) -> None:
    clock = FakeClock()

    async def live() -> None:
        async with _running(tmp_path, clock) as (cluster, runtime):
            cluster.create(xapp_body())
            first = cluster.xapp() or {}
            cluster.delete()
            cluster.create(xapp_body())
            runtime.update_xapp(cluster.xapp() or {})
            assert not await runtime.wait_removed(first, seconds=1.0)
            runtime.delete_xapp(first)
            assert list(find(frozenset({first["metadata"]["uid"]}), runtime)) == []

    run_in_fake_time(live(), clock)


@pytest.mark.parametrize("silent", ["chartarchives", "configmaps", "secrets", "services"])
def test_the_last_contact_is_that_of_the_quietest_watch(tmp_path: Path, silent: str) -> None:
    clock = FakeClock()

    async def live() -> None:
        async with _running(tmp_path, clock) as (cluster, runtime):

            async def change(plurals: set[str]) -> None:
                for (group, version), kinds in KINDS.items():
                    for plural in plurals & kinds.keys():
                        spec = {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}
                        metadata = {"name": "changed", "labels": {"xapp-operator.io/xapp": "hello"}}
                        body = {"metadata": metadata, "spec": {**spec["template"]["spec"], **spec}}
                        cluster.server.create(Target(group, version, plural, "ns"), body)
                await asyncio.sleep(5.0)

            runtime.update_repository(_repository(1, secretRef={"name": "creds"}), deleted=False)
            await asyncio.sleep(5.0)
            watched = set(cluster.server.watched)
            before = time.monotonic()
            await change(watched - {silent})
            assert runtime.last_contact <= before
            await change({silent})
            assert runtime.last_contact > before

    run_in_fake_time(live(), clock)


def test_a_repository_is_looked_at_after_its_interval_and_with_back_off_after_failures(tmp_path: Path) -> None:
    clock = FakeClock()
    looks: list[float] = []
    refused = [2, 3]
    """The looks whose status the cluster refuses."""

    def handle(request: ApiRequest) -> None:
        if request.path.endswith("/secrets/creds"):
            looks.append(clock.monotonic())
        if request.path.endswith("/acme/status") and len(looks) in refused:
            raise Refused(403, "Forbidden", "chartrepositories is forbidden")

    async def live() -> None:
        async with _running(tmp_path, clock, refuse=handle) as (_, runtime):
            body = _repository(1, secretRef={"name": "creds"}, interval="10m")
            runtime.update_repository(body | {"status": {}}, deleted=False)
            await asyncio.sleep(1300.0)

    run_in_fake_time(live(), clock)
    assert [after - before for before, after in itertools.pairwise(looks)] == pytest.approx([600, 1, 2, 600], rel=0.25)


def test_metrics_that_are_read(tmp_path: Path) -> None:
    clock = FakeClock()

    async def measure() -> str:
        cluster = FakeCluster(make_settings(tmp_path), clock)
        metrics = Metrics()
        async with KubeClient(FakeTransport(cluster.server, fake_credentials())) as kube:
            runtime = OperatorRuntime(kube, cluster.settings, metrics, clock=clock, start_helm=cluster.helm)
            cluster.create(xapp_body())
            runtime.update_xapp(cluster.xapp() or {})
            for name, status in (("good", "True"), ("bad", "False"), ("worse", "False")):
                ready = {"type": "Ready", "status": status, "reason": "X", "message": "", "observedGeneration": 1}
                conditions = [{**ready, "lastTransitionTime": "2027-01-15T08:00:00Z"}]
                metadata = {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1", "generation": 1}
                spec = {"url": "https://charts.example.com"}
                body: dict[str, Any] = {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}
                runtime.update_repository(body, deleted=False)
            clock.advance(7.0)
            runtime.update_metrics()
        return metrics.render().decode()

    lines = run_in_fake_time(measure(), clock).splitlines()
    for expected in (
        "xapp_operator_queue_depth 1.0",
        "xapp_operator_queue_oldest_seconds 7.0",
        'xapp_operator_chart_repositories{ready="true"} 1.0',
        'xapp_operator_chart_repositories{ready="false"} 2.0',
        'xapp_operator_helm_slots_used{kind="running"} 0.0',
        "xapp_operator_helm_slots_awaited 0.0",
        'xapp_operator_xapps_not_ready{min_seconds="0"} 1.0',
    ):
        assert expected in lines, lines
