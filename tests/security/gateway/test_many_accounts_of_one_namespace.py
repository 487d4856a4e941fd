"""Threat: a tenant creates many service accounts, and each of them takes the share of one caller."""

from __future__ import annotations

import asyncio
import select
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from starlette.requests import Request

from tests.security.gateway.test_one_caller_takes_all_places import FORM, client, get_request, requests_at_once
from tests.security.gateway.test_one_caller_takes_all_places import statuses as read_statuses
from tests.support.eventually import eventually
from tests.support.gateway import GatewayServer
from tests.support.stand_in_api import LOGS, serve_api, serve_authenticating_gateway
from xapp_operator.errors import MalformedRequest, TooManyConcurrentRequests
from xapp_operator.gateway.http.limits import CallerSlots
from xapp_operator.gateway.http.requests import bodies
from xapp_operator.gateway.http.requests.bodies import iter_body

ACCOUNTS = [f"system:serviceaccount:mallory:robot-{at}" for at in range(8)]
OTHERS = ("joe", "system:serviceaccount:ric-xapps:deployer")
SHARE = 32
UPLOADS_PER_ACCOUNT = 20
UPLOADS_OF_GROUP = 8


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    with serve_api() as api, serve_authenticating_gateway(api, tmp_path_factory.mktemp("gateway")) as one:
        yield one


def test_the_accounts_of_a_namespace_share_the_logs_of_two_callers(gateway: GatewayServer) -> None:
    path = f"{LOGS}?follow=true"
    with ExitStack() as stack:
        answers = Counter[int]()
        for user in ACCOUNTS:
            made = stack.enter_context(requests_at_once(gateway.port, get_request(path, f"{user}:1"), SHARE))
            answers += read_statuses(made, answers=SHARE)
        with client(gateway, ACCOUNTS[-1]) as refused:
            detail = refused.get(path).json()["detail"]
        for user in OTHERS:
            with client(gateway, user) as other, other.stream("GET", path) as served:
                assert served.status_code == 200

    assert answers == {200: 2 * SHARE, 429: (len(ACCOUNTS) - 2) * SHARE}
    assert "system:serviceaccount:mallory has 64 open logs" in detail


def test_half_sent_uploads_of_many_accounts_let_others_deploy(
    gateway: GatewayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODY_MIN_SECONDS", 300.0)
    with ExitStack() as stack:
        half_sent = []
        for user in ACCOUNTS:
            upload = (
                f"POST /api/charts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {user}:1\r\n"
                "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 500000\r\n\r\n"
                '--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n0'
            )
            half_sent += stack.enter_context(requests_at_once(gateway.port, upload.encode(), UPLOADS_PER_ACCOUNT))
        limits = gateway.gateway.limits
        asyncio.run(eventually(lambda: limits.uploads.in_use == UPLOADS_OF_GROUP, what="uploads that are received"))
        assert limits.deployments.in_use == 0, "what is not yet received holds no place for rendering"
        answers = []
        for user in OTHERS:
            with client(gateway, user) as other:
                answers.append(other.post("/api/deployment/xapp", files={"xAppForm": (None, FORM)}).status_code)
        ended, _, _ = select.select(half_sent, (), (), 0)

    assert answers == [422, 422], "the forms of the others have been read and checked"
    assert not ended, "the others did not have to wait until half-sent uploads were ended"


async def test_half_sent_bodies_of_many_namespaces_leave_places_for_others() -> None:
    slots = CallerSlots(32, per_caller=4, what="uploads", hint="send fewer")
    with ExitStack() as held:
        for user in (f"system:serviceaccount:ns-{namespace}:a-{at}" for namespace in range(4) for at in range(2)):
            for _ in range(4):
                try:
                    held.enter_context(slots.hold(user))
                except TooManyConcurrentRequests:
                    assert slots.in_use >= 24
        for user in OTHERS:
            async with asyncio.timeout(10), slots.wait(user):
                pass


async def receive_all(request: Request) -> None:
    async for _ in iter_body(request):
        pass


async def test_a_body_that_arrives_byte_by_byte_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_MIN_SECONDS", 0.05)

    async def receive() -> dict[str, object]:
        await asyncio.sleep(0.001)  # the pace of the client
        return {"type": "http.request", "body": b"0", "more_body": True}

    request = Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)
    with pytest.raises(MalformedRequest, match=r"at least 10,240 bytes in 0\.05 seconds"):
        await asyncio.wait_for(receive_all(request), 30)
