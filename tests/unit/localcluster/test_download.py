"""Releases are accepted only with the published checksum, and an unreachable host costs little time."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.localcluster import download
from tests.localcluster.download import DownloadFailed, fetch_release, find_checksum
from tests.localcluster.ports import LOOPBACK, PortReservation
from tests.localcluster.tools import Release

PROGRAM = b"#!/bin/sh\nexit 0\n"


@pytest.fixture(autouse=True)
def no_unreachable_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_unreachable_hosts", set())


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[str]:
    """Serve files by HTTP on loopback and give the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Discard a progress line."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def release_at(base: str, *, member: str | None = None) -> Release:
    return Release(url=f"{base}/tool-{{os}}-{{arch}}", checksum_url=f"{base}/sums", member=member)


def fetch(release: Release, folder: Path) -> bytes:
    return fetch_release(release, os_name="linux", arch="amd64", folder=folder).read_bytes()


def sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def test_a_release_with_its_published_checksum_is_accepted(tmp_path: Path) -> None:
    with serving({"/tool-linux-amd64": PROGRAM, "/sums": sha256(PROGRAM)}) as base:
        assert fetch(release_at(base), tmp_path) == PROGRAM


def test_a_program_is_extracted_from_its_archive(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo("linux-amd64/tool")
        entry.size = len(PROGRAM)
        tar.addfile(entry, io.BytesIO(PROGRAM))
    archive = packed.getvalue()
    files = {"/tool-linux-amd64": archive, "/sums": sha256(archive) + b"  tool-linux-amd64\n"}

    with serving(files) as base:
        assert fetch(release_at(base, member="{os}-{arch}/tool"), tmp_path) == PROGRAM
        with pytest.raises(DownloadFailed, match="has no linux-amd64/other"):
            fetch(release_at(base, member="{os}-{arch}/other"), tmp_path)


def test_a_release_with_another_checksum_is_refused(tmp_path: Path) -> None:
    with (
        serving({"/tool-linux-amd64": PROGRAM, "/sums": sha256(b"other")}) as base,
        pytest.raises(DownloadFailed, match="its sha256 differs from the published one"),
    ):
        fetch(release_at(base), tmp_path)


def test_a_release_without_a_checksum_is_refused(tmp_path: Path) -> None:
    with (
        serving({"/tool-linux-amd64": PROGRAM}) as base,
        pytest.raises(DownloadFailed, match="404"),
    ):
        fetch(release_at(base), tmp_path)


def test_an_unreachable_origin_is_requested_once(tmp_path: Path) -> None:
    with PortReservation(1) as reservation:
        release = release_at(f"http://{LOOPBACK}:{reservation.ports[0]}")

        with pytest.raises(DownloadFailed, match="refused"):
            fetch(release, tmp_path)
        with pytest.raises(DownloadFailed, match="was unreachable a moment ago"):
            fetch(release, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "{sum}",
        "{sum}\n",
        "{other}  other.tar.gz\n{sum}  wanted.tar.gz\n",
        "{other} *other.tar.gz\n{sum} *wanted.tar.gz\n",
    ],
)
def test_checksum_files_of_all_publishers_are_understood(text: str) -> None:
    wanted, other = "a" * 64, "b" * 64

    assert find_checksum(text.format(sum=wanted, other=other), file_name="wanted.tar.gz") == wanted


@pytest.mark.parametrize("text", ["", "not found", "abc  wanted.tar.gz", "a" * 64 + "  other.tar.gz"])
def test_a_checksum_file_without_the_release_is_refused(text: str) -> None:
    with pytest.raises(DownloadFailed, match=r"no sha256 is published for wanted\.tar\.gz"):
        find_checksum(text, file_name="wanted.tar.gz")
