"""The whole tool, on the smallest module of the package and a test that checks a part of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.mutation.__main__ import Results, _plan
from tests.mutation.accepted import Accepted
from tests.mutation.mutants import PACKAGE, ROOT, mutants_of_text
from tests.mutation.tested_lines import TestedLines
from tests.mutation.trials import Outcome, Trial

LIMIT_S = 120

PARTIAL_TESTS = "tests/unit/mutation/partial_tests.py"
COROUTINE_TESTS = "tests/unit/mutation/coroutine_tests.py"


def test_what_a_test_notices_is_killed_and_the_rest_survives(tmp_path: Path) -> None:
    module = "domain/caller_groups.py"
    before = (ROOT / "operator/xapp_operator" / module).read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation", "--store", str(tmp_path), "--tests", PARTIAL_TESTS, module],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    survived = {line.removeprefix("+    ") for line in done.stdout.splitlines() if line.startswith("+    ")}
    assert survived == {
        "if (len(parts) == _SERVICE_ACCOUNT_PARTS):",
        "if (len(parts) == _SERVICE_ACCOUNT_PARTS or parts[:2] == ['system', 'serviceaccount']):",
        "if (parts[:2] == ['system', 'serviceaccount']):",
    }, done.stderr
    assert re.search(r"^domain +14 +11 +0 +3 ", done.stdout, re.MULTILINE)
    assert done.returncode == 1
    assert (ROOT / "operator/xapp_operator" / module).read_bytes() == before


def test_tests_of_coroutines_run_as_always_in_a_trial(tmp_path: Path) -> None:
    module = "gateway/http/requests/media_types.py"
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation", "--store", str(tmp_path), "--tests", COROUTINE_TESTS, module],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    counts = re.search(r"^gateway/http +(\d+) +(\d+) +(\d+) +(\d+) ", done.stdout, re.MULTILINE)
    assert counts is not None, done.stderr
    _, killed, _, survived = map(int, counts.groups())
    assert survived > killed  # what raises is killed


def test_a_trial_that_is_killed_leaves_no_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.mutation.killed_trials", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.stdout.split() == [Outcome.KILLED.name, Outcome.TIMED_OUT.name], done.stderr
    folders = [Path(file.read_text()) for file in tmp_path.iterdir()]
    assert len(folders) == len(set(folders)) == 2
    assert [folder for folder in folders if folder.parent.exists()] == []  # each is in the folder of its trial


def test_the_tests_of_the_line_come_before_those_of_its_function() -> None:
    text = "async def f(a):\n    await a\n    g(1)\n\nasync def h():\n    g(2)\n"
    path = str(PACKAGE / "domain/m.py")
    lines = {2: {"quick", "slow"}, 3: {"slow"}, 6: {"other"}}
    measured = TestedLines(
        by_line={path: {line: frozenset(names) for line, names in lines.items()}},
        seconds={"quick": 0.1, "slow": 1.0, "other": 0.1},
        failed=(),
        libraries=(),
    )
    (mutant,) = [each for each in mutants_of_text(text, "domain/m.py") if "g(2)" in each.key.after and 3 in each.lines]
    in_place, by_import = _plan([mutant], measured)
    assert [list(each.tests) for each in (*in_place, *by_import)] == [["slow", "quick"]]


def test_a_constant_has_the_tests_that_run_its_module_and_those_that_import_it() -> None:
    tests = "tests/unit/domain"
    running, importing, other = (
        f"{tests}/{name}.py::test" for name in ("test_drift", "planning/test_backoff", "test_naming")
    )
    path = str(PACKAGE / "domain/planning/backoff.py")
    measured = TestedLines(
        by_line={path: {1: frozenset({""}), 22: frozenset({running})}},
        seconds={running: 0.2, importing: 0.1, other: 0.1},
        failed=(),
        libraries=(),
    )
    (mutant, *_) = mutants_of_text("LIMIT = 16\n", "domain/planning/backoff.py")
    _, (trial,) = _plan([mutant], measured)
    assert list(trial.tests) == [importing, running]


def test_accepted_mutants_do_not_count_as_survivors() -> None:
    trials = [
        Trial(mutant=mutant, tests=[], limit_s=1.0)
        for mutant in mutants_of_text("def f(a):\n    g()\n    return a < 1\n", "domain/m.py")
    ]
    key = trials[0].mutant.key
    results = Results(Accepted(reasons={key: "g does nothing"}), planned=len(trials))
    for trial in trials:
        results.add(trial, Outcome.SURVIVED if trial.mutant.key == key else Outcome.KILLED)
    assert not results.too_many()
    assert results.survivors == []
    results.add(trials[1], Outcome.UNTESTED)
    assert results.too_many()
