"""Reads the files of an image from its archive: the tar of an OCI layout, as `docker save` writes it too."""

import json
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_LAYER_MEDIA_TYPES = ("vnd.oci.image.layer", "vnd.docker.image.rootfs.diff")


@dataclass(frozen=True, slots=True)
class ImageFile:
    """One regular file or link of the image. A file of a higher layer replaces that of a lower one."""

    path: str
    """Without the leading slash."""
    mode: int
    link: str
    """The target of a link, or an empty string."""


Visitor = Callable[[ImageFile, IO[bytes] | None], None]
"""Called with each file of each layer, and its content, which is readable during the call only."""


def visit_files(archive: Path, visit: Visitor) -> None:
    """Call ``visit`` for all files, lowest layer first. Links have no content."""
    with tarfile.open(archive) as image:
        for digest in _layer_digests(image):
            blob = image.extractfile(f"blobs/{digest.replace(':', '/')}")
            with tarfile.open(fileobj=blob) as layer:
                for member in layer:
                    if member.isfile() or member.issym() or member.islnk():
                        file = ImageFile(member.name.removeprefix("./"), member.mode, member.linkname)
                        visit(file, layer.extractfile(member) if member.isfile() else None)


def _layer_digests(image: tarfile.TarFile) -> list[str]:
    """Return the layers of the first image in the archive. Docker may add attestations, and an index in the index."""
    manifest = _find_manifest(image, _read_json(image, "index.json"))
    if manifest is None:
        raise ValueError("the archive contains no image")
    return [each["digest"] for each in manifest if any(name in each["mediaType"] for name in _LAYER_MEDIA_TYPES)]


def _find_manifest(image: tarfile.TarFile, document: dict[str, Any]) -> list[dict[str, Any]] | None:
    if "layers" in document:
        layers: list[dict[str, Any]] = document["layers"]
        return layers
    for descriptor in document["manifests"]:
        if "vnd.docker.reference.type" not in descriptor.get("annotations", {}):
            found = _find_manifest(image, _read_json(image, f"blobs/{descriptor['digest'].replace(':', '/')}"))
            if found is not None:
                return found
    return None


def _read_json(image: tarfile.TarFile, name: str) -> dict[str, Any]:
    file = image.extractfile(name)
    assert file is not None
    content: dict[str, Any] = json.load(file)
    return content
