"""A chart repository on loopback that counts its requests, and can be changed and closed while it runs."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from types import TracebackType
from typing import Self

import yaml

from tests.support.http_server import QuietServer


class ChartServer:
    """Charts by (name, version), served with an index.

    `requests` counts GETs by path, and `authorizations` has each Authorization header that came. `files` are further
    files by path, such as `/hello-0.1.0.tgz.prov`, and `statuses` other statuses than 200, by path.
    """

    def __init__(self, *, username: str | None = None, password: str | None = None) -> None:
        self.requests: Counter[str] = Counter()
        self.authorizations: list[str] = []
        self.files: dict[str, bytes] = {}
        self.statuses: dict[str, HTTPStatus] = {}
        self._dropped: set[str] = set()
        self._truncated: set[str] = set()
        self._held: dict[str, threading.Event] = {}
        self._slow: dict[str, float] = {}
        self._redirects: dict[str, str] = {}
        self._charts: dict[tuple[str, str], bytes] = {}
        self._lock = threading.Lock()
        self._expected = None
        if username is not None:
            self._expected = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.handle_get(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                return

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(self, name: str, version: str, archive: bytes) -> None:
        with self._lock:
            self._charts[name, version] = archive

    @contextlib.contextmanager
    def holding(self, path: str) -> Iterator[None]:
        """Answer requests for a path, such as `/hello-0.1.0.tgz`, only at the end of the block."""
        held = self._held[path] = threading.Event()
        try:
            yield
        finally:
            del self._held[path]
            held.set()

    @contextlib.contextmanager
    def failing(self, status: HTTPStatus, *paths: str) -> Iterator[None]:
        """Answer requests for some paths with an error until the end of the block."""
        self.statuses.update(dict.fromkeys(paths, status))
        try:
            yield
        finally:
            for path in paths:
                del self.statuses[path]

    @contextlib.contextmanager
    def truncating(self, *paths: str) -> Iterator[None]:
        """Send half of the answer for some paths, and close the connection, until the end of the block."""
        self._truncated.update(paths)
        try:
            yield
        finally:
            self._truncated.difference_update(paths)

    @contextlib.contextmanager
    def dropping(self, *paths: str) -> Iterator[None]:
        """Close the connection of requests for some paths without an answer until the end of the block."""
        self._dropped.update(paths)
        try:
            yield
        finally:
            self._dropped.difference_update(paths)

    @contextlib.contextmanager
    def trickling(self, *paths: str, bytes_per_second: float = 1.0) -> Iterator[None]:
        """Send the answers for some paths slowly until the end of the block, and then the rest at once."""
        self._slow.update(dict.fromkeys(paths, bytes_per_second))
        try:
            yield
        finally:
            for path in paths:
                del self._slow[path]

    @contextlib.contextmanager
    def redirecting(self, path: str, target: str) -> Iterator[None]:
        """Redirect requests for a path to another URL until the end of the block."""
        self._redirects[path] = target
        try:
            yield
        finally:
            del self._redirects[path]

    @contextlib.contextmanager
    def replacing(self, path: str, body: bytes) -> Iterator[None]:
        """Serve other bytes than the index says at a path until the end of the block."""
        self.files[path] = body
        try:
            yield
        finally:
            del self.files[path]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server. A second call does nothing."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def handle_get(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        with self._lock:
            self.requests[handler.path] += 1
            self.authorizations += handler.headers.get_all("Authorization", [])
            files = {f"/{name}-{version}.tgz": data for (name, version), data in self._charts.items()} | self.files
            body = self._index() if handler.path == "/index.yaml" else files.get(handler.path)
            held = self._held.get(handler.path)
        if held is not None:
            held.wait()
        if handler.path in self._dropped:
            handler.close_connection = True
            return
        status = self.statuses.get(handler.path, HTTPStatus.OK)
        if self._expected is not None and handler.headers.get("Authorization") != self._expected:
            status, body = HTTPStatus.UNAUTHORIZED, b""
        elif body is None:
            status, body = HTTPStatus.NOT_FOUND, b""
        target = self._redirects.get(handler.path)
        if target is not None:
            status, body = HTTPStatus.FOUND, b""
        handler.send_response(status)
        if target is not None:
            handler.send_header("Location", target)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.path in self._truncated:
            handler.close_connection = True
            body = body[: len(body) // 2]
        while body and (rate := self._slow.get(handler.path)):
            handler.wfile.write(body[:1])
            body = body[1:]
            time.sleep(1 / rate)
        handler.wfile.write(body)

    def _index(self) -> bytes:
        entries: dict[str, list[dict[str, object]]] = {}
        for (name, version), data in self._charts.items():
            entries.setdefault(name, []).append(
                {
                    "apiVersion": "v2",
                    "name": name,
                    "version": version,
                    "urls": [f"{name}-{version}.tgz"],
                    "digest": hashlib.sha256(data).hexdigest(),
                }
            )
        return yaml.safe_dump({"apiVersion": "v1", "entries": entries}).encode()
