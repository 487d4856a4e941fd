"""Processes end within their limits, whatever they do, tested with real Python processes."""

import asyncio
import contextlib
import errno
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop

from tests.localcluster.waiting import wait_until
from xapp_operator.common.bounded_process import (
    STDERR_HEAD_BYTES,
    STDERR_TAIL_BYTES,
    Command,
    ProcessLimits,
    ProcessResult,
    run_process,
)

LIMITS = ProcessLimits(timeout_seconds=30, grace_seconds=5, memory_bytes=512 * 1024 * 1024, stdout_bytes=1024 * 1024)

IGNORE_SIGTERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
TELL_SIGTERM = (
    "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: (print('asked to end', flush=True), sys.exit(3)));"
)
WRITE_PID = "import os; open('pid', 'w').write(str(os.getpid()));"
SLEEP = "import time; time.sleep(600)"


def python(folder: Path, code: str, *, stdin: bytes | None = None) -> Command:
    return Command(
        program=sys.executable,
        arguments=("-c", code),
        environment={"ONLY": "this"},
        working_folder=folder,
        stdin=stdin,
    )


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the second while it is being removed
        return False
    return state != "Z"


async def started(folder: Path) -> int:
    def written() -> str:
        return (folder / "pid").read_text() if (folder / "pid").exists() else ""

    return int(await asyncio.to_thread(wait_until, written, timeout=60, what="the process to start"))


async def run_until_started(command: Command, limits: ProcessLimits) -> tuple["asyncio.Task[ProcessResult]", int]:
    task = asyncio.create_task(run_process(command, limits=limits))
    return task, await started(command.working_folder)


