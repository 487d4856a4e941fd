"""Writes what an image contains as a CycloneDX document: ``python -m tests.localcluster.appimage.sbom ARCHIVE``.

It reads the archive itself, not the lock files: Python packages from their metadata, Debian packages from the list of
dpkg, or else the shared libraries, and the modules of helm.
"""

import hashlib
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.parser import HeaderParser
from pathlib import Path
from typing import IO

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from tests.localcluster.appimage.archive import ImageFile, visit_files
from tests.localcluster.tools import GOTOOLS, TOOLS

_METADATA = re.compile(r"site-packages/[^/]+\.dist-info/METADATA$")
_DPKG_STATUS = "var/lib/dpkg/status"
_VENV = "opt/xapp-operator/pyvenv.cfg"
_HELM = "usr/local/bin/helm"
_LIBRARY = re.compile(r"^(?:usr/)?lib\d*/(?:[\w-]+/)?[^/]+\.so[.\d]*$")
_MODULE = re.compile(r"^\s*(?:require\s+)?(\S+\.\S+/\S+|\S+\.\S+) (v\S+)(?: // indirect)?$", re.MULTILINE)


def write_sbom(archive: Path, *, name: str) -> Path:
    """Write ``<archive>.cdx.json`` and return its path. The same archive gives the same bytes."""
    contents = _Contents()
    visit_files(archive, contents.visit)
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    components = contents.components()
    image = Component(
        name=name, type=ComponentType.CONTAINER, hashes=[_sha256(digest)], bom_ref="image", version=contents.version
    )
    bom = Bom(components=components, serial_number=uuid.UUID(digest[:32]))
    bom.metadata.component = image
    bom.register_dependency(image, components)
    target = archive.with_name(f"{archive.name}.cdx.json")
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    # The time of the document would be the only part that differs between two builds.
    del document["metadata"]["timestamp"]
    target.write_text(json.dumps(document, indent=1) + "\n")
    return target


@dataclass
class _Contents:
    """What the files of the image say about themselves."""

    python_packages: dict[str, Component] = field(default_factory=dict)
    debian_packages: list[Component] = field(default_factory=list)
    libraries: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each shared library by its path."""
    helm: str = ""
    """The SHA-256 of helm."""
    python: str = ""
    version: str = ""
    """The version of this project."""

    def visit(self, file: ImageFile, content: IO[bytes] | None) -> None:
        if content is None:
            return
        if _METADATA.search(file.path):
            self._add_python_package(content.read().decode())
        elif file.path == _DPKG_STATUS:
            self.debian_packages = list(_debian_packages(content.read().decode()))
        elif file.path == _VENV:
            found = re.search(r"(?m)^version\w* = (\S+)", content.read().decode())
            self.python = found[1] if found else ""
        elif file.path == _HELM:
            self.helm = hashlib.sha256(content.read()).hexdigest()
        elif _LIBRARY.match(file.path):
            self.libraries[file.path] = hashlib.sha256(content.read()).hexdigest()

    def components(self) -> list[Component]:
        found = [*self.python_packages.values(), *(self.debian_packages or _libraries(self.libraries))]
        if self.python:
            purl = PackageURL("generic", name="cpython", version=self.python)
            found.append(
                _component("cpython", self.python, purl, license_name="PSF-2.0", type=ComponentType.APPLICATION)
            )
        if self.helm:
            found += _helm(self.helm)
        return found

    def _add_python_package(self, metadata: str) -> None:
        headers = HeaderParser().parsestr(metadata)
        name, version = headers["Name"], headers["Version"]
        if name == "xapp-operator":
            self.version = version
        license_name = headers["License-Expression"] or headers["License"] or ""
        purl = PackageURL("pypi", name=name.lower().replace("_", "-"), version=version)
        self.python_packages[name] = _component(name, version, purl, license_name=license_name)


def _debian_packages(status: str) -> Iterator[Component]:
    for paragraph in status.split("\n\n"):
        headers = HeaderParser().parsestr(paragraph)
        if headers["Package"] and "installed" in headers["Status"].split():
            name, version = headers["Package"], headers["Version"]
            qualifiers = {"arch": headers["Architecture"]}
            yield _component(name, version, PackageURL("deb", "debian", name, version, qualifiers))


def _libraries(found: dict[str, str]) -> list[Component]:
    """Return the shared libraries, with the Debian package that each comes from on this machine, if one does."""
    return [
        Component(
            name=path.rpartition("/")[2],
            bom_ref=path,
            hashes=[_sha256(digest)],
            properties=[Property(name="xapp-operator:path", value=f"/{path}"), *_debian_origin(f"/{path}", digest)],
        )
        for path, digest in sorted(found.items())
    ]


def _debian_origin(path: str, digest: str) -> Iterator[Property]:
    real = Path(path).resolve()
    if not real.is_file() or hashlib.sha256(real.read_bytes()).hexdigest() != digest:
        return
    for known in (real, Path(path)):
        owner = _dpkg_query("--search", str(known)).partition(": ")[0]
        if owner:
            version = _dpkg_query("--show", "--showformat=${Package} ${Version}", owner)
            yield Property(name="xapp-operator:debian-package", value=version)
            return


def _dpkg_query(*arguments: str) -> str:
    try:
        answer = subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _helm(digest: str) -> Iterator[Component]:
    tool = TOOLS["helm"]
    purl = PackageURL("golang", "helm.sh/helm", "v4", tool.version)
    yield _component("helm", tool.version, purl, type=ComponentType.APPLICATION, hashes=[_sha256(digest)])
    for path, version in _MODULE.findall((GOTOOLS / tool.module / "go.mod").read_text()):
        if not path.startswith("helm.sh/helm/"):
            group, _, name = path.rpartition("/")
            yield _component(path, version, PackageURL("golang", group or None, name, version))


def _component(
    name: str,
    version: str,
    purl: PackageURL,
    *,
    license_name: str = "",
    type: ComponentType = ComponentType.LIBRARY,  # noqa: A002 - the name of the field in CycloneDX
    hashes: list[HashType] | None = None,
) -> Component:
    return Component(
        name=name,
        version=version,
        type=type,
        purl=purl,
        bom_ref=purl.to_string(),
        hashes=hashes or [],
        licenses=[_license(license_name)] if license_name else [],
    )


def _license(name: str) -> License:
    first_line = name.strip().splitlines()[0]  # some packages have the whole text here
    return LicenseFactory().make_from_string(first_line)


def _sha256(digest: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=digest)


if __name__ == "__main__":
    print(write_sbom(Path(sys.argv[1]), name=sys.argv[2]))
