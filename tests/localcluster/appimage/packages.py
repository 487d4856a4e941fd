"""Copies the locked packages and this package, as an installer of wheels would.

The locked packages come from .venv, whose installer verified their hashes. So the image needs no network, and contains
what the tests ran with. Each file is verified against the record of its wheel.
"""

import base64
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, PackagePath, distribution
from pathlib import Path, PurePath

from packaging.requirements import Requirement

from tests.localcluster.appimage.errors import ImageFailed

LOCK = "requirements.lock"
SOURCES = ("LICENSE", "README.md", "pyproject.toml", "operator/xapp_operator")
"""The sources of the wheel; the built dashboard is among them."""
CERTIFI_BUNDLE = "certifi/cacert.pem"
"""The certificate authorities of Mozilla, as the locked wheel of certifi has them. The image trusts no others: those of
this machine may include private ones."""
_INSTALLER_FILES = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json"})
"""Files that an installer writes for itself, or that contain paths of this machine."""


def copy_locked_packages(root: Path, folder: Path) -> None:
    """Copy the packages of requirements.lock into ``folder``.

    Raises ImageFailed if one is not installed in the locked version, or was changed after its installation.
    """
    for requirement in read_lock(root):
        for file in _installed_files(_installed_distribution(requirement)):
            path = Path(str(file.locate()))
            content = _read_as_in_wheel(path, file)
            if file.hash and _digest(content, file.hash.mode) != file.hash.value:
                raise ImageFailed(f"{path} is not as its wheel had it: remove .venv and run make venv")
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def read_lock(root: Path) -> list[Requirement]:
    """Return the requirements of requirements.lock that apply to this machine."""
    lines = (root / LOCK).read_text().replace("\\\n", " ").splitlines()
    named = [Requirement(line.partition("--hash")[0]) for line in lines if line.strip() and line.lstrip()[0] != "#"]
    return [each for each in named if each.marker is None or each.marker.evaluate()]


def build_dashboard(root: Path) -> None:
    """Build the dashboard of this checkout into the sources of the wheel, if it is stale. Raises ImageFailed."""
    command = [str(root / "hack" / "dashboard"), "build"]
    answer = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ImageFailed(f"building the dashboard: {(answer.stderr or answer.stdout).strip()}")


def unpack_project_wheel(root: Path, folder: Path, *, scratch: Path) -> None:
    """Build the wheel of this checkout in ``scratch`` and unpack it into ``folder``. Raises ImageFailed."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(scratch)]
    answer = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ImageFailed(f"building the wheel: {(answer.stderr or answer.stdout).strip()}")
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if PurePath(name).name not in _INSTALLER_FILES])


def _installed_distribution(requirement: Requirement) -> Distribution:
    try:
        found = distribution(requirement.name)
    except PackageNotFoundError as error:
        raise ImageFailed(f"{requirement} is not installed: run make venv") from error
    if found.version not in requirement.specifier:
        raise ImageFailed(f"{requirement.name} {found.version} is installed, not {requirement}: run make venv")
    return found


def _installed_files(package: Distribution) -> Iterator[PackagePath]:
    """Yield the files of a package, without commands, byte code and tests."""
    for file in package.files or ():
        excluded = file.parts[0] == ".." or "__pycache__" in file.parts or file.parts[1:2] == ("tests",)
        if not excluded and file.name not in _INSTALLER_FILES:
            yield file


def _read_as_in_wheel(path: Path, file: PackagePath) -> bytes:
    """Return the content of an installed file, without private authorities that this machine appended to certifi."""
    content = path.read_bytes()
    return content[: file.size] if file.as_posix() == CERTIFI_BUNDLE else content


def _digest(content: bytes, algorithm: str) -> str:
    return base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=").decode()
