"""Reads the audit log of a test cluster while the API server writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_audit_events(log: Path, *, containing: str = "") -> list[dict[str, Any]]:
    """Return the events whose line contains `containing`, oldest first, without an incomplete last line.

    The API server renames a log that has become too large: the time comes before the suffix of its name.
    """
    old = sorted(log.parent.glob(f"{log.stem}-*{log.suffix}"))
    lines = (line for each in (*old, log) for line in _complete_lines(each) if containing in line)
    return [json.loads(line) for line in lines]


def _complete_lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").rpartition("\n")[0].splitlines()
