"""The layout of the package holds: who may start processes, read the environment, import the Kubernetes client."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "operator"
PACKAGE = SOURCES / "xapp_operator"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

MAX_LINES = 400
LONGER: dict[str, int] = {}
"""Modules that are one long table; to be taken out once they are shorter."""

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


def starts_processes(source: str) -> bool:
    used = set(names_used(source))
    return bool(used & (PROCESS_STARTERS | PROCESS_METHODS))


def reads_the_environment(source: str) -> bool:
    return bool(set(names_used(source)) & ENVIRONMENT_READERS)


def imports_the_kubernetes_client(source: str) -> bool:
    return any(name == "kubernetes" or name.startswith("kubernetes.") for name in names_used(source))


def text_of(module: str) -> str:
    return (PACKAGE / module).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "source",
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
)
def test_every_way_to_start_a_process_is_seen(source: str) -> None:
    assert starts_processes(source)
    assert not starts_processes("import os, asyncio\nos.getpid(); asyncio.create_task(f())")


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.environ['X']",
        "from os import getenv",
        "import os as o\no.environ.get('X')",
        "from os import environ as e",
    ],
)
def test_every_way_to_read_the_environment_is_seen(source: str) -> None:
    assert reads_the_environment(source)
    assert not reads_the_environment("import os\nos.getpid()\nenviron = {}")


@pytest.mark.parametrize(
    "source", ["import kubernetes", "import kubernetes.aio as k", "from kubernetes.aio import config"]
)
def test_every_way_to_import_the_kubernetes_client_is_seen(source: str) -> None:
    assert imports_the_kubernetes_client(source)
    assert not imports_the_kubernetes_client("from xapp_operator.kube import client\nimport kubernetes_other")


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


def test_only_helm_starts_processes() -> None:
    assert [module for module in MODULES if not module.startswith("helm/") and starts_processes(text_of(module))] == []


def test_only_the_configuration_reads_the_environment() -> None:
    assert [module for module in MODULES if module != "config.py" and reads_the_environment(text_of(module))] == []


def test_only_kube_imports_the_kubernetes_client() -> None:
    others = [module for module in MODULES if not module.startswith("kube/")]
    assert [module for module in others if imports_the_kubernetes_client(text_of(module))] == []


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_at_most_400_lines(module: str) -> None:
    lines = len(text_of(module).splitlines())
    assert lines <= LONGER.get(module, MAX_LINES)
    assert (lines > MAX_LINES) == (module in LONGER)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_is_for(module: str) -> None:
    assert ast.get_docstring(ast.parse(text_of(module)))


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
