"""Which test runs which line: measured in a process of its own, with coverage.py."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import coverage
import pytest

from tests.mutation.mutants import PACKAGE, ROOT, SOURCES

LIMIT_S = 3600
STRICTEST = "tests/unit/histories/test_traces.py"
"""These tests see nearly every change of what the operator does."""
OUTPUT_CHARACTERS = 4000
PYTEST_OPTIONS = (
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--capture=no",
    "-q",
    "--no-header",
    "--no-summary",
    f"--rootdir={ROOT}",
    f"--config-file={ROOT / 'pyproject.toml'}",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
"""A fork of this process has the libraries already, hence the ignored warning."""


@dataclass(frozen=True, kw_only=True)
class TestedLines:
    """Tests by line, for each file of the package that may be mutated."""

    __test__ = False

    by_line: dict[str, dict[int, frozenset[str]]]
    """Names of tests by line, by path of the file; the name "" stands for imports."""
    seconds: dict[str, float]
    """How long each test took. A test that failed is left out: it could kill no mutant."""
    failed: tuple[str, ...]
    libraries: tuple[str, ...]
    """The modules of others that the tests import."""

    def tests(self, path: Path, lines: Iterable[int]) -> list[str]:
        """Return the tests that run one of the lines, the strictest and quickest first."""
        by_line = self.by_line.get(str(path), {})
        names = {name for line in lines for name in by_line.get(line, ()) if name in self.seconds}
        return self.in_order(names)

    def tests_of_modules(self, paths: Iterable[Path]) -> list[str]:
        """Return the tests that run any line of these modules, the quickest first."""
        return self.in_order({name for path in paths for name in self.tests(path, self.by_line.get(str(path), {}))})

    def tests_of_importers(self, module: str) -> list[str]:
        """Return the tests in the files that import a module: one that only reads its constants runs no line of it."""
        files = {name.partition("::")[0] for name in self.seconds}
        importing = {file for file in files if module in _imported_by(ROOT / file)}
        return self.in_order({name for name in self.seconds if name.partition("::")[0] in importing})

    def in_order(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: (not name.startswith(STRICTEST), self.seconds[name], name))

    def runs_at_import(self, path: Path, lines: Iterable[int]) -> bool:
        by_line = self.by_line.get(str(path), {})
        return any("" in by_line.get(line, ()) for line in lines)


@cache
def _imported_by(path: Path) -> frozenset[str]:
    """Return the modules that a file imports, and whatever else it imports from a package."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
            found.update(f"{node.module}.{each.name}" for each in node.names)
    return frozenset(found)


def measure(tests: Sequence[str], modules: Collection[str], *, store: Path) -> TestedLines:
    """Run the tests and return which lines each runs. `store` keeps the result, for the next run."""
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.mutation.tested_lines", str(store), ",".join(sorted(modules)), *tests]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S)
        if done.returncode:
            raise RuntimeError(f"the tests could not be measured:\n{done.stdout[-OUTPUT_CHARACTERS:]}")
    stored = json.loads(store.read_text())
    names = stored["names"]
    by_line = {
        path: {int(line): frozenset(names[index] for index in indexes) for line, indexes in lines.items()}
        for path, lines in stored["lines"].items()
    }
    return TestedLines(
        by_line=by_line,
        seconds=stored["seconds"],
        failed=tuple(stored["failed"]),
        libraries=tuple(stored["libraries"]),
    )


class _Contexts:
    """Tells coverage.py which test runs, and records how long each takes and which fail."""

    def __init__(self, measured: coverage.Coverage, modules: Iterable[str]) -> None:
        self._measured = measured
        self._modules = modules
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_collection_finish(self) -> None:
        for module in self._modules:
            importlib.import_module(module)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._measured.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._measured.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


def _main(store: Path, modules: list[str], tests: list[str]) -> None:
    measured = coverage.Coverage(data_file=None, include=[f"{PACKAGE}/*"], config_file=False)
    measured.start()
    contexts = _Contexts(measured, modules)
    status = pytest.main([*PYTEST_OPTIONS, *tests], plugins=[contexts])
    measured.stop()
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        sys.exit(int(status))
    data = measured.get_data()
    names = ["", *contexts.seconds]
    indexes = {name: index for index, name in enumerate(names)}
    paths = {str(SOURCES / Path(*module.split("."))) for module in modules}
    lines = {
        path: {
            line: [indexes[each] for each in found if each in indexes]
            for line, found in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
        if path.removesuffix("/__init__.py").removesuffix(".py") in paths
    }
    stored = {
        "names": names,
        "lines": lines,
        "seconds": {name: taken for name, taken in contexts.seconds.items() if name not in contexts.failed},
        "failed": sorted(contexts.failed),
        "libraries": sorted(name for name in sys.modules if name.partition(".")[0] not in {"xapp_operator", "tests"}),
    }
    written = store.with_suffix(".part")
    written.write_text(json.dumps(stored))
    written.rename(store)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:])
