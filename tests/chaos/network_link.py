"""The network between one operator, with its helm, and the API server: a relay that can stall, reset and be slow."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.localcluster import Cluster
from tests.localcluster.kubeconfig import write_private_file

CHUNK_BYTES: Final = 65536


class NetworkLink:
    """Relays TCP on loopback to the API server. Close it, or leave it to the end of the process."""

    def __init__(self, cluster: Cluster) -> None:
        address = urllib.parse.urlsplit(cluster.server)
        self._target = address.hostname or "", address.port or 443
        self._cluster = cluster
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network link", daemon=True)
        self._thread.start()
        self._passes = asyncio.Event()
        self._passes.set()
        self._delay = 0.0
        self._refuses = False
        self._writers: set[asyncio.StreamWriter] = set()
        listening = asyncio.start_server(self._relay, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self.port = int(self._server.sockets[0].getsockname()[1])

    def cluster_behind(self, kubeconfig: Path, *, token: str) -> Cluster:
        """Return the cluster as the owner of a token reaches it through this link; `kubeconfig` is written."""
        config = json.loads(self._cluster.kubeconfig.read_text())
        server = f"https://127.0.0.1:{self.port}"
        config["clusters"][0]["cluster"]["server"] = server
        config["users"][0]["user"] = {"token": token}
        write_private_file(kubeconfig, json.dumps(config))
        return replace(self._cluster, kubeconfig=kubeconfig, server=server, token=token)

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """Let no byte through, without closing a connection, until the end of the block."""
        self._loop.call_soon_threadsafe(self._passes.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._passes.set)

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Close all connections, and new ones at once, until the end of the block."""
        self._refuses = True
        self._loop.call_soon_threadsafe(self._reset)
        try:
            yield
        finally:
            self._refuses = False

    def reset(self) -> None:
        """Close all connections once."""
        self._loop.call_soon_threadsafe(self._reset)

    @contextlib.contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Hold each piece of an answer back for some time until the end of the block."""
        self._delay = seconds
        try:
            yield
        finally:
            self._delay = 0.0

    def close(self) -> None:
        """Stop relaying."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        self._reset()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        try:
            await self._passes.wait()
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self._writers |= both
        try:
            await asyncio.gather(
                self._pump(reader, far_writer, delayed=False), self._pump(far_reader, writer, delayed=True)
            )
        finally:
            self._writers -= both
            for each in both:
                each.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, delayed: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(CHUNK_BYTES):
                if delayed and self._delay:
                    await asyncio.sleep(self._delay)
                await self._passes.wait()
                sink.write(chunk)
                await sink.drain()
        with contextlib.suppress(OSError):
            if sink.can_write_eof():
                sink.write_eof()
