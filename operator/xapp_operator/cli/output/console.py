"""The two streams of a command: results on stdout, messages and progress on stderr.

Everything that is printed goes through here or through `visible_text`, so that no foreign control character reaches the
terminal. Texts are never read as markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from rich.console import Console
from rich.text import Text

from xapp_operator.api.json import Json, JsonObject, text
from xapp_operator.cli.errors import CliError
from xapp_operator.cli.output.documents import to_json, to_yaml
from xapp_operator.cli.output.tables import Column, Field, Row, layout_fields, layout_table
from xapp_operator.cli.output.visible_text import on_lines, on_one_line

UNBOUNDED_WIDTH: Final = 1_000_000
"""Columns where nothing is cut: a pipe or a file."""


class Format(StrEnum):
    """How records are printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


class Output:
    """What one command prints.

    Args:
        color: whether a terminal gets colors.
        quiet: print results and errors only.
    """

    def __init__(self, *, color: bool, quiet: bool) -> None:
        self.quiet = quiet
        self.stdout = _console(sys.stdout.isatty(), color=color, stderr=False)
        self.stderr = _console(sys.stderr.isatty(), color=color, stderr=True)

    @property
    def shows_progress(self) -> bool:
        """Whether progress can be drawn: on a terminal only."""
        return self.stderr.is_terminal and not self.quiet

    @property
    def can_ask(self) -> bool:
        """Whether somebody at a terminal can answer a question."""
        return sys.stdin.isatty() and self.stderr.is_terminal

    def table(self, columns: Sequence[Column], rows: Iterable[Row]) -> None:
        """Print a table that fits the terminal."""
        width = self.stdout.width if self.stdout.is_terminal else None
        for line in layout_table(columns, rows, width=width):
            line.rstrip()
            self.stdout.print(line, soft_wrap=True)

    def fields(self, rows: Iterable[Field]) -> None:
        """Print the fields of one record."""
        width = self.stdout.width if self.stdout.is_terminal else None
        for line in layout_fields(rows, console=self.stdout, width=width):
            line.rstrip()
            self.stdout.print(line, soft_wrap=True)

    def document(self, value: Json, output: Format) -> None:
        """Print `value` as JSON or YAML."""
        self.raw(to_yaml(value) if output is Format.YAML else f"{to_json(value)}\n")

    def names(self, records: Iterable[JsonObject]) -> None:
        """Print one `namespace/name` a line, as commands take it."""
        for record in records:
            self.line(f"{text(record, 'namespace')}/{text(record, 'name')}")

    def line(self, message: str, *, style: str = "") -> None:
        """Print one line of a result."""
        self.stdout.print(Text(on_one_line(message), style=style), soft_wrap=True)

    def lines(self, content: str) -> None:
        """Print a result of several lines."""
        if content:
            self.raw(on_lines(content if content.endswith("\n") else f"{content}\n"))

    def file_text(self, content: str) -> None:
        """Print a text that may go to a file: unchanged, but harmless on a terminal."""
        if self.stdout.is_terminal:
            self.lines(content)
        else:
            self.raw(content)

    def rich(self, content: Text) -> None:
        """Print a text with styles, whose parts were made harmless."""
        self.stdout.print(content, soft_wrap=True)

    def diff(self, content: str) -> None:
        """Print a unified diff."""
        for line in content.splitlines():
            self.stdout.print(Text(on_lines(line), style=_diff_style(line)), soft_wrap=True)

    def raw(self, content: str) -> None:
        """Write text that is harmless already."""
        sys.stdout.write(content)
        sys.stdout.flush()

    def note(self, message: str) -> None:
        """Print a remark on stderr, unless the command is quiet."""
        if not self.quiet:
            self.stderr.print(Text(on_one_line(message)), soft_wrap=True)

    def warning(self, message: str) -> None:
        """Print a warning on stderr, unless the command is quiet."""
        if not self.quiet:
            line = Text().append("warning: ", style="yellow").append(on_one_line(message))
            self.stderr.print(line, soft_wrap=True)

    def error(self, error: CliError) -> None:
        """Print an error on stderr."""
        line = Text().append("error: ", style="bold red").append(on_one_line(error.message))
        self.stderr.print(line, soft_wrap=True)
        for detail in error.details:
            self.stderr.print(Text(f"  {on_one_line(detail)}"), soft_wrap=True)


def _console(terminal: bool, *, color: bool, stderr: bool) -> Console:  # noqa: FBT001 - private
    return Console(
        stderr=stderr,
        force_terminal=terminal,
        color_system="auto" if color and terminal else None,
        no_color=not color,
        width=None if terminal else UNBOUNDED_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
