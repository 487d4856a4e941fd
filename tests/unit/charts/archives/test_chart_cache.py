"""The disk cache: verified, bounded, shared by processes, and without access for callers who only know a digest."""

from __future__ import annotations

import asyncio
import fcntl
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.charts import chart_archive
from tests.support.eventually import eventually
from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.chart_cache import ChartCache, ChartFile
from xapp_operator.charts.archives.inspection import inspect_archive
from xapp_operator.config.settings import MIB

LIMITS = ArchiveLimits(packed_bytes=MIB, unpacked_bytes=20 * MIB, max_files=5000, document_bytes=MIB)
ARCHIVE = chart_archive()
SOURCE = "https://charts.example.com"
Make = Callable[..., ChartCache]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that opens the cache like a new process."""

    def open_cache(*, limits: ArchiveLimits = LIMITS, max_bytes: int = 100 * MIB) -> ChartCache:
        cache = ChartCache(tmp_path / "cache" / "charts", limits=limits, max_bytes=max_bytes)
        cache.prepare()
        return cache

    return open_cache


def store(cache: ChartCache, archive: bytes = ARCHIVE, *, source: str = SOURCE) -> ChartFile:
    return cache.store(archive, inspect_archive(archive, limits=LIMITS), source=source)


def noise(number: int) -> bytes:
    """Return an archive of about 100 KB that does not compress."""
    return chart_archive({"noise": os.urandom(100_000)}, name=f"chart{number}")


def names(file: ChartFile) -> set[str]:
    return {path.name.removeprefix(file.info.digest) for path in file.path.parent.iterdir()}


def test_a_chart_is_found_again_after_a_restart(make: Make) -> None:
    stored = store(make())
    assert stored.path.read_bytes() == ARCHIVE
    found = make().open(stored.info.digest, source=SOURCE)
    assert found is not None
    assert (found.path, found.info) == (stored.path, stored.info)
    assert make().get_info(stored.info.digest, source=SOURCE) == stored.info


def test_a_chart_is_returned_only_for_a_source_that_delivered_it(make: Make) -> None:
    cache = make()
    digest = store(cache).info.digest
    assert cache.open(digest, source="https://other.example.com") is None
    assert cache.get_info(digest, source="https://other.example.com") is None
    store(cache, source="https://other.example.com")
    assert cache.open(digest, source="https://other.example.com") is not None


def test_a_damaged_archive_is_not_returned(make: Make) -> None:
    stored = store(make())
    stored.path.write_bytes(ARCHIVE[:-1] + b"x")
    cache = make()
    assert cache.open(stored.info.digest, source=SOURCE) is None
    assert not stored.path.exists()
    assert store(cache).path.read_bytes() == ARCHIVE


def test_a_damaged_archive_is_replaced_when_it_is_stored_again(make: Make) -> None:
    stored = store(make())
    stored.path.write_bytes(b"")
    assert store(make()).path.read_bytes() == ARCHIVE


@pytest.mark.parametrize("record", [b"", b"{}", b'{"format": 0, "name": "of an older release"}'])
def test_an_unusable_record_is_written_again(make: Make, record: bytes) -> None:
    stored = store(make())
    sidecar = stored.path.with_suffix(".json")
    sidecar.write_bytes(record)
    assert make().get_info(stored.info.digest, source=SOURCE) == stored.info
    assert sidecar.read_bytes() == stored.info.to_json()


def test_a_record_without_its_archive_is_enough_to_resolve_the_chart(make: Make) -> None:
    stored = store(make())
    stored.path.unlink()
    cache = make()
    assert cache.get_info(stored.info.digest, source=SOURCE) == stored.info
    assert cache.open(stored.info.digest, source=SOURCE) is None


@pytest.mark.parametrize(
    ("limit", "used"), [("packed_bytes", "size"), ("unpacked_bytes", "unpacked"), ("max_files", "files")]
)
def test_lowered_limits_apply_to_stored_charts(make: Make, limit: str, used: str) -> None:
    info = store(make()).info
    enough = getattr(info, used)
    assert make(limits=replace(LIMITS, **{limit: enough})).get_info(info.digest, source=SOURCE) == info
    assert make(limits=replace(LIMITS, **{limit: enough - 1})).get_info(info.digest, source=SOURCE) is None


def test_the_least_recently_used_charts_are_evicted(make: Make) -> None:
    cache = make(max_bytes=350_000)
    digests = []
    for number in range(3):
        file = store(cache, noise(number))
        digests.append(file.info.digest)
        os.utime(file.path, (time.time(), 1000.0 + number))
        del file
    assert cache.open(digests[0], source=SOURCE) is not None
    last = store(cache, noise(3))
    assert [cache.open(digest, source=SOURCE) is not None for digest in digests] == [True, False, True]
    assert {name for name in names(last) if name.startswith(digests[1])} == set()


def test_a_chart_in_use_is_not_evicted(make: Make) -> None:
    used = store(make(), noise(0))
    other_process = make(max_bytes=150_000)
    store(other_process, noise(1))
    store(other_process, noise(2))
    assert used.path.exists()
    path = used.path
    del used
    store(other_process, noise(3))
    assert not path.exists()


def test_an_archive_evicted_by_another_process_is_missing(make: Make) -> None:
    cache = make()
    digest = store(cache, noise(0)).info.digest
    store(make(max_bytes=1), noise(1))
    assert cache.open(digest, source=SOURCE) is None
    assert cache.get_info(digest, source=SOURCE) is None


async def test_what_is_in_memory_is_known_while_another_process_has_the_archive(make: Make) -> None:
    """It is asked on the event loop, which must not wait for a file."""
    cache = make()
    stored = store(cache)
    digest, path = stored.info.digest, stored.path
    del stored  # and with it its lock
    with path.open("rb") as archive:
        fcntl.flock(archive, fcntl.LOCK_EX)
        opening = asyncio.create_task(asyncio.to_thread(cache.open, digest, source=SOURCE))
        await eventually(_waits_for_a_file_lock, what="a thread that waits for the archive")
        known = asyncio.to_thread(cache.known_info, digest, source=SOURCE)
        try:
            assert await asyncio.wait_for(known, timeout=10) is not None
        finally:
            fcntl.flock(archive, fcntl.LOCK_UN)
            assert await opening is not None


def _waits_for_a_file_lock() -> bool:
    waiting = (line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line)
    return any(str(os.getpid()) in words for words in waiting)


def test_files_left_by_a_crash_are_removed(make: Make) -> None:
    file = store(make())
    abandoned, fresh = (file.path.with_name(f".{name}.tmp") for name in ("old", "new"))
    for path in (abandoned, fresh):
        path.write_bytes(b"half a chart")
    os.utime(abandoned, (1000.0, 1000.0))
    store(make(), noise(1))
    assert (abandoned.exists(), fresh.exists()) == (False, True)


def test_a_folder_that_others_can_write_to_is_not_used(make: Make, tmp_path: Path) -> None:
    make()
    folder = tmp_path / "cache" / "charts"
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="XAPP_CACHE_DIR"):
        make()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="XAPP_CACHE_DIR"):
        make()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_not_used(make: Make, tmp_path: Path) -> None:
    make()
    for folder in (tmp_path / "cache" / "charts", tmp_path / "cache"):
        os.chown(folder, 12345, -1)
        with pytest.raises(PermissionError):
            make()
        os.chown(folder, 0, -1)


def test_a_chart_is_stored_while_another_process_evicts_all_the_time(make: Make) -> None:
    evicting, stop = make(max_bytes=0), threading.Event()
    evicted = 0

    def evict() -> None:
        nonlocal evicted
        while not stop.is_set():
            before = sum(1 for _ in folder.iterdir())
            evicting._evict()
            evicted += sum(1 for _ in folder.iterdir()) < before

    cache = make(max_bytes=0)
    file = store(cache)
    folder = file.path.parent
    thread = threading.Thread(target=evict)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while evicted < 20 and time.monotonic() < deadline:
            del file
            file = store(cache)
            assert file.path.read_bytes() == ARCHIVE
    finally:
        stop.set()
        thread.join(60)
    assert evicted >= 20, "not enough was evicted meanwhile"


def _churn(folder: Path, seed: int) -> None:
    cache = ChartCache(folder, limits=LIMITS, max_bytes=250_000)
    cache.prepare()
    archives = [chart_archive({"noise": bytes([number]) + os.urandom(60_000)}) for number in range(3)] + [ARCHIVE]
    for turn in range(60):
        file = store(cache, archives[(turn * 7 + seed) % len(archives)])
        if not file.path.exists():
            raise AssertionError("a chart vanished while it was in use")


def test_processes_share_a_cache_without_taking_charts_from_each_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_churn, args=(tmp_path / "charts", seed)) for seed in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
