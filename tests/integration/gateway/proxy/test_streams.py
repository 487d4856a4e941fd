"""Streaming bodies: large and endless ones, slow readers, and callers that disconnect."""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Final

import aiohttp
import httpx

from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.support.memory import resident_bytes
from tests.support.proxied_xapp import ProxiedXApp
from tests.support.xapp_server import CHUNK

LARGE: Final = 100 * 1024 * 1024
GROWTH_MAX: Final = 48 * 1024 * 1024
"""Of the whole process, in which caller, gateway and xApp all run."""


def pieces(count: int) -> Iterator[bytes]:
    while count > 0:
        yield CHUNK[: min(count, len(CHUNK))]
        count -= len(CHUNK)


def digest_of(count: int) -> str:
    whole = hashlib.sha256()
    for piece in pieces(count):
        whole.update(piece)
    return whole.hexdigest()


def test_a_large_download_uses_constant_memory(http: httpx.Client) -> None:
    http.get("/bytes/1000000")
    before, most, size, whole = resident_bytes(), 0, 0, hashlib.sha256()

    with http.stream("GET", f"/bytes/{LARGE}") as answer:
        for piece in answer.iter_raw():
            size += len(piece)
            whole.update(piece)
            most = max(most, resident_bytes())

    assert (answer.headers["content-length"], size) == (str(LARGE), LARGE)
    assert whole.hexdigest() == digest_of(LARGE)
    assert most - before < GROWTH_MAX


def test_a_large_upload_uses_constant_memory(http: httpx.Client) -> None:
    http.post("/digest", content=bytes(1_000_000))
    before, most = resident_bytes(), 0

    def measured() -> Iterator[bytes]:
        nonlocal most
        for piece in pieces(LARGE):
            most = max(most, resident_bytes())
            yield piece

    answer = http.post("/digest", content=measured(), headers={"Content-Length": str(LARGE)})

    assert answer.json() == {"sha256": digest_of(LARGE), "size": LARGE}
    assert most - before < GROWTH_MAX


def test_a_chunked_body_is_forwarded_without_a_length(proxied: ProxiedXApp, http: httpx.Client) -> None:
    answer = http.post("/digest", content=pieces(1_000_000))

    assert answer.json()["size"] == 1_000_000
    assert proxied.api.requests[-1].header("content-length") is None


async def test_a_body_is_sent_while_its_response_is_received(proxied: ProxiedXApp) -> None:
    async def sent() -> AsyncIterator[bytes]:
        for piece in pieces(LARGE):
            yield piece

    whole, size = hashlib.sha256(), 0
    async with (
        asyncio.timeout(120),
        aiohttp.ClientSession() as session,
        session.post(proxied.gateway.url + proxied.proxy_path + "/duplex", data=sent()) as answer,
    ):
        try:
            async for piece in answer.content.iter_any():
                whole.update(piece)
                size += len(piece)
        except aiohttp.ClientPayloadError:
            # Through the API server the end may be lost; then the response is visibly incomplete.
            assert proxied.via_apiserver
            return

    assert (answer.status, size) == (200, LARGE)
    assert whole.hexdigest() == digest_of(LARGE)


def test_an_upload_that_the_xapp_does_not_read_stops_the_caller(proxied: ProxiedXApp) -> None:
    sent = 0
    with socket.create_connection(("127.0.0.1", proxied.gateway.port), timeout=3) as caller:
        head = f"POST {proxied.proxy_path}/stall HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LARGE * 10}\r\n\r\n"
        caller.sendall(head.encode())
        try:
            while sent < LARGE:
                sent += caller.send(CHUNK)
        except TimeoutError:
            pass

    assert sent < LARGE


def test_a_download_that_the_caller_does_not_read_stops_the_xapp(proxied: ProxiedXApp) -> None:
    proxied.api.bytes_read = 0
    with socket.create_connection(("127.0.0.1", proxied.gateway.port), timeout=60) as caller:
        caller.sendall(f"GET {proxied.proxy_path}/flood HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        caller.recv(1)

        wait_until(
            lambda: proxied.api.bytes_read > 0 and _unchanged(proxied), timeout=60, what="the xApp to be stopped"
        )

    assert proxied.api.bytes_read < LARGE
    wait_until(lambda: "/flood" in proxied.api.disconnects, timeout=60, what="the xApp to see the disconnect")


def _unchanged(proxied: ProxiedXApp) -> bool:
    before = proxied.api.bytes_read
    try:
        wait_until(lambda: proxied.api.bytes_read != before, timeout=1, what="more to be taken")
    except DeadlineExceeded:
        return True
    return False


def test_events_are_forwarded_at_once_and_end_when_the_caller_disconnects(
    proxied: ProxiedXApp, http: httpx.Client
) -> None:
    with http.stream("GET", "/events") as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        text = ""
        for piece in answer.iter_text():
            text += piece
            if "data: 5" in text:
                break

    assert text.startswith("id: 0\ndata: 0\n\n")
    wait_until(lambda: "/events" in proxied.api.disconnects, timeout=60, what="the xApp to see the disconnect")


def test_a_caller_that_disconnects_before_the_response_ends_the_request(proxied: ProxiedXApp) -> None:
    with socket.create_connection(("127.0.0.1", proxied.gateway.port), timeout=60) as caller:
        caller.sendall(f"GET {proxied.proxy_path}/slow HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: proxied.api.requests, timeout=60, what="the request to arrive")

    wait_until(lambda: "/slow" in proxied.api.disconnects, timeout=60, what="the xApp to see the disconnect")


def test_a_response_before_the_end_of_the_upload_reaches_the_caller(http: httpx.Client) -> None:
    answer = http.post("/refuse", content=bytes(3_000_000))

    assert (answer.status_code, answer.text) == (413, "too much")


def test_a_caller_that_expects_100_continue_receives_it(proxied: ProxiedXApp) -> None:
    with socket.create_connection(("127.0.0.1", proxied.gateway.port), timeout=60) as caller:
        caller.sendall(
            f"POST {proxied.proxy_path}/digest HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            "Content-Length: 5\r\n\r\n".encode()
        )
        assert caller.recv(1000).startswith(b"HTTP/1.1 100 ")
        caller.sendall(b"hello")
        assert caller.recv(1000).startswith(b"HTTP/1.1 200 ")

    assert proxied.api.requests[-1].header("expect") is None


def test_a_caller_that_expects_100_continue_is_refused_without_it(proxied: ProxiedXApp) -> None:
    with socket.create_connection(("127.0.0.1", proxied.gateway.port), timeout=60) as caller:
        caller.sendall(
            f"POST {proxied.xapp_path}/proxy/none/80/ HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
            "Content-Length: 5\r\n\r\n".encode()
        )
        assert caller.recv(1000).startswith(b"HTTP/1.1 404 ")
