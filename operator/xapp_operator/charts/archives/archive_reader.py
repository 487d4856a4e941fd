"""Reads the files of a packed chart in memory, within limits; nothing is written to disk.

The reader rejects what an archive itself must not contain: invalid paths, links that leave the chart, devices, too many
bytes or files. `inspection` checks the contents. Paths are handled exactly as in Helm, which drops the first folder
whatever its name is: otherwise Helm might see a file that was never checked.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass, field
from typing import Final, Self

from xapp_operator.charts.archives.tar_reader import InvalidTar, TarEntry, TarEntryKind, TarReader
from xapp_operator.common.bounded_stream import BoundedStream
from xapp_operator.common.text import format_bytes, quote_input
from xapp_operator.config.settings import Settings
from xapp_operator.errors import ChartInvalid

CHART_YAML: Final = "Chart.yaml"
VALUES_YAML: Final = "values.yaml"
VALUES_SCHEMA: Final = "values.schema.json"
REQUIREMENTS: Final = "requirements.yaml"

_GZIP_MAGIC: Final = b"\x1f\x8b"
_HEADER_BYTES_PER_FILE: Final = 2048  # of tar headers, allowed for each file
_HEADER_BYTES_BASE: Final = 64 * 1024
_CHUNK_BYTES: Final = 64 * 1024
_PARSED_FILES: Final = re.compile(
    r"(?:charts/[^/]+/)*(?:Chart\.yaml|values\.schema\.json|requirements\.yaml|charts/[^/]+\.tgz)"
)
_DRIVE_LETTER: Final = re.compile(r"[a-zA-Z]:")
_PACK_HINT: Final = "Pack the chart with 'helm package'."


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """Limits of an archive, which are settings. `unpacked_bytes` and `max_files` include nested archives."""

    packed_bytes: int
    unpacked_bytes: int
    max_files: int
    document_bytes: int
    """Of each file that is parsed: Chart.yaml, values.yaml, values.schema.json, requirements.yaml."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            packed_bytes=settings.chart_max_bytes,
            unpacked_bytes=settings.chart_max_unpacked_bytes,
            max_files=settings.chart_max_files,
            document_bytes=settings.values_max_bytes,
        )


@dataclass(slots=True)
class ArchiveBudget:
    """Counts what an archive and all archives nested in it use: bytes unpacked, files, and bytes to parse."""

    limits: ArchiveLimits
    unpacked: int = 0
    files: int = 0
    parsed: int = field(default=0)

    def count_file(self, entry: TarEntry) -> None:
        """Count one file. Raises ChartInvalid beyond a limit."""
        self.files += 1
        if self.files > self.limits.max_files:
            raise archive_refused(
                f"it has more than {self.limits.max_files:,} files. Remove what the chart does not need."
            )
        self.unpacked += entry.size
        if self.unpacked > self.limits.unpacked_bytes:
            raise unpacked_too_large(self.limits)

    def count_document(self, name: str, size: int) -> None:
        """Count a file that will be parsed. Raises ChartInvalid beyond a limit."""
        if size > self.limits.document_bytes:
            raise archive_refused(
                f"{quote_input(name)} has {format_bytes(size)}; at most {format_bytes(self.limits.document_bytes)} "
                "are allowed. Make it smaller."
            )
        self.parsed += size
        limit = 4 * self.limits.document_bytes
        if self.parsed > limit:
            raise archive_refused(
                f"the {CHART_YAML}, values and schema files of the chart and its subcharts have more than "
                f"{format_bytes(limit)} together. Make them smaller."
            )


