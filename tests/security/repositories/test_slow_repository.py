"""Threat: repositories that send one byte a second hold the downloads of all other namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from yarl import URL

from tests.unit.charts.http_site import Reply, WebServer
from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.download_slots import DownloadSlots, SharedDownloads
from xapp_operator.charts.downloader import Downloader, OriginAccess
from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.errors import SourceTimeout

SLOW_DOWNLOADS = 50
INDEX = b"apiVersion: v1\nentries: {hello: [{version: 0.1.0, urls: [hello-0.1.0.tgz]}]}\n"


@asynccontextmanager
async def slow_server() -> AsyncIterator[Callable[[str], str]]:
    """Serve one byte a second, and yield a function that returns a URL for a path."""

    connections: set[asyncio.Task[None] | None] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.current_task())
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"#")
                await asyncio.sleep(1)
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield lambda path: f"http://127.0.0.1:{port}/{path}"
    finally:
        server.close()
        tasks = [task for task in connections if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_slow_repositories_of_one_namespace_do_not_delay_another(
    sources: ChartSources, server: WebServer
) -> None:
    server.routes["/index.yaml"] = Reply(INDEX)
    async with slow_server() as url:
        slow = [Repository(url=url(str(number)), namespace="noisy") for number in range(SLOW_DOWNLOADS)]
        noisy = [asyncio.create_task(sources.list_charts(repository)) for repository in slow]
        await asyncio.sleep(0)
        index = await sources.list_charts(Repository(url=str(server.url("")), namespace="quiet"))
        assert index is not None
        assert index.names == ("hello",)
        assert not any(task.done() for task in noisy)
        for task in noisy:
            task.cancel()
        await asyncio.gather(*noisy, return_exceptions=True)


async def test_nobody_waits_for_a_download_that_waits_for_the_slots_of_another_namespace() -> None:
    downloads: SharedDownloads[str, str] = SharedDownloads(DownloadSlots(4, timeout_seconds=60))
    never = asyncio.Event()

    async def hang() -> str:
        await never.wait()
        return "slow"

    async def load() -> str:
        return "popular"

    noisy = [asyncio.create_task(downloads.run("slow", hang, namespace="noisy"))]
    noisy.append(asyncio.create_task(downloads.run("popular", load, namespace="noisy")))
    await asyncio.sleep(0)
    assert await downloads.run("popular", load, namespace="quiet") == "popular"
    assert not any(task.done() for task in noisy)
    await downloads.close()
    await asyncio.gather(*noisy, return_exceptions=True)


async def test_a_namespace_whose_downloads_all_hang_is_told_so() -> None:
    slots = DownloadSlots(4, timeout_seconds=0.01)
    async with slots.slot("noisy"):
        with pytest.raises(SourceTimeout, match="too many downloads run for the namespace noisy"):
            async with slots.slot("noisy"):
                pass


async def test_a_download_that_is_too_slow_is_ended() -> None:
    async with slow_server() as url:
        location = URL(url("index.yaml"))
        rule = AddressRule(allow_loopback=True)
        async with Downloader(timeout_seconds=600, address_rule=lambda: rule, body_seconds=0.1) as downloader:
            with pytest.raises(SourceTimeout, match=r"less than 10,240 bytes in 0\.1 s"):
                await downloader.get(location, access=OriginAccess(origin_url=location), max_bytes=1000)
