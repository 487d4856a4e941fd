"""The console scripts `xapp`, `kubectl-xapp` and `kubectl_complete-xapp`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from xapp_operator.cli.errors import INTERRUPTED

PACKAGES: Final = frozenset({"httpx", "rich", "typer"})
"""What the extra `cli` installs. The image of operator and gateway does not have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    try:
        from xapp_operator.cli.app import run  # noqa: PLC0415 - its packages are optional
    except KeyboardInterrupt:  # loading its packages takes a moment
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        sys.stderr.write(
            "xapp: the packages of the command line are missing: run `pip install '.[cli]'` in a checkout, or install "
            "the wheel of a release with its extra `cli`\n"
        )
        return 1
    return run(sys.argv[1:] if argv is None else argv, program=_program(sys.argv[0]))


def complete_for_kubectl(argv: Sequence[str] | None = None) -> int:
    """Print how `kubectl xapp` can go on, as kubectl reads it; the last of the words is the one to complete."""
    try:
        from xapp_operator.cli.kubectl_completion import complete  # noqa: PLC0415 - its packages are optional
    except ModuleNotFoundError:
        return 1  # a word on the terminal would stand in the line that somebody types
    sys.stdout.write(complete(sys.argv[1:] if argv is None else argv))
    return 0


def _program(started_as: str) -> str:
    """Return the name that help shows: kubectl runs `kubectl xapp` as kubectl-xapp."""
    return "kubectl xapp" if Path(started_as).name.startswith("kubectl-xapp") else "xapp"
