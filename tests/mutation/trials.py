"""Runs each mutant in a process of its own, forked where all modules are imported already.

A change inside a function replaces the code of the function that the tests have imported. A change of what runs at
import is imported anew, together with the tests: that takes longer.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import CodeType, FunctionType, ModuleType

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.mutants import Mutant
from tests.mutation.tested_lines import PYTEST_OPTIONS
from tests.support.work_folder import MEMORY_VARIABLE, memory_folder

MEMORY_BYTES = 4 * 2**30
SHORTEST_LIMIT_S = 20.0
SLOWDOWN = 5.0
"""How much slower a test may be than when it was measured."""

_KILLED = 10
_NO_TRIAL = 11


class Outcome(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    UNTESTED = "untested"
    """No test runs the line."""
    NOT_TRIED = "not tried"
    """The function is not in memory in the form in which it is written."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A mutant, and the tests that run the changed lines, in the order in which they run."""

    mutant: Mutant
    tests: Sequence[str]
    limit_s: float


Report = Callable[[Trial, Outcome], None]


def limit_of(seconds: float) -> float:
    """Return the time limit of a mutant whose tests took so long, in seconds."""
    return SHORTEST_LIMIT_S + SLOWDOWN * seconds


def try_by_import(trials: Iterable[Trial], libraries: Iterable[str], report: Report, *, jobs: int) -> None:
    """Try mutants of what runs at import."""
    _import_libraries(libraries)
    _fork_each(((trial, _import_and_test) for trial in trials), report, jobs=jobs)


def try_in_place(trials: Sequence[Trial], report: Report, *, jobs: int) -> None:
    """Try mutants of functions. The tests are collected once, and each mutant runs its own in a fork."""
    if not trials:
        return
    modules = {trial.mutant.name for trial in trials}
    collected = _Collected(trials, modules, report, jobs=jobs)
    files = sorted({name.partition("::")[0] for trial in trials for name in trial.tests})
    pytest.main([*PYTEST_OPTIONS, *files], plugins=[collected])
    if collected.error is not None:
        raise collected.error


class _Collected:
    """Runs the trials in place of the tests that pytest collected."""

    def __init__(self, trials: Sequence[Trial], modules: Iterable[str], report: Report, *, jobs: int) -> None:
        self._trials = trials
        self._modules = modules
        self._report = report
        self._jobs = jobs
        self.error: Exception | None = RuntimeError("pytest could not collect the tests")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        try:
            gc.unfreeze()  # tests/conftest.py froze the functions, and what is frozen is not listed
            functions = _functions_of([importlib.import_module(module) for module in self._modules])
            items = {item.nodeid: item for item in session.items}

            def prepared(trial: Trial) -> tuple[Trial, Callable[[Trial], int]]:
                chosen = [items[name] for name in trial.tests]
                return trial, lambda trial: _run_items(chosen) if _replace_code(trial.mutant, functions) else _NO_TRIAL

            gc.freeze()
            _fork_each(map(prepared, self._trials), self._report, jobs=self._jobs)
            self.error = None
        except Exception as error:
            self.error = error
        return True


def _run_items(items: Sequence[pytest.Item]) -> int:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return _KILLED
    return 0


def _functions_of(modules: Iterable[ModuleType]) -> dict[tuple[str, str, int], list[FunctionType]]:
    """Return the functions of these modules by file, qualified name and first line."""
    files = {module.__file__ for module in modules}
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            code = each.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(each)
    return found


def fits_in_place(mutant: Mutant) -> bool:
    """Say whether the function can run the changed code: it has the same free variables."""
    if mutant.function is None:
        return False
    before, after = (
        _find_code(compile(text, str(mutant.path), "exec", dont_inherit=True), *mutant.function)
        for text in (mutant.source, mutant.mutated)
    )
    return before is not None and after is not None and before.co_freevars == after.co_freevars


def _replace_code(mutant: Mutant, functions: dict[tuple[str, str, int], list[FunctionType]]) -> bool:
    assert mutant.function is not None
    code = _find_code(compile(mutant.mutated, str(mutant.path), "exec", dont_inherit=True), *mutant.function)
    live = functions.get((str(mutant.path), *mutant.function), [])
    for function in live:
        function.__code__ = code  # type: ignore[assignment]  # `fits_in_place` found it
    return bool(live)


