"""Finds the shared libraries of programs and extension modules, as this machine's loader does (ldd(1))."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.appimage.errors import ImageFailed
from tests.localcluster.images import LayerEntry

_FOUND = re.compile(r"^\s+(?P<name>\S+) => (?P<path>/\S+) \(0x")
_LOADER = re.compile(r"^\s+(?P<path>/\S+) \(0x")
_MISSING = re.compile(r"^\s+(?P<name>\S+) => not found")
_FILE = re.compile(r"^(?P<file>/.*):$")
_LIBC = "libc.so.6"
_OPENED_AT_RUN_TIME = ("libgcc_s.so.1", "libnss_files.so.2", "libnss_dns.so.2")
"""Libraries that libc opens at run time: to end a thread, and to resolve names (before glibc 2.34)."""


@dataclass(frozen=True, slots=True)
class SharedLibraries:
    """The libraries of a set of files by name, the loader, and the files whose libraries are missing here."""

    libraries: Mapping[str, Path]
    loader: Path | None
    unusable: frozenset[Path]

    def entries(self, *, exclude: Iterable[str] = ()) -> Iterator[LayerEntry]:
        """Yield the libraries, all in libc's folder, which the loader searches by default."""
        folder = self.libraries[_LIBC].parent
        for name in self.libraries.keys() - set(exclude):
            yield LayerEntry(f"{folder}/{name}", self.libraries[name].resolve(), executable=True)
        if self.loader:
            yield LayerEntry(str(self.loader), self.loader.resolve(), executable=True)

    def files(self) -> list[Path]:
        """Return the paths of the libraries and the loader."""
        return [path.resolve() for path in (*self.libraries.values(), *((self.loader,) if self.loader else ()))]


def find_shared_libraries(files: Iterable[Path], *, exclude_folder: Path | None = None) -> SharedLibraries:
    """Find the libraries of programs and extension modules, except those inside ``exclude_folder``.

    Raises ImageFailed without ldd or the GNU C library.
    """
    libraries: dict[str, Path] = {}
    loaders: list[Path] = []
    unusable: set[Path] = set()
    file = Path()
    for line in _ldd(files):
        if match := _FILE.match(line):
            file = Path(match["file"])
        elif _MISSING.match(line):
            unusable.add(file)
        elif match := _FOUND.match(line):
            libraries[match["name"]] = Path(match["path"])
        elif match := _LOADER.match(line):
            loaders.append(Path(match["path"]))
    if _LIBC not in libraries:
        raise ImageFailed("this Python does not use the GNU C library; use another: make PYTHON=/path/to/python3 …")
    for name in _OPENED_AT_RUN_TIME:
        path = libraries[_LIBC].with_name(name)
        if path.exists():
            libraries.setdefault(name, path)
    outside = {
        name: path
        for name, path in libraries.items()
        if exclude_folder is None or not path.is_relative_to(exclude_folder)
    }
    return SharedLibraries(outside, loaders[0] if loaders else None, frozenset(unusable))


def _ldd(files: Iterable[Path]) -> list[str]:
    # ldd prints the name of a file only if there are several
    names = [str(path) for path in files] * 2
    try:
        return subprocess.run(["ldd", *names], capture_output=True, text=True, check=False).stdout.splitlines()
    except OSError as error:
        raise ImageFailed("the program ldd is missing: the image is made on Linux with the GNU C library") from error
