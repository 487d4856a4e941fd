"""Finds the programs: in the cache, on PATH, as a release, or by a build, whichever works first.

The cache is outside the checkout and shared by all checkouts of a user. Its key is tool, version and platform. It is
filled under a lock, and a program appears in it by an atomic rename, so that no process runs an incomplete file.
"""

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.localcluster import gobuild
from tests.localcluster.download import DownloadFailed, fetch_release
from tests.localcluster.filelock import lock
from tests.localcluster.path_programs import find_on_path, has_version
from tests.localcluster.progress import ProgressCallback, print_progress
from tests.localcluster.tools import ALL_TOOLS, BUILD_CPU_SECONDS, Tool

_LOCK_SECONDS = 90 * 60

Producer = Callable[[Sequence[Tool], Path], Mapping[str, Path]]
"""Puts tools of one module into the given folder and returns the path of each."""


def cache_root() -> Path:
    """Return the cache folder of this project, outside every checkout."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "xapp-operator"


def platform_key() -> tuple[str, str]:
    """Return Go's names for this operating system and processor, such as ("linux", "amd64")."""
    machine = platform.machine().lower()
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    return platform.system().lower(), arch


def build_seconds(tools: Iterable[Tool], *, after: Iterable[Tool] = ()) -> float:
    """Return about how long this machine needs to build them after others; 0 for what takes no time worth a word."""
    tools = list(tools)
    parts = ({tool.module for tool in tools} - {tool.module for tool in after}) | {tool.name for tool in tools}
    return sum(BUILD_CPU_SECONDS.get(part, 0) for part in parts) / len(os.sched_getaffinity(0))


def minutes_text(seconds: float) -> str:
    """Return for example "6 min"."""
    return f"{max(1, round(seconds / 60))} min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """Finds programs by name, and downloads or builds missing ones."""

    root: Path = field(default_factory=cache_root)
    progress: ProgressCallback = print_progress
    producers: tuple[Producer, ...] | None = None
    """Tried in order for what the cache lacks. Default: PATH, the release, then the Go build."""

    def announce(self, names: Iterable[str]) -> None:
        """Report what is missing of them, and how long a build of all of it takes."""
        missing = self.missing(ALL_TOOLS[name] for name in names)
        if seconds := build_seconds(missing):
            self.progress(
                f"missing: {', '.join(tool.name for tool in missing)}. What is neither on PATH nor can be downloaded "
                f"is built from source, once per machine: all of it takes about {minutes_text(seconds)} here"
            )

    def resolve(self, names: Iterable[str], *, announced: bool = False) -> dict[str, Path]:
        """Return the path of each named program, after downloading or building missing ones, module by module in order.

        Raises KeyError for an unknown name, BuildFailed if no producer succeeded.
        """
        wanted = [ALL_TOOLS[name] for name in names]
        missing = self.missing(wanted)
        if not announced:
            self.announce(tool.name for tool in wanted)
        for module in dict.fromkeys(tool.module for tool in missing):
            self._fill_cache(module, [tool for tool in missing if tool.module == module])
        found = {tool.name: self.find(tool) for tool in wanted}
        return {name: path for name, path in found.items() if path}

    def missing(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return those that neither KUBEBUILDER_ASSETS nor the cache has."""
        return [tool for tool in tools if self.find(tool) is None]

    def find(self, tool: Tool) -> Path | None:
        """Return the program if KUBEBUILDER_ASSETS or the cache has it."""
        assets = os.environ.get("KUBEBUILDER_ASSETS")
        if assets and tool.in_kubebuilder_assets and os.access(Path(assets) / tool.name, os.X_OK):
            return Path(assets) / tool.name
        cached = self.cached_path(tool)
        return cached if os.access(cached, os.X_OK) else None

    def cached_path(self, tool: Tool) -> Path:
        """Return the program's path in the cache, whether it exists or not."""
        return self.root / "tools" / f"{tool.name}-{tool.version}" / "-".join(platform_key()) / tool.name

    def _fill_cache(self, module: str, tools: list[Tool]) -> None:
        def report_waiting() -> None:
            self.progress(f"waiting for another process that fetches or builds {module} …")

        scratch_root = self.root / "tools" / f".{module}.tmp"
        with lock(self.root / "tools" / f".{module}.lock", timeout=_LOCK_SECONDS, on_wait=report_waiting):
            shutil.rmtree(scratch_root, ignore_errors=True)
            try:
                self._run_producers(self.missing(tools), scratch_root)
            finally:
                shutil.rmtree(scratch_root, ignore_errors=True)

    def _run_producers(self, tools: list[Tool], scratch_root: Path) -> None:
        producers = (self._copy_from_path, self._download, self._build) if self.producers is None else self.producers
        for producer in producers:
            if not tools:
                return
            scratch_root.mkdir(parents=True, exist_ok=True)
            made = producer(tools, Path(tempfile.mkdtemp(dir=scratch_root)))
            for tool in tools:
                if tool.name in made:
                    self._move_to_cache(tool, made[tool.name])
            tools = [tool for tool in tools if tool.name not in made]

    def _move_to_cache(self, tool: Tool, program: Path) -> None:
        program.chmod(0o755)
        target = self.cached_path(tool)
        target.parent.mkdir(parents=True, exist_ok=True)
        program.replace(target)

    def _copy_from_path(self, tools: Sequence[Tool], scratch: Path) -> dict[str, Path]:
        """Copy, so that the cache stays whole when the program on PATH is updated or removed."""
        made: dict[str, Path] = {}
        for tool in tools:
            found = find_on_path(tool)
            if found is None:
                continue
            copy = Path(shutil.copy(found, scratch / tool.name))
            if has_version(copy, tool):  # not so a wrapper that looks for files beside itself
                self.progress(f"{tool.name} {tool.version}: copied from PATH")
                made[tool.name] = copy
        return made

    def _download(self, tools: Sequence[Tool], scratch: Path) -> dict[str, Path]:
        os_name, arch = platform_key()
        made: dict[str, Path] = {}
        for tool in tools:
            if tool.release is None:
                continue
            folder = scratch / tool.name
            folder.mkdir()
            self.progress(f"downloading {tool.name} {tool.version} …")
            try:
                made[tool.name] = fetch_release(tool.release, os_name=os_name, arch=arch, folder=folder)
            except DownloadFailed as error:
                self.progress(f"cannot download {tool.name} {tool.version} ({error})")
        return made

    def _build(self, tools: Sequence[Tool], scratch: Path) -> dict[str, Path]:
        go = gobuild.find_go(cache=self.root, progress=self.progress)
        return gobuild.build(tools, go=go, folder=scratch, progress=self.progress)
