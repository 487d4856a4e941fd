"""kopf runs inside the operator and leaves nothing behind when it stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import kopf
import pytest
from aiohttp import web

from xapp_operator.api.names import GROUP, VERSION
from xapp_operator.config.settings import Settings
from xapp_operator.handlers.kopf_operator import _configure_kopf, run_operator
from xapp_operator.kube.credentials import ConnectionInfo
from xapp_operator.reconcile.runtime import OperatorRuntime


@asynccontextmanager
async def silent_api_server(asked: asyncio.Event) -> AsyncIterator[str]:
    """Serve the list of API groups; every other request is held until its client gives up."""

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/apis":
            version = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
            groups = [{"name": GROUP, "preferredVersion": version, "versions": [version]}]
            return web.json_response({"groups": groups})
        if request.path == "/api":
            return web.json_response({"versions": []})
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def runtime_at(server: str) -> OperatorRuntime:
    """Return what kopf needs of a runtime before the first event: where the API server is."""

    async def connection() -> ConnectionInfo:
        return ConnectionInfo(
            server=server,
            token="t",
            ca_data=None,
            certificate_data=None,
            private_key_data=None,
            insecure=True,
            proxy=None,
        )

    return cast(
        "OperatorRuntime", SimpleNamespace(kube=SimpleNamespace(credentials=SimpleNamespace(connection=connection)))
    )


def is_of_kopf(task: asyncio.Task[Any]) -> bool:
    """Return whether a task runs code of kopf; its representation has the path of the checkout too."""
    frame = getattr(task.get_coro(), "cr_frame", None)
    return frame is not None and frame.f_globals["__name__"].partition(".")[0] == "kopf"


async def test_a_stop_during_discovery_leaves_no_request_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    asked = asyncio.Event()
    async with silent_api_server(asked) as server:
        before = asyncio.all_tasks()
        operator = asyncio.create_task(run_operator(runtime_at(server), Settings(), on_started=lambda: None))
        await asyncio.wait_for(asked.wait(), 30)

        operator.cancel()
        await asyncio.wait([operator], timeout=30)

        left = [task for task in asyncio.all_tasks() - before if is_of_kopf(task)]
    assert operator.cancelled()
    assert left == []
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_after_errors_kopf_passes_on_events_again_within_half_a_minute() -> None:
    settings = kopf.OperatorSettings()
    _configure_kopf(settings)
    pauses = list(settings.queueing.error_delays)
    assert pauses[-1] == max(pauses) == 30  # kopf repeats the last one
