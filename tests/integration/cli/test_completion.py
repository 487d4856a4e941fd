"""Each shell completes commands and names at the first Tab, set up as `xapp completion --help` says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.cli.conftest import NAME, deploy
from tests.support.command_line import CommandLine
from tests.support.shell_terminal import CLEAR_LINE, open_shell

pytestmark = pytest.mark.integration

PROMPT = "type here> "


def _set_up_bash(home: Path, script: str) -> list[str]:
    (home / "completion").write_text(script)
    (home / ".bashrc").write_text(f"PS1='{PROMPT}'\nsource ~/completion\n")
    return ["bash", "--rcfile", f"{home}/.bashrc", "-i"]


def _set_up_zsh(home: Path, script: str) -> list[str]:
    (home / "functions").mkdir()
    (home / "functions" / "_xapp").write_text(script)
    (home / ".zshrc").write_text(f"fpath=(~/functions $fpath)\nautoload -Uz compinit\ncompinit -u\nPS1='{PROMPT}'\n")
    return ["zsh", "-i"]


def _set_up_fish(home: Path, script: str) -> list[str]:
    folder = home / ".config" / "fish"
    (folder / "completions").mkdir(parents=True)
    (folder / "completions" / "xapp.fish").write_text(script)
    (folder / "config.fish").write_text(f"function fish_prompt; echo -n '{PROMPT}'; end\n")
    return ["fish", "-i"]


SHELLS = {"bash": _set_up_bash, "zsh": _set_up_zsh, "fish": _set_up_fish}


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_names_are_completed_at_the_first_tab(
    shell: str, xapp: CommandLine, chart: Path, namespace: str, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    deploy(xapp, chart, namespace)
    home = tmp_path / "home"
    home.mkdir()
    command = SHELLS[shell](home, xapp.run("completion", shell).out)
    environment = {**xapp.environment_of_shell(tmp_path / "bin"), "HOME": str(home)}
    with open_shell(command, environment, home) as terminal:
        terminal.type("", until=PROMPT)
        terminal.type("xapp rep\t", until=r"xapp repo\b")
        terminal.type(f"{CLEAR_LINE}xapp get -n {namespace} acme\t", until=rf"{NAME}\b")
        terminal.type(f"{CLEAR_LINE}xapp get {namespace}/ac\t", until=rf"{namespace}/{NAME}\b")
        terminal.type(f"{CLEAR_LINE}xapp list -n {namespace[:-2]}\t", until=rf"{namespace}\b")