def _find_code(code: CodeType, name: str, line: int) -> CodeType | None:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if (each.co_qualname, each.co_firstlineno) == (name, line):
                return each
            if found := _find_code(each, name, line):
                return found
    return None


def _import_libraries(names: Iterable[str]) -> None:
    """Import what the tests import from others, so that each fork has it already.

    Private modules come with the public ones: `_asyncio` before `asyncio` leaves a coroutine without its task.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if not name.startswith(("_", "pytest", "hypothesis", "anyio")):
                try:
                    importlib.import_module(name)
                except Exception:
                    continue


class _MutatedLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.name, str(mutant.path))
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant.mutated, self.path, "exec", dont_inherit=True)


class _MutatedFinder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutant.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._mutant.path, loader=_MutatedLoader(self._mutant))


def _import_and_test(trial: Trial) -> int:
    sys.meta_path.insert(0, _MutatedFinder(trial.mutant))
    return 0 if pytest.main([*PYTEST_OPTIONS, "-x", *trial.tests]) == pytest.ExitCode.OK else _KILLED


def _fork_each(trials: Iterator[tuple[Trial, Callable[[Trial], int]]], report: Report, *, jobs: int) -> None:
    """Run each trial in a fork, so many at a time, and report them as they end."""
    running: dict[int, _Fork] = {}
    try:
        for trial, run in trials:
            while len(running) >= jobs:
                _reap(running, report)
            if not trial.tests:
                report(trial, Outcome.UNTESTED)
                continue
            fork = _Fork(trial, run)
            running[fork.descriptor] = fork
        while running:
            _reap(running, report)
    finally:
        for fork in running.values():
            fork.end()


def _reap(running: dict[int, _Fork], report: Report) -> None:
    now = time.monotonic()
    wait_s = max(0.0, min(fork.deadline for fork in running.values()) - now)
    ended, _, _ = select.select(list(running), [], [], wait_s)
    late = [descriptor for descriptor, fork in running.items() if fork.deadline <= time.monotonic()]
    for descriptor in {*ended, *late}:
        fork = running.pop(descriptor)
        status = fork.end()
        outcome = Outcome.KILLED if status else Outcome.SURVIVED
        if status == -signal.SIGKILL and descriptor not in ended:
            outcome = Outcome.TIMED_OUT
        if status == _NO_TRIAL:
            outcome = Outcome.NOT_TRIED
        report(fork.trial, outcome)


class _Fork:
    """A process of its own group that tries one mutant in folders of its own, on disk and in memory.

    The parent removes them: a killed process removes nothing, and a test that fails leaves the fixtures of its session.
    """

    def __init__(self, trial: Trial, run: Callable[[Trial], int]) -> None:
        self.trial = trial
        self.deadline = time.monotonic() + trial.limit_s
        self._folder = tempfile.mkdtemp(prefix="mutant-")
        self._memory = _make_memory_folder()
        sys.stdout.flush()
        self._pid = os.fork()
        if self._pid == 0:
            _become(self._folder, self._memory or self._folder, lambda: run(trial))
        self.descriptor = os.pidfd_open(self._pid)

    def end(self) -> int:
        """Kill what is left of the group, and return the exit code or the negative number of the signal."""
        for kill in (os.killpg, os.kill):  # a fork that was late may have no group yet
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        _, status = os.waitpid(self._pid, 0)
        os.close(self.descriptor)
        for folder in filter(None, (self._folder, self._memory)):
            shutil.rmtree(folder, ignore_errors=True)
        return os.waitstatus_to_exitcode(status)


def _make_memory_folder() -> str | None:
    """Return a new folder in memory; None: there is no such file system."""
    try:
        return tempfile.mkdtemp(prefix="mutant-", dir=memory_folder())
    except OSError:
        return None


def _become(folder: str, memory: str, run: Callable[[], int]) -> None:
    """Run in a fork and never return."""
    status = _KILLED
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
        os.environ[MEMORY_VARIABLE] = memory
        tempfile.tempdir = None
        status = run()
    finally:
        os._exit(status)
