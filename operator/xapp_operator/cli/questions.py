"""Questions at a terminal."""

from __future__ import annotations

import getpass
import sys

import typer

from xapp_operator.cli.errors import UsageError
from xapp_operator.cli.output.console import Output
from xapp_operator.cli.output.visible_text import on_one_line


def confirm(output: Output, question: str) -> bool:
    """Ask a question for yes or no. Raises UsageError where nobody can answer."""
    if not output.can_ask:
        raise UsageError("nobody can be asked here, because there is no terminal: confirm with --yes")
    return typer.confirm(on_one_line(question), err=True)


def ask_secret(output: Output, prompt: str) -> str:
    """Ask for a text without showing it. Raises UsageError where nobody can answer."""
    if not output.can_ask:
        raise UsageError(f"nobody can be asked for it here: {prompt}. Pass it on stdin with the option for that.")
    return getpass.getpass(f"{on_one_line(prompt)}: ", stream=sys.stderr)


def read_secret_line() -> str:
    """Return the first line of stdin."""
    return sys.stdin.readline(64 * 1024).strip()
