"""What is said of a change that changes nothing."""

from __future__ import annotations

import json

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway
from tests.unit.cli.conftest import Xapp

PATH = "/api/xapps/n/a"
RECORD = {"name": "a", "namespace": "n", "phase": "Deployed", "ready": True, "stalled": False, "generation": 3}


@pytest.mark.parametrize(
    ("command", "same", "other"),
    [
        ("resume", "n/a is not suspended: there is nothing to resume\n", "resumed"),
        ("suspend", "n/a is suspended already\n", "suspended"),
    ],
)
def test_a_spec_that_asks_for_it_already_is_told(
    gateway: StandInGateway, xapp: Xapp, command: str, same: str, other: str
) -> None:
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 300.0}}))
    gateway.reply(PATH, Reply(RECORD))
    gateway.reply(f"{PATH}/actions", Reply(RECORD))
    done = xapp(command, "n/a", "--wait", "--gateway", gateway.url)
    assert (done.code, done.out) == (0, same)
    assert xapp(command, "n/a", "--gateway", gateway.url).out == same
    gateway.reply(f"{PATH}/actions", Reply({**RECORD, "generation": 4}))
    done = xapp(command, "n/a", "--wait", "--gateway", gateway.url)
    assert done.code == 0
    assert done.out.endswith(f"{other}\n")
    assert "already" not in done.out


def test_a_chart_without_tests_says_so(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 300.0}}))
    gateway.reply(PATH, Reply(RECORD))
    gateway.reply(f"{PATH}/actions", Reply(RECORD))
    gateway.reply(f"{PATH}/tests", Reply([]))
    done = xapp("test", "n/a", "--gateway", gateway.url)
    assert (done.code, done.out) == (0, "the chart of n/a has no tests\n")
    assert json.loads(xapp("test", "n/a", "-o", "json", "--gateway", gateway.url).out) == []
