"""Threat: one tenant's large input keeps the event loop busy, so that leases, probes and other callers wait."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest

from tests.support.charts import chart_archive
from tests.support.event_loop import LoopWork, calls_in_this_thread
from tests.unit.charts.http_site import Reply, WebServer
from xapp_operator.charts.chart_request import ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.sources.index_parser import MAX_ENTRIES
from xapp_operator.charts.sources.oci_registry import CONFIG_TYPE, LAYER_TYPES
from xapp_operator.common.off_loop import LOOP_MAX_BYTES, run_sized
from xapp_operator.config.settings import Settings
from xapp_operator.errors import ChartSourceError, SourceAccessDenied, XAppError
from xapp_operator.kube.watch.watch_events import read_watch_events

SLACK_SECONDS = 0.1
DEEP = b"[" * 200_000 + b"]" * 200_000


async def longest_work(work: Callable[[], Awaitable[object]]) -> float:
    with LoopWork() as measured:
        with contextlib.suppress(XAppError):
            await work()
        await asyncio.sleep(0)
    return measured.longest_seconds


@pytest.fixture
async def sources(tmp_path: Path) -> AsyncIterator[ChartSources]:
    async with ChartSources(Settings(cache_dir=tmp_path, allow_loopback_repositories=True)) as one:
        yield one


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with WebServer() as one:
        yield one


async def test_work_on_large_input_is_done_in_a_thread() -> None:
    def is_in_the_loop() -> bool:
        try:
            return asyncio.get_running_loop().is_running()
        except RuntimeError:
            return False

    assert await run_sized(LOOP_MAX_BYTES, is_in_the_loop)
    assert not await run_sized(LOOP_MAX_BYTES + 1, is_in_the_loop)


async def test_a_large_event_of_a_watch_does_not_stall_the_loop() -> None:
    async def watch(body: bytes) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield b'{"type":"MODIFIED","object":{"spec":{"values":' + body + b"}}}\n"

        async for _ in read_watch_events(chunks()):
            pass

    small = await longest_work(lambda: watch(b"{}"))
    assert await longest_work(lambda: watch(DEEP)) < small + SLACK_SECONDS


async def test_watches_go_on_while_long_work_for_tenants_has_all_threads() -> None:
    """Masking a large manifest takes seconds; one caller can ask for more of them than there are threads."""
    over, loop = threading.Event(), asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(2))
    long_work = [loop.run_in_executor(None, over.wait) for _ in range(10)]

    async def chunks() -> AsyncIterator[bytes]:
        yield b'{"type":"MODIFIED","object":{"data":{"a":"' + b"a" * 2 * LOOP_MAX_BYTES + b'"}}}\n'

    try:
        async with asyncio.timeout(20.0):
            assert [event.type async for event in read_watch_events(chunks())] == ["MODIFIED"]
    finally:
        over.set()
        await asyncio.gather(*long_work)


@pytest.mark.parametrize("tags", [["1.0.0"] * 90_000, ["1.0.0-a.b.c"] * 60_000])
async def test_a_registry_with_many_tags_does_not_stall_the_loop(
    sources: ChartSources, server: WebServer, tags: list[str]
) -> None:
    repository = Repository(url=f"oci://{server.url().authority}/acme")
    server.routes["/v2/acme/few/tags/list"] = Reply(b'{"tags": ["1.0.0"]}')
    server.routes["/v2/acme/many/tags/list"] = Reply(orjson.dumps({"tags": tags}))
    small = await longest_work(lambda: sources.list_versions(repository, "few"))
    assert await longest_work(lambda: sources.list_versions(repository, "many")) < small + SLACK_SECONDS


async def test_more_tags_than_any_repository_needs_are_refused(sources: ChartSources, server: WebServer) -> None:
    server.routes["/v2/acme/many/tags/list"] = Reply(json.dumps({"tags": ["1"] * (MAX_ENTRIES + 1)}).encode())
    with pytest.raises(ChartSourceError, match="more than 100,000 tags"):
        await sources.list_versions(Repository(url=f"oci://{server.url().authority}/acme"), "many")


async def test_a_manifest_that_is_nested_deeply_is_refused(sources: ChartSources, server: WebServer) -> None:
    server.routes["/v2/acme/deep/manifests/1.0.0"] = Reply(DEEP)
    repository = Repository(url=f"oci://{server.url().authority}/acme")
    with pytest.raises(ChartSourceError, match="did not return a JSON object"):
        await sources.resolve(ChartRequest(repository=repository, chart="deep", version="1.0.0"))


def manifest(empty_layers: int) -> bytes:
    last = {"mediaType": LAYER_TYPES[0], "digest": f"sha256:{'0' * 64}"}
    return orjson.dumps({"config": {"mediaType": CONFIG_TYPE}, "layers": [*([{}] * empty_layers), last]})


async def test_a_manifest_with_many_layers_does_not_stall_the_loop(sources: ChartSources, server: WebServer) -> None:
    async def resolve(chart: str) -> None:
        repository = Repository(url=f"oci://{server.url().authority}/acme")
        with pytest.raises(SourceAccessDenied):  # the blob; so the manifest was read
            await sources.resolve(ChartRequest(repository=repository, chart=chart, version="1.0.0"))

    for chart, empty_layers in (("few", 0), ("many", 349_000)):
        server.routes[f"/v2/acme/{chart}/manifests/1.0.0"] = Reply(manifest(empty_layers))
        server.routes[f"/v2/acme/{chart}/blobs/sha256:{'0' * 64}"] = Reply(status=403)
    small = await longest_work(lambda: resolve("few"))
    assert await longest_work(lambda: resolve("many")) < small + SLACK_SECONDS


async def test_a_list_of_many_signatures_does_not_stall_the_loop(sources: ChartSources, server: WebServer) -> None:
    archive = chart_archive()
    layer = {"mediaType": LAYER_TYPES[0], "digest": f"sha256:{hashlib.sha256(archive).hexdigest()}"}
    body = orjson.dumps({"config": {"mediaType": CONFIG_TYPE}, "layers": [{**layer, "size": len(archive)}]})
    server.routes["/v2/acme/hello/manifests/0.1.0"] = Reply(body)
    server.routes[f"/v2/acme/hello/blobs/{layer['digest']}"] = Reply(archive)
    repository = Repository(url=f"oci://{server.url().authority}/acme")
    resolved = await sources.resolve(ChartRequest(repository=repository, chart="hello", version="0.1.0"))
    get_signatures = resolved.location.get_signatures
    assert get_signatures is not None
    server.routes[f"/v2/acme/hello/manifests/sha256-{hashlib.sha256(body).hexdigest()}.sig"] = Reply(manifest(349_000))
    with calls_in_this_thread("xapp_operator.api") as called:
        await get_signatures()
    assert "items" not in called


async def test_a_range_over_many_versions_does_not_stall_the_loop(sources: ChartSources, server: WebServer) -> None:
    for path, count in (("few", 1), ("many", 50_000)):
        versions = "".join(f"{{version: 1.0.0-a.{number}, urls: [a]}}, " for number in range(count))
        server.routes[f"/{path}/index.yaml"] = Reply(f"entries: {{hello: [{versions}]}}\n".encode())

    async def resolve(path: str) -> None:
        repository = Repository(url=str(server.url(f"/{path}")))
        await sources.resolve(ChartRequest(repository=repository, chart="hello", version=">=2"))

    small = await longest_work(lambda: resolve("few"))
    assert await longest_work(lambda: resolve("many")) < small + SLACK_SECONDS
