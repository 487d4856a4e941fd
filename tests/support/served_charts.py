"""What a chart repository serves, whether over HTTP (`ChartServer`) or in memory (`FakeChartRepository`)."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import yaml

INDEX = "/index.yaml"
RETRY_AFTER = "60"
"""Seconds; it comes with every response that has no chart and no index."""


@dataclass(frozen=True)
class Reply:
    """A response; of a `truncated` one half is sent, and of a `dropped` one nothing."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    truncated: bool = False
    dropped: bool = False


class ServedCharts(ABC):
    """Charts by (name, version), served with an index; all of it can be changed at any time.

    `requests` counts GETs by path, and `authorizations` has each Authorization header that came. `files` are further
    files by path, such as `/hello-0.1.0.tgz.prov`, and `statuses` other statuses than 200, by path.
    """

    def __init__(self, *, username: str | None = None, password: str | None = None) -> None:
        self.charts: dict[tuple[str, str], bytes] = {}
        self.requests: Counter[str] = Counter()
        self.authorizations: list[str] = []
        self.files: dict[str, bytes] = {}
        self.statuses: dict[str, HTTPStatus] = {}
        self.held: dict[str, threading.Event] = {}
        """What requests for a path wait for, by path."""
        self.slow: dict[str, float] = {}
        """The bytes per second of some answers, by path."""
        self._dropped: set[str] = set()
        self._truncated: set[str] = set()
        self._redirects: dict[str, str] = {}
        self._lock = threading.Lock()
        self._expected = None
        if username is not None:
            self._expected = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of the repository."""

    @abstractmethod
    def close(self) -> None:
        """Answer no request any more. A second call does nothing."""

    def add(self, name: str, version: str, archive: bytes) -> None:
        with self._lock:
            self.charts[name, version] = archive

    @contextlib.contextmanager
    def holding(self, path: str) -> Iterator[None]:
        """Answer requests for a path, such as `/hello-0.1.0.tgz`, only at the end of the block."""
        held = self.held[path] = threading.Event()
        try:
            yield
        finally:
            del self.held[path]
            held.set()

    @contextlib.contextmanager
    def failing(self, status: HTTPStatus, *paths: str) -> Iterator[None]:
        """Answer requests for some paths with an error until the end of the block."""
        self.statuses.update(dict.fromkeys(paths, status))
        try:
            yield
        finally:
            for path in paths:
                del self.statuses[path]

    @contextlib.contextmanager
    def truncating(self, *paths: str) -> Iterator[None]:
        """Send half of the answer for some paths, and close the connection, until the end of the block."""
        self._truncated.update(paths)
        try:
            yield
        finally:
            self._truncated.difference_update(paths)

    @contextlib.contextmanager
    def dropping(self, *paths: str) -> Iterator[None]:
        """Close the connection of requests for some paths without an answer until the end of the block."""
        self._dropped.update(paths)
        try:
            yield
        finally:
            self._dropped.difference_update(paths)

    @contextlib.contextmanager
    def trickling(self, *paths: str, bytes_per_second: float = 1.0) -> Iterator[None]:
        """Send the answers for some paths slowly until the end of the block, and then the rest at once."""
        self.slow.update(dict.fromkeys(paths, bytes_per_second))
        try:
            yield
        finally:
            for path in paths:
                del self.slow[path]

    @contextlib.contextmanager
    def redirecting(self, path: str, target: str) -> Iterator[None]:
        """Redirect requests for a path to another URL until the end of the block."""
        self._redirects[path] = target
        try:
            yield
        finally:
            del self._redirects[path]

    @contextlib.contextmanager
    def replacing(self, path: str, body: bytes) -> Iterator[None]:
        """Serve other bytes than the index says at a path until the end of the block."""
        self.files[path] = body
        try:
            yield
        finally:
            del self.files[path]

    def find_reply(self, path: str, headers: Mapping[str, str]) -> Reply:
        """Take note of a GET for a path, and return the response to it; the names of `headers` are in any case."""
        authorization = headers.get("Authorization")
        with self._lock:
            self.requests[path] += 1
            self.authorizations += [] if authorization is None else [authorization]
            files = {f"/{name}-{version}.tgz": data for (name, version), data in self.charts.items()} | self.files
            body = self._index() if path == INDEX else files.get(path)
        if path in self._dropped:
            return Reply(HTTPStatus.OK, dropped=True)
        if path in self._redirects:
            return Reply(HTTPStatus.FOUND, {"Location": self._redirects[path]})
        if self._expected is not None and authorization != self._expected:
            return Reply(HTTPStatus.UNAUTHORIZED)
        status = self.statuses.get(path, HTTPStatus.NOT_FOUND if body is None else HTTPStatus.OK)
        if status is not HTTPStatus.OK or body is None:
            return Reply(status, {"Retry-After": RETRY_AFTER}, b"not this")
        tag = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
        if headers.get("If-None-Match") == tag["ETag"]:
            return Reply(HTTPStatus.NOT_MODIFIED, tag)
        return Reply(HTTPStatus.OK, tag, body, truncated=path in self._truncated)

    def _index(self) -> bytes:
        entries: dict[str, list[dict[str, object]]] = {}
        for (name, version), data in self.charts.items():
            entries.setdefault(name, []).append(
                {
                    "apiVersion": "v2",
                    "name": name,
                    "version": version,
                    "urls": [f"{name}-{version}.tgz"],
                    "digest": hashlib.sha256(data).hexdigest(),
                }
            )
        return yaml.safe_dump({"apiVersion": "v1", "entries": entries}).encode()
