"""What is said of changes of a suspended xApp, whose conditions are about an earlier spec."""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway
from tests.unit.cli.conftest import Xapp

PATH: Final = "/api/xapps/n/a"
RECORD: Final = {"name": "a", "namespace": "n", "ready": True, "stalled": False, "generation": 3}
SUSPENDED: Final = {**RECORD, "phase": "Suspended", "progress": None}
RESUMING: Final = {**SUSPENDED, "ready": False, "progress": {"step": "queued"}}
DEPLOYED: Final = {**RECORD, "phase": "Deployed", "progress": {"step": "ready"}}


@pytest.fixture(autouse=True)
def waits_one_second(gateway: StandInGateway) -> None:
    gateway.reply("/api/about", Reply({"limits": {"waitSeconds": 1.0}}))


@pytest.mark.parametrize("record", [SUSPENDED, {**SUSPENDED, "ready": False, "stalled": True}])
@pytest.mark.parametrize("later", [False, True], ids=["at once", "after the gateway has waited"])
def test_a_change_of_a_suspended_xapp_has_not_taken_effect(
    gateway: StandInGateway, xapp: Xapp, record: dict[str, object], later: bool
) -> None:
    gateway.reply(f"{PATH}/spec", Reply({"uid": "u", "generation": 3}))
    gateway.reply(f"{PATH}/config", Reply(b"text: OLD\n"), Reply(RESUMING if later else record, status=202))
    gateway.reply(PATH, Reply({**record, "generation": 2}), Reply(record))
    done = xapp("config", "set", "n/a", "text=NEW", "--wait", "--timeout", "30", "--gateway", gateway.url)
    assert (done.code, done.out) == (6, "")
    assert "n/a is suspended: the change was accepted, and takes effect when it is resumed" in done.err
    assert "xapp resume n/a" in done.err


def test_the_state_of_a_suspended_xapp_is_followed_no_further(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, Reply(SUSPENDED))
    done = xapp("status", "n/a", "-w", "--timeout", "30", "--gateway", gateway.url)
    assert done.code == 6
    assert "n/a is suspended: what its spec says takes effect when it is resumed" in done.err


def test_a_resumed_xapp_is_followed_before_the_operator_has_seen_that(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, Reply(RESUMING), Reply(DEPLOYED))
    assert xapp("status", "n/a", "-w", "--timeout", "30", "--gateway", gateway.url).code == 0


def test_a_resume_waits_until_the_operator_has_seen_it(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(f"{PATH}/actions", Reply(RESUMING, status=202))
    gateway.reply(PATH, Reply({**SUSPENDED, "generation": 2}), Reply(RESUMING), Reply(DEPLOYED))
    done = xapp("resume", "n/a", "--wait", "--timeout", "30", "--gateway", gateway.url)
    assert (done.code, done.out, done.err) == (0, "n/a is resumed\n", "")
