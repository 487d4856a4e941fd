"""The kinds of commands: their usage lines, and short options as kubectl takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

LENGTH_OF_SHORT: Final = 2
"""A short option has a dash and a letter."""


class GroupOfCommands(TyperGroup):
    """A group of commands."""


class SingleCommand(TyperCommand):
    """A command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the command. `-o=json` means the same as `-o json`, as it does for kubectl."""
        takes_value = {
            short
            for parameter in self.params
            if not getattr(parameter, "is_flag", True)
            for short in parameter.opts
            if len(short) == LENGTH_OF_SHORT
        }
        return super().parse_args(ctx, list(_separated(args, takes_value)))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: optional ones in brackets."""
        del ctx
        return ["[OPTIONS]", *words_of_usage(self)]


def words_of_usage(command: Any) -> list[str]:
    """Return the arguments of a command as its usage line shows them."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    return [each.metavar if each.required else f"[{each.metavar}]" for each in arguments]


def _separated(args: list[str], takes_value: set[str]) -> Iterator[str]:
    words = iter(args)
    for word in words:
        if word == "--":
            yield word
            yield from words
        elif word[:2] in takes_value and word[2:3] == "=":
            yield from (word[:2], word[3:])
        else:
            yield word
