"""Threat: an index that unpacks to millions of entries stops a process that parses it, or fills its memory."""

from __future__ import annotations

import asyncio
import gzip
import resource
import tempfile
from typing import IO

import pytest

from tests.support.event_loop import LoopWork
from tests.unit.charts.http_site import Reply, WebServer
from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.sources.index_parser import MAX_ENTRIES
from xapp_operator.charts.sources.index_reader import IN_THREAD_MAX_BYTES, IndexReader
from xapp_operator.config.settings import MIB
from xapp_operator.errors import ChartSourceError

GOOD = b"apiVersion: v1\nentries:\n  hello:\n  - {version: 0.1.0, urls: [hello-0.1.0.tgz]}\n"
PADDING = b"#" * IN_THREAD_MAX_BYTES + b"\n"
LARGE_GOOD = PADDING + GOOD


def index_with(entries: int) -> bytes:
    """Return a compressed index of one chart with so many versions; two million take 163 KB."""
    return gzip.compress(b"entries: {a: [" + b"{version: 1.0.0, urls: [a]}," * entries + b"]}\n")


def repository(server: WebServer, path: str, *, namespace: str = "noisy") -> Repository:
    return Repository(url=str(server.url(path)), namespace=namespace)


def file_of(data: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(data)
    return file


async def test_an_index_of_two_million_entries_is_refused(sources: ChartSources, server: WebServer) -> None:
    server.routes["/bad/index.yaml"] = Reply(index_with(2_200_000))
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(ChartSourceError, match=r"more than 100,000 charts and versions") as caught:
        await sources.list_charts(repository(server, "/bad"))
    after, process = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    assert caught.value.permanent
    assert after.ru_utime - before.ru_utime < process.ru_utime, "the parsing took place in this process"


async def test_a_refused_index_is_not_parsed_again() -> None:
    reader = IndexReader(max_bytes=64 * MIB, max_weight=32 * MIB)
    with file_of(index_with(MAX_ENTRIES + 1)) as file:
        spent = []
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            with pytest.raises(ChartSourceError, match="more than 100,000"):
                await reader.read(file, namespace="noisy")
            spent.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    assert spent[0] > 0
    assert spent[1] == 0


async def test_an_index_at_the_bound_is_read() -> None:
    reader = IndexReader(max_bytes=64 * MIB, max_weight=64 * MIB)
    with file_of(index_with(MAX_ENTRIES - 1)) as file:
        index = await reader.read(file, namespace="noisy")
    assert len(index.versions("a")) == MAX_ENTRIES - 1  # the chart itself is the first entry
    assert index.weight > MAX_ENTRIES


@pytest.mark.parametrize(
    ("entry", "times"),
    [(b"- {version: 1.0.0, urls: [a], description: %s}\n" % (b"x" * 10), 2_000), (b"- ~\n", MAX_ENTRIES + 1)],
)
async def test_the_weight_of_an_index_is_that_of_its_parsed_content(entry: bytes, times: int) -> None:
    reader = IndexReader(max_bytes=64 * MIB, max_weight=100_000)
    data = b"entries:\n  a:\n" + b"".join(b"  " + entry.replace(b"1.0.0", b"1.0.%d" % n) for n in range(times))
    with file_of(data) as file, pytest.raises(ChartSourceError, match="of the repository has more"):
        await reader.read(file, namespace="noisy")


@pytest.mark.parametrize(
    ("limits", "expected_message"),
    [({"cpu_seconds": 1}, "more than 1 s of processor time"), ({"memory_bytes": 48 * MIB}, "too much memory")],
)
async def test_the_parser_has_bounds_of_its_own(limits: dict[str, int], expected_message: str) -> None:
    reader = IndexReader(max_bytes=64 * MIB, max_weight=32 * MIB, **limits)
    flood = b"junk: [" + b"[]," * 6_000_000 + b"]\n" if "cpu_seconds" in limits else b'junk: "' + b"x" * 60 * MIB
    with file_of(flood) as file, pytest.raises(ChartSourceError, match=expected_message) as caught:
        await reader.read(file, namespace="noisy")
    assert caught.value.permanent


async def test_hostile_indexes_of_one_namespace_do_not_delay_another() -> None:
    reader = IndexReader(max_bytes=64 * MIB, max_weight=32 * MIB)
    files = [file_of(index_with(2_000_000 + number)) for number in range(3)]
    noisy = [asyncio.create_task(reader.read(file, namespace="noisy")) for file in files]
    with file_of(LARGE_GOOD) as file:
        assert (await reader.read(file, namespace="quiet")).names == ("hello",)
    assert not all(task.done() for task in noisy)
    assert all(isinstance(error, ChartSourceError) for error in await asyncio.gather(*noisy, return_exceptions=True))
    for file in files:
        file.close()


async def test_the_event_loop_goes_on_while_a_hostile_index_is_read(sources: ChartSources, server: WebServer) -> None:
    server.routes["/good/index.yaml"] = Reply(GOOD)
    server.routes["/bad/index.yaml"] = Reply(index_with(2_200_000))
    with LoopWork() as normal:
        await sources.list_charts(repository(server, "/good"))
    with LoopWork() as hostile, pytest.raises(ChartSourceError):
        await sources.list_charts(repository(server, "/bad"))
    assert hostile.longest_seconds < normal.longest_seconds + 0.25
