"""Threat: one caller begins many downloads of charts and does not read them, so that the cache outgrows its limit."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.localcluster.waiting import wait_until
from tests.support.stand_in_api import serve_api, serve_authenticating_gateway
from xapp_operator.errors import TooManyConcurrentRequests
from xapp_operator.gateway.http.limits import DOWNLOADS_PER_CALLER
from xapp_operator.gateway.routes.charts import helm_repository
from xapp_operator.gateway.state import get_gateway

PATH = "/api/charts/ric-xapps/hello.tgz"


def test_one_caller_gets_only_a_share_of_the_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = tmp_path / "hello.tgz"
    chart.write_bytes(b"chart")

    async def find(request: Any) -> Any:
        gateway = get_gateway(request)
        caller = gateway.get_caller(request)
        await caller.authenticate()
        return gateway, caller, SimpleNamespace(uid="u", name="hello", namespace="ric-xapps")

    async def open_archive(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(path=chart)

    monkeypatch.setattr(helm_repository, "_find_archive", find)
    monkeypatch.setattr(helm_repository, "open_archive", open_archive)
    with serve_api() as api, serve_authenticating_gateway(api, tmp_path) as gateway, ExitStack() as stack:
        jane, joe = (
            stack.enter_context(gateway.client(headers={"Authorization": f"Bearer {each}:1"}))
            for each in ("jane", "joe")
        )
        downloads = gateway.gateway.limits.downloads
        assert jane.get(PATH).content == b"chart"
        wait_until(lambda: gateway.run_in_loop(lambda _: downloads.in_use) == 0, timeout=30, what="the download to end")
        held = [downloads.hold("jane") for _ in range(DOWNLOADS_PER_CALLER)]
        gateway.run_in_loop(lambda _: [each.__enter__() for each in held])
        assert jane.get(PATH).status_code == TooManyConcurrentRequests.status
        assert joe.get(PATH).status_code == 200
