"""A gateway that serves HTTP on a free loopback port, in a thread, for tests and benchmarks.

`offline_gateway` has no API server: the test fills its store.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import httpx

from xapp_operator.common.event_loop import new_event_loop
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.http.connections.tls import TlsCertificate
from xapp_operator.gateway.http.responses.dashboard_files import DashboardFiles
from xapp_operator.gateway.server import Server, listening_socket
from xapp_operator.gateway.state import Gateway

START_SECONDS: Final = 60.0
PLAIN_HTTP: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""`verify` of clients that need no TLS: it trusts nobody. By default, each new client reads all public certificates."""
T = TypeVar("T")

UNREACHABLE_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: nobody
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
clusters: [{name: nobody, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: nobody, user: {}}]
"""


class GatewayServer:
    """A running gateway. Use `gateway` in its own thread only, through `run_in_loop`."""

    def __init__(self, gateway: Gateway, server: Server, *, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.gateway = gateway
        self.port = port
        self.server = server
        self._loop = loop

    @property
    def url(self) -> str:
        """Return the base URL."""
        scheme = "http" if self.gateway.settings.tls_cert is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}"

    def client(self, **options: object) -> httpx.Client:
        """Return an HTTP client of this gateway; `options` are those of httpx."""
        options = {"verify": PLAIN_HTTP, **options}
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **options)  # type: ignore[arg-type]

    def run_in_loop(self, function: Callable[[Gateway], T]) -> T:
        """Run `function` in the gateway's thread and return its result."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(function(self.gateway))
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(START_SECONDS)

    def stop(self) -> None:
        """Start the shutdown, as a signal does. The block of `serve_gateway` waits for its end."""
        self._loop.call_soon_threadsafe(self.server.stop)

    def send_raw(self, request: bytes, *, shut_down_writing: bool = False) -> bytes:
        """Send raw bytes and return the response, until it is complete or the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(request)
            if shut_down_writing:
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
                head, separator, body = answer.partition(b"\r\n\r\n")
                if separator and len(body) >= _content_length(head):
                    break
            return answer


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


@contextmanager
def serve_gateway(
    settings: Settings,
    open_gateway: Callable[[Settings], AbstractAsyncContextManager[Gateway]] = Gateway.start,
    *,
    wait_synced: bool = True,
) -> Iterator[GatewayServer]:
    """Serve until the block ends. With `wait_synced`, the block starts when the caches are filled."""
    started: Future[GatewayServer] = Future()
    stops: list[Callable[[], object]] = []

    async def serve() -> None:
        with listening_socket(settings) as listener:
            async with open_gateway(settings) as gateway:
                server = Server(gateway, tls=TlsCertificate.from_settings(settings))
                loop = asyncio.get_running_loop()
                stops.append(lambda: loop.call_soon_threadsafe(server.stop))
                if wait_synced:
                    await gateway.cache.wait_synced(timeout_seconds=START_SECONDS)
                    await asyncio.wait_for(gateway.repositories.synced.wait(), START_SECONDS)
                    await asyncio.wait_for(gateway.archives.synced.wait(), START_SECONDS)
                    await asyncio.wait_for(gateway.services.synced.wait(), START_SECONDS)
                    await asyncio.wait_for(gateway.registry.synced.wait(), START_SECONDS)
                started.set_result(GatewayServer(gateway, server, port=listener.getsockname()[1], loop=loop))
                await server.serve(sockets=[listener])

    def run(main: Callable[[], Awaitable[None]]) -> None:
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(main())  # type: ignore[arg-type]
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
            else:
                raise

    thread = threading.Thread(target=run, args=(serve,), name="gateway")
    thread.start()
    try:
        yield started.result(START_SECONDS)
    finally:
        for stop in stops:
            stop()
        thread.join(START_SECONDS)


def offline_gateway(
    folder: Path, *, dashboard: DashboardFiles | None = None
) -> tuple[Settings, Callable[[Settings], AbstractAsyncContextManager[Gateway]]]:
    """Return settings and the opener of a gateway without an API server, whose caches count as synced.

    Whether the checkout has a built dashboard makes no difference: it serves `dashboard`.
    """
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(UNREACHABLE_KUBECONFIG)

    @asynccontextmanager
    async def open_gateway(settings: Settings) -> AsyncIterator[Gateway]:
        async with Gateway.start(settings) as gateway:
            await gateway.cache.stop()
            gateway.cache.synced.set()
            await gateway.repositories.stop()
            gateway.repositories.synced.set()
            await gateway.archives.stop()
            gateway.archives.synced.set()
            await gateway.services.stop()
            gateway.services.synced.set()
            await gateway.registry.stop()
            gateway.registry.synced.set()
            yield replace(gateway, dashboard=dashboard)

    settings = Settings(
        kubeconfig=str(kubeconfig),
        auth="none",
        port=0,
        cache_dir=folder / "cache",
        helm="true",  # Any program does: rendering asks the API server first, and fails.
        audit_log="off",
        repository_denied_networks=("apiserver",),  # The others are read from it, with retries that take a second.
    )
    return settings, open_gateway
