"""Write the reference of the command line `xapp` into the file given as the argument (`make cli-docs`)."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer import Context
from typer.main import get_command

from xapp_operator.cli.app import build_app

HEADER = """\
# Reference of the command line

<!-- Generated from operator/xapp_operator/cli: run `make cli-docs` after a change there. -->

<!-- Shell blocks of this page are illustrations: they show one option each. tests/unit/cli checks their options. -->

[The command line](cli.md) explains how `xapp` finds the gateway and signs in, and what its exit codes mean.
"""
COMMON = ("--gateway", "--token", "--ca", "--no-color", "--quiet", "--help")


def main() -> None:
    """Write the whole page."""
    (target,) = sys.argv[1:]
    group = get_command(build_app())
    commands = list(_commands(group, "xapp"))
    lines = [HEADER, "## Options of every command\n", *_options(commands[0][1], common=True)]
    for name, command in commands:
        lines += _section(name, command)
    Path(target).write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _section(name: str, command: Any) -> list[str]:
    context = Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    examples = command.epilog.partition("Examples:\n")[2]
    example_lines = [line.removeprefix("  ") for line in examples.splitlines()]
    return [
        f"\n## {name}\n",
        f"{command.help}\n",
        f"```\n{name} {usage}\n```\n",
        *_arguments(command),
        *_options(command, common=False),
        "\nExamples:\n",
        "```sh",
        *example_lines,
        "```",
    ]


def _arguments(command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    rows = [f"| `{_cell(each.metavar or each.name)}` | {_cell(each.help)} |" for each in arguments]
    return ["| argument | meaning |", "|---|---|", *rows, ""] if rows else []


def _options(command: Any, *, common: bool) -> list[str]:
    context = Context(command, info_name="xapp")
    rows = []
    for option in command.get_params(context):
        if option.param_type_name != "option" or bool(set(option.opts) & set(COMMON)) != common:
            continue
        record = option.get_help_record(context)
        rows.append(f"| `{_cell(record[0])}` | {_cell(record[1])} |")
    return ["| option | meaning |", "|---|---|", *rows] if rows else []


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
