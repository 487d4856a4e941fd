"""Tar archives for tests, including some that no ordinary tool writes."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable

CHART_YAML = b"apiVersion: v2\nname: hello\nversion: 0.1.0\n"


def member(name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    """Return header, content and padding of one entry."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, len(content)
    return info.tobuf(tarfile.PAX_FORMAT) + padded(content)


def padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 512)


def packed(members: Iterable[bytes], *, end: bytes = b"\0" * 1024) -> bytes:
    """Return the gzipped archive of the entries."""
    return gzip.compress(b"".join(members) + end, mtime=0)


def chart_with(*members: bytes) -> bytes:
    """Return a chart archive with additional entries."""
    return packed([member("hello/Chart.yaml", CHART_YAML), *members])


def header(name: bytes, *, size: bytes = b"0" * 11 + b"\0", kind: bytes = b"0", **fields: bytes) -> bytes:
    """Return one header block, written byte by byte; `magic` and `prefix` may be given."""
    block = bytearray(512)
    block[0 : len(name)] = name
    block[124:136] = size
    block[156:157] = kind
    magic, prefix = fields.get("magic", b""), fields.get("prefix", b"")
    block[257 : 257 + len(magic)] = magic
    block[345 : 345 + len(prefix)] = prefix
    trailer = fields.get("trailer", b"")
    block[508 : 508 + len(trailer)] = trailer
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def standard_tar(entries: Iterable[tuple[str, bytes]], *, form: int) -> bytes:
    """Return an uncompressed tar in one of the formats of the standard library."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
