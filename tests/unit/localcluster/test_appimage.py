"""The layers of the image are built once, reproducibly, and need nothing of the machine."""

import base64
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.localcluster.appimage.archive import visit_files
from tests.localcluster.appimage.errors import ImageFailed
from tests.localcluster.appimage.interpreter import HOME, Interpreter
from tests.localcluster.appimage.layer_cache import LayerCache, cache_key, file_digests
from tests.localcluster.appimage.libraries import find_shared_libraries
from tests.localcluster.appimage.packages import copy_locked_packages
from tests.localcluster.images import LayerEntry, folder_entries, write_layer

MAX_LAYERS_PER_KIND = 4


def test_a_layer_has_no_time_and_no_owner_of_the_machine(tmp_path: Path) -> None:
    layers = []
    for name, time in (("one", 1_000_000_000), ("other", 1_700_000_000)):
        folder = tmp_path / name
        (folder / "bin").mkdir(parents=True)
        for file in ("bin/tool", "text"):
            (folder / file).write_text("content")
            os.utime(folder / file, (time, time))
        (folder / "bin/tool").chmod(0o700)
        entries = [*folder_entries(folder, at="/opt"), LayerEntry("/usr/bin/tool", link="/opt/bin/tool")]
        layers.append(write_layer(tmp_path / f"{name}.tar", entries))

    assert layers[0].digest == layers[1].digest
    with tarfile.open(layers[0].tar) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert {name for name, member in members.items() if member.isdir()} == {"opt", "opt/bin", "tmp", "usr", "usr/bin"}
    assert (members["opt/bin/tool"].mode, members["opt/text"].mode) == (0o755, 0o644)
    assert members["usr/bin/tool"].linkname == "/opt/bin/tool"
    assert {(member.mtime, member.uid, member.gid) for member in members.values()} == {(0, 0, 0)}


