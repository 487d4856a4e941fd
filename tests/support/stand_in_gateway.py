"""A small HTTP server that answers like a gateway: for tests of clients that need answers no gateway gives at will."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Reply:
    """One answer."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """One request that came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes


class StandInGateway:
    """Answers a path with its replies, one after the other; the last one again and again."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Request] = []
        self._replies: dict[str, list[Reply]] = {}

    def reply(self, path: str, *replies: Reply) -> None:
        self._replies[path] = list(replies)

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        replies = self._replies.get(request.path)
        if not replies:
            return problem(404, "not-found", f"there is no {request.path}")
        return replies.pop(0) if len(replies) > 1 else replies[0]


def page(*content: Any, number: int = 1, last: int = 1, total: int | None = None) -> dict[str, Any]:
    """Return one page of a list."""
    return {
        "page": number,
        "total_count": len(content) if total is None else total,
        "last_page": last,
        "is_last_page": number == last,
        "content": list(content),
    }


def problem(status: int, kind: str, detail: str, **more: Any) -> Reply:
    """Return an error as the gateway sends it."""
    body = {
        "type": f"urn:xapp-operator:problem:{kind}",
        "title": kind.replace("-", " ").capitalize(),
        "status": status,
        "detail": detail,
        "instance": "/",
        "errors": [],
        **more,
    }
    return Reply(body, status=status, headers={"Content-Type": "application/problem+json"})


@contextmanager
def stand_in_gateway() -> Iterator[StandInGateway]:
    """Serve on a free loopback port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", "0"))
            request = Request(
                self.command, parts.path, parse_qs(parts.query), dict(self.headers), self.rfile.read(length)
            )
            reply = gateway.answer(request)
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request  # noqa: N815 - the names of the base class

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    gateway = StandInGateway(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, name="stand-in gateway", daemon=True)
    thread.start()
    try:
        yield gateway
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
