"""The console scripts `xapp` and `kubectl-xapp`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PACKAGES: Final = frozenset({"httpx", "rich", "typer"})
"""What the extra `cli` installs. The image of operator and gateway does not have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    try:
        from xapp_operator.cli.app import run  # noqa: PLC0415 - its packages are optional
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        sys.stderr.write("xapp: the packages of the command line are missing: pip install 'xapp-operator[cli]'\n")
        return 1
    return run(sys.argv[1:] if argv is None else argv, program=_program(sys.argv[0]))


def _program(started_as: str) -> str:
    """Return the name that help shows: kubectl runs `kubectl xapp` as kubectl-xapp."""
    return "kubectl xapp" if Path(started_as).name.startswith("kubectl-xapp") else "xapp"
