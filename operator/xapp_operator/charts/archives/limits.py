"""The limits of a chart archive; their values are settings (`config`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from xapp_operator.config import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """Limits of an archive. `unpacked_bytes` and `max_files` include nested archives."""

    packed_bytes: int
    unpacked_bytes: int
    max_files: int
    document_bytes: int
    """Of each file that is parsed: Chart.yaml, values.yaml, values.schema.json, requirements.yaml."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the limits from the settings."""
        return cls(
            packed_bytes=settings.chart_max_bytes,
            unpacked_bytes=settings.chart_max_unpacked_bytes,
            max_files=settings.chart_max_files,
            document_bytes=settings.values_max_bytes,
        )
