"""The layout rules of the package: who may start processes, read the environment, import the Kubernetes client."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "operator"
TESTS = ROOT / "tests"
PACKAGE = SOURCES / "xapp_operator"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

MAX_LINES = 400
TEST_MAX_LINES = 500

PROCESS_STARTERS = {
    *("subprocess", "multiprocessing", "pty", "asyncio.subprocess"),
    *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"),
    *("os.system", "os.popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.posix_spawnp"),
    *(f"os.exec{ending}" for ending in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    *(f"os.spawn{ending}" for ending in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
}
PROCESS_METHODS = {"subprocess_exec", "subprocess_shell"}
ENVIRONMENT_READERS = {"os.environ", "os.environb", "os.getenv", "os.getenvb"}


def names_used(source: str) -> Iterator[str]:
    """Yield every dotted name that a module imports or reads, imported aliases spelled out."""
    tree = ast.parse(source)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                known[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (dotted := _dotted(node)):
            first, _, rest = dotted.partition(".")
            yield f"{known.get(first, first)}.{rest}"
            yield node.attr


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (inner := _dotted(node.value)):
        return f"{inner}.{node.attr}"
    return None


PROCESS_MODULES = (
    *("common/bounded_process.py", "common/sandboxed_exec.py", "helm/processes/watchdog.py"),
    "cli/connection/local_programs.py",  # programs of the user, with their terminal
)


def starts_processes(source: str) -> bool:
    used = set(names_used(source))
    return bool(used & (PROCESS_STARTERS | PROCESS_METHODS))


def reads_the_environment(source: str) -> bool:
    return bool(set(names_used(source)) & ENVIRONMENT_READERS)


def imports_the_kubernetes_client(source: str) -> bool:
    return any(name == "kubernetes" or name.startswith("kubernetes.") for name in names_used(source))


def text_of(module: str) -> str:
    return (PACKAGE / module).read_text(encoding="utf-8")


RULES: dict[Callable[[str], bool], tuple[list[str], str]] = {
    starts_processes: (
        [
            "import subprocess",
            "import subprocess as sp\nsp.run(['x'])",
            "from subprocess import run",
            "import asyncio\nasync def f(): await asyncio.create_subprocess_exec('x')",
            "from asyncio import create_subprocess_shell as start",
            "from asyncio.subprocess import PIPE",
            "import os\nos.system('x')",
            "from os import execv",
            "import os as o\no.posix_spawn('x', [], {})",
            "def f(loop): loop.subprocess_exec(None, 'x')",
        ],
        "import os, asyncio\nos.getpid(); asyncio.create_task(f())",
    ),
    reads_the_environment: (
        [
            "import os\nos.environ['X']",
            "from os import getenv",
            "import os as o\no.environ.get('X')",
            "from os import environ as e",
        ],
        "import os\nos.getpid()\nenviron = {}",
    ),
    imports_the_kubernetes_client: (
        ["import kubernetes", "import kubernetes.aio as k", "from kubernetes.aio import config"],
        "from xapp_operator.kube import client\nimport kubernetes_other",
    ),
}
"""For each rule: every way to break it, and code that looks similar and keeps it."""


@pytest.mark.parametrize("broken_by", RULES, ids=lambda rule: rule.__name__)
def test_the_rules_detect_every_way_to_break_them(broken_by: Callable[[str], bool]) -> None:
    offences, allowed = RULES[broken_by]
    assert [source for source in offences if not broken_by(source)] == []
    assert not broken_by(allowed)


def test_operator_folder_is_no_package() -> None:
    """It would shadow the standard library's `operator` for every Python started at the repository root."""
    assert not (SOURCES / "__init__.py").exists()
    done = subprocess.run(
        [sys.executable, "-c", "import operator; print(operator.__file__)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not Path(done.stdout.strip()).is_relative_to(ROOT / "operator")


def test_processes_are_started_with_bounds_only() -> None:
    others = [module for module in MODULES if module not in PROCESS_MODULES]
    assert [module for module in others if starts_processes(text_of(module))] == []


def test_only_helm_and_the_index_reader_start_processes() -> None:
    starters = [module for module in MODULES if "run_process(" in text_of(module)]
    others = [module for module in starters if not module.startswith(("helm/", "common/"))]
    assert others == ["charts/sources/index_reader.py"]


def test_only_the_configuration_reads_the_environment() -> None:
    others = [module for module in MODULES if not module.startswith("config/")]
    assert [module for module in others if reads_the_environment(text_of(module))] == []


def test_only_kube_imports_the_kubernetes_client() -> None:
    others = [module for module in MODULES if not module.startswith("kube/")]
    assert [module for module in others if imports_the_kubernetes_client(text_of(module))] == []


def test_modules_have_at_most_400_lines() -> None:
    lengths = {module: len(text_of(module).splitlines()) for module in MODULES}
    assert {module: lines for module, lines in lengths.items() if lines > MAX_LINES} == {}


def test_test_modules_have_at_most_500_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in TESTS.rglob("*.py")}
    assert "tests/unit/test_layout.py" in lengths
    assert {module: lines for module, lines in lengths.items() if lines > TEST_MAX_LINES} == {}


def test_modules_have_a_docstring() -> None:
    assert MODULES
    assert [module for module in MODULES if not ast.get_docstring(ast.parse(text_of(module)))] == []


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder.name for folder in folders if not (folder / "__init__.py").exists()] == []


def test_imports_keep_to_the_layers(tmp_path: Path) -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-logo", "--cache-dir", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
