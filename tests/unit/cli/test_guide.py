"""What docs/cli.md says of all commands."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.support.command_line import PROGRAM
from tests.support.eventually import eventually
from tests.unit.cli.test_help import commands
from xapp_operator.cli import errors
from xapp_operator.cli.app import HELP
from xapp_operator.cli.errors import DONE, INTERRUPTED, CliError

GUIDE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
EXIT_CODES = {
    DONE,
    INTERRUPTED,
    *(each.exit_code for each in vars(errors).values() if isinstance(each, type) and issubclass(each, CliError)),
}


def first_cells(heading: str, *, table: int = 1) -> list[str]:
    """Return the first cells of a table below a heading of the guide."""
    section = GUIDE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\|(?:.+\|)+\n\|[-|]+\n((?:\|.*\n)+)", section)[table - 1]
    return [line.split("|")[1].strip() for line in rows.splitlines()]


def test_the_guide_names_the_commands_without_an_output_format() -> None:
    without = {name for name, each in commands().items() if all("--output" not in one.opts for one in each.params)}
    named = [name.strip("` ") for cell in first_cells("Output", table=2) for name in cell.split(",")]
    assert sorted(named) == sorted(without)


def test_the_guide_and_the_help_name_every_exit_code() -> None:
    assert {int(code) for code in first_cells("Exit codes")} == EXIT_CODES
    assert {int(code) for code in re.findall(r"\b(\d+) [a-z]", HELP.partition("Exit codes:")[2])} == EXIT_CODES


def _sleeps(pid: int) -> bool:
    """Tell whether a process is blocked. A signal just before a blocking call does not wake Python from that call."""
    return "\nState:\tS" in Path(f"/proc/{pid}/status").read_text()


def test_a_command_that_is_interrupted_says_so(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        gateway = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-c", PROGRAM, "get", "n/a", "--gateway", gateway]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"HOME": str(home)}) as process:
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)
                asyncio.run(eventually(lambda: _sleeps(process.pid), what="a command that waits for its response"))
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (INTERRUPTED, "interrupted: a change that was accepted goes on\n")
