"""Reads the audit log of a test cluster while the API server writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_audit_events(log: Path, *, containing: str = "") -> list[dict[str, Any]]:
    """Return the events whose line contains `containing`, oldest first, without an incomplete last line."""
    whole = log.read_text(encoding="utf-8", errors="replace").rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines() if containing in line]
