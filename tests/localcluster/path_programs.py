"""Takes programs from PATH whose version is the wanted one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.localcluster.tools import Tool

_ANSWER_SECONDS = 10.0


def find_on_path(tool: Tool) -> Path | None:
    """Return the program on PATH if it runs and has exactly the wanted version."""
    if not tool.version_arguments:
        return None
    found = shutil.which(tool.name)
    return Path(found) if found is not None and has_version(Path(found), tool) else None


def has_version(program: Path, tool: Tool) -> bool:
    """Return whether a program says that it has the version of `tool`."""
    try:
        answer = subprocess.run(
            [program, *tool.version_arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.escape(tool.version.removeprefix("v"))
    return re.search(rf"(?<![\w.])v?{version}(?![\w.-])", answer.stdout) is not None
