"""A reader of tar headers for untrusted archives: streaming, linear in time, without touching any path.

It reads an archive as Helm does (Go's archive/tar): ustar, PAX and GNU long names; a global PAX header has no effect.
The supported versions of Python's tarfile search PAX headers with regular expressions of quadratic time or worse
(CVE-2024-6232), take a damaged header for the end of the archive, and loop on negative sizes (CVE-2025-8194): an upload
of 20 KB would block the process. tests/unit/charts compares both readers on valid archives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from xapp_operator.common.bounded_stream import ReadableStream

BLOCK_BYTES: Final = 512
MAX_EXTENDED_HEADER_BYTES: Final = 1024 * 1024  # bytes, as in Go's archive/tar
_CHUNK_BYTES: Final = 64 * 1024
_CHECKSUM: Final = slice(148, 156)
_BASE_256: Final = 0x80
_DECIMAL: Final = re.compile("[0-9]{1,19}")


class InvalidTar(Exception):
    """The bytes are not a complete tar archive."""


class TarEntryKind(Enum):
    """The kind of an entry; the value is its name in errors."""

    FILE = "a file"
    FOLDER = "a folder"
    HARD_LINK = "a hard link"
    SYMBOLIC_LINK = "a symbolic link"
    DEVICE = "a device"
    FIFO = "a named pipe"
    SPARSE = "a sparse file"
    UNKNOWN = "an entry of an unknown kind"


_KIND_BY_FLAG: Final = {
    b"0": TarEntryKind.FILE,
    b"\0": TarEntryKind.FILE,
    b"7": TarEntryKind.FILE,
    b"1": TarEntryKind.HARD_LINK,
    b"2": TarEntryKind.SYMBOLIC_LINK,
    b"3": TarEntryKind.DEVICE,
    b"4": TarEntryKind.DEVICE,
    b"5": TarEntryKind.FOLDER,
    b"6": TarEntryKind.FIFO,
    b"S": TarEntryKind.SPARSE,
}


@dataclass(frozen=True, slots=True)
class TarEntry:
    """One entry: `size` in bytes (0 unless a file), `target` of a link."""

    name: str
    kind: TarEntryKind
    size: int
    target: str = ""


@dataclass(slots=True)
class _ExtendedHeader:
    """Attributes of an entry from the extension headers before it."""

    pax: dict[str, str] = field(default_factory=dict)
    long_name: str = ""
    long_target: str = ""


class TarReader:
    """Iterates over the entries; `read` gives the content of the one just returned."""

    def __init__(self, stream: ReadableStream) -> None:
        self._stream = stream
        self._unread = 0
        self._padding = 0

    def __iter__(self) -> Iterator[TarEntry]:
        """Yield every entry up to the end mark. Raises InvalidTar."""
        extension = _ExtendedHeader()
        while (block := self._read_header_block()) is not None:
            size, flag = _parse_number(block[124:136]), block[156:157]
            self._start_entry(size)
            if flag == b"g":
                extension = _ExtendedHeader()
            elif flag == b"x":
                extension.pax = _parse_pax_records(self._read_extended_header(size))
            elif flag == b"L":
                extension.long_name = _decode_text(self._read_extended_header(size))
            elif flag == b"K":
                extension.long_target = _decode_text(self._read_extended_header(size))
            else:
                entry = _parse_entry(block, flag, size, extension)
                self._start_entry(entry.size)
                yield entry
                extension = _ExtendedHeader()

    def read(self) -> bytes:
        """Return the whole content of the current entry; check its size before."""
        content = self._read_exactly(self._unread)
        self._unread = 0
        return content

    def _start_entry(self, size: int) -> None:
        self._unread = size
        self._padding = -size % BLOCK_BYTES

    def _read_extended_header(self, size: int) -> bytes:
        if size > MAX_EXTENDED_HEADER_BYTES:
            raise InvalidTar
        return self.read()

    def _read_header_block(self) -> bytes | None:
        self._skip(self._unread + self._padding)
        self._start_entry(0)
        block = self._stream.read(BLOCK_BYTES)
        if not block:
            return None
        if len(block) < BLOCK_BYTES:
            raise InvalidTar
        if not any(block):
            return None
        _verify_checksum(block)
        return block

    def _skip(self, count: int) -> None:
        while count:
            count -= len(self._read_exactly(min(count, _CHUNK_BYTES)))

    def _read_exactly(self, count: int) -> bytes:
        data = self._stream.read(count) if count else b""
        if len(data) != count:
            raise InvalidTar
        return data


def _parse_entry(block: bytes, flag: bytes, size: int, extension: _ExtendedHeader) -> TarEntry:
    name, target = _decode_text(block[0:100]), _decode_text(block[157:257])
    if prefix := _name_prefix(block):
        name = f"{prefix}/{name}"
    pax = extension.pax
    name = extension.long_name or pax.get("path") or name
    target = extension.long_target or pax.get("linkpath") or target
    kind = _KIND_BY_FLAG.get(flag, TarEntryKind.UNKNOWN)
    if any(key.startswith("GNU.sparse.") for key in pax):
        kind = TarEntryKind.SPARSE
    elif flag == b"\0" and name.endswith("/"):
        kind = TarEntryKind.FOLDER
    if "size" in pax:
        if not _DECIMAL.fullmatch(pax["size"]):
            raise InvalidTar
        size = int(pax["size"])
    holds_data = kind in (TarEntryKind.FILE, TarEntryKind.SPARSE, TarEntryKind.UNKNOWN)
    return TarEntry(name=name, kind=kind, size=size if holds_data else 0, target=target)


def _name_prefix(block: bytes) -> str:
    """Return the first part of a long name, exactly where Helm's reader finds one."""
    magic = block[257:265]
    if magic[:6] == b"ustar\0":
        is_star = block[508:512] == b"tar\0"
        return _decode_text(block[345:476] if is_star else block[345:500])
    if magic == b"ustar  \0":
        for timestamp in (block[345:357], block[357:369]):
            if timestamp[0]:
                _parse_number(timestamp)
    return ""


def _verify_checksum(block: bytes) -> None:
    stored = _parse_number(block[_CHECKSUM])
    blanked = block[: _CHECKSUM.start] + b" " * 8 + block[_CHECKSUM.stop :]
    signed = sum(byte - 256 if byte >= _BASE_256 else byte for byte in blanked)
    if stored not in (sum(blanked), signed):
        raise InvalidTar


def _parse_number(digits: bytes) -> int:
    if digits[0] & _BASE_256:
        number = int.from_bytes(bytes([digits[0] & 0x7F]) + digits[1:], "big")
        if digits[0] & 0x40:
            raise InvalidTar  # negative
        return number
    octal = digits.strip(b" \0").partition(b"\0")[0]
    if octal.strip(b"01234567"):
        raise InvalidTar
    return int(octal or b"0", 8)


def _parse_pax_records(content: bytes) -> dict[str, str]:
    records: dict[str, str] = {}
    position = 0
    while position < len(content):
        blank = content.find(b" ", position, position + 8)
        if blank < 0 or not content[position:blank].isdigit():
            raise InvalidTar
        end = position + int(content[position:blank])
        key, equals, value = content[blank + 1 : end - 1].partition(b"=")
        if not equals or content[end - 1 : end] != b"\n" or b"\0" in value:
            raise InvalidTar
        records[_decode_utf8(key)] = _decode_utf8(value)
        position = end
    return records


def _decode_text(field_bytes: bytes) -> str:
    return _decode_utf8(field_bytes.partition(b"\0")[0])


def _decode_utf8(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
