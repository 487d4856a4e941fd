"""A server of chart repositories that attack their readers, on loopback."""

from __future__ import annotations

import gzip
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

INDEX_ENTRIES = 2_200_000
CHALLENGES = 120
CHALLENGE_BYTES = 8 * 1024


class _QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: readers that give up reset their connections."""


class HostileServer:
    """Repositories below `/slow` (a byte a second) and `/giant` (millions of entries), and a registry."""

    def __init__(self) -> None:
        self.slow_readers = 0
        self._stop = threading.Event()
        self._giant = gzip.compress(b"apiVersion: v1\nentries:\n  a:\n" + b"  - {}\n" * INDEX_ENTRIES)
        hostile = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hostile.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                return

        self._server = _QuietServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def url(self, path: str, *, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self._server.server_port}/{path}"

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        if handler.path.startswith("/v2/"):
            handler.send_response(HTTPStatus.UNAUTHORIZED)
            for number in range(CHALLENGES):
                pairs = ",".join(f'key{number}-{at}="x"' for at in range(CHALLENGE_BYTES // 13))
                handler.send_header("WWW-Authenticate", f"Bearer {pairs}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        elif handler.path.startswith("/giant"):
            handler.send_response(HTTPStatus.OK)
            handler.send_header("Content-Encoding", "gzip")
            handler.send_header("Content-Length", str(len(self._giant)))
            handler.end_headers()
            handler.wfile.write(self._giant)
        else:
            self._answer_slowly(handler)

    def _answer_slowly(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(HTTPStatus.OK)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.close_connection = True
        self.slow_readers += 1
        try:
            while not self._stop.wait(1):
                handler.wfile.write(b"#")
                handler.wfile.flush()
        except OSError:
            return  # the reader has given up

    def close(self) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serve_hostile_repositories() -> Iterator[HostileServer]:
    server = HostileServer()
    try:
        yield server
    finally:
        server.close()
