"""Threat: a session that was signed out goes on at a replica whose requests the API server refuses with 429."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.gateway.auth.secret_server import FakeClock, secret_server
from xapp_operator.config.settings import Settings
from xapp_operator.errors import ApiOverloaded, SessionEnded
from xapp_operator.gateway.auth import sessions
from xapp_operator.gateway.auth.session_secret import STATE_SECONDS
from xapp_operator.gateway.auth.sessions import Sessions
from xapp_operator.kube import transport


async def test_a_replica_that_gets_429_refuses_a_session_that_another_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "RETRY_FIRST_SECONDS", 0.001)
    monkeypatch.setattr(sessions, "STATE_SECONDS", 0.0)  # the clock below is advanced instead
    first_folder, second_folder = tmp_path / "a", tmp_path / "b"
    first_folder.mkdir()
    second_folder.mkdir()
    async with secret_server(first_folder) as (server, kube), secret_server(second_folder) as (overloaded, other):
        clock = FakeClock()
        first = Sessions(kube, Settings(), monotonic=clock)
        new = await first.begin("token", user="jane")
        overloaded.data = server.data
        second = Sessions(other, Settings(), monotonic=clock)
        held = await second.open(new.cookie, proof=new.proof)

        overloaded.status = 429
        await first.end(await first.open(new.cookie, proof=new.proof))
        clock.now += STATE_SECONDS  # which signing out waits for before it answers

        with pytest.raises(ApiOverloaded):
            await second.open(new.cookie, proof=new.proof)
        with pytest.raises(ApiOverloaded):
            await second.require_open(held)
        overloaded.status, overloaded.data = None, server.data
        with pytest.raises(SessionEnded):
            await second.open(new.cookie, proof=new.proof)
