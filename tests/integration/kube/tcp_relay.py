"""A TCP relay in front of the API server, so that one client's connection can be cut while the server runs on."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import yaml


class TcpRelay:
    """Passes bytes on until it is cut; a kubeconfig that goes through it."""

    def __init__(self, kubeconfig: Path, *, folder: Path) -> None:
        self._config = yaml.safe_load(kubeconfig.read_text())
        target = urlsplit(self._config["clusters"][0]["cluster"]["server"])
        self._target = (target.hostname, target.port)
        self._connections: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self.bytes_received = 0
        """Bytes that the API server has sent."""
        self.kubeconfig = folder / "relayed.kubeconfig"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self._config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        self.kubeconfig.write_text(json.dumps(self._config))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self.cut()
        await self._server.wait_closed()

    async def cut(self) -> None:
        """End all connections and accept no more."""
        self._is_cut = True
        tasks = tuple(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def restore(self) -> None:
        """Pass connections on again."""
        self._is_cut = False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or self._is_cut:
            await _abort(writer)
            return
        self._connections.add(task)
        upstream: asyncio.StreamWriter | None = None
        try:
            upstream_reader, upstream = await asyncio.open_connection(*self._target)
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, upstream))
                group.create_task(self._copy_received(upstream_reader, writer))
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            for end in (writer, upstream):
                if end is not None:
                    await _abort(end)

    async def _copy_received(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.bytes_received += len(data)
            writer.write(data)
            await writer.drain()
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
