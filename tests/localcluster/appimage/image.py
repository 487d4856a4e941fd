"""Builds the four layers of the image and its configuration."""

import platform
import subprocess
import tomllib
from pathlib import Path

from tests.localcluster.appimage import packages
from tests.localcluster.appimage.bytecode import compile_tree
from tests.localcluster.appimage.errors import ImageFailed
from tests.localcluster.appimage.interpreter import Interpreter
from tests.localcluster.appimage.layer_cache import LayerCache, cache_key, file_digests, file_stats
from tests.localcluster.appimage.libraries import find_shared_libraries
from tests.localcluster.binaries import Binaries, cache_root
from tests.localcluster.cluster import ROOT
from tests.localcluster.images import ContainerConfig, Layer, LayerEntry, write_archive

__all__ = ["ImageFailed", "build_image"]

_HOME = "/opt/xapp-operator"
_HELM = "/usr/local/bin/helm"
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PORTS = (31315, 8080, 9090)


def build_image(target: Path, *, name: str, root: Path = ROOT, binaries: Binaries | None = None) -> None:
    """Write the image of the checkout ``root``, called ``name`` (with a tag), to the tar file ``target``.

    Raises ImageFailed, BuildFailed (for helm).
    """
    builder = _LayerBuilder(root, Interpreter.current(), LayerCache(cache_root() / "layers"))
    helm = (binaries or Binaries()).resolve(["helm"])["helm"]
    commit = _commit(root)
    start = ContainerConfig(
        entrypoint=["xapp-operator"],
        command=["run"],
        environment={
            "PATH": f"{_HOME}/bin:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SSL_CERT_FILE": _CERTIFICATES,
            "XAPP_COMMIT": commit,
        },
        labels=_labels(root, commit=commit),
        working_directory="/tmp",
        ports=_PORTS,
    )
    layers = [builder.interpreter(), builder.locked_packages(), builder.helm(helm), builder.project()]
    write_archive(target, name=name, layers=layers, start=start)


def _labels(root: Path, *, commit: str) -> dict[str, str]:
    """Return the labels of the image, as the Dockerfile has them."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    values = {
        "title": project["name"],
        "description": project["description"],
        "licenses": project["license"],
        "version": project["version"],
        "revision": commit,
    }
    return {f"org.opencontainers.image.{name}": value for name, value in values.items()}


def _commit(root: Path) -> str:
    """Return the commit of the checkout, `-dirty` if it has changes, or an empty string outside Git."""
    command = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude", "*"]
    try:
        answer = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout.strip()


class _LayerBuilder:
    """Builds the layers, each only if its sources have changed."""

    def __init__(self, root: Path, python: Interpreter, cache: LayerCache) -> None:
        self._root = root
        self._python = python
        self._cache = cache
        self._site = f"{_HOME}/lib/python{python.version}/site-packages"
        self._needs = python.shared_libraries()
        files = [python.program, *python.files(), *self._needs.files()]
        recipe = [digest for _, digest in file_digests([Path(__file__).parent])]
        self._key = cache_key(recipe, file_stats({path.resolve() for path in files}))

    def interpreter(self) -> Layer:
        """Return the layer of the interpreter, with the virtual environment /opt/xapp-operator."""

        def make(scratch: Path) -> list[LayerEntry]:
            python = self._python.image_path
            home = f"home = {Path(python).parent}\ninclude-system-site-packages = false\n"
            home += f"version = {platform.python_version()}\n"
            return [
                *self._python.entries(scratch),
                LayerEntry(f"{_HOME}/pyvenv.cfg", home.encode()),
                LayerEntry(f"{_HOME}/bin/python3", link=python),
            ]

        return self._cache.layer("interpreter", self._key, make)

    def locked_packages(self) -> Layer:
        """Return the layer of the locked packages."""

        def make(scratch: Path) -> list[LayerEntry]:
            packages.copy_locked_packages(self._root, scratch)
            entries = list(compile_tree(scratch, at=self._site))
            entries.append(LayerEntry(_CERTIFICATES, link=f"{self._site}/{packages.CERTIFI_BUNDLE}"))
            found = find_shared_libraries(scratch.rglob("*.so"), exclude_folder=scratch)
            return [*entries, *found.entries(exclude=self._needs.libraries)]

        key = cache_key(self._key, (self._root / packages.LOCK).read_text())
        return self._cache.layer("packages", key, make)

    def helm(self, program: Path) -> Layer:
        """Return the layer of helm, a static program."""
        key = cache_key(_HELM, file_stats([program]))
        return self._cache.layer("helm", key, lambda _: [LayerEntry(_HELM, program, executable=True)])

    def project(self) -> Layer:
        """Return the layer of the checkout's own package and its command."""

        def make(scratch: Path) -> list[LayerEntry]:
            site, wheel = scratch / "site", scratch / "wheel"
            packages.unpack_project_wheel(self._root, site, scratch=wheel)
            program = "import sys\n\nfrom xapp_operator.entry_point import main\n\nsys.exit(main())\n"
            command = f"#!{_HOME}/bin/python3 -I\n{program}"
            return [
                *compile_tree(site, at=self._site),
                LayerEntry(f"{_HOME}/bin/xapp-operator", command.encode(), executable=True),
            ]

        packages.build_dashboard(self._root)
        sources = [
            (Path(name).relative_to(self._root).as_posix(), digest)
            for name, digest in file_digests(self._root / source for source in packages.SOURCES)
        ]
        return self._cache.layer("own", cache_key(self._key, sources), make)
