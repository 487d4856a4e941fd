"""The disk cache of chart archives, by sha256, shared by all processes of the machine.

A chart has the files `<digest>.tgz`, `<digest>.json` (the result of the inspection) and, for each source that has
delivered these bytes, an empty `<digest>.<source>.from`. The cache gives a chart only to a source that has delivered
it: a digest is not secret (it is in the status of an XApp), so an index that only claims a digest must not give access
to the chart of another tenant.

Files appear whole, by an atomic rename or link, and a process verifies an archive when it first uses it. A `ChartFile`
holds a shared lock (flock) on its archive for as long as it exists, and locked archives are not evicted; a new archive
is locked before it appears. All methods but `known_info` block: call them in threads.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import threading
import time
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cachetools import LRUCache

from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.archives.inspection import inspect_archive
from xapp_operator.errors import ChartInvalid

_INFO_BYTES_IN_MEMORY: Final = 8 * 1024 * 1024  # of their JSON; decoded they take some times as much
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_TOUCH_SECONDS: Final = 60.0
_STALE_TEMPORARY_SECONDS: Final = 3600.0
_DIGEST_LENGTH: Final = 64
_GROUP_OR_WORLD_WRITABLE: Final = 0o022
_STORE_ATTEMPTS: Final = 3


class _SharedLock:
    """Protects an archive from eviction until it is garbage-collected."""

    __slots__ = ("__weakref__", "descriptor")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)


@dataclass(frozen=True, slots=True)
class ChartFile:
    """A chart archive on disk that passed every check; `path` exists for as long as this object does."""

    path: Path
    info: ChartInfo
    _lock: _SharedLock = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class _SizedInfo:
    info: ChartInfo
    size: int


@dataclass(slots=True)
class _CachedFiles:
    size: int = 0
    last_used: float = 0.0
    names: list[str] = field(default_factory=list)


class ChartCache:
    """Archives in `folder`; the least recently used ones are evicted when all exceed `max_bytes`."""

    def __init__(self, folder: Path, *, limits: ArchiveLimits, max_bytes: int) -> None:
        self._folder = folder
        self._limits = limits
        self._max_bytes = max_bytes
        self._infos: LRUCache[str, _SizedInfo] = LRUCache(_INFO_BYTES_IN_MEMORY, getsizeof=lambda sized: sized.size)
        self._verified: dict[str, int] = {}
        self._shared_locks: weakref.WeakValueDictionary[str, _SharedLock] = weakref.WeakValueDictionary()
        self._lock = threading.RLock()
        self._infos_lock = threading.Lock()  # never held while a file is read, so `known_info` can run on an event loop

    def prepare(self) -> None:
        """Create the folder. Raises PermissionError when another user could change its contents."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own_uid = os.geteuid()
        status, parent_status = self._folder.lstat(), self._folder.parent.lstat()
        unsafe = not stat.S_ISDIR(status.st_mode) or status.st_mode & _GROUP_OR_WORLD_WRITABLE
        if unsafe or status.st_uid != own_uid or parent_status.st_uid not in (0, own_uid):
            raise PermissionError(
                f"another user can change {self._folder}, so charts are not stored there. "
                "Set XAPP_CACHE_DIR to a folder that belongs to the user of this process."
            )

    def get_info(self, digest: str, *, source: str) -> ChartInfo | None:
        """Return the description of a chart, if this source has delivered it."""
        if not self._source_marker(digest, source).exists():
            return None
        return self._info_in_memory(digest) or self._read_info(digest)

    def known_info(self, digest: str, *, source: str) -> ChartInfo | None:
        """Return what `get_info` returns if it is in memory: it only asks whether one file exists."""
        info = self._info_in_memory(digest)
        return info if info is not None and self._source_marker(digest, source).exists() else None

    def open(self, digest: str, *, source: str) -> ChartFile | None:
        """Return the archive of a chart, if it is cached and this source has delivered it."""
        info = self.get_info(digest, source=source)
        lock = self._acquire_shared_lock(digest) if info else None
        return ChartFile(self._path(digest), info, lock) if info and lock else None

    def store(self, archive: bytes, info: ChartInfo, *, source: str) -> ChartFile:
        """Store an inspected archive, and evict others beyond the limit."""
        for _ in range(_STORE_ATTEMPTS):
            lock = self._acquire_shared_lock(info.digest) or self._publish(archive, info.digest)
            if lock:
                self._write_info(info)
                self._source_marker(info.digest, source).touch()
                self._evict()
                return ChartFile(self._path(info.digest), info, lock)
        raise OSError("an archive is gone that was just written")

    def _info_in_memory(self, digest: str) -> ChartInfo | None:
        with self._infos_lock:
            cached = self._infos.get(digest)
        return cached.info if cached is not None else None

    def _read_info(self, digest: str) -> ChartInfo | None:
        try:
            record = self._info_path(digest).read_bytes()
        except FileNotFoundError:
            record = b""
        info = ChartInfo.from_json(record)
        if info is None or info.digest != digest or not info.is_within(self._limits):
            return self._inspect_again(digest)
        self._cache_info(info, len(record))
        return info

    def _inspect_again(self, digest: str) -> ChartInfo | None:
        lock = self._acquire_shared_lock(digest)
        if lock is None:
            return None
        try:
            info = inspect_archive(self._path(digest).read_bytes(), limits=self._limits)
        except ChartInvalid:
            return None
        self._write_info(info)
        return info

    def _write_info(self, info: ChartInfo) -> None:
        record = info.to_json()
        with self._temporary_file(record) as temporary:
            temporary.replace(self._info_path(info.digest))
        self._cache_info(info, len(record))

    def _cache_info(self, info: ChartInfo, size: int) -> None:
        if size <= _INFO_BYTES_IN_MEMORY:
            with self._infos_lock:
                self._infos[info.digest] = _SizedInfo(info, size)

    def _acquire_shared_lock(self, digest: str) -> _SharedLock | None:
        """Return a lock on the verified archive, or None when it does not exist or does not match its digest."""
        with self._lock:
            lock = self._shared_locks.get(digest)
            if lock is None or not self._is_current(digest, lock.descriptor):
                try:
                    lock = _SharedLock(os.open(self._path(digest), _OPEN_FLAGS))
                except FileNotFoundError:
                    return None
                fcntl.flock(lock.descriptor, fcntl.LOCK_SH)
            status = os.fstat(lock.descriptor)
            if not self._is_current(digest, lock.descriptor) or not self._verify_digest(
                digest, lock.descriptor, status.st_ino
            ):
                return None
            if time.time() - status.st_mtime > _TOUCH_SECONDS:
                os.utime(lock.descriptor)
            self._shared_locks[digest] = lock
            return lock

    def _publish(self, archive: bytes, digest: str) -> _SharedLock | None:
        """Write an archive that is locked before others can see it; None when another process was first."""
        with self._temporary_file(archive) as temporary:
            lock = _SharedLock(os.open(temporary, _OPEN_FLAGS))
            fcntl.flock(lock.descriptor, fcntl.LOCK_SH)
            try:
                self._path(digest).hardlink_to(temporary)  # unlike a rename, this never replaces an archive in use
            except FileExistsError:
                return None
        with self._lock:
            self._verified[digest] = os.fstat(lock.descriptor).st_ino
            self._shared_locks[digest] = lock
        return lock

    def _is_current(self, digest: str, descriptor: int) -> bool:
        try:
            return self._path(digest).stat().st_ino == os.fstat(descriptor).st_ino
        except FileNotFoundError:
            return False

    def _verify_digest(self, digest: str, descriptor: int, inode: int) -> bool:
        if self._verified.get(digest) == inode:
            return True
        found = hashlib.sha256()
        offset = 0
        while chunk := os.pread(descriptor, 1024 * 1024, offset):
            found.update(chunk)
            offset += len(chunk)
        if found.hexdigest() != digest:
            self._path(digest).unlink(missing_ok=True)
            return False
        self._verified[digest] = inode
        return True

    def _evict(self) -> None:
        entries = self._list_entries()
        total = sum(entry.size for entry in entries.values())
        for digest, entry in sorted(entries.items(), key=lambda item: item[1].last_used):
            if total <= self._max_bytes:
                return
            if self._remove_unless_in_use(digest, entry):
                total -= entry.size

    def _list_entries(self) -> dict[str, _CachedFiles]:
        entries: dict[str, _CachedFiles] = {}
        with os.scandir(self._folder) as listing:
            for item in listing:
                with contextlib.suppress(FileNotFoundError):
                    status = item.stat(follow_symlinks=False)
                    if item.name.startswith("."):
                        if time.time() - status.st_mtime > _STALE_TEMPORARY_SECONDS:
                            (self._folder / item.name).unlink()
                        continue
                    entry = entries.setdefault(item.name[:_DIGEST_LENGTH], _CachedFiles())
                    entry.size += status.st_size
                    entry.names.append(item.name)
                    if item.name.endswith(".tgz"):
                        entry.last_used = status.st_mtime
        return entries

    def _remove_unless_in_use(self, digest: str, entry: _CachedFiles) -> bool:
        with self._lock, self._exclusive_lock(digest) as is_unused:
            if not is_unused and self._path(digest).name in entry.names:
                return False
            with self._infos_lock:
                self._infos.pop(digest, None)
            self._verified.pop(digest, None)
            for name in entry.names:
                (self._folder / name).unlink(missing_ok=True)
            return True

    @contextlib.contextmanager
    def _exclusive_lock(self, digest: str) -> Iterator[bool]:
        """Lock the archive exclusively; yields False when it is in use or no longer exists."""
        try:
            descriptor = os.open(self._path(digest), _OPEN_FLAGS)
        except FileNotFoundError:
            yield False
            return
        try:
            yield _try_exclusive_lock(descriptor) and self._is_current(digest, descriptor)
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _temporary_file(self, content: bytes) -> Iterator[Path]:
        temporary = self._folder / f".{uuid.uuid4().hex}.tmp"
        try:
            temporary.write_bytes(content)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.tgz"

    def _info_path(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"

    def _source_marker(self, digest: str, source: str) -> Path:
        return self._folder / f"{digest}.{hashlib.sha256(source.encode()).hexdigest()[:32]}.from"


def _try_exclusive_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
