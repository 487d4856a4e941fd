"""The locked packages, and this one, installed into folders as an installer of wheels lays them out."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.localcluster.appimage.failure import ImageFailed

LOCK = "requirements.lock"
SOURCES = ("LICENSE", "README.md", "pyproject.toml", "operator/xapp_operator")
"""What the wheel is made of."""
_TRACES = (
    *("bin", ".lock", "**/__pycache__"),
    *(f"*.dist-info/{name}" for name in ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json")),
)
"""What an installer leaves for itself, and what names a folder of this machine."""
_TESTS = "*/tests"


def install_locked(root: Path, folder: Path) -> None:
    """Install the packages of requirements.lock, whose hashes are checked, into ``folder``. Raises ImageFailed."""
    _install(root, folder, ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", LOCK])
    for path in folder.glob(_TESTS):
        shutil.rmtree(path)


def install_own(root: Path, folder: Path, *, scratch: Path) -> None:
    """Build the wheel of this checkout in ``scratch`` and install it into ``folder``. Raises ImageFailed."""
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(scratch)], root)
    (wheel,) = scratch.glob("*.whl")
    _install(root, folder, ["--no-deps", str(wheel)])


def _install(root: Path, folder: Path, arguments: Sequence[str]) -> None:
    # as hack/venv chooses
    if uv := shutil.which("uv"):
        installer = [uv, "pip", "install", "--quiet", "--python", sys.executable]
    else:
        installer = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    _run([*installer, "--target", str(folder), *arguments], root)
    for pattern in _TRACES:
        for path in sorted(folder.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def _run(command: Sequence[str], root: Path) -> None:
    answer = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ImageFailed(f"{' '.join(command[:4])}: {(answer.stderr or answer.stdout).strip()}")
