"""Kills real helm processes in the middle of a step: a proxy before the API server counts their writes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web

from tests.localcluster import Cluster
from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult, run_process

_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_OF_THE_CONNECTION: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "authorization"})
_BODY_MAX_BYTES: Final = 8 * 1024 * 1024


@dataclass
class KillingProxy:
    """Passes requests on to the API server, but for the one before which helm is killed."""

    cluster: Cluster
    kubeconfig: Path
    """For helm: it leads to this proxy."""
    _session: aiohttp.ClientSession
    _writes_left: int | None = None
    _running: set[int] = field(default_factory=set)

    def kill_before(self, write: int) -> None:
        """Let helm get SIGKILL before that write from now, counted from 0. The write does not take place."""
        self._writes_left = write

    async def start_helm(
        self, command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
    ) -> ProcessResult:
        """Run helm as `run_process` does, which is a `ProcessStarter` too."""
        started: list[int] = []

        def note(pid: int) -> None:
            started.append(pid)
            self._running.add(pid)
            if on_start is not None:
                on_start(pid)

        try:
            return await run_process(command, limits=limits, on_start=note)
        finally:
            self._running.difference_update(started)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method in _WRITES and "dryRun" not in request.query and self._is_last_moment():
            (pid,) = self._running
            os.killpg(pid, signal.SIGKILL)
            raise web.HTTPServiceUnavailable  # which nobody reads
        headers = [each for each in request.headers.items() if each[0].lower() not in _OF_THE_CONNECTION]
        async with self._session.request(
            request.method,
            f"{self.cluster.server}{request.raw_path}",
            headers=[*headers, ("Authorization", f"Bearer {self.cluster.token}")],
            data=await request.read() if request.can_read_body else None,
            ssl=False,
        ) as answer:
            passed = {name: text for name, text in answer.headers.items() if name.lower() not in _OF_THE_CONNECTION}
            response = web.StreamResponse(status=answer.status, headers=passed)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    def _is_last_moment(self) -> bool:
        left = self._writes_left
        if left is not None:
            self._writes_left = left - 1 if left else None
        return left == 0


@contextlib.asynccontextmanager
async def killing_proxy(cluster: Cluster, folder: Path) -> AsyncIterator[KillingProxy]:
    """Serve a proxy, whose kubeconfig is in `folder`."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        proxy = KillingProxy(cluster, folder / "kubeconfig", session)
        application = web.Application(client_max_size=_BODY_MAX_BYTES)
        application.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0]
            _write_kubeconfig(proxy.kubeconfig, f"http://{host}:{port}")
            yield proxy
        finally:
            await runner.cleanup()


def _write_kubeconfig(path: Path, server: str) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": server}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        "users": [{"name": "proxy", "user": {}}],
    }
    path.write_text(json.dumps(config), encoding="utf-8")
