"""Ctrl-C and Ctrl-D at a question change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import END_OF_INPUT, INTERRUPT, CommandLine, plain
from tests.support.stand_in_gateway import Reply, StandInGateway


@pytest.mark.parametrize(
    ("key", "code", "message"),
    [(INTERRUPT, 130, "interrupted"), (END_OF_INPUT, 1, "the question was not answered: nothing was changed")],
)
def test_a_key_that_ends_a_question_removes_nothing(
    gateway: StandInGateway, tmp_path: Path, key: str, code: int, message: str
) -> None:
    line = CommandLine(tmp_path, {"XAPP_GATEWAY": gateway.url})
    done = line.run_on_terminal("delete", "n/a", answers={"Remove this xApp?": key})
    assert done.code == code
    assert message in plain(done.out)
    assert "Traceback" not in done.out
    assert gateway.requests == []


@pytest.mark.parametrize(("key", "code"), [(INTERRUPT, 130), (END_OF_INPUT, 1)])
def test_a_key_that_ends_the_question_for_a_token_signs_nobody_in(
    gateway: StandInGateway, tmp_path: Path, key: str, code: int
) -> None:
    gateway.reply("/api/about", Reply({"auth": "kubernetes"}))
    done = CommandLine(tmp_path, {}).run_on_terminal("login", gateway.url, answers={"Token:": key})
    assert done.code == code
    assert "Traceback" not in done.out
    assert [each.path for each in gateway.requests] == ["/api/about"]
