"""Container images without Docker: one static program in one layer, as the tar of an OCI layout.

Follows the OCI image specification 1.1 (image-layout.md, manifest.md, config.md). The same input gives the same bytes.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_USER = 65532
"""The customary number of a user without rights."""
_IMAGE = "application/vnd.oci.image"


def write_image(
    target: Path,
    *,
    name: str,
    files: Mapping[str, Path],
    entrypoint: Sequence[str],
    environment: Mapping[str, str] | None = None,
    user: int = _USER,
) -> None:
    """Write an image called ``name`` (with a tag) to the tar file ``target``.

    ``files`` maps absolute paths in the image to files, which become executable and readable by all. The image has
    /etc/passwd, /etc/group and a writable /tmp besides.
    """
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    layer = _layer(files, user=user)
    config = {
        "architecture": arch,
        "os": "linux",
        "config": {
            "User": f"{user}:{user}",
            "Entrypoint": list(entrypoint),
            "Env": ["PATH=/", *(f"{key}={value}" for key, value in (environment or {}).items())],
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        "history": [{"created_by": "tests.localcluster.images"}],
    }
    blobs = [layer, _json(config)]
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_IMAGE}.manifest.v1+json",
        "config": _descriptor(blobs[1], f"{_IMAGE}.config.v1+json"),
        "layers": [_descriptor(layer, f"{_IMAGE}.layer.v1.tar")],
    }
    blobs.append(_json(manifest))
    index = {
        "schemaVersion": 2,
        "mediaType": f"{_IMAGE}.index.v1+json",
        "manifests": [
            {
                **_descriptor(blobs[2], f"{_IMAGE}.manifest.v1+json"),
                "platform": {"architecture": arch, "os": "linux"},
                "annotations": {
                    "io.containerd.image.name": name,
                    "org.opencontainers.image.ref.name": name.rpartition(":")[2],
                },
            }
        ],
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(tar, "index.json", _json(index))
        for blob in blobs:
            _add(tar, f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}", blob)


def _layer(files: Mapping[str, Path], *, user: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        folders = {"etc", "tmp"} | {
            str(parent) for path in files for parent in Path(path.lstrip("/")).parents if str(parent) != "."
        }
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        _add(tar, "etc/passwd", f"root:x:0:0:root:/:\nuser:x:{user}:{user}:user:/tmp:\n".encode())
        _add(tar, "etc/group", f"root:x:0:\nuser:x:{user}:\n".encode())
        for path, source in sorted(files.items()):
            _add(tar, path.lstrip("/"), source.read_bytes(), mode=0o755)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes, *, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _descriptor(blob: bytes, media_type: str) -> dict[str, object]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}