async def test_the_process_sees_its_own_folder_environment_and_group_only(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    code = "import json, os; print(json.dumps([os.listdir(), dict(os.environ), os.getpgid(0) == os.getpid()]))"
    outcome = await run_process(python(tmp_path, code), limits=LIMITS)
    files, environment, has_own_group = json.loads(outcome.stdout)
    environment.pop("LC_CTYPE", None)  # Python sets it itself
    assert files == ["here"]
    assert environment == {"ONLY": "this"}
    assert has_own_group


async def test_standard_input_larger_than_a_pipe_arrives_completely(tmp_path: Path) -> None:
    outcome = await run_process(
        python(tmp_path, "import sys; print(len(sys.stdin.buffer.read()))", stdin=b"x" * 3_000_000), limits=LIMITS
    )
    assert outcome.stdout == b"3000000\n"


async def test_a_process_may_ignore_its_input(tmp_path: Path) -> None:
    outcome = await run_process(python(tmp_path, "pass", stdin=b"x" * 3_000_000), limits=LIMITS)
    assert outcome.exit_code == 0


def test_all_of_it_works_on_the_event_loop_of_the_operator(tmp_path: Path) -> None:
    code = "import sys; print(sys.stdin.read() * 30_000); sys.stderr.write('why'); sys.exit(7)"
    outcome = uvloop.run(run_process(python(tmp_path, code, stdin=b"values"), limits=LIMITS))
    assert outcome.stdout == b"values" * 30_000 + b"\n"
    assert (outcome.stderr, outcome.exit_code) == ("why", 7)


async def test_a_process_may_close_its_output_before_it_ends(tmp_path: Path) -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(0.5); os._exit(5)"
    outcome = await run_process(python(tmp_path, code), limits=LIMITS)
    assert outcome.exit_code == 5
    limits = replace(LIMITS, timeout_seconds=1.0)
    outcome = await run_process(python(tmp_path, f"import os; os.close(1); os.close(2); {SLEEP}"), limits=limits)
    assert outcome.timed_out


async def test_the_end_is_found_without_a_descriptor_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pidfd_open", refuse)
    outcome = await run_process(python(tmp_path, "raise SystemExit(7)"), limits=LIMITS)
    assert outcome.exit_code == 7


async def test_nothing_stays_open_or_unreaped(tmp_path: Path) -> None:
    await run_process(python(tmp_path, "pass"), limits=LIMITS)  # opens what the event loop keeps
    before = open_files()
    await run_process(python(tmp_path, WRITE_PID, stdin=b"x"), limits=LIMITS)
    assert open_files() == before
    with pytest.raises(ProcessLookupError):
        os.kill(await started(tmp_path), 0)


async def test_output_beyond_the_limit_is_dropped_and_reported(tmp_path: Path) -> None:
    outcome = await run_process(python(tmp_path, "print('y' * 5_000_000)"), limits=LIMITS)
    assert outcome.exit_code == 0
    assert outcome.stdout_truncated
    assert outcome.stdout == b"y" * LIMITS.stdout_bytes


async def test_output_of_exactly_the_limit_is_complete(tmp_path: Path) -> None:
    code = f"import sys; sys.stdout.write('y' * {LIMITS.stdout_bytes})"
    outcome = await run_process(python(tmp_path, code), limits=LIMITS)
    assert not outcome.stdout_truncated
    assert len(outcome.stdout) == LIMITS.stdout_bytes


async def test_standard_error_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('first' + 'x' * 1_000_000 + 'last')"
    outcome = await run_process(python(tmp_path, code), limits=LIMITS)
    assert outcome.stderr.startswith("first")
    assert outcome.stderr.endswith("last")
    assert len(outcome.stderr) < STDERR_HEAD_BYTES + STDERR_TAIL_BYTES + 100


async def test_a_deadline_terminates_the_process_and_keeps_its_output(tmp_path: Path) -> None:
    limits = ProcessLimits(
        timeout_seconds=1.5, grace_seconds=20, memory_bytes=LIMITS.memory_bytes, stdout_bytes=LIMITS.stdout_bytes
    )
    outcome = await run_process(python(tmp_path, TELL_SIGTERM + SLEEP), limits=limits)
    assert outcome.timed_out
    assert outcome.exit_code == 3
    assert outcome.stdout == b"asked to end\n"


async def test_a_process_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    limits = ProcessLimits(
        timeout_seconds=1.0, grace_seconds=0.2, memory_bytes=LIMITS.memory_bytes, stdout_bytes=LIMITS.stdout_bytes
    )
    outcome = await run_process(python(tmp_path, IGNORE_SIGTERM + WRITE_PID + SLEEP), limits=limits)
    assert outcome.timed_out
    assert outcome.exit_code == -9
    assert not alive(await started(tmp_path))


async def test_children_end_with_the_process(tmp_path: Path) -> None:
    child = f"{IGNORE_SIGTERM}{WRITE_PID}{SLEEP}"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(600)"
    limits = ProcessLimits(
        timeout_seconds=2.0, grace_seconds=0.2, memory_bytes=LIMITS.memory_bytes, stdout_bytes=LIMITS.stdout_bytes
    )
    await run_process(python(tmp_path, code), limits=limits)
    pid = await started(tmp_path)
    wait_until(lambda: not alive(pid), timeout=60, what="the child to end")


async def test_cancellation_ends_the_process_before_it_propagates(tmp_path: Path) -> None:
    task, pid = await run_until_started(python(tmp_path, TELL_SIGTERM + WRITE_PID + SLEEP), LIMITS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


async def test_a_second_cancellation_does_not_wait_for_the_grace_period(tmp_path: Path) -> None:
    limits = ProcessLimits(
        timeout_seconds=600, grace_seconds=600, memory_bytes=LIMITS.memory_bytes, stdout_bytes=LIMITS.stdout_bytes
    )
    task, pid = await run_until_started(python(tmp_path, IGNORE_SIGTERM + WRITE_PID + SLEEP), limits)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    gone = Path(f"/proc/{pid}")
    await asyncio.to_thread(wait_until, lambda: not gone.exists(), timeout=60, what="the process to be waited for")


async def test_a_second_cancellation_closes_pipes_that_somebody_else_holds(tmp_path: Path) -> None:
    child = f"{WRITE_PID}{SLEEP}"
    code = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True);{SLEEP}"
    )
    await run_process(python(tmp_path, "pass"), limits=LIMITS)  # opens what the event loop keeps
    before = open_files()
    task, pid = await run_until_started(python(tmp_path, code), replace(LIMITS, grace_seconds=600))
    try:
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.to_thread(wait_until, lambda: open_files() == before, timeout=60, what="the pipes to be closed")
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_memory_beyond_the_limit_is_refused_to_the_process(tmp_path: Path) -> None:
    code = (
        "import mmap, time\ntry:\n    time.sleep(0.5); x = bytearray(2**30)\nexcept MemoryError:\n    print('refused')"
    )
    outcome = await run_process(python(tmp_path, code), limits=LIMITS)
    assert outcome.stdout == b"refused\n"


async def test_processor_time_beyond_the_limit_ends_the_process(tmp_path: Path) -> None:
    limits = ProcessLimits(
        timeout_seconds=60,
        grace_seconds=1,
        memory_bytes=LIMITS.memory_bytes,
        stdout_bytes=LIMITS.stdout_bytes,
        cpu_seconds=1,
    )
    outcome = await run_process(python(tmp_path, "while True: pass"), limits=limits)
    assert not outcome.timed_out
    assert outcome.exit_code == -9


async def test_a_missing_program_is_an_os_error(tmp_path: Path) -> None:
    command = Command(program=str(tmp_path / "none"), arguments=(), environment={}, working_folder=tmp_path)
    with pytest.raises(OSError, match="none"):
        await run_process(command, limits=LIMITS)


async def test_file_descriptors_are_not_inherited(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        outcome = await run_process(python(tmp_path, f"import os; os.fstat({writer})"), limits=LIMITS)
    finally:
        for descriptor in (reader, writer):
            with contextlib.suppress(OSError):
                os.close(descriptor)
    assert outcome.exit_code == 1
    assert "Bad file descriptor" in outcome.stderr
