"""Completion of `kubectl xapp`: kubectl runs `kubectl_complete-xapp` with the words after `kubectl xapp`.

It expects the format of Cobra: a line for each value, with its help after a tab, and a last line that says whether the
shell may offer names of files instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from typer._click.shell_completion import CompletionItem, ShellComplete, _resolve_context, _resolve_incomplete
from typer.main import get_command

from xapp_operator.cli.app import build_app
from xapp_operator.cli.commands.other import COMPLETE_VARIABLE

FILE_NAMES: Final = ":0"
NO_FILE_NAMES: Final = ":4"


def complete(words: Sequence[str]) -> str:
    """Return what the last word can become."""
    return _Completion(words or [""]).complete()


class _Completion(ShellComplete):
    name = "cobra"
    source_template = ""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(get_command(build_app()), {}, "kubectl xapp", COMPLETE_VARIABLE)
        self._words = list(words)

    def source_vars(self) -> dict[str, str]:
        return {}

    def get_completion_args(self) -> tuple[list[str], str]:
        return self._words[:-1], self._words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}\t{item.help or ''}".rstrip()

    def complete(self) -> str:
        before, incomplete = self.get_completion_args()
        values = [self.format_completion(each) for each in self.get_completions(before, incomplete)]
        return "".join(f"{line}\n" for line in [*values, FILE_NAMES if self._is_path() else NO_FILE_NAMES])

    def _is_path(self) -> bool:
        before, incomplete = self.get_completion_args()
        context = _resolve_context(self.cli, self.ctx_args, self.prog_name, before)
        wanted, _ = _resolve_incomplete(context, before, incomplete)
        descriptor = getattr(wanted, "type_descriptor", None)  # commands have none
        return descriptor is not None and descriptor.annotation in {Path, Path | None}
