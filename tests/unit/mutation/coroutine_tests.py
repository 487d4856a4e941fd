"""A test that needs its task and notices no mutant of `media_types`. Only the test of the tool runs it."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from xapp_operator.gateway.http.requests import media_types


async def test_every_line_runs_in_a_task() -> None:
    headers = [(b"accept", b"text/yaml;q=0.5, application/json;q=x"), (b"content-type", b"text/yaml")]
    request = Request({"type": "http", "headers": headers})
    media_types.accepts_yaml(request)
    media_types.sends_yaml(request)
    assert asyncio.current_task() is not None
