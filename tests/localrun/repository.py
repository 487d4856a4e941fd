"""A chart repository on loopback, served from memory by a thread."""

import http.server
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from threading import Thread

from tests.localcluster.ports import LOOPBACK
from tests.localrun.charts import PackedChart, repository_index

_POLL_SECONDS = 0.05
"""Interval at which the server checks for its shutdown."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, files: dict[str, bytes]) -> None:
        self.files = files
        super().__init__((LOOPBACK, port), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        data = self.server.files.get(self.path)
        if data is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/gzip" if self.path.endswith(".tgz") else "application/yaml")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name of the base class)
        return


@contextmanager
def chart_repository(charts: Sequence[PackedChart], *, preferred_port: int) -> Iterator[str]:
    """Serve the charts and yield the repository's URL, on the preferred port or, if it is in use, on a free one."""
    files = {"/index.yaml": repository_index(charts), **{f"/{chart.file_name}": chart.data for chart in charts}}
    try:
        server = _Server(preferred_port, files)
    except OSError:
        server = _Server(0, files)
    thread = Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
