"""A run fails when tests of the real node are skipped, if the machine has to run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPPED = "import pytest\n\ndef test_node():\n    pytest.skip('no control groups')\n"
PASSED = "def test_ok():\n    pass\n"


def run(folder: Path, files: dict[str, str], *, forbid: str, workers: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the files as tests of a project in `folder`, with the guard as a plugin."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "xdist",
            "-p",
            "tests.support.skip_guard",
            "-n",
            str(workers),
            "tests",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XAPP_FORBID_SKIPS": forbid, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("folder", "workers"),
    [("tests/e2e/incluster", 0), ("tests/integration/realnode", 1), ("tests/integration/localrun", 0)],
)
def test_a_skipped_test_of_the_real_node_fails_the_run(tmp_path: Path, folder: str, workers: int) -> None:
    done = run(tmp_path, {f"{folder}/test_node.py": SKIPPED, "tests/test_ok.py": PASSED}, forbid="1", workers=workers)

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 skipped: Skipped: no control groups" in done.stdout
    assert "XAPP_ALLOW_SKIPS=1" in done.stdout


def test_a_skipped_module_of_the_real_node_fails_the_run(tmp_path: Path) -> None:
    module = "import pytest\n\npytest.skip('no root', allow_module_level=True)\n"
    done = run(tmp_path, {"tests/e2e/test_node.py": module, "tests/test_ok.py": PASSED}, forbid="1")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 skipped: Skipped: no root" in done.stdout


@pytest.mark.parametrize(
    ("files", "forbid"),
    [
        ({"tests/e2e/test_node.py": SKIPPED, "tests/test_ok.py": PASSED}, ""),
        ({"tests/unit/test_other.py": SKIPPED, "tests/test_ok.py": PASSED}, "1"),
        ({"tests/e2e/test_node.py": PASSED}, "1"),
    ],
    ids=["skips are allowed", "another folder", "nothing is skipped"],
)
def test_other_runs_pass(tmp_path: Path, files: dict[str, str], forbid: str) -> None:
    done = run(tmp_path, files, forbid=forbid)

    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert "XAPP_ALLOW_SKIPS" not in done.stdout
