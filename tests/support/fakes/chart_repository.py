"""A chart repository in memory: what the operator downloads in a history, in the time of that history."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, Any

import yaml
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from xapp_operator.charts.downloader import BodyTooLarge, DownloadResponse
from xapp_operator.errors import SourceUnavailable

REPOSITORY_URL = "https://charts.example.com"
REMOTE_SPEC: dict[str, Any] = {
    "method": "Remote Chart Repository",
    "url": REPOSITORY_URL,
    "repoName": "acme",
    "chartName": "hello",
    "archive": None,
}
"""The fields of an XApp whose chart, hello, comes from the repository."""
INDEX = "/index.yaml"


class FakeChartRepository:
    """Serves versions of the chart hello in place of `Downloader.get`."""

    def __init__(self) -> None:
        self.charts: dict[str, bytes] = {}
        """The archives by their versions."""
        self.down = False
        self.statuses: dict[str, HTTPStatus] = {}
        """Other statuses than 200, by path."""
        self.requests: list[str] = []

    async def get(
        self,
        url: URL,
        *,
        access: object,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        output: IO[bytes] | None = None,
    ) -> DownloadResponse:
        """Return what the repository serves at `url`."""
        self.requests.append(url.path)
        if self.down:
            raise SourceUnavailable(f"{url} is not available: no connection. This may be temporary.")
        body = self._find(url.path)
        status = self.statuses.get(url.path, HTTPStatus.NOT_FOUND if body is None else HTTPStatus.OK)
        tag = hashlib.sha256(body or b"").hexdigest()
        if status is HTTPStatus.OK and (headers or {}).get("If-None-Match") == tag:
            status = HTTPStatus.NOT_MODIFIED
        sent = body if status is HTTPStatus.OK and body is not None else b""
        if len(sent) > max_bytes:
            raise BodyTooLarge
        if output is not None:
            output.write(sent)
        response_headers = CIMultiDictProxy(CIMultiDict({"ETag": tag} if status is HTTPStatus.OK else {}))
        return DownloadResponse(status, url, response_headers, sent if output is None else b"")

    def _find(self, path: str) -> bytes | None:
        if path == INDEX:
            return self._index()
        return next((data for version, data in self.charts.items() if path == f"/hello-{version}.tgz"), None)

    def _index(self) -> bytes:
        entries = [
            {
                "apiVersion": "v2",
                "name": "hello",
                "version": version,
                "urls": [f"hello-{version}.tgz"],
                "digest": hashlib.sha256(data).hexdigest(),
            }
            for version, data in self.charts.items()
        ]
        return yaml.safe_dump({"apiVersion": "v1", "entries": {"hello": entries}}).encode()
