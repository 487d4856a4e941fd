"""Threat: a repository never ends the head of its response, and its data keeps the event loop busy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.errors import SourceUnavailable

SENT_MAX_BYTES = 64 * 1024 * 1024


@asynccontextmanager
async def endless_server(block: bytes, *, start: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """Answer with `start` and then `block` again and again; yield the URL and the bytes that were sent."""
    sent = [0]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(start)
            while sent[0] < SENT_MAX_BYTES:
                writer.write(block)
                await writer.drain()
                sent[0] += len(block)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", sent


@pytest.mark.parametrize(
    ("start", "block"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 1000),
        (b"HTTP/1.1 200 OK\r\nX-A: ", b"a" * 10_000),
    ],
    ids=["100 Continue", "headers", "one header"],
)
async def test_a_head_without_end_is_refused(sources: ChartSources, start: bytes, block: bytes) -> None:
    async with endless_server(block, start=start) as (url, sent):
        with pytest.raises(SourceUnavailable, match="does not respond with valid HTTP"):
            await sources.list_charts(Repository(url=url, namespace="ric"))
    assert sent[0] < SENT_MAX_BYTES
