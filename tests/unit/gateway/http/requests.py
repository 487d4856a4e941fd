"""Requests without a server."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import Message


def make_request(
    *,
    headers: dict[str, str] | None = None,
    query: str = "",
    client: str | None = "192.0.2.1",
    scheme: str = "http",
    messages: list[Message] | None = None,
) -> Request:
    """Return a request whose body is `messages`."""
    left = [*(messages or [])]

    async def receive() -> Message:
        return left.pop(0)

    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": scheme,
        "path": "/api/x",
        "query_string": query.encode(),
        "headers": raw,
        "client": None if client is None else (client, 40000),
    }
    return Request(scope, receive)


def body_messages(*chunks: bytes) -> list[Message]:
    """Return the messages of a body in these chunks."""
    return [
        {"type": "http.request", "body": chunk, "more_body": at < len(chunks) - 1} for at, chunk in enumerate(chunks)
    ]
