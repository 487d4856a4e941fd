"""A reader of tar headers for untrusted archives: streaming, linear in time, no path ever touched.

It sees an archive as Helm does (Go's archive/tar): ustar, PAX and GNU long names; a global PAX header changes nothing.
The standard library's tarfile is not used here because its versions that we support search PAX headers with regular
expressions of quadratic time and more (CVE-2024-6232), take a damaged header for the end, and loop on negative sizes
(CVE-2025-8194); an upload of 20 KB would stop the whole process. tests/unit/charts compares the two on sound archives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol

BLOCK: Final = 512
MAX_EXTENDED_HEADER: Final = 1024 * 1024  # bytes, as in Go's archive/tar
_CHUNK: Final = 64 * 1024
_CHECKSUM: Final = slice(148, 156)
_BASE_256: Final = 0x80
_DECIMAL: Final = re.compile("[0-9]{1,19}")


class TarDamaged(Exception):
    """The bytes are no tar archive, or it breaks off."""


class ByteStream(Protocol):
    """What is read from: blocks until `size` bytes are there, or the stream has ended."""

    def read(self, size: int) -> bytes: ...


class Kind(Enum):
    """What an entry is; the value is how an error calls it."""

    FILE = "a file"
    FOLDER = "a folder"
    HARD_LINK = "a hard link"
    SYMBOLIC_LINK = "a symbolic link"
    DEVICE = "a device"
    FIFO = "a named pipe"
    SPARSE = "a sparse file"
    UNKNOWN = "an entry of an unknown kind"


_KINDS: Final = {
    b"0": Kind.FILE,
    b"\0": Kind.FILE,
    b"7": Kind.FILE,
    b"1": Kind.HARD_LINK,
    b"2": Kind.SYMBOLIC_LINK,
    b"3": Kind.DEVICE,
    b"4": Kind.DEVICE,
    b"5": Kind.FOLDER,
    b"6": Kind.FIFO,
    b"S": Kind.SPARSE,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: `size` in bytes (0 unless a file), `target` of a link."""

    name: str
    kind: Kind
    size: int
    target: str = ""


@dataclass(slots=True)
class _Extension:
    """What the headers before an entry say about it."""

    pax: dict[str, str] = field(default_factory=dict)
    long_name: str = ""
    long_target: str = ""


class TarReader:
    """Iterates over the entries; `read` gives the content of the one just returned."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._unread = 0
        self._padding = 0

    def __iter__(self) -> Iterator[Entry]:
        """Yield every entry up to the end mark. Raises TarDamaged."""
        extension = _Extension()
        while (block := self._header_block()) is not None:
            size, flag = _number(block[124:136]), block[156:157]
            self._begin(size)
            if flag == b"g":
                extension = _Extension()
            elif flag == b"x":
                extension.pax = _pax_records(self._extended(size))
            elif flag == b"L":
                extension.long_name = _text(self._extended(size))
            elif flag == b"K":
                extension.long_target = _text(self._extended(size))
            else:
                entry = _entry(block, flag, size, extension)
                self._begin(entry.size)
                yield entry
                extension = _Extension()

    def read(self) -> bytes:
        """Return the whole content of the current entry; the caller has looked at its size."""
        content = self._exactly(self._unread)
        self._unread = 0
        return content

    def _begin(self, size: int) -> None:
        self._unread = size
        self._padding = -size % BLOCK

    def _extended(self, size: int) -> bytes:
        if size > MAX_EXTENDED_HEADER:
            raise TarDamaged
        return self.read()

    def _header_block(self) -> bytes | None:
        self._skip(self._unread + self._padding)
        self._begin(0)
        block = self._stream.read(BLOCK)
        if not block:
            return None
        if len(block) < BLOCK:
            raise TarDamaged
        if not any(block):
            return None
        _check_sum(block)
        return block

    def _skip(self, count: int) -> None:
        while count:
            count -= len(self._exactly(min(count, _CHUNK)))

    def _exactly(self, count: int) -> bytes:
        data = self._stream.read(count) if count else b""
        if len(data) != count:
            raise TarDamaged
        return data


def _entry(block: bytes, flag: bytes, size: int, extension: _Extension) -> Entry:
    name, target = _text(block[0:100]), _text(block[157:257])
    if prefix := _prefix(block):
        name = f"{prefix}/{name}"
    pax = extension.pax
    name = extension.long_name or pax.get("path") or name
    target = extension.long_target or pax.get("linkpath") or target
    kind = _KINDS.get(flag, Kind.UNKNOWN)
    if any(key.startswith("GNU.sparse.") for key in pax):
        kind = Kind.SPARSE
    elif flag == b"\0" and name.endswith("/"):
        kind = Kind.FOLDER
    if "size" in pax:
        if not _DECIMAL.fullmatch(pax["size"]):
            raise TarDamaged
        size = int(pax["size"])
    holds_data = kind in (Kind.FILE, Kind.SPARSE, Kind.UNKNOWN)
    return Entry(name=name, kind=kind, size=size if holds_data else 0, target=target)


def _prefix(block: bytes) -> str:
    """Return the first part of a long name; Helm's reader must not find one where this one finds none."""
    magic = block[257:265]
    if magic[:6] == b"ustar\0":
        is_star = block[508:512] == b"tar\0"
        return _text(block[345:476] if is_star else block[345:500])
    if magic == b"ustar  \0":
        for time in (block[345:357], block[357:369]):
            if time[0]:
                _number(time)
    return ""


def _check_sum(block: bytes) -> None:
    said = _number(block[_CHECKSUM])
    blanked = block[: _CHECKSUM.start] + b" " * 8 + block[_CHECKSUM.stop :]
    signed = sum(byte - 256 if byte >= _BASE_256 else byte for byte in blanked)
    if said not in (sum(blanked), signed):
        raise TarDamaged


def _number(digits: bytes) -> int:
    if digits[0] & _BASE_256:
        number = int.from_bytes(bytes([digits[0] & 0x7F]) + digits[1:], "big")
        if digits[0] & 0x40:
            raise TarDamaged  # negative
        return number
    octal = digits.strip(b" \0").partition(b"\0")[0]
    if octal.strip(b"01234567"):
        raise TarDamaged
    return int(octal or b"0", 8)


def _pax_records(content: bytes) -> dict[str, str]:
    records: dict[str, str] = {}
    position = 0
    while position < len(content):
        blank = content.find(b" ", position, position + 8)
        if blank < 0 or not content[position:blank].isdigit():
            raise TarDamaged
        end = position + int(content[position:blank])
        key, equals, value = content[blank + 1 : end - 1].partition(b"=")
        if not equals or content[end - 1 : end] != b"\n" or b"\0" in value:
            raise TarDamaged
        records[_utf8(key)] = _utf8(value)
        position = end
    return records


def _text(field_bytes: bytes) -> str:
    return _utf8(field_bytes.partition(b"\0")[0])


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
