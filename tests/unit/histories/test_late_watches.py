"""The API server refuses requests, or answers nothing, while watches are late: no decision rests on what was before.

The watches of these histories are `LAG_SECONDS` late.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.fakes.api_server import FakeTransport, Refused
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN
from tests.support.fakes.value_secrets import create_values, replace_secret, secret
from tests.unit.histories.generation import refuse
from xapp_operator.config.settings import Settings
from xapp_operator.kube.api_errors import error_from_response
from xapp_operator.kube.transport import ApiRequest

INSTALLED, UPGRADED = "install: update record deployed", "upgrade: update record deployed"
ROLLED_BACK = "rollback: update record deployed"


def do_after(history: History, write: str, act: Callable[[], None]) -> None:
    """Do something right after helm has written what `write` names, once."""
    helm = history.cluster.helm
    around, done = helm.around_write, list[str]()

    def around_write(what: str) -> Callable[[], None]:
        note = around(what)

        def end() -> None:
            note()
            if what == write and not done:
                done.append(what)
                act()

        return end

    helm.around_write = around_write


def refuse_lists(history: History, *, seconds: float, status: int = 500) -> None:
    """Refuse every list of release Secrets for some time."""
    refuse(history, "GET", "/secrets", seconds, status=status)


@pytest.mark.parametrize("status", [403, 500])
@pytest.mark.parametrize("seconds", [1.5, 5.0])
def test_an_upgrade_is_made_once(settings: Settings, status: int, seconds: float) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        do_after(history, UPGRADED, lambda: refuse_lists(history, seconds=seconds, status=status))
        history.set_tag("two")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]


@pytest.mark.parametrize("tag", ["two", BROKEN])
def test_a_rollback_is_made_once(settings: Settings, tag: str) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        do_after(history, ROLLED_BACK, lambda: refuse_lists(history, seconds=5.0))
        history.set_tag(tag)
        await history.cluster.wait(20.0)
        if tag == "two":
            history.annotate("rollback-to", "1")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]


def test_a_release_that_was_just_installed_is_uninstalled(settings: Settings) -> None:
    async def play(history: History) -> None:
        def delete() -> None:
            refuse_lists(history, seconds=1.5)
            history.delete()

        do_after(history, INSTALLED, delete)
        history.create(tag="one")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "uninstall"]


@pytest.mark.parametrize("status", [429, 500])
def test_an_upgrade_whose_objects_are_not_shown_yet_is_not_called_healthy(settings: Settings, status: int) -> None:
    """The responses to the patches of the labels would have shown them."""

    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        left = [2]

        def check(request: ApiRequest) -> None:
            if request.method == "PATCH" and request.path.endswith("/deployments/hello") and left[0]:
                left[0] -= 1
                raise Refused(status, "InternalError", "etcdserver: request timed out")

        def refuse() -> None:
            history.cluster.refuse = check

        do_after(history, UPGRADED, refuse)
        history.set_tag(BROKEN)

    history = run_history(settings, play)
    assert history.live_tags == {"one"}


@pytest.mark.parametrize("lag", [10.0, 30.0])
def test_values_that_are_newer_than_their_watch_are_deployed_once(settings: Settings, lag: float) -> None:
    async def play(history: History) -> None:
        create_values(history, "values", "extra: one\n")
        values_from = [{"kind": "Secret", "name": "values", "key": "values.yaml"}]
        history.create(tag="one", timeout="5m", valuesFrom=values_from)
        await history.cluster.wait(20.0)
        history.annotate("force-at")
        await history.cluster.wait(1.0)  # the operator has not seen it yet
        history.cluster.server.lag = lag
        replace_secret(history, secret("values", values__yaml="extra: two\n"))

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade"]


def test_a_good_upgrade_is_not_undone_after_an_outage(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watches come back some time after the API server, which was away for longer than spec.timeout."""
    original, down = FakeTransport.stream, list[bool]()

    @asynccontextmanager
    async def stream(self: FakeTransport, request: ApiRequest, **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        def check() -> None:
            if down:
                raise error_from_response(503, b"{}", path=request.path)

        async def relay(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
            async for line in lines:
                check()
                yield line

        check()
        async with original(self, request, **options) as lines:
            yield relay(lines)

    def refuse(_: ApiRequest) -> None:
        if down:
            raise Refused(503, "ServiceUnavailable", "the server is away")

    monkeypatch.setattr(FakeTransport, "stream", stream)
    monkeypatch.setattr(random, "uniform", lambda low, high: high)  # the watches wait long, and so come back late

    async def play(history: History) -> None:
        history.cluster.server.lag = 0.0
        history.cluster.refuse = refuse
        history.create(tag="one")
        await history.cluster.wait(20.0)
        do_after(history, UPGRADED, lambda: down.append(True))
        history.set_tag("two")
        assert await history.cluster.wait_for(lambda: bool(down), seconds=20.0)
        await history.cluster.wait(TIMEOUT_SECONDS + 3.0)
        down.clear()

    history = run_history(settings, play)
    assert history.live_tags == {"two"}