def read_chart_files(
    archive: bytes, *, budget: ArchiveBudget, read_values: bool, also: frozenset[str] = frozenset()
) -> dict[str, bytes | None]:
    """Return the files of a packed chart, path inside the chart → content; None where the content is not needed.

    `read_values` is whether the content of values.yaml is needed, `also` names further files. A link counts as an empty
    file, as in Helm. Raises ChartInvalid.
    """
    if not archive:
        raise archive_refused(f"it is empty (0 bytes). {_PACK_HINT}")
    if not archive.startswith(_GZIP_MAGIC):
        raise archive_refused(f"it is not compressed with gzip. {_PACK_HINT}")
    limits = budget.limits
    unpacked = BoundedStream(
        gzip.GzipFile(fileobj=io.BytesIO(archive), mode="rb"),
        max_bytes=limits.unpacked_bytes + limits.max_files * _HEADER_BYTES_PER_FILE + _HEADER_BYTES_BASE,
        error=lambda: unpacked_too_large(limits),
    )
    try:
        files = _read_entries(TarReader(unpacked), budget, read_values=read_values, also=also)
        while unpacked.read(_CHUNK_BYTES):
            pass  # to the end, where the checksum of the compression is
    except InvalidTar:
        raise archive_refused(f"it does not contain a complete tar archive. {_PACK_HINT}") from None
    except (OSError, EOFError, zlib.error):
        raise archive_refused(f"its gzip compression is damaged or incomplete. {_PACK_HINT}") from None
    return files


def _read_entries(
    tar: TarReader, budget: ArchiveBudget, *, read_values: bool, also: frozenset[str]
) -> dict[str, bytes | None]:
    files: dict[str, bytes | None] = {}
    for entry in tar:
        if entry.kind is TarEntryKind.FOLDER:
            _path_in_chart(entry.name)
            continue
        path = _path_in_chart(entry.name)
        if path is None:
            raise archive_refused(f"{quote_input(entry.name)} is outside the chart's folder. {_PACK_HINT}")
        _check_entry_kind(entry, path)
        budget.count_file(entry)
        is_parsed = _PARSED_FILES.fullmatch(path) is not None or (read_values and path == VALUES_YAML)
        if is_parsed and path in files:
            raise archive_refused(f"it has {quote_input(path)} twice. {_PACK_HINT}")
        if is_parsed and not path.endswith(".tgz"):
            budget.count_document(path, entry.size)
        files[path] = tar.read() if is_parsed or path in also else None
    if not files:
        raise archive_refused(f"it has no files. {_PACK_HINT}")
    return files


def _path_in_chart(name: str) -> str | None:
    """Return the path inside the chart's folder, or None for the folder itself and for files beside it."""
    if "\\" in name and "/" in name:
        raise archive_refused(f"{quote_input(name)} mixes '/' and '\\' in its path. {_PACK_HINT}")
    parts = name.replace("\\", "/").split("/")
    if not parts[0] or (len(parts) > 2 and not parts[1]) or any(_DRIVE_LETTER.match(part) for part in parts[:2]):  # noqa: PLR2004
        raise archive_refused(f"{quote_input(name)} is an absolute path. {_PACK_HINT}")
    if ".." in parts:
        raise archive_refused(f"{quote_input(name)} has '..' in its path. {_PACK_HINT}")
    return "/".join(part for part in parts[1:] if part not in ("", ".")) or None


def _check_entry_kind(entry: TarEntry, path: str) -> None:
    if entry.kind is TarEntryKind.FILE:
        return
    if entry.kind is TarEntryKind.SYMBOLIC_LINK:
        inside = _is_inside_chart(start=path.split("/")[:-1], target=entry.target)
    elif entry.kind is TarEntryKind.HARD_LINK:
        # The target of a hard link is a path from the root of the archive, so it starts with the chart's folder.
        inside = _path_in_chart(entry.target) is not None
    else:
        raise archive_refused(
            f"{quote_input(entry.name)} is {entry.kind.value}; only files, folders and links inside the chart "
            "are allowed. Remove it."
        )
    if not inside:
        raise archive_refused(
            f"{quote_input(entry.name)} is {entry.kind.value} to {quote_input(entry.target)}, outside the chart. "
            "Replace it with the file itself."
        )


def _is_inside_chart(*, start: list[str], target: str) -> bool:
    path = target.replace("\\", "/")
    if not path or path.startswith("/") or _DRIVE_LETTER.match(path):
        return False
    depth = len(start)
    for part in path.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return False
    return True


def unpacked_too_large(limits: ArchiveLimits) -> ChartInvalid:
    return archive_refused(
        f"it unpacks to more than {format_bytes(limits.unpacked_bytes)}. Remove what is not needed to "
        "install the chart."
    )


def archive_refused(reason: str) -> ChartInvalid:
    """Return the error for an archive; `reason` is a clause, followed by a sentence with the fix."""
    return ChartInvalid(f"the chart archive is refused: {reason}")
