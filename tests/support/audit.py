"""The audit log of a test cluster while its API server writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_audit_events(log: Path, *, containing: str = "") -> list[dict[str, Any]]:
    """Return the events whose line holds `about`, oldest first; the last line may be half written and is left out."""
    whole = log.read_text(encoding="utf-8", errors="replace").rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines() if containing in line]
