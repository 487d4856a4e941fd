"""A chart repository in memory: what the operator downloads in a history, in the time of that history."""

from __future__ import annotations

import asyncio
import errno
import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from tests.support.eventually import eventually
from tests.support.served_charts import Reply, ServedCharts
from xapp_operator.charts.downloader import Downloader

REPOSITORY_URL = "https://charts.example.com"
REMOTE_SPEC: dict[str, Any] = {
    "method": "Remote Chart Repository",
    "url": REPOSITORY_URL,
    "repoName": "acme",
    "chartName": "hello",
    "archive": None,
}
"""The fields of an XApp whose chart, hello, comes from the repository."""


class FakeChartRepository(ServedCharts):
    """Serves charts in place of the HTTP session of every `Downloader`.

    It knows no names, no addresses and no TLS, so nobody checks them. All other hosts refuse connections.
    """

    def __init__(self, url: str = REPOSITORY_URL, *, username: str | None = None, password: str | None = None) -> None:
        super().__init__(username=username, password=password)
        self._url = url
        self.down = False
        self.latency = 0.1
        """Seconds until the head of a response arrives."""
        self.refused: Counter[str] = Counter()
        """Requests without a connection, by path."""

    @property
    def url(self) -> str:
        return self._url

    def close(self) -> None:
        self.down = True

    def serve(self, monkeypatch: pytest.MonkeyPatch, *others: FakeChartRepository) -> None:
        """Answer the requests of each Downloader that starts during the test, with other repositories beside it."""
        session = _Session({URL(each.url).origin(): each for each in (self, *others)})

        async def connect(downloader: Downloader) -> Downloader:
            downloader._session = cast("aiohttp.ClientSession", session)
            return downloader

        monkeypatch.setattr(Downloader, "__aenter__", connect)


class _Session:
    """What `Downloader` uses of an `aiohttp.ClientSession`."""

    def __init__(self, repositories: Mapping[URL, FakeChartRepository]) -> None:
        self._repositories = repositories

    async def close(self) -> None:
        """There is no connection to close."""

    @asynccontextmanager
    async def get(
        self, url: URL, *, headers: Mapping[str, str], allow_redirects: bool, ssl: object
    ) -> AsyncIterator[_Response]:
        repository = self._repositories.get(url.origin())
        await asyncio.sleep(0.0 if repository is None else repository.latency)
        if repository is None or repository.down:
            if repository is not None:
                repository.refused[url.raw_path_qs] += 1
            raise _refused_connection(url)
        held = repository.held.get(url.raw_path_qs)
        reply = repository.find_reply(url.raw_path_qs, CIMultiDict(headers))
        if held is not None:
            await eventually(held.is_set, what="the end of the hold")
        if reply.dropped:
            raise aiohttp.ServerDisconnectedError
        yield _Response(reply, url, _Body(repository, url.raw_path_qs, reply))


class _Body:
    """The body of a response while it arrives."""

    def __init__(self, repository: ServedCharts, path: str, reply: Reply) -> None:
        self._repository = repository
        self._path = path
        self._truncated = reply.truncated
        self._left = reply.body[: len(reply.body) // 2] if reply.truncated else reply.body

    async def read(self, most: int) -> bytes:
        """Return the next bytes, none at the end."""
        if not self._left and self._truncated:
            raise aiohttp.ClientPayloadError("not all of the body has arrived")
        if self._left and (rate := self._repository.slow.get(self._path)):
            await asyncio.sleep(1 / rate)
            most = 1
        read, self._left = self._left[:most], self._left[most:]
        return read


class _Response:
    """What `Downloader` uses of an `aiohttp.ClientResponse`."""

    def __init__(self, reply: Reply, url: URL, content: _Body) -> None:
        self.status = reply.status
        self.url = url
        self.headers = CIMultiDictProxy(CIMultiDict(reply.headers))
        self.content_length = len(reply.body)
        self.content = content


def _refused_connection(url: URL) -> aiohttp.ClientConnectorError:
    key = ConnectionKey(url.host or "", url.port, url.scheme == "https", True, None, None, None)
    return aiohttp.ClientConnectorError(key, OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)))
