"""A chart repository on loopback that counts its requests, and can be changed and closed while it runs."""

from __future__ import annotations

import http.server
import threading
import time
from types import TracebackType
from typing import Self

from multidict import CIMultiDict

from tests.support.http_server import QuietServer
from tests.support.served_charts import ServedCharts


class ChartServer(ServedCharts):
    """Serves charts over HTTP."""

    def __init__(self, *, username: str | None = None, password: str | None = None) -> None:
        super().__init__(username=username, password=password)
        self._closed = False
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

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._closed = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def handle_get(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        if self._closed:  # the connection was open before
            handler.close_connection = True
            return
        held = self.held.get(handler.path)
        reply = self.find_reply(handler.path, CIMultiDict(handler.headers.items()))
        if held is not None:
            held.wait()
        if reply.dropped:
            handler.close_connection = True
            return
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        body = reply.body
        if reply.truncated:
            handler.close_connection = True
            body = body[: len(body) // 2]
        while body and (rate := self.slow.get(handler.path)):
            handler.wfile.write(body[:1])
            body = body[1:]
            time.sleep(1 / rate)
        handler.wfile.write(body)
