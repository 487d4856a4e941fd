"""HTTP servers on loopback that replace an API server where a real one cannot be made to fail."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Connect(Protocol):
    """Serves `handler` and returns a client; `user` is the user of the kubeconfig."""

    async def __call__(self, handler: Handler, *, user: JsonObject | None = None) -> KubeClient: ...


def write_kubeconfig(path: Path, *, cluster: JsonObject, user: JsonObject) -> Path:
    """Write a kubeconfig with one context."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    path.write_text(json.dumps(config))
    return path


@pytest.fixture
async def connect(tmp_path: Path) -> AsyncIterator[Connect]:
    """Serve plain HTTP with a handler for every path, and connect to it."""
    opened: list[tuple[KubeClient, TestServer]] = []

    async def start(handler: Handler, *, user: JsonObject | None = None) -> KubeClient:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        server = TestServer(app, host="127.0.0.1")
        await server.start_server()
        kubeconfig = write_kubeconfig(
            tmp_path / "kubeconfig",
            cluster={"server": f"http://127.0.0.1:{server.port}"},
            user=user or {"token": "ours"},
        )
        client = await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig)))
        opened.append((client, server))
        return client

    yield start
    for client, server in opened:
        await client.close()
        await server.close()
