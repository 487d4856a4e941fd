"""How phases and health look, in every command the same. Pure."""

from __future__ import annotations

from typing import Final

from xapp_operator.cli.output.tables import Cell

_GOOD, _BUSY, _BAD, _CALM = "green", "cyan", "red", "dim"

STYLE_OF_PHASE: Final = {
    "Deployed": _GOOD,
    "Pending": _BUSY,
    "Deploying": _BUSY,
    "Uninstalling": _BUSY,
    "Degraded": _BAD,
    "Failed": _BAD,
    "Suspended": _CALM,
}
STYLE_OF_HEALTH: Final = {"Healthy": _GOOD, "Progressing": _BUSY, "Degraded": _BAD, "Unknown": _CALM}
MARK_OF_HEALTH: Final = {"Healthy": "✓", "Progressing": "…", "Degraded": "✗", "Unknown": "?"}


def phase_cell(phase: str) -> Cell:
    """Return a phase as a cell."""
    return Cell(phase, STYLE_OF_PHASE.get(phase, ""))


def health_cell(health: str) -> Cell:
    """Return a health as a cell."""
    return Cell(health, STYLE_OF_HEALTH.get(health, ""))
