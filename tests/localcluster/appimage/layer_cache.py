"""Caches layers outside the checkout by the digest of their sources, shared by all checkouts of a user.

A layer is built once, under a lock, and appears by an atomic rename. Only the newest few of each kind are kept.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.localcluster.filelock import lock
from tests.localcluster.images import Layer, LayerEntry, write_layer

_LOCK_SECONDS = 600.0
_MAX_LAYERS_PER_KIND = 4

Maker = Callable[[Path], Iterable[LayerEntry]]
"""Yields the entries of a layer, with an empty folder to work in."""


@dataclass(frozen=True, slots=True)
class LayerCache:
    """The folder of the cached layers."""

    root: Path

    def layer(self, kind: str, key: str, make: Maker) -> Layer:
        """Return the layer of this kind and key, after building it if it is missing."""
        tar, about = self.root / f"{kind}-{key}.tar", self.root / f"{kind}-{key}.json"
        with lock(self.root / f".{kind}.lock", timeout=_LOCK_SECONDS):
            if not (tar.exists() and about.exists()):
                self._build_layer(tar, about, make)
            os.utime(tar)
            self._prune(kind)
            layer_info = json.loads(about.read_text())
        return Layer(tar, layer_info["digest"], layer_info["size"])

    def _build_layer(self, tar: Path, about: Path, make: Maker) -> None:
        scratch = Path(tempfile.mkdtemp(prefix=".", dir=self.root))
        try:
            work = scratch / "work"
            work.mkdir()
            layer = write_layer(scratch / "layer.tar", make(work))
            (scratch / "about").write_text(json.dumps({"digest": layer.digest, "size": layer.size}))
            layer.tar.replace(tar)
            (scratch / "about").replace(about)
        finally:
            shutil.rmtree(scratch)

    def _prune(self, kind: str) -> None:
        newest_first = sorted(self.root.glob(f"{kind}-*.tar"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in newest_first[_MAX_LAYERS_PER_KIND:]:
            old.with_suffix(".json").unlink(missing_ok=True)
            old.unlink()


def cache_key(*parts: object) -> str:
    """Return the cache key for the sources of a layer."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def file_digests(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return name and digest of every file, in folders recursively, without byte code."""
    files = sorted(file for path in paths for file in (path.rglob("*") if path.is_dir() else [path]))
    return [
        (str(file), hashlib.sha256(file.read_bytes()).hexdigest())
        for file in files
        if file.is_file() and "__pycache__" not in file.parts
    ]


def file_stats(paths: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return name, size and modification time of each file, for files that are too many or too large to read."""
    return [(str(path), status.st_size, status.st_mtime_ns) for path in sorted(paths) if (status := path.stat())]
