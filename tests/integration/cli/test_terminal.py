"""What a terminal shows: questions, progress, colors, and tables that fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import NAME, deploy
from tests.support.command_line import CommandLine, plain

pytestmark = pytest.mark.integration


def test_removing_asks_and_a_no_changes_nothing(xapp: CommandLine, chart: Path, namespace: str) -> None:
    target = f"{namespace}/{NAME}"
    deploy(xapp, chart, namespace, "--wait")
    done = xapp.run_on_terminal("delete", target, answers={"Remove this xApp?": "n"})
    assert done.code == 1
    assert xapp.run("get", target).code == 0
    done = xapp.run_on_terminal("delete", target, "--wait", answers={"Remove this xApp?": "y"})
    assert done.code == 0, done.out
    assert f"{target} is removed" in plain(done.out)


def test_edit_asks_before_it_writes(xapp: CommandLine, chart: Path, namespace: str) -> None:
    target = f"{namespace}/{NAME}"
    deploy(xapp, chart, namespace, "--set", "replicas=1", "--wait")
    editor = "sed -i s/replicas:.*/replicas:\\ 2/"
    done = xapp.run_on_terminal("config", "edit", target, answers={"Apply these values": "n"}, EDITOR=editor)
    assert done.code == 1
    assert "+replicas: 2" in plain(done.out)
    assert "the values were not changed" in plain(done.out)
    assert xapp.run("config", "get", target).out == "replicas: 1\n"
    done = xapp.run_on_terminal("config", "edit", target, answers={"Apply these values": "y"}, EDITOR=editor)
    assert done.code == 0, done.out
    assert xapp.run("config", "get", target).out == "replicas: 2\n"


def test_progress_is_drawn_on_a_terminal_only(xapp: CommandLine, chart: Path, namespace: str) -> None:
    identity = ["--name", "hello", "--organization", "acme", "--team", "ran", "--version", "0.1.0", "--owner", "jane"]
    arguments = ["deploy", *identity, "-n", namespace, "--file", str(chart), "--wait"]
    done = xapp.run_on_terminal(*arguments)
    assert done.code == 0, done.out
    assert f"{namespace}/{NAME}: waiting" in plain(done.out)
    assert f"{namespace}/{NAME} is Ready" in plain(done.out)
    watched = xapp.run_on_terminal("status", f"{namespace}/{NAME}", "-w")
    assert watched.code == 0
    assert f"✓ Deployment {NAME}" in plain(watched.out)
    quiet = xapp.run_on_terminal("retry", f"{namespace}/{NAME}", "--wait", "-q")
    assert quiet.out == ""


def test_tables_fit_and_colors_can_be_turned_off(xapp: CommandLine, chart: Path, namespace: str) -> None:
    deploy(xapp, chart, namespace, "--wait")
    done = xapp.run_on_terminal("list", "-n", namespace, "-o", "wide", columns=90)
    assert "\x1b[" in done.out
    assert max(len(line) for line in plain(done.out).splitlines()) <= 90
    assert "REVISION" not in done.out, "names are whole, and the columns that have no place are left out"
    assert namespace in done.out
    assert NAME in done.out
    arguments = ("list", "-n", namespace)
    for shown in (xapp.run_on_terminal(*arguments, "--no-color"), xapp.run_on_terminal(*arguments, NO_COLOR="1")):
        assert "\x1b[" not in shown.out
        assert NAME in shown.out
    assert "\x1b[" not in xapp.run("list", "-n", namespace).out
