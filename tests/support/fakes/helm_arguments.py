"""Reads the arguments that a helm process gets."""

from __future__ import annotations

from collections.abc import Sequence

_LAUNCHER_ARGUMENTS = 5


def parse_arguments(arguments: Sequence[str]) -> tuple[str, list[str], dict[str, str]]:
    """Return the command, its arguments without a flag, and its flags without the dashes."""
    if arguments[0] == "-I":  # the launcher of the sandbox, its rules, and the program
        arguments = arguments[_LAUNCHER_ARGUMENTS:]
    name, *rest = arguments
    flags, positional = dict[str, str](), list[str]()
    end = rest.index("--") if "--" in rest else len(rest)
    for each in rest[:end]:
        key, _, value = each.partition("=")
        if key.startswith("--"):
            flags[key[2:]] = value
        else:
            positional.append(each)
    return "dry_run" if "dry-run" in flags else name, [*positional, *rest[end + 1 :]], flags
