"""Threat: what others wrote controls the terminal of who runs `xapp`, or a foreign server gets their token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.command_line import CommandLine
from tests.support.stand_in_gateway import Reply, StandInGateway, page, problem, stand_in_gateway

ATTACK: Final = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r[bold]x[/bold]"
UNSAFE: Final = ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e")
PATH: Final = "/api/xapps/n/a"
TOKEN: Final = "token-of-jane"

CONDITION = {"type": ATTACK, "status": "True", "reason": ATTACK, "message": ATTACK}
CONTAINER = {"name": ATTACK, "ready": False, "reason": ATTACK, "message": ATTACK, "state": "waiting"}
POD = {"name": ATTACK, "phase": ATTACK, "ready": False, "restarts": 1, "node": ATTACK, "containers": [CONTAINER]}
OBJECT = {"kind": ATTACK, "name": ATTACK, "namespace": ATTACK, "status": "Degraded", "message": ATTACK}
EVENT = {"type": ATTACK, "reason": ATTACK, "message": ATTACK, "object": {"kind": ATTACK, "name": ATTACK}, "count": 1}
SERVICE = {"name": ATTACK, "namespace": ATTACK, "type": ATTACK, "clusterIP": ATTACK, "ports": [{"name": ATTACK}]}
RECORD = {
    **dict.fromkeys(("name", "namespace", "xAppName", "organization", "team", "version", "owner", "message"), ATTACK),
    **{"phase": ATTACK, "health": ATTACK, "uid": ATTACK, "ready": False, "stalled": True},
    "release": {"name": ATTACK, "revision": 1, "chart": ATTACK, "chartVersion": ATTACK},
    "chart": {"name": ATTACK, "version": ATTACK, "repoName": ATTACK, "url": ATTACK},
    "services": [SERVICE],
    "conditions": [CONDITION],
    "progress": {"step": ATTACK},
}
REPOSITORY = {"name": ATTACK, "namespace": ATTACK, "url": ATTACK, "message": ATTACK, "type": ATTACK}
REVISION = {"revision": 1, "status": ATTACK, "action": ATTACK, "chart": ATTACK, "description": ATTACK}
DRY_RUN = {
    "diff": f"--- {ATTACK}\n+{ATTACK}\n",
    "warnings": [ATTACK],
    "objects": [{"kind": ATTACK, "name": ATTACK, "change": ATTACK}],
}


@pytest.fixture
def gateway() -> Iterator[StandInGateway]:
    with stand_in_gateway() as one:
        one.reply("/api/xapps", Reply(page(RECORD)))
        one.reply(PATH, Reply(RECORD))
        one.reply(
            f"{PATH}/health",
            Reply({"status": ATTACK, "message": ATTACK, "resources": [OBJECT], "pods": [POD], "events": [EVENT]}),
        )
        one.reply(f"{PATH}/events", Reply(page(EVENT)))
        one.reply(f"{PATH}/history", Reply(page(REVISION)))
        one.reply(f"{PATH}/logs", Reply(ATTACK.encode(), headers={"Content-Type": "text/plain; charset=utf-8"}))
        one.reply(f"{PATH}/config", Reply(DRY_RUN))
        one.reply(f"{PATH}/spec", Reply({"uid": "u", "generation": 1}))
        one.reply(f"{PATH}/api/x", Reply(ATTACK.encode(), headers={"X-Request-ID": "a"}))
        one.reply("/api/repositories", Reply(page(REPOSITORY)))
        one.reply("/api/discovery/services", Reply(page(SERVICE)))
        one.reply("/api/session", Reply({"user": ATTACK, "groups": [ATTACK], "auth": "kubernetes"}))
        one.reply("/api/about", problem(503, "not-ready", ATTACK))
        yield one


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "-o", "wide"],
        ["list", "-o", "name"],
        ["list", "-o", "json"],
        ["list", "-o", "yaml"],
        ["get", "n/a"],
        ["get", "n/a", "-o", "yaml"],
        ["status", "n/a"],
        ["status", "n/a", "-w"],
        ["health", "n/a"],
        ["events", "n/a"],
        ["history", "n/a"],
        ["logs", "n/a"],
        ["config", "diff", "n/a", "--set", "a=1"],
        ["config", "get", "n/a"],
        ["call", "n/a", "GET", "x", "-i"],
        ["repo", "list"],
        ["services"],
        ["whoami"],
        ["version"],
        ["get", "n/other"],
    ],
    ids=" ".join,
)
def test_no_output_controls_the_terminal(gateway: StandInGateway, tmp_path: Path, arguments: list[str]) -> None:
    gateway.reply(
        "/api/xapps/n/other", problem(404, "not-found", ATTACK, errors=[{"field": ATTACK, "message": ATTACK}])
    )
    done = CommandLine(tmp_path, {"XAPP_GATEWAY": gateway.url}).run_on_terminal(*arguments)
    assert "owned" in done.out
    assert [each for each in UNSAFE if each in done.out] == []


def test_a_redirect_gets_no_token(gateway: StandInGateway, tmp_path: Path) -> None:
    with stand_in_gateway() as other:
        gateway.reply("/api/xapps", Reply({}, status=307, headers={"Location": f"{other.url}/api/xapps"}))
        CommandLine(tmp_path, {"XAPP_GATEWAY": gateway.url, "XAPP_TOKEN": TOKEN}).run("list")
        assert gateway.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
        assert other.requests == []


def test_another_gateway_gets_no_token_of_a_sign_in(gateway: StandInGateway, tmp_path: Path) -> None:
    gateway.reply("/api/about", Reply({"auth": "kubernetes"}))
    line = CommandLine(tmp_path, {})
    assert line.run("login", gateway.url, "--token-stdin", stdin=TOKEN).code == 0
    with stand_in_gateway() as other:
        line.run("list", "--gateway", other.url)
        assert ["Authorization" in request.headers for request in other.requests] == [False]
