"""What the operator relies on in a chart repository, seen through the operator's own downloads.

The answers of a repository are the same in memory and over HTTP (`ServedCharts`). These tests are about their way: what
arrives of them, what it does to others who wait, and what becomes of a repository that fails.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest
from yarl import URL

from tests.support.charts import chart_archive
from tests.support.eventually import eventually
from tests.support.served_charts import INDEX, ServedCharts
from xapp_operator.charts.chart_request import BasicCredentials, ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.downloader import BodyTooLarge, Downloader, DownloadResponse, OriginAccess
from xapp_operator.config.settings import Settings
from xapp_operator.domain.address_rule import AddressRule
from xapp_operator.errors import (
    ChartInvalid,
    ChartNotFound,
    ChartSourceError,
    DigestMismatch,
    SourceAccessDenied,
    SourceTimeout,
    SourceUnavailable,
    VersionNotFound,
)

ARCHIVE: Final = "/hello-0.1.0.tgz"
MAX_BYTES: Final = 1024 * 1024
SHORT_SECONDS: Final = 0.3
OUTCOMES: Final = [
    (HTTPStatus.BAD_REQUEST, (ChartSourceError, True)),
    (HTTPStatus.UNAUTHORIZED, (SourceAccessDenied, True)),
    (HTTPStatus.FORBIDDEN, (SourceAccessDenied, True)),
    (HTTPStatus.NOT_FOUND, (ChartNotFound, True)),
    (HTTPStatus.GONE, (ChartNotFound, True)),
    (HTTPStatus.REQUEST_TIMEOUT, (SourceUnavailable, False)),
    (HTTPStatus.TOO_MANY_REQUESTS, (SourceUnavailable, False)),
    (HTTPStatus.INTERNAL_SERVER_ERROR, (SourceUnavailable, False)),
    (HTTPStatus.SERVICE_UNAVAILABLE, (SourceUnavailable, False)),
]
"""What a status other than 200 becomes: the error, and whether it is permanent."""


def archive(version: str = "0.1.0") -> bytes:
    return chart_archive({"values.yaml": "tag: one\n"}, version=version)


@pytest.fixture
async def sources(served: ServedCharts, tmp_path: Path) -> AsyncIterator[ChartSources]:
    """The chart sources of an operator."""
    settings = Settings(cache_dir=tmp_path / "cache", allow_loopback_repositories=True)
    async with ChartSources(settings) as sources:
        yield sources


@pytest.fixture
async def downloader(served: ServedCharts) -> AsyncIterator[Downloader]:
    """A downloader that is patient."""
    async with Downloader(timeout_seconds=60.0, address_rule=lambda: AddressRule(allow_loopback=True)) as downloader:
        yield downloader


async def get(downloader: Downloader, served: ServedCharts, path: str = INDEX, **options: Any) -> DownloadResponse:
    url = URL(served.url)
    options = {"access": OriginAccess(origin_url=url), "max_bytes": MAX_BYTES, **options}
    return await downloader.get(url / path.removeprefix("/"), **options)


class ChartRepositoryContract:
    """`served` is the subject, which serves version 0.1.0 of the chart hello."""

    @pytest.fixture(autouse=True)
    def chart(self, served: ServedCharts) -> None:
        served.add("hello", "0.1.0", archive())

    @pytest.fixture
    def repository(self, served: ServedCharts) -> Repository:
        return Repository(url=served.url)

    @pytest.fixture
    def wanted(self, repository: Repository) -> ChartRequest:
        return ChartRequest(repository=repository, chart="hello", version="0.x")

    # Charts

    async def test_the_index_lists_what_is_served(
        self, served: ServedCharts, sources: ChartSources, repository: Repository
    ) -> None:
        served.add("hello", "0.2.0", archive("0.2.0"))
        served.add("other", "1.0.0", chart_archive(name="other", version="1.0.0"))
        index = await sources.list_charts(repository)
        assert index is not None
        assert {name: [each.version for each in index.versions(name)] for name in index.names} == {
            "hello": ["0.2.0", "0.1.0"],
            "other": ["1.0.0"],
        }
        assert served.requests == {INDEX: 1}

    async def test_an_archive_arrives_as_it_is_and_once(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest
    ) -> None:
        for _ in range(2):
            chart = await sources.resolve(wanted)
            file = await sources.fetch(chart)
            assert await asyncio.to_thread(file.path.read_bytes) == archive()
        assert served.requests == {INDEX: 1, ARCHIVE: 1}

    async def test_new_versions_and_withdrawn_ones_are_seen(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest, repository: Repository
    ) -> None:
        served.add("hello", "0.2.0+build.1", archive("0.2.0+build.1"))
        assert (await sources.resolve(wanted)).version == "0.2.0+build.1"
        del served.charts["hello", "0.2.0+build.1"]
        assert (await sources.resolve(wanted, revalidate=True)).version == "0.1.0"
        with pytest.raises(VersionNotFound, match=r"Existing versions: 0\.1\.0"):
            await sources.resolve(ChartRequest(repository=repository, chart="hello", version="9.x"))

    async def test_an_unchanged_index_is_not_sent_again(self, served: ServedCharts, downloader: Downloader) -> None:
        first = await get(downloader, served)
        again = {"If-None-Match": first.headers["ETag"]}
        unchanged = await get(downloader, served, headers=again)
        assert (unchanged.status, unchanged.body, unchanged.headers["ETag"]) == (304, b"", first.headers["ETag"])
        served.add("hello", "0.2.0", archive("0.2.0"))
        changed = await get(downloader, served, headers=again)
        assert (changed.status, b"0.2.0" in changed.body) == (200, True)
        assert changed.headers["ETag"] != first.headers["ETag"]

    async def test_an_archive_that_differs_from_the_index_is_refused(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest
    ) -> None:
        with served.replacing(ARCHIVE, archive("0.2.0")), pytest.raises(DigestMismatch):
            await sources.resolve(wanted)
        assert (await sources.resolve(wanted)).version == "0.1.0"

    async def test_a_missing_provenance_file_is_none(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest
    ) -> None:
        location = (await sources.resolve(wanted)).location
        assert await location.get_provenance(MAX_BYTES) is None
        served.files[f"{ARCHIVE}.prov"] = b"signed"
        assert await location.get_provenance(MAX_BYTES) == b"signed"

    # Responses

    @pytest.mark.parametrize(("status", "outcome"), OUTCOMES)
    async def test_the_status_decides_on_the_error(
        self,
        served: ServedCharts,
        sources: ChartSources,
        wanted: ChartRequest,
        status: HTTPStatus,
        outcome: tuple[type[ChartSourceError], bool],
    ) -> None:
        for path in (INDEX, ARCHIVE):
            with served.failing(status, path), pytest.raises(ChartSourceError) as raised:
                await sources.resolve(wanted, revalidate=True)
            assert (type(raised.value), raised.value.permanent) == outcome
        assert (await sources.resolve(wanted, revalidate=True)).version == "0.1.0"

    async def test_a_status_comes_without_a_body(self, served: ServedCharts, downloader: Downloader) -> None:
        with served.failing(HTTPStatus.TOO_MANY_REQUESTS, INDEX):
            response = await get(downloader, served)
        assert (response.status, response.body, response.headers["Retry-After"]) == (429, b"", "60")

    async def test_what_is_not_there_is_not_found(self, served: ServedCharts, downloader: Downloader) -> None:
        assert (await get(downloader, served, "/elsewhere/index.yaml")).status == 404
        url = URL(f"{served.url}{INDEX}?key=1")  # the query belongs to the address
        response = await downloader.get(url, access=OriginAccess(origin_url=url), max_bytes=MAX_BYTES)
        assert response.status == 404
        assert served.requests == {"/elsewhere/index.yaml": 1, f"{INDEX}?key=1": 1}

    async def test_a_body_goes_to_the_file_that_is_given(self, served: ServedCharts, downloader: Downloader) -> None:
        output = io.BytesIO()
        response = await get(downloader, served, ARCHIVE, output=output)
        assert (response.body, output.getvalue()) == (b"", archive())

    async def test_a_body_over_the_limit_is_not_read(
        self, served: ServedCharts, downloader: Downloader, sources: ChartSources, wanted: ChartRequest
    ) -> None:
        output = io.BytesIO()
        with pytest.raises(BodyTooLarge):
            await get(downloader, served, ARCHIVE, output=output, max_bytes=len(archive()) - 1)
        assert output.getvalue() == b""
        assert (await get(downloader, served, ARCHIVE, max_bytes=len(archive()))).body == archive()
        with (
            served.replacing(ARCHIVE, bytes(2 * MAX_BYTES)),
            pytest.raises(ChartInvalid, match="more than 1,048,576 bytes"),
        ):
            await sources.resolve(wanted)

    async def test_a_redirect_is_followed(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest
    ) -> None:
        served.files["/moved/hello.tgz"] = archive()
        with served.redirecting(ARCHIVE, "/moved/hello.tgz"):
            file = await sources.fetch(await sources.resolve(wanted))
        assert await asyncio.to_thread(file.path.read_bytes) == archive()
        assert served.requests == {INDEX: 1, ARCHIVE: 1, "/moved/hello.tgz": 1}

    async def test_redirects_without_an_end_are_refused(self, served: ServedCharts, downloader: Downloader) -> None:
        with served.redirecting(INDEX, f"{served.url}{INDEX}"), pytest.raises(ChartSourceError, match="at most 5"):
            await get(downloader, served)
        assert served.requests == {INDEX: 6}

    async def test_credentials_are_sent_and_checked(
        self, guarded: ServedCharts, served: ServedCharts, sources: ChartSources
    ) -> None:
        guarded.add("hello", "0.1.0", archive())
        jane = BasicCredentials("jane", "secret")
        known = Repository(url=guarded.url, credentials=jane, allow_plain_http=True)
        assert await sources.check_access(known) == 1
        assert guarded.authorizations == [jane.authorization]
        for credentials in (None, BasicCredentials("jane", "wrong")):
            other = Repository(url=guarded.url, credentials=credentials, allow_plain_http=True)
            with pytest.raises(SourceAccessDenied):
                await sources.check_access(other)
        with guarded.redirecting(INDEX, f"{served.url}{INDEX}"):
            assert await sources.check_access(known) == 1
        assert served.authorizations == []

    # Time

    async def test_others_go_on_during_a_download(self, served: ServedCharts, downloader: Downloader) -> None:
        with served.holding(ARCHIVE):
            held = asyncio.create_task(get(downloader, served, ARCHIVE))
            await eventually(lambda: served.requests[ARCHIVE] == 1, what="the first request")
            assert (await get(downloader, served)).status == 200
            assert not held.done()
        assert (await held).body == archive()

    async def test_a_download_never_ends_in_the_turn_of_the_loop_in_which_it_begins(
        self, served: ServedCharts, downloader: Downloader
    ) -> None:
        download = asyncio.create_task(get(downloader, served))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not download.done()
        assert (await download).status == 200

    async def test_a_download_can_be_cancelled(self, served: ServedCharts, downloader: Downloader) -> None:
        with served.holding(ARCHIVE):
            held = asyncio.create_task(get(downloader, served, ARCHIVE))
            await eventually(lambda: served.requests[ARCHIVE] == 1, what="the request")
            held.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held
        assert (await get(downloader, served, ARCHIVE)).body == archive()

    async def test_many_that_ask_at_once_share_a_download(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest
    ) -> None:
        charts = await asyncio.gather(*(sources.resolve(wanted) for _ in range(5)))
        assert {chart.version for chart in charts} == {"0.1.0"}
        assert served.requests == {INDEX: 1, ARCHIVE: 1}

    @pytest.mark.parametrize(
        ("seconds", "body_seconds", "message"),
        [
            (SHORT_SECONDS, 60.0, "took longer than 0.3 s"),
            (60.0, SHORT_SECONDS, "sends less than 10,240 bytes in 0.3 s"),
        ],
    )
    async def test_a_slow_body_ends_the_download(
        self, served: ServedCharts, seconds: float, body_seconds: float, message: str
    ) -> None:
        rule = AddressRule(allow_loopback=True)
        async with Downloader(
            timeout_seconds=seconds, body_seconds=body_seconds, address_rule=lambda: rule
        ) as downloader:
            with served.trickling(ARCHIVE, bytes_per_second=100.0), pytest.raises(SourceTimeout, match=message):
                await get(downloader, served, ARCHIVE)

    # Failures

    @pytest.mark.parametrize("path", [INDEX, ARCHIVE])
    async def test_half_a_body_is_none(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest, path: str
    ) -> None:
        with served.truncating(path), pytest.raises(SourceUnavailable, match="the response was incomplete"):
            await sources.resolve(wanted)
        assert (await sources.resolve(wanted)).version == "0.1.0"

    async def test_a_connection_that_ends_without_a_response_may_work_later(
        self, served: ServedCharts, sources: ChartSources, wanted: ChartRequest
    ) -> None:
        with served.dropping(INDEX), pytest.raises(SourceUnavailable, match="does not respond with valid HTTP"):
            await sources.resolve(wanted)
        assert (await sources.resolve(wanted)).version == "0.1.0"

    async def test_a_repository_that_is_down_refuses_connections(
        self, served: ServedCharts, sources: ChartSources, repository: Repository, wanted: ChartRequest
    ) -> None:
        known = await sources.resolve(wanted)
        requests = served.requests.copy()
        served.close()
        with pytest.raises(SourceUnavailable, match=r"no connection \(connection refused\)\. Check host and port"):
            await sources.list_charts(repository, revalidate=True)
        assert await sources.resolve(wanted) == known
        assert served.requests == requests

    async def test_other_hosts_are_other_repositories(self, served: ServedCharts, downloader: Downloader) -> None:
        port = URL(served.url).port or 0
        elsewhere = URL(served.url).with_port(1 if port != 1 else 2) / INDEX.removeprefix("/")
        with pytest.raises(SourceUnavailable, match="no connection"):
            await downloader.get(elsewhere, access=OriginAccess(origin_url=elsewhere), max_bytes=MAX_BYTES)
        assert served.requests == {}