def test_a_layer_is_built_once_by_concurrent_callers(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(scratch: Path) -> Iterator[LayerEntry]:
        made.append(scratch)
        yield LayerEntry("/file", b"content")

    with ThreadPoolExecutor(4) as threads:
        layers = list(threads.map(lambda _: LayerCache(tmp_path).layer("kind", "key", make), range(8)))

    assert len(made) == 1
    assert len(set(layers)) == 1
    assert not made[0].exists()


def test_a_failed_layer_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(_: Path) -> Iterator[LayerEntry]:
        yield LayerEntry("/file", b"content")
        raise ImageFailed("no wheel")

    with pytest.raises(ImageFailed):
        LayerCache(tmp_path).layer("kind", "key", fail)

    assert [path.name for path in tmp_path.iterdir()] == [".kind.lock"]


def test_old_layers_of_a_kind_are_removed(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    cache.layer("other", "0", lambda _: [])
    for number in range(MAX_LAYERS_PER_KIND + 2):
        made = cache.layer("kind", str(number), lambda _: [])
        os.utime(made.tar, (number, number))

    cache.layer("kind", "1", lambda _: [])

    left = sorted(path.name for path in tmp_path.glob("*.tar"))
    assert left == ["kind-1.tar", "kind-3.tar", "kind-4.tar", "kind-5.tar", "other-0.tar"]
    assert len(list(tmp_path.glob("*.json"))) == len(left)


def test_a_changed_source_changes_the_content_and_byte_code_does_not(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("a = 1")
    before = cache_key(file_digests([tmp_path]))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "module.pyc").write_bytes(b"code")
    assert cache_key(file_digests([tmp_path])) == before
    (tmp_path / "module.py").write_text("a = 2")
    assert cache_key(file_digests([tmp_path])) != before


def test_the_interpreter_needs_libc_and_a_loader_in_standard_folders() -> None:
    found = find_shared_libraries([Interpreter.current().program])
    entries = {entry.path for entry in found.entries()}
    assert found.loader is not None
    assert {str(found.libraries["libc.so.6"]), str(found.loader)} <= entries
    assert len({str(Path(path).parent) for path in entries - {str(found.loader)}}) == 1


def test_an_interpreter_that_is_no_elf_program_needs_another_python(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    with pytest.raises(ImageFailed, match="make PYTHON="):
        find_shared_libraries([tmp_path / "script"])


def test_the_interpreter_includes_its_library_but_no_installed_packages() -> None:
    python = Interpreter.current()
    files = [path.relative_to(python.library).as_posix() for path in python.files()]
    assert python.image_path == f"{HOME}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    assert {"os.py", "asyncio/__init__.py", "encodings/utf_8.py"} <= set(files)
    assert [name for name in files if "-packages/" in name or "/test/" in name or name.startswith("test/")] == []


def test_packages_of_the_lock_are_copied_as_in_their_wheels(tmp_path: Path) -> None:
    version = distribution("kopf").version
    (tmp_path / "requirements.lock").write_text(
        f"kopf=={version} \\\n    --hash=sha256:00\n    # via\nkeepers==1.0 ; sys_platform == 'win32'\n"
    )

    copy_locked_packages(tmp_path, tmp_path / "site")

    copied = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*")}
    assert {"kopf/__init__.py", f"kopf-{version}.dist-info/METADATA"} <= copied
    assert [name for name in copied if "__pycache__" in name or name.endswith(("RECORD", ".pth"))] == []


@pytest.mark.parametrize(("line", "message"), [("kopf==0.1", "not kopf==0.1"), ("keepers==1.0", "is not installed")])
def test_a_package_not_installed_as_locked_is_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "requirements.lock").write_text(f"{line} \\\n    --hash=sha256:00\n")
    with pytest.raises(ImageFailed, match=f"{message}.*make venv"):
        copy_locked_packages(tmp_path, tmp_path / "site")


def test_authorities_that_the_machine_added_to_certifi_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, own = b"-- of Mozilla --\n", b"-- of the machine --\n"
    site = tmp_path / "site"
    (site / "certifi-1.0.dist-info").mkdir(parents=True)
    (site / "certifi-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: certifi\nVersion: 1.0\n")
    (site / "certifi-1.0.dist-info" / "RECORD").write_text(f"certifi/cacert.pem,{sha256(original)},{len(original)}\n")
    (site / "certifi").mkdir()
    bundle = site / "certifi" / "cacert.pem"
    bundle.write_bytes(original + own)
    (tmp_path / "requirements.lock").write_text("certifi==1.0 --hash=sha256:00\n")
    monkeypatch.syspath_prepend(str(site))

    copy_locked_packages(tmp_path, tmp_path / "copied")
    assert (tmp_path / "copied" / "certifi" / "cacert.pem").read_bytes() == original

    bundle.write_bytes(own + original)
    with pytest.raises(ImageFailed, match="not as its wheel had it"):
        copy_locked_packages(tmp_path, tmp_path / "copied")


def test_an_archive_of_docker_with_an_index_and_attestations_is_read(tmp_path: Path) -> None:
    layer = gzip.compress(write_layer(tmp_path / "layer", [LayerEntry("/file", b"content")]).tar.read_bytes())
    blobs = {digest_of(layer): layer}

    def add(document: object) -> str:
        blob = json.dumps(document).encode()
        blobs[digest_of(blob)] = blob
        return digest_of(blob)

    layer_type = "application/vnd.oci.image.layer.v1.tar+gzip"
    manifest = add({"layers": [{"mediaType": layer_type, "digest": digest_of(layer)}]})
    statement = add({"layers": [{"mediaType": "application/vnd.in-toto+json", "digest": digest_of(b"x")}]})
    attestation = {"digest": statement, "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    index = add({"manifests": [attestation, {"digest": manifest}]})
    files = {f"blobs/{name.replace(':', '/')}": blob for name, blob in blobs.items()}
    files["index.json"] = json.dumps({"manifests": [{"digest": index}]}).encode()
    with tarfile.open(tmp_path / "saved.tar", "w") as tar:
        for name, blob in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(blob)
            tar.addfile(item, io.BytesIO(blob))

    found: dict[str, bytes] = {}
    visit_files(
        tmp_path / "saved.tar", lambda file, content: found.update({file.path: content.read() if content else b""})
    )
    assert found == {"file": b"content"}


def digest_of(blob: bytes) -> str:
    """Return the digest of a blob."""
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def sha256(content: bytes) -> str:
    """Return a hash as a RECORD file has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
