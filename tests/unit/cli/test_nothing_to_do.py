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


SAME = "n/a has these values already: no value was changed"
REFUSED = "the chart refuses the values: replicas: must be at least 1"
STALLED = {**RECORD, "phase": "Failed", "ready": False, "stalled": True, "message": REFUSED}


@pytest.fixture
def values(gateway: StandInGateway) -> StandInGateway:
    """The gateway of an xApp with values, which answers each change as one that changes nothing."""
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 300.0}}))
    gateway.reply(f"{PATH}/spec", Reply({"uid": "u", "generation": 3, "form": {}, "values": {"replicas": 0}}))
    gateway.reply(f"{PATH}/config", Reply(b"replicas: 0\n"), Reply(RECORD))
    gateway.reply(PATH, Reply(RECORD))
    return gateway


def test_values_that_the_spec_has_already_are_not_said_to_be_set(values: StandInGateway, xapp: Xapp) -> None:
    done = xapp("config", "set", "n/a", "replicas=0", "--gateway", values.url)
    assert (done.code, done.out, done.err) == (0, f"{SAME}\n", "")
    values.reply(f"{PATH}/config", Reply(b"replicas: 0\n"), Reply({**RECORD, "generation": 4}))
    assert xapp("config", "set", "n/a", "replicas=1", "--gateway", values.url).out == "n/a is being upgraded\n"


def test_values_that_were_refused_before_come_with_the_refusal(values: StandInGateway, xapp: Xapp) -> None:
    text, refused = Reply(b"replicas: 0\n"), Reply(STALLED, status=202)
    values.reply(f"{PATH}/config", text, refused, text, refused)
    values.reply(PATH, Reply(STALLED))
    done = xapp("config", "set", "n/a", "replicas=0", "--gateway", values.url)
    assert (done.code, done.out) == (0, f"{SAME}\nn/a is not Ready: Failed: {REFUSED}\n")
    done = xapp("config", "set", "n/a", "replicas=0", "--wait", "--gateway", values.url)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {SAME}. It has failed: {REFUSED}\n")


def test_an_upgrade_to_what_is_declared_already_is_none(values: StandInGateway, xapp: Xapp) -> None:
    values.reply("/api/deployment/xapp/n/a", Reply(RECORD))
    done = xapp("upgrade", "n/a", "--set", "replicas=0", "--gateway", values.url)
    assert (done.code, done.out) == (0, "n/a is declared like this already: nothing was changed\n")


def test_a_chart_without_tests_says_so(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 300.0}}))
    gateway.reply(PATH, Reply(RECORD))
    gateway.reply(f"{PATH}/actions", Reply(RECORD))
    gateway.reply(f"{PATH}/tests", Reply([]))
    done = xapp("test", "n/a", "--gateway", gateway.url)
    assert (done.code, done.out) == (0, "the chart of n/a has no tests\n")
    assert json.loads(xapp("test", "n/a", "-o", "json", "--gateway", gateway.url).out) == []
