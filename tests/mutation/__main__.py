"""The command line: ``python -m tests.mutation``. Exit code 1 when too many mutants survive."""

from __future__ import annotations

import argparse
import hashlib
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutation.accepted import Accepted, as_entry, read_accepted
from tests.mutation.mutants import PACKAGE, ROOT, SOURCES, Key, Mutant, mutants_of
from tests.mutation.tested_lines import TestedLines, measure
from tests.mutation.trials import Outcome, Trial, fits_in_place, limit_of, try_by_import, try_in_place

_EXHAUSTIVE = tuple(f"--ignore=tests/unit/histories/test_{name}.py" for name in ("generated_histories", "kills"))
"""They take minutes for each mutant, and others find the same ones."""

TESTS = {
    "domain": ("tests/unit/domain",),
    "reconcile": ("tests/unit/reconcile", "tests/unit/histories", *_EXHAUSTIVE),
    "helm/releases": ("tests/unit/helm", "tests/unit/reconcile", "tests/unit/histories", *_EXHAUSTIVE),
    "kube": ("tests/unit/kube",),
    "gateway/auth": ("tests/unit/gateway",),
    "gateway/http": ("tests/unit/gateway",),
}
"""The packages that are mutated, and the tests of each."""

STORE = ROOT / ".local" / "mutation"
MAX_SURVIVING = 0.05
"""Share of the mutants that may survive without being accepted."""

_LIVE = (Outcome.SURVIVED, Outcome.UNTESTED)


class Results:
    """Counts outcomes by package, and keeps what survived."""

    def __init__(self, accepted: Accepted, *, planned: int) -> None:
        self._accepted = accepted
        self._planned = planned
        self._counts: dict[str, Counter[str]] = {}
        self._done = 0
        self.survivors: list[tuple[Mutant, Outcome]] = []

    def add(self, trial: Trial, outcome: Outcome) -> None:
        mutant = trial.mutant
        counts = self._counts.setdefault(_package_of(mutant.key), Counter())
        self._done += 1
        if outcome in _LIVE and mutant.key in self._accepted.reasons:
            counts["accepted"] += 1
            return
        counts[outcome.value] += 1
        if outcome in _LIVE:
            self.survivors.append((mutant, outcome))
            print(f"[{self._done}/{self._planned}] {mutant.place} in {mutant.key.scope or 'module'}: {outcome.value}")
            print(f"{mutant.diff()}\n{as_entry(mutant.key)}\n", flush=True)

    def table(self) -> str:
        columns = ("tried", *(each.value for each in Outcome), "accepted", "survive")
        rows = [("package", *columns)]
        for package, counts in sorted(self._counts.items()):
            tried, surviving = _tried(counts), _surviving(counts)
            numbers = [tried, *(counts[each.value] for each in Outcome), counts["accepted"]]
            rows.append((package, *map(str, numbers), f"{surviving:.1%}"))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)

    def too_many(self) -> bool:
        """Say whether too many mutants of a package survived."""
        return any(_surviving(counts) >= MAX_SURVIVING for counts in self._counts.values())


def _tried(counts: Counter[str]) -> int:
    return counts.total() - counts[Outcome.NOT_TRIED.value]


def _surviving(counts: Counter[str]) -> float:
    """Return the share that survived of those that are not equivalent."""
    return sum(counts[each.value] for each in _LIVE) / max(1, _tried(counts) - counts["accepted"])


