"""Every command explains itself, with an example that names only options that exist."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tests.unit.cli.conftest import Xapp
from xapp_operator.cli.app import build_app
from xapp_operator.cli.main import complete_for_kubectl

DESIGNED = {
    *("deploy", "upgrade", "list", "get", "status", "health", "logs", "events", "history", "rollback", "test"),
    *("retry", "suspend", "resume", "delete", "call", "services", "login", "logout", "whoami", "open"),
    *("completion", "version", "config get", "config set", "config edit", "config diff"),
    *("repo list", "repo add", "repo remove", "repo charts", "repo versions"),
    *("chart list", "chart upload", "chart delete"),
}


def commands() -> dict[str, Any]:
    return dict(_below(get_command(build_app()), ""))


def _below(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _below(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def test_the_commands_are_those_of_the_design() -> None:
    assert set(commands()) == DESIGNED


@pytest.mark.parametrize("name", sorted(DESIGNED))
def test_help_has_an_example(xapp: Xapp, name: str) -> None:
    done = xapp(*name.split(), "--help")
    assert done.code == 0
    assert f"Usage: xapp {name}" in done.out
    assert "Examples:" in done.out
    assert f"xapp {name}" in done.out.partition("Examples:")[2]


@pytest.mark.parametrize("group", sorted({name.partition(" ")[0] for name in DESIGNED if " " in name}))
def test_the_help_of_a_group_has_examples_of_its_commands(xapp: Xapp, group: str) -> None:
    shown = xapp(group, "--help")
    assert (shown.code, shown.err) == (0, "")
    examples = [line.strip() for line in shown.out.partition("Examples:\n")[2].splitlines()]
    assert examples
    for example in examples:
        program, *words = shlex.split(example)
        assert program == "xapp"
        command = commands()[" ".join(words[:2])]
        command.make_context("xapp", words[2:])


@pytest.mark.parametrize("name", sorted(DESIGNED))
def test_examples_use_options_that_exist(name: str) -> None:
    command = commands()[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    examples = command.epilog.partition("Examples:\n")[2].replace("\\\n", " ").splitlines()
    assert examples
    for example in examples:
        words = shlex.split(example.partition(f"xapp {name}")[2].partition(" | ")[0].partition(" >")[0].rstrip(")"))
        assert [word for word in words if word.startswith("-") and word != "-" and word not in known] == []


@pytest.mark.parametrize("name", sorted(DESIGNED))
def test_every_option_has_a_description(name: str) -> None:
    missing = [parameter.name for parameter in commands()[name].params if not getattr(parameter, "help", "")]
    assert missing == []


def test_no_arguments_show_the_help(xapp: Xapp) -> None:
    done = xapp()
    assert "Commands:" in done.out + done.err


@pytest.mark.parametrize("arguments", [["nothing"], ["list", "--nothing"], ["get"], ["list", "-o", "xml"]])
def test_a_wrong_command_line_is_a_usage_error(xapp: Xapp, arguments: list[str]) -> None:
    assert xapp(*arguments).code == 2


def test_without_its_packages_it_says_how_to_install_them() -> None:
    program = "import sys; sys.modules['typer'] = None; from xapp_operator.cli.main import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (
        "xapp: the packages of the command line are missing: run `pip install '.[cli]'` in a checkout, or install the "
        "wheel of a release with its extra `cli`\n"
    )


def test_kubectl_runs_it_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, xapp: Xapp) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "kubectl-xapp")])
    assert "Usage: kubectl xapp list" in xapp("list", "--help").out


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["rep"], "repo\tList, save, remove and browse chart...\n:4\n"),
        (["list", "-o", "j"], "json\n:4\n"),
        (["completion", "z"], "zsh\n:4\n"),
        (["deploy", "--file", ""], ":0\n"),
        (["no-such-command", "x"], ":4\n"),
    ],
)
def test_kubectl_completes_it(home: Path, capsys: pytest.CaptureFixture[str], words: list[str], printed: str) -> None:
    assert home.exists()
    assert complete_for_kubectl(words) == 0
    assert capsys.readouterr() == (printed, "")
