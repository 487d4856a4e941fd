"""The files of a packed chart, read under bounds and never written anywhere.

What an archive must not have is refused here, while it is unpacked in memory: wrong names, links that lead out,
devices, too many bytes or files. What the files must say is `inspection.py`'s. Names are taken exactly as Helm takes
them (the first folder is dropped, whatever it is called): a file that Helm sees and this module does not would be one
that nobody has checked. Only the files that have to be looked into are kept.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.charts.info import ArchiveLimits
from xapp_operator.charts.tarstream import ByteStream, Entry, Kind, TarDamaged, TarReader
from xapp_operator.charts.wording import byte_count, quoted
from xapp_operator.errors import ChartInvalid

CHART_YAML: Final = "Chart.yaml"
VALUES_YAML: Final = "values.yaml"
VALUES_SCHEMA: Final = "values.schema.json"
REQUIREMENTS: Final = "requirements.yaml"

_GZIP_MAGIC: Final = b"\x1f\x8b"
_HEADERS_PER_FILE: Final = 2048  # bytes of tar headers that a file may bring along
_HEADERS_BASE: Final = 64 * 1024
_CHUNK: Final = 64 * 1024
_PARSED: Final = re.compile(
    r"(?:charts/[^/]+/)*(?:Chart\.yaml|values\.schema\.json|requirements\.yaml|charts/[^/]+\.tgz)"
)
_DRIVE: Final = re.compile(r"[a-zA-Z]:")
_PACK: Final = "Pack the chart with 'helm package'."


@dataclass(slots=True)
class Budget:
    """What is left for an archive and all archives nested in it: bytes unpacked, files, and bytes to parse."""

    limits: ArchiveLimits
    unpacked: int = 0
    files: int = 0
    parsed: int = field(default=0)

    def take_file(self, entry: Entry) -> None:
        """Count one file of the unpacked chart; raises ChartInvalid beyond a bound."""
        self.files += 1
        if self.files > self.limits.files:
            raise refused(f"it has more than {self.limits.files:,} files. Leave out what the chart does not need.")
        self.unpacked += entry.size
        if self.unpacked > self.limits.unpacked:
            raise too_much_unpacked(self.limits)

    def take_document(self, name: str, size: int) -> None:
        """Count a file that will be parsed; raises ChartInvalid beyond a bound."""
        if size > self.limits.document:
            raise refused(
                f"{quoted(name)} has {byte_count(size)}; at most {byte_count(self.limits.document)} are allowed. "
                "Make it smaller."
            )
        self.parsed += size
        most = 4 * self.limits.document
        if self.parsed > most:
            raise refused(
                f"the {CHART_YAML}, values and schema files of the chart and its subcharts have more than "
                f"{byte_count(most)} together. Make them smaller."
            )


def read_files(archive: bytes, *, budget: Budget, with_values: bool) -> dict[str, bytes | None]:
    """Return the files of a packed chart, path inside the chart → content; None where the content is not needed.

    `with_values` says whether the content of values.yaml is. A link counts as an empty file, as it does for Helm.
    Raises ChartInvalid.
    """
    if not archive:
        raise refused(f"it is empty (0 bytes). {_PACK}")
    if not archive.startswith(_GZIP_MAGIC):
        raise refused(f"it is not compressed with gzip. {_PACK}")
    unpacked = _Bounded(gzip.GzipFile(fileobj=io.BytesIO(archive), mode="rb"), budget.limits)
    try:
        files = _entries(TarReader(unpacked), budget, with_values=with_values)
        while unpacked.read(_CHUNK):
            pass  # to the end, where the checksum of the compression stands
    except TarDamaged:
        raise refused(f"what it unpacks to is no tar archive, or breaks off. {_PACK}") from None
    except (OSError, EOFError, zlib.error):
        raise refused(f"its gzip compression is damaged or breaks off. {_PACK}") from None
    return files


def _entries(tar: TarReader, budget: Budget, *, with_values: bool) -> dict[str, bytes | None]:
    files: dict[str, bytes | None] = {}
    for entry in tar:
        if entry.kind is Kind.FOLDER:
            _relative(entry.name)
            continue
        path = _relative(entry.name)
        if path is None:
            raise refused(f"{quoted(entry.name)} lies outside the chart's folder. {_PACK}")
        _check_kind(entry, path)
        budget.take_file(entry)
        wanted = _PARSED.fullmatch(path) is not None or (with_values and path == VALUES_YAML)
        if wanted and path in files:
            raise refused(f"it has {quoted(path)} twice. {_PACK}")
        if wanted and not path.endswith(".tgz"):
            budget.take_document(path, entry.size)
        files[path] = tar.read() if wanted else None
    if not files:
        raise refused(f"it has no files. {_PACK}")
    return files


def _relative(name: str) -> str | None:
    """Return the path inside the chart's folder, None for the folder itself or a file beside it."""
    if "\\" in name and "/" in name:
        raise refused(f"{quoted(name)} mixes '/' and '\\' in its path. {_PACK}")
    parts = name.replace("\\", "/").split("/")
    if not parts[0] or (len(parts) > 2 and not parts[1]) or any(_DRIVE.match(part) for part in parts[:2]):  # noqa: PLR2004
        raise refused(f"{quoted(name)} is an absolute path. {_PACK}")
    if ".." in parts:
        raise refused(f"{quoted(name)} has '..' in its path. {_PACK}")
    return "/".join(part for part in parts[1:] if part not in ("", ".")) or None


def _check_kind(entry: Entry, path: str) -> None:
    if entry.kind is Kind.FILE:
        return
    if entry.kind is Kind.SYMBOLIC_LINK:
        inside = _stays_inside(start=path.split("/")[:-1], target=entry.target)
    elif entry.kind is Kind.HARD_LINK:
        # The target of a hard link is a path from the archive's root, the chart's folder first.
        inside = _relative(entry.target) is not None
    else:
        raise refused(
            f"{quoted(entry.name)} is {entry.kind.value}; only files, folders and links inside the chart are allowed. "
            "Leave it out."
        )
    if not inside:
        raise refused(
            f"{quoted(entry.name)} is {entry.kind.value} to {quoted(entry.target)}, outside the chart. "
            "Replace it by the file itself."
        )


def _stays_inside(*, start: list[str], target: str) -> bool:
    path = target.replace("\\", "/")
    if not path or path.startswith("/") or _DRIVE.match(path):
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


class _Bounded:
    """A stream that ends in ChartInvalid instead of going on for ever."""

    def __init__(self, stream: ByteStream, limits: ArchiveLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._left = limits.unpacked + limits.files * _HEADERS_PER_FILE + _HEADERS_BASE

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise too_much_unpacked(self._limits)
        return data


def too_much_unpacked(limits: ArchiveLimits) -> ChartInvalid:
    """Return the refusal of an archive that unpacks to more than its bound."""
    return refused(
        f"it unpacks to more than {byte_count(limits.unpacked)}. Leave out what is not needed to install the chart."
    )


def refused(what: str) -> ChartInvalid:
    """Return the refusal of an archive; `what` is a clause and a sentence with the mend."""
    return ChartInvalid(f"the chart archive is refused: {what}")