def _package_of(key: Key) -> str:
    return next(package for package in TESTS if key.module.startswith(f"{package}/"))


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it too ends the trials and removes their folders
    modules = _modules(options.modules or list(TESTS))
    tests = options.tests or sorted({each for path in modules for each in TESTS[_package_of_path(path)]})
    mutants = _sample([mutant for path in modules for mutant in mutants_of(path)], options.sample, options.seed)
    measured = measure(tests, [_module_name(path) for path in modules], store=_store(options.store, tests, modules))
    for name in measured.failed:
        print(f"left out, because it does not pass unchanged: {name}")
    in_place, by_import = _plan(mutants, measured)
    results = Results(read_accepted(), planned=len(mutants))
    try:
        try_by_import(by_import, measured.libraries, results.add, jobs=options.jobs)
        try_in_place(in_place, results.add, jobs=options.jobs)
    finally:
        print(results.table())
    return 1 if results.too_many() else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="so many mutants of each package; default: all")
    parser.add_argument("--seed", type=int, default=1, help="draws the sample; the same seed draws the same")
    parser.add_argument("--jobs", type=int, default=1, help="so many processes at a time")
    parser.add_argument(
        "--tests", action="append", help="tests to run instead of those of the packages; may be repeated"
    )
    parser.add_argument("--store", type=Path, default=STORE, help="the folder that keeps which test runs which line")
    parser.add_argument(
        "modules", nargs="*", help=f"packages or modules, such as domain/planning/plan.py; default: {', '.join(TESTS)}"
    )
    return parser


def _modules(names: Iterable[str]) -> list[Path]:
    found: set[Path] = set()
    for name in names:
        path = PACKAGE / name
        files = [path] if path.is_file() else sorted(path.rglob("*.py"))
        if not files or not any(f"{name}/".startswith(f"{package}/") for package in TESTS):
            sys.exit(f"error: {name} is no package or module of {', '.join(TESTS)}")
        found.update(files)
    return sorted(found)


def _package_of_path(path: Path) -> str:
    name = path.relative_to(PACKAGE).as_posix()
    return next(package for package in TESTS if name.startswith(f"{package}/"))


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def _sample(mutants: Sequence[Mutant], number: int, seed: int) -> list[Mutant]:
    """Draw so many mutants of each package. A change of one function leaves the draw of the others as it is."""
    drawn: list[Mutant] = []
    for package in TESTS:
        of_package = [mutant for mutant in mutants if _package_of(mutant.key) == package]
        of_package.sort(key=lambda mutant: hashlib.sha256(repr((seed, *mutant.key)).encode()).digest())
        drawn += of_package[: number or None]
    return drawn


def _plan(mutants: Iterable[Mutant], measured: TestedLines) -> tuple[list[Trial], list[Trial]]:
    """Return the trials in place, and those by import."""
    in_place: list[Trial] = []
    by_import: list[Trial] = []
    for mutant in mutants:
        if fits_in_place(mutant) and not measured.runs_at_import(mutant.path, mutant.lines):
            in_place.append(_trial(mutant, _tests_of(mutant, measured), measured))
        else:
            tests = _tests_of(mutant, measured) if mutant.function else []
            by_import.append(_trial(mutant, tests or _tests_of_module(mutant, measured), measured))
    return in_place, by_import


def _tests_of(mutant: Mutant, measured: TestedLines) -> list[str]:
    """Return the tests that run the changed lines, then those that run the function around them.

    The lines alone are not enough: after a cancellation, coverage.py records no line of the coroutine that goes on.
    """
    of_lines = measured.tests(mutant.path, mutant.lines)
    return list(dict.fromkeys([*of_lines, *measured.tests(mutant.path, mutant.function_lines)]))


def _tests_of_module(mutant: Mutant, measured: TestedLines) -> list[str]:
    """Return the tests that run any line of the module, or that import it."""
    names = {*measured.tests_of_modules([mutant.path]), *measured.tests_of_importers(mutant.name)}
    return measured.in_order(names)


def _trial(mutant: Mutant, tests: Sequence[str], measured: TestedLines) -> Trial:
    return Trial(mutant=mutant, tests=tests, limit_s=limit_of(sum(measured.seconds[name] for name in tests)))


def _store(folder: Path, tests: Sequence[str], modules: Sequence[Path]) -> Path:
    """Return where the tested lines are kept: another file for other sources, since other lines are tested then."""
    digest = hashlib.sha256(repr((sorted(tests), modules)).encode())
    given = [ROOT / name for name in tests if (ROOT / name).is_file()]
    for path in sorted({*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *given}):
        digest.update(path.as_posix().encode() + b"\0" + path.read_bytes())
    return folder / f"{digest.hexdigest()[:16]}.json"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
