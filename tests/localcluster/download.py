"""Downloads official releases with short timeouts, checks their sha256, and unpacks them.

A machine without internet access must find out within seconds, so this process does not try an unreachable host twice.
"""

import hashlib
import http.client
import re
import socket
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from threading import Thread

from tests.localcluster.tools import Release

CONNECT_SECONDS = 3.0
"""Limit for the name lookup, for each connection, and for each read."""
DOWNLOAD_SECONDS = 300.0
_CHUNK = 1 << 20

_unreachable_hosts: set[str] = set()


class DownloadFailed(Exception):
    """The release could not be downloaded completely or verified; the message contains the cause."""


def fetch_release(release: Release, *, os_name: str, arch: str, folder: Path) -> Path:
    """Download, verify and unpack a release into ``folder``, and return the path of the program.

    Raises DownloadFailed.
    """
    url = release.url.format(os=os_name, arch=arch)
    checksum_url = release.checksum_url.format(os=os_name, arch=arch)
    origin = urllib.parse.urlsplit(url).hostname or ""
    if origin in _unreachable_hosts:
        raise DownloadFailed(f"{origin} was unreachable a moment ago")
    try:
        _resolve(origin)
        wanted = _published_checksum(checksum_url, file_name=url.rpartition("/")[2])
        archive = folder / "download"
        _fetch(url, archive, sha256=wanted)
    except (OSError, http.client.HTTPException) as error:
        if not isinstance(error, urllib.error.HTTPError):
            _unreachable_hosts.add(origin)
        raise DownloadFailed(f"{origin}: {error}") from error
    if release.member is None:
        return archive
    return _unpack(archive, member=release.member.format(os=os_name, arch=arch), folder=folder)


def _resolve(host: str) -> None:
    """Resolve the name within CONNECT_SECONDS: the resolver has no timeout of its own."""
    found: list[object] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM))
        except OSError as error:
            found.append(error)

    thread = Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if not found:
        raise TimeoutError(f"the name lookup took longer than {CONNECT_SECONDS:g} s")
    if isinstance(found[0], OSError):
        raise found[0]


def _published_checksum(url: str, *, file_name: str) -> str:
    with urllib.request.urlopen(url, timeout=CONNECT_SECONDS) as answer:
        text = str(answer.read(_CHUNK), "utf-8", "replace")
    return find_checksum(text, file_name=file_name)


def find_checksum(text: str, *, file_name: str) -> str:
    """Find the sha256 of ``file_name`` in a checksum file: ``<hex>`` alone or lines of ``<hex>  <name>``.

    Raises DownloadFailed when there is none.
    """
    for line in text.splitlines():
        words = line.split()
        named = len(words) == 1 or (len(words) == 2 and words[1].lstrip("*") == file_name)
        if named and re.fullmatch(r"[0-9a-f]{64}", words[0]):
            return words[0]
    raise DownloadFailed(f"no sha256 is published for {file_name}")


def _fetch(url: str, target: Path, *, sha256: str) -> None:
    deadline = time.monotonic() + DOWNLOAD_SECONDS
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=CONNECT_SECONDS) as answer, target.open("wb") as file:
        while chunk := answer.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
            if time.monotonic() > deadline:
                raise TimeoutError(f"not complete within {DOWNLOAD_SECONDS:g} s")
    if digest.hexdigest() != sha256:
        raise DownloadFailed(f"{url.rpartition('/')[2]}: its sha256 differs from the published one")


def _unpack(archive: Path, *, member: str, folder: Path) -> Path:
    program = folder / "program"
    try:
        with tarfile.open(archive) as tar:
            source = tar.extractfile(member)
            if source is None:
                raise DownloadFailed(f"{member} is not a file of the release")
            with source, program.open("wb") as target:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)
    except (tarfile.TarError, KeyError) as error:
        raise DownloadFailed(f"the release has no {member}") from error
    archive.unlink()
    return program
