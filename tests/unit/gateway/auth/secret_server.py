"""A server with one Secret, in place of the API server."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tests.support.gateway import UNREACHABLE_KUBECONFIG
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient

PATH = "/api/v1/namespaces/{namespace}/secrets"


@dataclass
class FakeSecretServer:
    """Stores one Secret like an API server, and counts the requests; `status` answers all of them."""

    data: dict[str, str] | None = None
    version: int = 1
    reads: int = 0
    created: int = 0
    patched: int = 0
    patches: int = 0
    conflicts: int = 0
    status: int | None = None
    patch_status: int | None = None
    has_namespace: bool = True
    hold: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, _request: web.Request) -> web.Response:
        self.reads += 1
        await self.hold.wait()
        if self.status is not None:
            return self._refusal(self.status)
        return self._refusal(404) if self.data is None else self._secret(200)

    async def create(self, request: web.Request) -> web.Response:
        body = await request.json()
        if not self.has_namespace:
            return self._refusal(404, "NotFound")
        if self.data is not None:
            return self._refusal(409, "AlreadyExists")
        self.data = body["data"]
        self.created += 1
        return self._secret(201)

    async def patch(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.patches += 1
        refused = self.status or self.patch_status
        if refused is not None:
            return self._refusal(refused)
        if self.data is None:
            return self._refusal(404)
        if body["metadata"]["resourceVersion"] != str(self.version):
            self.conflicts += 1
            return self._refusal(409, "Conflict")
        self.patched += 1
        self.version += 1
        changed = {**self.data, **body["data"]}
        self.data = {name: value for name, value in changed.items() if value is not None}
        return self._secret(200)

    def _secret(self, status: int) -> web.Response:
        metadata = {"resourceVersion": str(self.version)}
        return web.json_response({"kind": "Secret", "metadata": metadata, "data": self.data}, status=status)

    def _refusal(self, status: int, reason: str = "") -> web.Response:
        return web.json_response({"kind": "Status", "message": "no", "reason": reason, "code": status}, status=status)


class FakeClock:
    """A clock that only a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def secret_server(folder: Path) -> AsyncIterator[tuple[FakeSecretServer, KubeClient]]:
    server = FakeSecretServer()
    server.hold.set()
    app = web.Application()
    app.router.add_get(f"{PATH}/{{name}}", server.read)
    app.router.add_patch(f"{PATH}/{{name}}", server.patch)
    app.router.add_post(PATH, server.create)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(UNREACHABLE_KUBECONFIG.replace("127.0.0.1:1", f"127.0.0.1:{runner.addresses[0][1]}"))
    try:
        async with await KubeClient.connect(Settings(kubeconfig=str(kubeconfig))) as kube:
            yield server, kube
    finally:
        await runner.cleanup()


def make_key(name: int) -> dict[str, str]:
    """Return the entry of a Secret for a key made at `name` (seconds since 1970)."""
    return {str(name): base64.b64encode(secrets.token_bytes(32)).decode()}
