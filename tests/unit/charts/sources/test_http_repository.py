"""Repositories over HTTP: which requests they get, how often, and where archives are."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from yarl import URL

from tests.unit.charts.clock import Clock
from tests.unit.charts.http_site import Reply, WebServer, downloader
from xapp_operator.charts.chart_request import BasicCredentials, Repository, TokenCredentials
from xapp_operator.charts.download_slots import DownloadSlots
from xapp_operator.charts.sources.http_repository import HttpRepositories, archive_url, index_url
from xapp_operator.charts.sources.oci_registry import OciRegistries
from xapp_operator.charts.sources.repository_index import ChartVersion
from xapp_operator.errors import AddressRefused, ChartNotFound, ChartSourceError, SourceUnavailable

INDEX = b"apiVersion: v1\nentries:\n  hello:\n  - {version: 0.1.0, urls: [hello-0.1.0.tgz]}\n"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with WebServer() as one:
        one.routes["/index.yaml"] = Reply(
            INDEX, headers={"ETag": '"1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        )
        yield one


@pytest.fixture
async def repositories(clock: Clock) -> AsyncIterator[HttpRepositories]:
    async with downloader() as loader:
        slots = DownloadSlots(16, timeout_seconds=20)
        registries = OciRegistries(loader, slots, ttl_seconds=300, allow_loopback=True, clock=clock)
        one = HttpRepositories(loader, slots, registries=registries, max_bytes=100_000, ttl_seconds=300, clock=clock)
        yield one
        await one.close()


def at(site: WebServer) -> Repository:
    return Repository(url=str(site.url("")))


async def test_an_index_is_requested_once_while_it_is_current(
    repositories: HttpRepositories, site: WebServer, clock: Clock
) -> None:
    indexes = await asyncio.gather(*(repositories.get_index(at(site)) for _ in range(5)))
    clock.now += 300
    assert await repositories.get_index(at(site)) is indexes[0]
    assert site.count("/index.yaml") == 1


async def test_an_unchanged_index_is_not_downloaded_again(
    repositories: HttpRepositories, site: WebServer, clock: Clock
) -> None:
    before = await repositories.get_index(at(site))
    clock.now += 301
    site.routes["/index.yaml"] = Reply(status=304)
    after = await repositories.get_index(at(site))
    assert after.charts is before.charts
    assert site.requests[-1].headers["If-None-Match"] == '"1"'
    assert site.requests[-1].headers["If-Modified-Since"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    await repositories.get_index(at(site))
    assert site.count("/index.yaml") == 2


async def test_the_interval_of_the_repository_is_respected(
    repositories: HttpRepositories, site: WebServer, clock: Clock
) -> None:
    often = replace(at(site), interval_seconds=10)
    await repositories.get_index(often)
    clock.now += 11
    await repositories.get_index(often)
    assert site.count("/index.yaml") == 2


async def test_repositories_with_different_intervals_share_one_index(
    repositories: HttpRepositories, site: WebServer
) -> None:
    await repositories.get_index(at(site))
    await repositories.get_index(replace(at(site), interval_seconds=10))
    assert site.count("/index.yaml") == 1


async def test_revalidation_finds_a_new_version(repositories: HttpRepositories, site: WebServer) -> None:
    await repositories.get_index(at(site))
    site.routes["/index.yaml"] = Reply(INDEX.replace(b"0.1.0", b"0.2.0"))
    index = await repositories.get_index(at(site), revalidate=True)
    assert [entry.version for entry in index.versions("hello")] == ["0.2.0"]


async def test_a_compressed_index_is_read(repositories: HttpRepositories, site: WebServer) -> None:
    site.routes["/index.yaml"] = Reply(gzip.compress(INDEX), headers={"Content-Encoding": "gzip"})
    assert (await repositories.get_index(at(site))).versions("hello")
    assert site.requests[0].headers["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    ("credentials", "sent"),
    [(BasicCredentials("jane", "pässword"), "Basic amFuZTpww6Rzc3dvcmQ="), (TokenCredentials("t0ken"), "Bearer t0ken")],
)
async def test_credentials_are_sent_and_have_separate_indexes(
    repositories: HttpRepositories, site: WebServer, credentials: BasicCredentials | TokenCredentials, sent: str
) -> None:
    await repositories.get_index(at(site))
    await repositories.get_index(replace(at(site), credentials=credentials, allow_plain_http=True))
    assert site.authorizations("/index.yaml") == [None, sent]


async def test_a_missing_index_is_no_repository(repositories: HttpRepositories, site: WebServer) -> None:
    with pytest.raises(ChartNotFound, match=r"nowhere/index\.yaml does not exist"):
        await repositories.get_index(Repository(url=str(site.url("/nowhere"))))


async def test_an_index_over_the_bound_is_refused(repositories: HttpRepositories, site: WebServer) -> None:
    site.routes["/index.yaml"] = Reply(INDEX + b"#" * 100_000)
    with pytest.raises(ChartSourceError, match="XAPP_INDEX_MAX_BYTES") as caught:
        await repositories.get_index(at(site))
    assert caught.value.permanent


async def test_an_unsolicited_304_is_an_error(repositories: HttpRepositories, site: WebServer) -> None:
    site.routes["/index.yaml"] = Reply(status=304)
    with pytest.raises(ChartSourceError, match="returned status 304"):
        await repositories.get_index(at(site))


async def test_an_older_index_is_used_while_the_repository_is_unavailable(
    repositories: HttpRepositories, site: WebServer, clock: Clock
) -> None:
    before = await repositories.get_index(at(site))
    site.routes["/index.yaml"] = Reply(status=503)
    clock.now += 301
    assert await repositories.get_index(at(site)) is before
    with pytest.raises(SourceUnavailable):
        await repositories.get_index(at(site), stale_ok=False)


@pytest.mark.parametrize(
    ("url", "index"),
    [
        ("https://example.com", "https://example.com/index.yaml"),
        ("https://example.com/charts/", "https://example.com/charts/index.yaml"),
        ("https://example.com/a%2Fb", "https://example.com/a%2Fb/index.yaml"),
        ("https://example.com/charts?key=1", "https://example.com/charts/index.yaml?key=1"),
    ],
)
def test_the_index_url_is_below_the_repository_url(url: str, index: str) -> None:
    assert str(index_url(URL(url))) == index


@pytest.mark.parametrize(
    ("repository", "entry", "archive"),
    [
        ("https://example.com/charts", "a-1.tgz", "https://example.com/charts/a-1.tgz"),
        ("https://example.com/charts/", "charts/a-1.tgz", "https://example.com/charts/charts/a-1.tgz"),
        ("https://example.com/charts", "../files/a-1.tgz", "https://example.com/files/a-1.tgz"),
        ("https://example.com/charts", "/a-1.tgz", "https://example.com/a-1.tgz"),
        ("https://example.com/charts", "https://cdn.example.com/a.tgz?x=1", "https://cdn.example.com/a.tgz?x=1"),
        ("https://example.com/charts?key=1", "a-1.tgz", "https://example.com/charts/a-1.tgz?key=1"),
        ("https://example.com/charts?key=1", "//other.example.com/a.tgz", "https://other.example.com/a.tgz"),
        ("https://example.com/charts", "oci://registry.example.com/a:1.0.0", "oci://registry.example.com/a:1.0.0"),
        ("https://example.com/charts", "a-1.0.0+b.tgz", "https://example.com/charts/a-1.0.0+b.tgz"),
    ],
)
def test_an_archive_url_is_resolved_as_in_helm(repository: str, entry: str, archive: str) -> None:
    assert str(archive_url(URL(repository), ChartVersion(version="1.0.0", url=entry))) == archive


@pytest.mark.parametrize(
    "entry", ["file:///etc/passwd", "ftp://example.com/a.tgz", "https://u:p@example.com/a", "http://"]
)
def test_an_invalid_archive_url_is_refused(entry: str) -> None:
    with pytest.raises(AddressRefused) as caught:
        archive_url(URL("https://example.com"), ChartVersion(version="1.0.0", url=entry))
    assert "u:p" not in caught.value.message


@pytest.mark.parametrize(
    "url", ["", "example.com", "https://", "file:///charts", "http://[bad", "https://u:p@example.com"]
)
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        _ = Repository(url=url).location


def test_secrets_are_not_shown() -> None:
    repository = Repository(
        url="https://example.com", credentials=BasicCredentials("jane", "hidden"), ca_bundle="hidden"
    )
    assert "hidden" not in repr(repository)
    assert "hidden" not in repr(TokenCredentials("hidden"))
