"""A chart repository on loopback that counts its requests, and can be changed and closed while it runs."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import threading
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from types import TracebackType
from typing import Self

import yaml


class ChartServer:
    """Charts by (name, version), served with an index.

    `requests` counts GETs by path, and `authorizations` has each Authorization header that came. `files` are further
    files by path, such as `/hello-0.1.0.tgz.prov`.
    """

    def __init__(self, *, username: str | None = None, password: str | None = None) -> None:
        self.requests: Counter[str] = Counter()
        self.authorizations: list[str] = []
        self.files: dict[str, bytes] = {}
        self._held: dict[str, threading.Event] = {}
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

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
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
            files = self.files | {f"/{name}-{version}.tgz": data for (name, version), data in self._charts.items()}
            body = self._index() if handler.path == "/index.yaml" else files.get(handler.path)
            held = self._held.get(handler.path)
        if held is not None:
            held.wait()
        status = HTTPStatus.OK
        if self._expected is not None and handler.headers.get("Authorization") != self._expected:
            status, body = HTTPStatus.UNAUTHORIZED, b""
        elif body is None:
            status, body = HTTPStatus.NOT_FOUND, b""
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
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
