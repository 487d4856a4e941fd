"""Copies the interpreter that runs this code: program, standard library, shared libraries."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.appimage.bytecode import compile_tree
from tests.localcluster.appimage.errors import ImageFailed
from tests.localcluster.appimage.libraries import SharedLibraries, find_shared_libraries
from tests.localcluster.images import LayerEntry, passwd_entries

HOME = "/opt/python"
_UNUSED = frozenset(
    {"site-packages", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "tkinter", "turtledemo"}
)
_UNUSED_ANYWHERE = frozenset({"__pycache__", "test", "tests", "idle_test"})
_UNUSED_MODULES = ("_test", "_ctypes_test", "_xx", "xx", "_tkinter", "_curses", "readline", "nis", "_dbm", "_gdbm")
"""Modules for tests, screens and terminals, which would bring shared libraries such as those of X11."""
_UNUSED_FILES = frozenset({"sitecustomize.py", "EXTERNALLY-MANAGED"})
"""Files of a Linux distribution that restrict installing packages."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The interpreter on this machine."""

    program: Path
    prefix: Path
    library: Path
    version: str
    """Such as 3.11."""

    @classmethod
    def current(cls) -> "Interpreter":
        """Return the interpreter of this process; for a virtual environment, its base interpreter.

        Raises ImageFailed if its standard library is not below its prefix.
        """
        prefix = Path(sys.base_prefix).resolve()
        library = Path(sysconfig.get_path("stdlib")).resolve()
        program = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
        if sys.platform != "linux" or not library.is_relative_to(prefix):
            raise ImageFailed(f"the standard library of {program} is not below {prefix}; use another Python")
        return cls(program, prefix, library, sysconfig.get_python_version())

    @property
    def image_path(self) -> str:
        """The path of the program in the image."""
        return f"{HOME}/bin/python{self.version}"

    def files(self) -> list[Path]:
        """Return the files of the standard library that the image contains."""
        return sorted(path for path in self._walk(self.library) if _is_included(path.relative_to(self.library)))

    def shared_libraries(self) -> SharedLibraries:
        """Return the shared libraries of the program and the standard library."""
        return find_shared_libraries([self.program, *(path for path in self.files() if path.suffix == ".so")])

    def entries(self, scratch: Path) -> Iterator[LayerEntry]:
        """Yield everything of the interpreter, and /etc: users, name lookup.

        The standard library is compiled in the folder ``scratch``.
        """
        found = self.shared_libraries()
        yield from found.entries()
        yield LayerEntry(self.image_path, self.program, executable=True)
        for path in self.files():
            if path not in found.unusable:
                copy = scratch / path.relative_to(self.library)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        at = f"{HOME}/{self.library.relative_to(self.prefix).as_posix()}"
        yield from compile_tree(scratch, at=at)
        yield from passwd_entries()
        yield LayerEntry("/etc/nsswitch.conf", b"hosts: files dns\n")

    def _walk(self, folder: Path) -> Iterator[Path]:
        for parent, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in _UNUSED_ANYWHERE]
            yield from (Path(parent, name) for name in names)


def _is_included(path: Path) -> bool:
    first = path.parts[0]
    return (
        first not in _UNUSED
        and not first.startswith("config-")
        and path.name not in _UNUSED_FILES
        and path.suffix in {".py", ".so"}
        and not path.name.startswith(_UNUSED_MODULES)
    )
