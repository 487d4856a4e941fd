"""Tests of a real cluster or browser that fail are run once more, are named, and must not be many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = """
def pytest_addoption(parser):
    parser.addoption("--retry-cluster-tests", action="store_true")

def pytest_configure(config):
    config.pluginmanager.import_plugin("tests.support.retries")
"""
FLAKY = """
import pathlib
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_race(number, request):
    tried = pathlib.Path(f"tried-{{number}}")
    second, _ = tried.exists(), tried.touch()
    assert second
"""
NO_RETRY = "import pytest\n\npytestmark = pytest.mark.no_retry\n"
BROKEN = "def test_broken():\n    assert False\n"


def run(folder: Path, files: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run the files as tests of a project in `folder`."""
    for path, text in {"conftest.py": PLUGIN, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = no_retry\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "pytest_rerunfailures", "-n", "1", *options, "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("folder", ["browser", "e2e", "integration", "security"])
def test_a_test_that_passes_the_second_time_is_named(tmp_path: Path, folder: str) -> None:
    done = run(tmp_path, {f"tests/{folder}/test_one.py": FLAKY.format(count=2)}, "--retry-cluster-tests")

    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert f"tests/{folder}/test_one.py::test_race[0]" in done.stdout.partition("tests that were run twice")[2]


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"tests/browser/test_one.py": BROKEN}, ["--retry-cluster-tests"]),
        ({"tests/browser/test_one.py": FLAKY.format(count=6)}, ["--retry-cluster-tests"]),
        ({"tests/browser/test_one.py": FLAKY.format(count=1)}, []),
        ({"tests/unit/test_one.py": FLAKY.format(count=1)}, ["--retry-cluster-tests"]),
        ({"tests/e2e/test_one.py": NO_RETRY + FLAKY.format(count=1)}, ["--retry-cluster-tests"]),
    ],
    ids=["fails twice", "too many", "not asked for", "needs no cluster", "looks for races"],
)
def test_other_failures_fail_the_run(tmp_path: Path, files: dict[str, str], options: list[str]) -> None:
    done = run(tmp_path, files, *options)

    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
