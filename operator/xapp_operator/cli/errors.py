"""Errors of the command line, with their exit codes.

    CliError                 1: it failed
    ├── UsageError           2: the command line itself is wrong
    ├── NotFound             3
    ├── NotAllowed           4: no permission, or not signed in
    ├── InputRefused         5: the gateway refuses the input
    └── NotReadyInTime       6

Ctrl-C ends a command with 130.

A message says what happened, the rule, and what to do. It never contains a token.
"""

from __future__ import annotations

from typing import ClassVar, Final

DONE: Final = 0
INTERRUPTED: Final = 130
"""128 and the number of SIGINT, as shells have it."""


class CliError(Exception):
    """A command failed. `details` are further lines, such as one for each invalid field."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class UsageError(CliError):
    """The arguments or options do not fit together."""

    exit_code: ClassVar[int] = 2


class NotFound(CliError):
    """The gateway knows no such object."""

    exit_code: ClassVar[int] = 3


class NotAllowed(CliError):
    """The caller is not signed in, or lacks a right."""

    exit_code: ClassVar[int] = 4


class InputRefused(CliError):
    """The gateway or the cluster refuses what was sent."""

    exit_code: ClassVar[int] = 5


class NotReadyInTime(CliError):
    """The change was accepted, but has not taken effect in time."""

    exit_code: ClassVar[int] = 6
