"""Builds container images without Docker, as the tar of an OCI layout.

Follows the OCI image specification 1.1 (image-layout.md, manifest.md, config.md). The same input gives the same bytes.
"""

import hashlib
import io
import json
import os
import platform
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

USER = 65532
"""The usual uid of an unprivileged user."""
_MEDIA_TYPE_PREFIX = "application/vnd.oci.image"
_EXECUTABLE = 0o755
_READABLE = 0o644


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """One file or symbolic link of a layer. Its parent folders are added automatically."""

    path: str
    """Absolute, in the image."""
    source: Path | bytes = b""
    """The file with the content, or the content."""
    link: str | None = None
    """The target of a symbolic link, which has no content."""
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer as an uncompressed tar on disk."""

    tar: Path
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig:
    """How a container of an image starts."""

    entrypoint: Sequence[str]
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    working_directory: str = "/"
    ports: Sequence[int] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    user: int = USER


def write_image(
    target: Path,
    *,
    name: str,
    files: Mapping[str, Path],
    entrypoint: Sequence[str],
    environment: Mapping[str, str] | None = None,
    user: int = USER,
) -> None:
    """Write an image of static programs, called ``name`` (with a tag), to the tar file ``target``.

    ``files`` maps absolute paths in the image to files, which become readable and executable by all. The image also
    has /etc/passwd, /etc/group and a writable /tmp.
    """
    start = ContainerConfig(entrypoint=entrypoint, environment={"PATH": "/", **(environment or {})}, user=user)
    programs = [LayerEntry(path, source, executable=True) for path, source in files.items()]
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        layer = write_layer(Path(folder) / "layer.tar", [*passwd_entries(user), *programs])
        write_archive(target, name=name, layers=[layer], start=start)


def passwd_entries(user: int = USER) -> list[LayerEntry]:
    """Return /etc/passwd and /etc/group with root and the user."""
    return [
        LayerEntry("/etc/passwd", f"root:x:0:0:root:/:\nuser:x:{user}:{user}:user:/tmp:\n".encode()),
        LayerEntry("/etc/group", f"root:x:0:\nuser:x:{user}:\n".encode()),
    ]


def folder_entries(folder: Path, *, at: str) -> Iterator[LayerEntry]:
    """Yield the files of ``folder`` as entries below ``at``. Links are followed and must lead to a file."""
    for path in folder.rglob("*"):
        if path.is_file():
            executable = os.access(path, os.X_OK)
            yield LayerEntry(f"{at}/{path.relative_to(folder).as_posix()}", path.resolve(), executable=executable)


def write_layer(target: Path, entries: Iterable[LayerEntry]) -> Layer:
    """Write entries, and a writable /tmp, as a layer without anything of the machine or the time."""
    wanted = {entry.path.lstrip("/"): entry for entry in entries}
    folders = {str(parent) for path in wanted for parent in PurePosixPath(path).parents if str(parent) != "."}
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        for folder in sorted(folders | {"tmp"}):
            item = tarfile.TarInfo(folder)
            item.type, item.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else _EXECUTABLE
            tar.addfile(item)
        for path, entry in sorted(wanted.items()):
            _add(tar, path, entry)
    with target.open("rb") as file:
        return Layer(target, f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}", target.stat().st_size)


def write_archive(target: Path, *, name: str, layers: Sequence[Layer], start: ContainerConfig) -> None:
    """Write an image of layers, lowest first, called ``name`` (with a tag), to the tar file ``target``."""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    config = _json(_config(layers, start, arch=arch))
    descriptors = [_descriptor(f"{_MEDIA_TYPE_PREFIX}.layer.v1.tar", layer.digest, layer.size) for layer in layers]
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA_TYPE_PREFIX}.manifest.v1+json",
            "config": _blob_descriptor(f"{_MEDIA_TYPE_PREFIX}.config.v1+json", config),
            "layers": descriptors,
        }
    )
    index = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA_TYPE_PREFIX}.index.v1+json",
        "manifests": [
            {
                **_blob_descriptor(f"{_MEDIA_TYPE_PREFIX}.manifest.v1+json", manifest),
                "platform": {"architecture": arch, "os": "linux"},
                "annotations": {
                    "io.containerd.image.name": name,
                    "org.opencontainers.image.ref.name": name.rpartition(":")[2],
                },
            }
        ],
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    blobs: dict[str, Path | bytes] = {layer.digest: layer.tar for layer in layers}
    blobs |= {_digest(blob): blob for blob in (config, manifest)}
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, "oci-layout", LayerEntry("", _json({"imageLayoutVersion": "1.0.0"})))
        _add(tar, "index.json", LayerEntry("", _json(index)))
        for digest, source in blobs.items():
            _add(tar, f"blobs/{digest.replace(':', '/')}", LayerEntry("", source))


def _config(layers: Sequence[Layer], start: ContainerConfig, *, arch: str) -> dict[str, object]:
    settings: dict[str, object] = {
        "User": f"{start.user}:{start.user}",
        "Entrypoint": list(start.entrypoint),
        "Env": [f"{key}={value}" for key, value in start.environment.items()],
        "WorkingDir": start.working_directory,
    }
    if start.command:
        settings["Cmd"] = list(start.command)
    if start.labels:
        settings["Labels"] = dict(start.labels)
    if start.ports:
        settings["ExposedPorts"] = {f"{port}/tcp": {} for port in start.ports}
    return {
        "architecture": arch,
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
        "history": [{"created_by": "tests.localcluster.images"} for _ in layers],
    }


def _add(tar: tarfile.TarFile, name: str, entry: LayerEntry) -> None:
    item = tarfile.TarInfo(name)
    item.mode = _EXECUTABLE if entry.executable else _READABLE
    if entry.link is not None:
        item.type, item.linkname = tarfile.SYMTYPE, entry.link
        tar.addfile(item)
    elif isinstance(entry.source, bytes):
        item.size = len(entry.source)
        tar.addfile(item, io.BytesIO(entry.source))
    else:
        with entry.source.open("rb") as file:
            item.size = os.fstat(file.fileno()).st_size
            tar.addfile(item, file)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _blob_descriptor(media_type: str, blob: bytes) -> dict[str, object]:
    return _descriptor(media_type, _digest(blob), len(blob))


def _descriptor(media_type: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": media_type, "digest": digest, "size": size}
