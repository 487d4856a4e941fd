"""The four layers of the image, and how it starts."""

from pathlib import Path

from tests.localcluster.appimage import packages, runtime
from tests.localcluster.appimage.compiling import compiled
from tests.localcluster.appimage.failure import ImageFailed
from tests.localcluster.appimage.layercache import LayerCache, contents, key_of, stamps
from tests.localcluster.appimage.libraries import needs
from tests.localcluster.appimage.runtime import CERTIFICATES, Runtime
from tests.localcluster.binaries import Binaries, cache_root
from tests.localcluster.cluster import ROOT
from tests.localcluster.images import Entry, Layer, Start, write_archive

__all__ = ["ImageFailed", "build_image"]

_HOME = "/opt/xapp-operator"
_HELM = "/usr/local/bin/helm"
_PORTS = (31315, 8080)


def build_image(target: Path, *, name: str, root: Path = ROOT, binaries: Binaries | None = None) -> None:
    """Write the image of the checkout ``root``, called ``name`` (with a tag), to the tar file ``target``.

    Raises ImageFailed, BuildFailed (for helm).
    """
    builder = _Builder(root, Runtime.own(), LayerCache(cache_root() / "layers"))
    helm = (binaries or Binaries()).resolve(["helm"])["helm"]
    start = Start(
        entrypoint=["xapp-operator"],
        command=["run"],
        environment={
            "PATH": f"{_HOME}/bin:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SSL_CERT_FILE": CERTIFICATES,
        },
        folder="/tmp",
        ports=_PORTS,
    )
    layers = [builder.interpreter(), builder.locked(), builder.helm(helm), builder.own()]
    write_archive(target, name=name, layers=layers, start=start)


class _Builder:
    """Makes layers, each only when what it is made of has changed."""

    def __init__(self, root: Path, python: Runtime, cache: LayerCache) -> None:
        self._root = root
        self._python = python
        self._cache = cache
        self._site = f"{_HOME}/lib/python{python.version}/site-packages"
        self._needs = python.needs()
        files = [python.program, *python.files(), *self._needs.files(), runtime.certificates()]
        recipe = [digest for _, digest in contents([Path(__file__).parent])]
        self._key = key_of(recipe, stamps({path.resolve() for path in files}))

    def interpreter(self) -> Layer:
        """Return the layer of the interpreter, with what makes /opt/xapp-operator a virtual environment of it."""

        def make(scratch: Path) -> list[Entry]:
            python = self._python.program_at
            home = f"home = {Path(python).parent}\ninclude-system-site-packages = false\n"
            return [
                *self._python.entries(scratch),
                Entry(f"{_HOME}/pyvenv.cfg", home.encode()),
                Entry(f"{_HOME}/bin/python3", link=python),
            ]

        return self._cache.layer("interpreter", self._key, make)

    def locked(self) -> Layer:
        """Return the layer of the locked packages."""

        def make(scratch: Path) -> list[Entry]:
            packages.copy_locked(self._root, scratch)
            entries = list(compiled(scratch, at=self._site))
            if (scratch / packages.AUTHORITIES).parent.is_dir():
                entries.append(Entry(f"{self._site}/{packages.AUTHORITIES}", link=CERTIFICATES))
            found = needs(scratch.rglob("*.so"), inside=scratch)
            return [*entries, *found.entries(without=self._needs.libraries)]

        key = key_of(self._key, (self._root / packages.LOCK).read_text())
        return self._cache.layer("packages", key, make)

    def helm(self, program: Path) -> Layer:
        """Return the layer of helm, a static program."""
        key = key_of(_HELM, stamps([program]))
        return self._cache.layer("helm", key, lambda _: [Entry(_HELM, program, executable=True)])

    def own(self) -> Layer:
        """Return the layer of the checkout's own package and its command."""

        def make(scratch: Path) -> list[Entry]:
            site, wheel = scratch / "site", scratch / "wheel"
            packages.unpack_own(self._root, site, scratch=wheel)
            command = (
                f"#!{_HOME}/bin/python3 -I\nimport sys\n\nfrom xapp_operator.cli import main\n\nsys.exit(main())\n"
            )
            return [
                *compiled(site, at=self._site),
                Entry(f"{_HOME}/bin/xapp-operator", command.encode(), executable=True),
            ]

        sources = [
            (Path(name).relative_to(self._root).as_posix(), digest)
            for name, digest in contents(self._root / source for source in packages.SOURCES)
        ]
        return self._cache.layer("own", key_of(self._key, sources), make)
