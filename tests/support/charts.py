"""Builds chart archives from strings, so that a test shows the whole chart.

It does not use the package, so that the code that reads archives is tested with archives made by other code.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import struct
import tarfile
import zlib
from collections.abc import Mapping
from typing import Any

import yaml

TAR_BLOCK = 512
TAR_END = 2 * TAR_BLOCK

CONFIGMAP_TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  greeting: {{ .Values.greeting | quote }}
"""


def tar_gz(entries: Mapping[str, str | bytes]) -> bytes:
    """Return a gzipped tar of regular files, path → content, the same bytes for the same entries."""
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in entries.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(path)
            member.size = len(data)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(tarred.getvalue(), mtime=0)


def chart_archive(
    files: Mapping[str, str | bytes] | None = None,
    *,
    name: str = "hello",
    version: str = "0.1.0",
    app_version: str = "1.0",
) -> bytes:
    """Return a packed chart (.tgz) with the given files; paths are relative to the chart's folder.

    Adds a Chart.yaml unless `files` has one. Without `files`, the chart has one ConfigMap, named after the release,
    with the value `greeting`.
    """
    if files is None:
        files = {"values.yaml": "greeting: hello\n", "templates/configmap.yaml": CONFIGMAP_TEMPLATE}
    chart_yaml = f"apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: {app_version!r}\ntype: application\n"
    chart_files: dict[str, str | bytes] = {"Chart.yaml": chart_yaml, **files}
    return tar_gz({f"{name}/{path}": content for path, content in chart_files.items()})


def chart_archive_of_size(size: int) -> bytes:
    """Return a packed chart of exactly `size` bytes, whose files compress well, so that Helm can store its release."""
    empty = len(_stored_gzip(chart_archive_tar(padding=0), comment=b""))
    padding = (size - empty) // TAR_BLOCK * TAR_BLOCK
    while (missing := size - len(_stored_gzip(chart_archive_tar(padding=padding), comment=b""))) < 2:
        padding -= TAR_BLOCK
    return _stored_gzip(chart_archive_tar(padding=padding), comment=b"x" * (missing - 1))


def chart_archive_tar(*, padding: int) -> bytes:
    """Return the chart of `chart_archive` with a file of `padding` equal bytes, as a tar without a padded end."""
    files: dict[str, str | bytes] = {
        "values.yaml": "greeting: hello\n",
        "templates/configmap.yaml": CONFIGMAP_TEMPLATE,
        "pad": b"x" * padding,
    }
    return gzip.decompress(chart_archive(files)).rstrip(b"\0") + bytes(TAR_END)


def _stored_gzip(data: bytes, *, comment: bytes) -> bytes:
    """Return a gzip file (RFC 1952) that is not compressed; its comment makes it longer by that and a zero byte."""
    flags, ending = (b"\x10", comment + b"\0") if comment else (b"\0", b"")
    deflate = zlib.compressobj(0, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    return b"\x1f\x8b\x08" + flags + bytes(6) + ending + body + struct.pack("<II", zlib.crc32(data), len(data))


def archive_name(archive: bytes) -> str:
    """Return the name of the ChartArchive that the gateway makes of a packed chart with an ordinary name."""
    chart = _chart_yaml(archive)
    return f"{chart['name']}-{chart['version']}-{hashlib.sha256(archive).hexdigest()[:12]}"


def chart_archive_manifest(archive: bytes, *, namespace: str, keep: bool = False) -> dict[str, Any]:
    """Return the ChartArchive of a packed chart as the gateway writes it, without appVersion and description."""
    chart, digest = _chart_yaml(archive), f"sha256:{hashlib.sha256(archive).hexdigest()}"
    name, version = chart["name"], chart["version"]
    texts = {"xapp-operator.io/chart": name, "xapp-operator.io/chart-version": version}
    annotations = {**texts, "xapp-operator.io/chart-digest": digest, "xapp-operator.io/chart-size": str(len(archive))}
    if keep:
        annotations["xapp-operator.io/keep"] = "true"
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartArchive",
        "metadata": {
            "name": archive_name(archive),
            "namespace": namespace,
            "labels": texts,
            "annotations": annotations,
        },
        "spec": {
            "archive": base64.b64encode(archive).decode(),
            "digest": digest,
            "chart": {"name": name, "version": version},
        },
    }


def _chart_yaml(archive: bytes) -> dict[str, Any]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        member = next(each for each in opened if each.name.count("/") == 1 and each.name.endswith("/Chart.yaml"))
        found = opened.extractfile(member)
        assert found is not None
        chart: dict[str, Any] = yaml.safe_load(found)
    return chart
