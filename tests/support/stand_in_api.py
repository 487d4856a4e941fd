"""An HTTP server that answers a gateway as an API server does, for tests about who calls and how often.

A token `<user>:<anything>` belongs to that user; any other token is unknown. Every user may do everything. A followed
log never ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from tests.support.gateway import UNREACHABLE_KUBECONFIG, GatewayServer, offline_gateway, serve_gateway
from tests.support.proxied_xapp import NAME, NAMESPACE, register_xapp, service_object
from xapp_operator.gateway.state import Gateway
from xapp_operator.kube.resources import PODS

START_SECONDS: Final = 60.0
POD: Final = "hello-0"
LOGS: Final = f"/api/xapps/{NAMESPACE}/{NAME}/logs"


@dataclass(slots=True)
class StandInApi:
    """The server, and how many requests of each kind it has had."""

    port: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    denied: set[str] = field(default_factory=set)
    """Users who may do nothing."""
    denied_verbs: set[str] = field(default_factory=set)
    """Verbs that nobody may use."""
    expired: set[str] = field(default_factory=set)
    """Users whose tokens are not accepted any more."""
    secrets: dict[str, Any] = field(default_factory=dict)

    def application(self) -> web.Application:
        """Return the routes."""
        app = web.Application()
        app.add_routes(
            [
                web.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", self._review_user),
                web.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", self._review_access),
                web.get(f"/api/v1/namespaces/{NAMESPACE}/pods", self._pods),
                web.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{POD}/log", self._log),
                web.post("/api/v1/namespaces/{namespace}/secrets", self._create_secret),
                web.get("/api/v1/namespaces/{namespace}/secrets/{name}", self._get_secret),
                web.route("*", "/{rest:.*}", self._nothing),
            ]
        )
        return app

    def _user(self, request: web.Request) -> str | None:
        user, separator, _ = request.headers.get("Authorization", "").removeprefix("Bearer ").rpartition(":")
        return user if separator and user not in self.expired else None

    async def _review_user(self, request: web.Request) -> web.Response:
        self.requests["users"] += 1
        user = self._user(request)
        if user is None:
            self.requests["unknown tokens"] += 1
            return web.json_response({"kind": "Status", "message": "Unauthorized", "code": 401}, status=401)
        return web.json_response({"status": {"userInfo": {"username": user, "groups": ["users"]}}}, status=201)

    async def _review_access(self, request: web.Request) -> web.Response:
        self.requests["access"] += 1
        user = self._user(request)
        if user is None:
            return web.json_response({"kind": "Status", "message": "Unauthorized", "code": 401}, status=401)
        verb = (await request.json())["spec"]["resourceAttributes"]["verb"]
        allowed = user not in self.denied and verb not in self.denied_verbs
        return web.json_response({"status": {"allowed": allowed}}, status=201)

    async def _pods(self, request: web.Request) -> web.Response:
        is_asked_for = request.query.get("fieldSelector") == f"metadata.name={POD}"
        return web.json_response({"kind": "PodList", "metadata": {}, "items": [pod()] if is_asked_for else []})

    async def _log(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"2026-11-20T08:00:00.000000001Z one line\n")
        await asyncio.sleep(600)
        return answer

    async def _create_secret(self, request: web.Request) -> web.Response:
        secret = await request.json()
        self.secrets[secret["metadata"]["name"]] = secret
        return web.json_response(secret, status=201)

    async def _get_secret(self, request: web.Request) -> web.Response:
        secret = self.secrets.get(request.match_info["name"])
        return await self._nothing(request) if secret is None else web.json_response(secret)

    async def _nothing(self, request: web.Request) -> web.Response:
        self.requests["other"] += 1
        return web.json_response({"kind": "Status", "message": "not found", "code": 404}, status=404)


def pod() -> dict[str, Any]:
    """Return the pod of the xApp."""
    metadata = service_object(POD)["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "core", "image": "none"}]},
        "status": {"phase": "Running"},
    }


@contextmanager
def serve_api() -> Iterator[StandInApi]:
    """Serve on a free loopback port until the block ends."""
    api = StandInApi()
    started: Future[asyncio.AbstractEventLoop] = Future()
    stopping = asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(api.application(), handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
            api.port = runner.addresses[0][1]
            started.set_result(asyncio.get_running_loop())
            await stopping.wait()
        finally:
            await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="stand-in api")
    thread.start()
    try:
        loop = started.result(START_SECONDS)
        try:
            yield api
        finally:
            loop.call_soon_threadsafe(stopping.set)
    finally:
        thread.join(START_SECONDS)


@contextmanager
def serve_authenticating_gateway(api: StandInApi, folder: Path, **changes: object) -> Iterator[GatewayServer]:
    """Serve a gateway that authenticates callers with `api` and knows one xApp; `changes` are settings."""
    settings, opened = offline_gateway(folder)
    (folder / "kubeconfig").write_text(UNREACHABLE_KUBECONFIG.replace("127.0.0.1:1", f"127.0.0.1:{api.port}"))

    def register(gateway: Gateway) -> None:
        register_xapp(gateway, service_object())
        gateway.registry._caches[PODS][0].store_written(pod())

    with serve_gateway(settings.model_copy(update={"auth": "kubernetes", **changes}), opened) as gateway:
        gateway.run_in_loop(register)
        yield gateway
