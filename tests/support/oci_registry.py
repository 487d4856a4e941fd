"""An OCI registry on loopback. Charts are pushed to it without the code that pulls them."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
LAYER_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"

PROVENANCE_TYPE = "application/vnd.cncf.helm.chart.provenance.v1.prov"
COSIGN_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"

_SECONDS = 60.0


class LocalRegistry:
    """The registry process. It keeps everything in memory and chooses its port."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self.manifest_digests: dict[tuple[str, str], str] = {}
        self.requests: list[str] = []
        """The requests from its log, such as `GET /v2/hello/tags/list`."""

    @property
    def url(self) -> str:
        return f"oci://localhost:{self._port}"

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [self._program, "-port", "0"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        if not self._listening.wait(_SECONDS):
            self.close()
            raise TimeoutError(f"the registry did not listen within {_SECONDS:g} s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process and wait for its end."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def push(self, name: str, version: str, archive: bytes, *, provenance: bytes | None = None) -> str:
        """Push a chart as `name` (such as `acme/hello`) and return the digest of its archive, `sha256:<hex>`.

        The digest of its manifest is in `manifest_digests` by name and version.
        """
        config = json.dumps({"name": name.rpartition("/")[2], "version": version, "apiVersion": "v2"}).encode()
        described = [
            {"mediaType": kind, "digest": self._upload(name, blob), "size": len(blob)}
            for kind, blob in ((CONFIG_TYPE, config), (LAYER_TYPE, archive), (PROVENANCE_TYPE, provenance))
            if blob is not None
        ]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": described[0], "layers": described[1:]}
        content = json.dumps(manifest).encode()
        self._send("PUT", f"/v2/{name}/manifests/{version.replace('+', '_')}", content, kind=MANIFEST_TYPE)
        self.manifest_digests[name, version] = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return str(described[1]["digest"])

    def push_signatures(self, name: str, manifest_digest: str, signed: Iterable[tuple[bytes, str]]) -> None:
        """Push pairs of payload and signature, as `cosign sign` does for the image with that digest."""
        config = b"{}"
        layers = [
            {
                "mediaType": COSIGN_TYPE,
                "digest": self._upload(name, payload),
                "size": len(payload),
                "annotations": {"dev.cosignproject.cosign/signature": signature},
            }
            for payload, signature in signed
        ]
        described = {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": self._upload(name, config),
            "size": len(config),
        }
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": described, "layers": layers}
        tag = manifest_digest.replace(":", "-") + ".sig"
        self._send("PUT", f"/v2/{name}/manifests/{tag}", json.dumps(manifest).encode(), kind=MANIFEST_TYPE)

    def _upload(self, name: str, blob: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
        self._send("POST", f"/v2/{name}/blobs/uploads/?digest={digest}", blob, kind="application/octet-stream")
        return digest

    def _send(self, method: str, path: str, body: bytes, *, kind: str) -> None:
        connection = http.client.HTTPConnection("localhost", self._port, timeout=_SECONDS)
        try:
            connection.request(method, path, body=body, headers={"Content-Type": kind})
            status = connection.getresponse().status
        finally:
            connection.close()
        if status not in (200, 201):
            raise OSError(f"the registry answered {status} to {method} {path}")

    def _read_log(self) -> None:
        if self._process.stderr is None:
            return
        with self._process.stderr as log:
            for line in log:
                if match := re.search(r"serving on port (\d+)", line):
                    self._port = int(match.group(1))
                    self._listening.set()
                elif match := re.search(r"(GET|HEAD) (/v2/\S*)", line):
                    self.requests.append(match.group())
