"""What an inspection finds out about a chart."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import JsonObject, encode_json
from xapp_operator.charts.archives.archive_reader import ArchiveLimits

RECORD_FORMAT: Final = 1
"""Increase it when inspections become stricter or record more, so that stored results of older ones are not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartInfo:
    """A chart whose archive passed every check.

    `digest` is the sha256 of the archive (64 hex digits), `size` is in bytes. With `external_refs`, a values schema in
    the chart has references to other documents, so Helm must run without the schemas.
    """

    name: str
    version: str
    app_version: str
    api_version: str
    description: str
    digest: str
    size: int
    unpacked: int
    files: int
    values: JsonObject = field(repr=False)
    schema: JsonObject | None = field(repr=False)
    external_refs: bool
    dependencies: tuple[str, ...]

    def is_within(self, limits: ArchiveLimits) -> bool:
        """Return whether the archive is within `limits`, which may have changed since the inspection."""
        return (
            self.size <= limits.packed_bytes
            and self.unpacked <= limits.unpacked_bytes
            and self.files <= limits.max_files
        )

    def to_json(self) -> bytes:
        record: JsonObject = {name: getattr(self, name) for name in self.__slots__}
        record["dependencies"] = list(self.dependencies)
        return encode_json({"format": RECORD_FORMAT, **record})

    @classmethod
    def from_json(cls, data: bytes) -> ChartInfo | None:
        """Return the record from the cache, or None when it is damaged or has another format."""
        try:
            record = json.loads(data)
            if record.pop("format") != RECORD_FORMAT:
                return None
            return cls(**record | {"dependencies": tuple(record["dependencies"])})
        except (ValueError, TypeError, KeyError):
            return None
