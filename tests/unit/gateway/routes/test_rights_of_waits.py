"""A response that waits shows the record of an xApp, so its caller must be able to read the xApp, also in the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from tests.support.gateway import UNREACHABLE_KUBECONFIG, offline_gateway
from tests.support.stand_in_api import StandInApi, serve_api, serve_authenticating_gateway
from tests.unit.gateway.deploy.test_forms import form
from tests.unit.gateway.xapp_objects import raw_xapp, ready_status
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import AccessDenied, Unauthenticated
from xapp_operator.gateway.routes.xapps.deployment_response import WriteOptions, deletion_response, deployment_response
from xapp_operator.gateway.state import Gateway

ANSWER_SECONDS: Final = 10.0
LOOP_TURNS: Final = 20
WAITS: Final = WriteOptions(dry_run=False, wait=30, pretty=False)
USER: Final = "jane"
RESPONSES: Final[dict[str, Callable[[Request, JsonObject, WriteOptions], Coroutine[Any, Any, Response]]]] = {
    "change": deployment_response,
    "removal": deletion_response,
}


@pytest.fixture
def api() -> Iterator[StandInApi]:
    with serve_api() as one:
        yield one


@pytest.fixture
async def gateway(api: StandInApi, tmp_path: Path) -> AsyncIterator[Gateway]:
    settings, opened = offline_gateway(tmp_path)
    (tmp_path / "kubeconfig").write_text(UNREACHABLE_KUBECONFIG.replace("127.0.0.1:1", f"127.0.0.1:{api.port}"))
    async with opened(settings.model_copy(update={"auth": "kubernetes"})) as one:
        yield one


def written(version: int = 1, **status: Any) -> JsonObject:
    """Return an XApp as it is written, or with a status."""
    metadata: JsonObject = {"resourceVersion": str(version), "finalizers": ["xapp-operator.io/finalizer"]}
    return raw_xapp(metadata=metadata, status=status or None)


def request_to(gateway: Gateway) -> Request:
    """Return a request with a token, whose client stays connected."""
    app = Starlette()
    app.state.gateway = gateway

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    headers = [(b"authorization", f"Bearer {USER}:1".encode())]
    return Request({"type": "http", "app": app, "headers": headers, "client": ("127.0.0.1", 1)}, receive)


async def start(gateway: Gateway, kind: str) -> asyncio.Task[Response]:
    """Return a response that waits."""
    response = asyncio.create_task(RESPONSES[kind](request_to(gateway), written(), WAITS))
    for _ in range(LOOP_TURNS):
        await asyncio.sleep(0)
    assert not response.done()
    return response


async def end(gateway: Gateway, response: asyncio.Task[Response]) -> Response:
    """Return the response after what it waits for has come."""
    gateway.cache.store_written(written(2, **ready_status()))
    gateway.store.remove("ric-xapps", "acme-ran-hello")
    return await asyncio.wait_for(response, ANSWER_SECONDS)


@pytest.mark.parametrize("kind", RESPONSES)
async def test_the_record_is_for_those_who_may_still_read_it(gateway: Gateway, kind: str) -> None:
    response = await end(gateway, await start(gateway, kind))
    assert json.loads(bytes(response.body))["name"] == "acme-ran-hello"


@pytest.mark.parametrize("kind", RESPONSES)
async def test_a_right_that_ends_meanwhile_is_named(gateway: Gateway, api: StandInApi, kind: str) -> None:
    response = await start(gateway, kind)
    api.denied.add(USER)
    with pytest.raises(AccessDenied, match="you may not get xapps") as caught:
        await end(gateway, response)
    assert [(each.verb, each.resource) for each in caught.value.missing] == [("get", "xapps")]


@pytest.mark.parametrize("kind", RESPONSES)
async def test_a_token_that_expires_meanwhile_is_refused(gateway: Gateway, api: StandInApi, kind: str) -> None:
    response = await start(gateway, kind)
    api.expired.add(USER)
    with pytest.raises(Unauthenticated):
        await end(gateway, response)


def test_who_may_only_create_xapps_cannot_wait_for_them(api: StandInApi, tmp_path: Path) -> None:
    api.denied_verbs.add("get")
    parts = {"xAppForm": (None, json.dumps(form()))}  # without a chart, so that nothing is written
    with serve_authenticating_gateway(api, tmp_path) as served, served.client() as http:
        http.headers["Authorization"] = f"Bearer {USER}:1"
        refused = http.post("/api/deployment/xapp", params={"wait": "5"}, files=parts)
        invalid = http.post("/api/deployment/xapp", files=parts)
    assert (refused.status_code, invalid.status_code) == (403, 422)
    assert [(each["verb"], each["resource"]) for each in refused.json()["missing"]] == [("get", "xapps")]
