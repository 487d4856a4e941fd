"""Reads the index of a repository within bounds, apart from the event loop.

A large index is parsed by a process of its own (`index_process.py`) with bounds on memory, processor time, time and
output, without credentials in its environment. A small one is parsed in a thread: that takes less time than the start
of a process. One namespace has one process at a time, so that the indexes of others are read meanwhile.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import signal
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final
from weakref import WeakValueDictionary

import orjson
from cachetools import LRUCache

from xapp_operator.charts.sources import index_process
from xapp_operator.charts.sources.index_parser import Batch, IndexRefused, IndexTooLarge, TooManyBytes, parse_index
from xapp_operator.charts.sources.repository_index import (
    ChartIndex,
    IndexBuilder,
    index_has_too_many_bytes,
    index_too_large,
    invalid_index,
)
from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult, run_process
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.errors import ChartSourceError, SourceUnavailable

IN_THREAD_MAX_BYTES: Final = 64 * 1024
"""A larger index, packed or unpacked, is parsed in a process."""
INDEX_PROCESSES: Final = 2
PROCESS_MEMORY_BYTES: Final = 256 * 1024 * 1024
PROCESSES_MEMORY_BYTES: Final = INDEX_PROCESSES * PROCESS_MEMORY_BYTES
PROCESS_CPU_SECONDS: Final = 20
"""An index of 64 MB with the usual entries takes 8 s."""
PROCESS_SECONDS: Final = 60.0
_CHUNK_BYTES: Final = 64 * 1024
_MAX_REFUSALS: Final = 1024
_INTERPRETER_OPTIONS: Final = ("-S", "-s", "-P", "-B")  # no site packages to look for: PYTHONPATH names them


class IndexReader:
    """Reads indexes of at most `max_bytes` unpacked bytes; belongs to one event loop."""

    def __init__(
        self,
        *,
        max_bytes: int,
        max_weight: int,
        memory_bytes: int = PROCESS_MEMORY_BYTES,
        cpu_seconds: int = PROCESS_CPU_SECONDS,
    ) -> None:
        """Prepare; an index weighs at most `max_weight` bytes when it is parsed. The rest bounds one process."""
        self._memory_bytes = memory_bytes
        self._cpu_seconds = cpu_seconds
        self._max_bytes = max_bytes
        self._max_weight = max_weight
        self._slots = FairSlots(INDEX_PROCESSES, per_key=1)
        self._in_use: WeakValueDictionary[str, ChartIndex] = WeakValueDictionary()
        self._refusals: LRUCache[str, str] = LRUCache(_MAX_REFUSALS)

    async def read(self, stream: IO[bytes], *, namespace: str) -> ChartIndex:
        """Return the index in a seekable stream, on behalf of `namespace`.

        Bytes that equal those of an index that is in use are not parsed again, nor are those that were refused.

        Raises:
            ChartSourceError: when the stream is not an index, or is too large (permanent).
            SourceUnavailable: when the process could not be started or was ended from outside.
        """
        digest, in_thread = await asyncio.to_thread(_examine, stream)
        if in_thread:
            return await self._read_once(stream, digest, parse=self._read_in_thread)
        async with self._slots.slot(namespace):
            return await self._read_once(stream, digest, parse=self._read_in_process)

    async def _read_once(
        self, stream: IO[bytes], digest: str, *, parse: Callable[[IO[bytes], str], Awaitable[ChartIndex]]
    ) -> ChartIndex:
        if refusal := self._refusals.get(digest):
            raise ChartSourceError(refusal, permanent=True)
        known = self._in_use.get(digest)
        try:
            index = await parse(stream, digest) if known is None else replace(known, fetched_at=datetime.now(UTC))
        except ChartSourceError as error:
            if error.permanent:
                self._refusals[digest] = error.message
            raise
        self._in_use[digest] = index
        return index

    async def _read_in_thread(self, stream: IO[bytes], digest: str) -> ChartIndex:
        return await asyncio.to_thread(self._build, parse_index(stream, max_bytes=self._max_bytes), digest)

    async def _read_in_process(self, stream: IO[bytes], digest: str) -> ChartIndex:
        stream.seek(0)
        command = Command(
            program=sys.executable,
            arguments=(*_INTERPRETER_OPTIONS, "-m", index_process.__name__, str(self._max_bytes)),
            environment={"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
            working_folder=Path("/"),
            stdin=stream,
        )
        limits = ProcessLimits(
            timeout_seconds=PROCESS_SECONDS,
            grace_seconds=0,
            memory_bytes=self._memory_bytes,
            stdout_bytes=self._max_weight,
            cpu_seconds=self._cpu_seconds,
            cpu_signal=True,
        )
        try:
            result = await run_process(command, limits=limits)
        except OSError as error:
            raise SourceUnavailable(
                f"the index.yaml of the repository cannot be read now: no process could be started ({error.strerror})."
            ) from None
        return await asyncio.to_thread(self._build, self._decode(result), digest)

    def _build(self, batches: Iterator[Batch], digest: str) -> ChartIndex:
        builder = IndexBuilder(max_weight=self._max_weight)
        try:
            for name, continues, versions in batches:
                builder.add(name, versions, continues=continues)
        except IndexRefused as error:
            raise invalid_index(str(error)) from None
        except TooManyBytes:
            raise index_has_too_many_bytes(self._max_bytes) from None
        except IndexTooLarge as error:
            raise index_too_large(str(error)) from None
        return builder.build(digest)

    def _decode(self, result: ProcessResult) -> Iterator[Batch]:
        """Yield what the process has written. Raises like `parse_index`, or for a process that reached a bound."""
        if result.stdout_truncated:
            raise index_has_too_many_bytes(self._max_weight, parsed=True)
        if result.exit_code == -signal.SIGXCPU:
            raise index_too_large(f"content that takes more than {self._cpu_seconds} s of processor time to parse")
        if result.exit_code != 0:
            raise SourceUnavailable(
                "the index.yaml of the repository was not parsed: the process was ended before it was done. This may "
                "be temporary."
            )
        position = 0
        while (end := result.stdout.find(b"\n", position)) >= 0:
            batch: Batch = orjson.loads(result.stdout[position:end])
            yield batch
            position = end + 1
        outcome: dict[str, str] = orjson.loads(result.stdout[position:])
        if outcome["end"] == "refused":
            raise IndexRefused(outcome["reason"])
        if outcome["end"] == "too many bytes":
            raise TooManyBytes
        if outcome["end"] == "too large":
            raise IndexTooLarge(outcome["reason"])


def _examine(stream: IO[bytes]) -> tuple[str, bool]:
    """Return the sha256 of the bytes, and whether they are few enough for a thread."""
    digest = hashlib.sha256()
    stream.seek(0)
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    size = stream.tell()
    stream.seek(0)
    unpacked = size
    if size <= IN_THREAD_MAX_BYTES and stream.read(2) == b"\x1f\x8b":
        stream.seek(0)
        try:
            unpacked = len(gzip.GzipFile(fileobj=stream, mode="rb").read(IN_THREAD_MAX_BYTES + 1))
        except (OSError, EOFError, zlib.error):
            unpacked = 0  # the parser names the damage
    return digest.hexdigest(), max(size, unpacked) <= IN_THREAD_MAX_BYTES
