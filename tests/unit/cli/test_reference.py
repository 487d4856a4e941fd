"""The reference in docs/ says what the command line has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_reference_is_generated_from_the_code(tmp_path: Path) -> None:
    fresh = tmp_path / "reference.md"
    subprocess.run([sys.executable, ROOT / "hack" / "cli_reference.py", fresh], check=True, timeout=120)
    assert fresh.read_text() == (ROOT / "docs" / "cli-reference.md").read_text(), "run `make cli-docs`"
