"""Questions at a terminal."""

from __future__ import annotations

import getpass
import sys

import typer

from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.cli.output.console import Output
from xapp_operator.cli.output.visible_text import on_one_line


def confirm(output: Output, question: str) -> bool:
    """Ask a question for yes or no.

    Raises:
        UsageError: nobody can answer here.
        CliError: the terminal ends (Ctrl-D) instead of an answer.
    """
    if not output.can_ask:
        raise UsageError("nobody can be asked here, because there is no terminal: confirm with --yes")
    try:
        return typer.confirm(on_one_line(question), err=True)
    except typer.Abort as ending:
        if isinstance(ending.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise CliError("the question was not answered: nothing was changed") from None


def ask_secret(output: Output, prompt: str) -> str:
    """Ask for a text without showing it. Raises UsageError where nobody can answer."""
    if not output.can_ask:
        raise UsageError(f"nobody can be asked for it here: {prompt}. Pass it on stdin with the option for that.")
    try:
        return getpass.getpass(f"{on_one_line(prompt)}: ", stream=sys.stderr)
    except EOFError:
        raise CliError(f"the question was not answered: {prompt}") from None


def read_secret_line() -> str:
    """Return the first line of stdin."""
    return sys.stdin.readline(64 * 1024).strip()
