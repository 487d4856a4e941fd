"""Requests are retried only when that is safe, and every request ends."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, nullcontext

import pytest
from aiohttp import web

from tests.unit.kube.conftest import Connect
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import ApiUnavailable, Unauthenticated
from xapp_operator.kube import client as client_module
from xapp_operator.kube.resources import CONFIGMAPS, PODS

SOON = 20.0


def drop(request: web.Request) -> None:
    """Close the connection without a response."""
    assert request.transport is not None
    request.transport.abort()


async def test_a_read_is_repeated_when_its_connection_breaks(connect: Connect) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request.method)
        if len(seen) < 3:
            drop(request)
        return web.json_response({"kind": "Pod"})

    client = await connect(handler)
    assert await client.get(PODS, "a", namespace="x") == {"kind": "Pod"}
    assert seen == ["GET"] * 3


async def test_a_read_is_not_repeated_for_ever(connect: Connect) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request.method)
        drop(request)
        return web.Response()

    client = await connect(handler)
    with pytest.raises(ApiUnavailable, match="does not respond"):
        await client.get(PODS, "a", namespace="x")
    assert len(seen) == 3


async def test_a_write_with_an_unknown_outcome_is_not_repeated(connect: Connect) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request.method)
        drop(request)
        return web.Response()

    client = await connect(handler)
    with pytest.raises(ApiUnavailable, match="does not respond"):
        await client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, namespace="x")
    with pytest.raises(ApiUnavailable, match="does not respond"):
        await client.patch(CONFIGMAPS, "a", {}, namespace="x")
    with pytest.raises(ApiUnavailable, match="does not respond"):
        await client.replace(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "x"}})
    with pytest.raises(ApiUnavailable, match="does not respond"):
        await client.delete(CONFIGMAPS, "a", namespace="x")
    assert seen == ["POST", "PATCH", "PUT", "DELETE"]


async def test_a_throttled_write_is_repeated_after_retry_after(connect: Connect) -> None:
    times: list[float] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        times.append(time.monotonic())
        if len(times) == 1:
            return web.json_response({"kind": "Status", "code": 429}, status=429, headers={"Retry-After": "1"})
        return web.json_response(await request.json())

    client = await connect(handler)
    body = await client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, namespace="x")
    assert body == {"metadata": {"name": "a"}}
    assert times[1] - times[0] >= 1


async def test_a_write_is_not_repeated_when_it_is_not_allowed_any_more(connect: Connect) -> None:
    """As when the process was stopped while it waited, and another one has taken over."""
    requests: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        requests.append(request.method)
        return web.json_response({"kind": "Status", "code": 429}, status=429, headers={"Retry-After": "0"})

    client = (await connect(handler)).writing_while(lambda: not requests)
    with pytest.raises(ApiUnavailable, match="lost its Lease"):
        await client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, namespace="x")
    assert requests == ["POST"]


@pytest.mark.parametrize(("method", "requests"), [("GET", 2), ("HEAD", 2), ("POST", 1), ("PATCH", 1), ("DELETE", 1)])
async def test_only_a_read_is_repeated_when_the_server_is_unavailable(
    connect: Connect, method: str, requests: int
) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request.method)
        return web.json_response({"kind": "Status"}, status=200 if len(seen) > 1 else 503, headers={"Retry-After": "0"})

    client = await connect(handler)
    with nullcontext() if requests > 1 else pytest.raises(ApiUnavailable):
        await client.request_bytes(method, "/version")
    assert seen == [method] * requests


async def test_a_long_retry_after_is_not_waited_for(connect: Connect) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.json_response(
            {"kind": "Status", "code": 429, "message": "slow down"}, status=429, headers={"Retry-After": "86400"}
        )

    client = await connect(handler)
    async with asyncio.timeout(SOON):
        with pytest.raises(ApiUnavailable, match="slow down"):
            await client.request_bytes("GET", "/version", timeout_seconds=2)


async def test_a_request_without_a_response_times_out(connect: Connect) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    client = await connect(handler)
    async with asyncio.timeout(SOON):
        with pytest.raises(ApiUnavailable, match="in time"):
            await client.request_bytes("GET", "/version", timeout_seconds=0.2)


async def test_a_missing_server_is_unavailable_and_the_message_has_no_path(connect: Connect) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response()

    client = await connect(handler)
    gone = await connect(handler)
    await gone.close()
    with pytest.raises(ApiUnavailable, match="this process is ending"):
        await gone.server_version()
    client._transport.credentials.server = "http://127.0.0.1:1"
    with pytest.raises(ApiUnavailable, match="the Kubernetes API does not respond: Connect") as caught:
        await client.server_version()
    assert "/" not in caught.value.message


async def test_a_silent_watch_ends(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "WATCH_SILENCE_MARGIN_SECONDS", -0.5)

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n')
        await asyncio.Event().wait()
        return response

    client = await connect(handler)
    names: list[object] = []

    async def follow() -> None:
        async with aclosing(client.watch(PODS, timeout_seconds=1)) as events:
            async for event in events:
                names.append(event.object)

    async with asyncio.timeout(SOON):
        with pytest.raises(ApiUnavailable, match="in time"):
            await follow()
    assert names == [{"metadata": {"name": "a"}}]


async def test_a_watch_that_ends_in_the_middle_of_an_event_drops_that_event(connect: Connect) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n{"type":"ADDED","obj')

    client = await connect(handler)
    async with aclosing(client.watch(PODS)) as events:
        assert [event.object async for event in events] == [{"metadata": {"name": "a"}}]


async def test_many_watches_leave_connections_for_requests(connect: Connect) -> None:
    watching = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal watching
        if "watch" not in request.query:
            return web.json_response({"gitVersion": "v1"})
        watching += 1
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.Event().wait()
        return response

    client = await connect(handler)

    async def follow() -> None:
        async with aclosing(client.watch(PODS)) as events:
            await anext(events)

    tasks = [asyncio.create_task(follow()) for _ in range(120)]
    async with asyncio.timeout(SOON):
        while watching < len(tasks):
            assert await client.server_version() == "v1"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ümlaut"])
async def test_an_invalid_token_is_refused_before_it_is_sent(connect: Connect, token: str) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        raise AssertionError

    client = await connect(handler)
    with pytest.raises(Unauthenticated, match="malformed"):
        client.with_token(token)


async def test_writes_name_their_field_manager_and_are_strict(connect: Connect) -> None:
    queries: list[dict[str, str]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        queries.append(dict(request.query))
        return web.json_response({})

    client = await connect(handler)
    body: JsonObject = {"metadata": {"name": "a", "namespace": "x"}}
    await client.create(CONFIGMAPS, body)
    await client.replace(CONFIGMAPS, body, dry_run=True)
    await client.replace(CONFIGMAPS, body)
    await client.patch(CONFIGMAPS, "a", {}, namespace="x")
    strict = {"fieldManager": "xapp-operator", "fieldValidation": "Strict"}
    assert queries == [strict, {**strict, "dryRun": "All"}, strict, strict]


async def test_integers_beyond_64_bits_are_sent_unchanged(connect: Connect) -> None:
    bodies: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.text())
        return web.json_response({})

    client = await connect(handler)
    await client.patch(CONFIGMAPS, "a", {"number": 2**70}, namespace="x")
    assert bodies == [f'{{"number":{2**70}}}']


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b"[]", b""])
async def test_a_response_that_is_no_object_is_unavailable(connect: Connect, body: bytes) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    client = await connect(handler)
    with pytest.raises(ApiUnavailable, match="other than a JSON object"):
        await client.get(PODS, "a", namespace="x")
