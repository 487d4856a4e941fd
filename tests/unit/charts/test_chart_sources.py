"""Charts are found, downloaded once, checked and cached, from repositories on loopback."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import get_args

import pytest
import yaml
from aiohttp import web

from tests.support.charts import chart_archive, chart_archive_of_size
from tests.unit.charts.clock import Clock
from tests.unit.charts.http_site import Reply, WebServer
from xapp_operator.api.spec_parts import REPOSITORY_SCHEMES, RepositoryType
from xapp_operator.charts.chart_request import BasicCredentials, ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import (
    AddressRefused,
    ChartInvalid,
    ChartNotFound,
    ChartSourceError,
    DigestMismatch,
    FormInvalid,
    SourceUnavailable,
)

Open = Callable[..., ChartSources]


class Charts(WebServer):
    """A repository; added charts appear in its index."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, list[dict[str, object]]] = {}
        self.write_index()

    def add(self, name: str, version: str, archive: bytes | None = None, **entry: object) -> bytes:
        archive = archive if archive is not None else chart_archive(name=name, version=version)
        path = f"/{name}-{version}.tgz"
        self.routes[path] = Reply(archive)
        known = {"version": version, "urls": [path[1:]], "digest": hashlib.sha256(archive).hexdigest()}
        self.entries.setdefault(name, []).append({**known, **entry})
        self.write_index()
        return archive

    def write_index(self) -> None:
        self.routes["/index.yaml"] = Reply(yaml.safe_dump({"apiVersion": "v1", "entries": self.entries}).encode())

    def request(self, chart: str = "hello", version: str = "0.1.0", **repository: object) -> ChartRequest:
        known = {"url": str(self.url("")), "allow_plain_http": True, **repository}
        return ChartRequest(repository=Repository(**known), chart=chart, version=version)  # type: ignore[arg-type]


def test_every_scheme_of_the_api_has_a_type() -> None:
    assert set(get_args(RepositoryType)) == set(REPOSITORY_SCHEMES) - {"https"}


@pytest.mark.parametrize("scheme", REPOSITORY_SCHEMES)
async def test_every_scheme_of_the_api_has_a_source(open_sources: Open, scheme: str) -> None:
    request = ChartRequest(repository=Repository(url=f"{scheme}://127.0.0.1:1"), chart="hello", version="0.1.0")
    async with open_sources(fetch_timeout_seconds=10.0) as sources:
        with pytest.raises(SourceUnavailable):
            await sources.resolve(request)


@pytest.fixture
async def charts() -> AsyncIterator[Charts]:
    async with Charts() as one:
        yield one


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_sources(tmp_path: Path, clock: Clock) -> Open:
    """Return a function that opens the sources like a new process."""

    def open_one(**settings: object) -> ChartSources:
        known = {"cache_dir": tmp_path / "cache", "allow_loopback_repositories": True, **settings}
        return ChartSources(Settings(**known), clock=clock)  # type: ignore[arg-type]

    return open_one


@pytest.fixture
async def sources(open_sources: Open) -> AsyncIterator[ChartSources]:
    async with open_sources() as one:
        yield one


async def test_a_chart_is_resolved_and_fetched(sources: ChartSources, charts: Charts) -> None:
    archive = charts.add("hello", "0.1.0")
    charts.add("hello", "1.0.0")
    resolved = await sources.resolve(charts.request(version=">=0.1 <1"))
    assert (resolved.version, resolved.digest) == ("0.1.0", hashlib.sha256(archive).hexdigest())
    assert resolved.info.name == "hello"
    file = await sources.fetch(resolved)
    assert file.path.read_bytes() == archive
    assert charts.count("/hello-0.1.0.tgz") == 1


async def test_concurrent_callers_share_one_download(sources: ChartSources, charts: Charts) -> None:
    charts.add("hello", "0.1.0")
    requests = [charts.request(version=version) for version in ("0.1.0", "^0.1", "0.1.0", "*")]
    resolved = await asyncio.gather(*(sources.resolve(request) for request in requests))
    files = await asyncio.gather(*(sources.fetch(one) for one in resolved))
    assert {file.info.digest for file in files} == {resolved[0].digest}
    assert (charts.count("/index.yaml"), charts.count("/hello-0.1.0.tgz")) == (1, 1)


async def test_a_chart_is_not_downloaded_again_after_a_restart(open_sources: Open, charts: Charts) -> None:
    charts.add("hello", "0.1.0")
    async with open_sources() as sources:
        before = await sources.resolve(charts.request())
    async with open_sources() as sources:
        after = await sources.resolve(charts.request())
        assert (await sources.fetch(after)).info == before.info
    assert charts.count("/hello-0.1.0.tgz") == 1


async def test_a_chart_without_a_digest_in_the_index_gets_that_of_its_download(
    sources: ChartSources, charts: Charts
) -> None:
    charts.add("hello", "0.1.0", digest=None)
    first = await sources.resolve(charts.request())
    second = await sources.resolve(charts.request())
    assert first.digest == second.digest == (await sources.fetch(second)).info.digest
    assert charts.count("/hello-0.1.0.tgz") == 1
    await sources.resolve(charts.request(), revalidate=True)
    assert charts.count("/hello-0.1.0.tgz") == 2


async def test_an_evicted_archive_is_downloaded_again(sources: ChartSources, charts: Charts, tmp_path: Path) -> None:
    archive = charts.add("hello", "0.1.0")
    resolved = await sources.resolve(charts.request())
    for path in (tmp_path / "cache" / "charts").glob("*.tgz"):
        path.unlink()
    assert (await sources.resolve(charts.request())).info == resolved.info
    assert charts.count("/hello-0.1.0.tgz") == 1
    assert (await sources.fetch(resolved)).path.read_bytes() == archive
    assert charts.count("/hello-0.1.0.tgz") == 2


async def test_a_missing_version_lists_the_existing_ones(sources: ChartSources, charts: Charts) -> None:
    for number in range(12):
        charts.add("hello", f"0.{number}.0")
    with pytest.raises(ChartNotFound) as caught:
        await sources.resolve(charts.request(version="^1"))
    assert caught.value.permanent
    assert "Existing versions: 0.11.0, 0.10.0, 0.9.0" in caught.value.message
    assert "0.2.0 and 2 more" in caught.value.message
    with pytest.raises(ChartNotFound, match=r'no chart "hullo"\. It has hello'):
        await sources.resolve(charts.request("hullo"))


async def test_an_invalid_version_is_refused_without_a_request(sources: ChartSources, charts: Charts) -> None:
    with pytest.raises(FormInvalid):
        await sources.resolve(charts.request(version=">>1"))
    assert not charts.requests


async def test_a_newly_pushed_version_is_found(sources: ChartSources, charts: Charts, clock: Clock) -> None:
    charts.add("hello", "0.1.0")
    await sources.resolve(charts.request())
    charts.add("hello", "0.2.0")
    with pytest.raises(ChartNotFound):
        await sources.resolve(charts.request(version="0.2.0"))
    assert charts.count("/index.yaml") == 1
    clock.now += 11
    assert (await sources.resolve(charts.request(version="0.2.0"))).version == "0.2.0"


async def test_a_missing_version_is_transient_while_the_repository_is_unavailable(
    sources: ChartSources, charts: Charts, clock: Clock
) -> None:
    charts.add("hello", "0.1.0")
    await sources.resolve(charts.request())
    charts.routes["/index.yaml"] = Reply(status=503)
    clock.now += 11
    with pytest.raises(SourceUnavailable):
        await sources.resolve(charts.request(version="0.2.0"))


async def test_a_newer_version_in_the_range_is_found_by_revalidation(sources: ChartSources, charts: Charts) -> None:
    charts.add("hello", "0.1.0")
    assert (await sources.resolve(charts.request(version="^0"))).version == "0.1.0"
    charts.add("hello", "0.2.0")
    assert (await sources.resolve(charts.request(version="^0"))).version == "0.1.0"
    assert (await sources.resolve(charts.request(version="^0"), revalidate=True)).version == "0.2.0"


async def test_an_archive_with_a_digest_that_differs_from_the_index_is_refused(
    sources: ChartSources, charts: Charts
) -> None:
    charts.add("hello", "0.1.0")
    charts.routes["/hello-0.1.0.tgz"] = Reply(chart_archive({"values.yaml": "other: true\n"}))
    with pytest.raises(DigestMismatch, match="but the repository lists") as caught:
        await sources.resolve(charts.request())
    assert caught.value.permanent


async def test_an_index_older_than_its_archives_is_revalidated(open_sources: Open, charts: Charts) -> None:
    charts.add("hello", "0.1.0")
    async with open_sources() as sources:
        await sources.list_charts(charts.request().repository)
        charts.entries.clear()
        newer = charts.add("hello", "0.1.0", chart_archive({"values.yaml": "newer: true\n"}))
        assert (await sources.resolve(charts.request())).digest == hashlib.sha256(newer).hexdigest()


async def test_a_digest_alone_gives_no_access_to_a_chart_of_another_repository(
    sources: ChartSources, charts: Charts
) -> None:
    archive = charts.add("hello", "0.1.0")
    await sources.resolve(charts.request())
    async with Charts() as thief:
        thief.add("hello", "0.1.0", archive)
        thief.routes["/hello-0.1.0.tgz"] = Reply(b"no chart")
        with pytest.raises(DigestMismatch):
            await sources.resolve(thief.request())
        thief.entries["hello"][0]["urls"] = [str(charts.url("/hello-0.1.0.tgz"))]
        thief.write_index()
        charts.routes["/hello-0.1.0.tgz"] = Reply(status=403)
        with pytest.raises(ChartSourceError, match="access is denied"):
            await sources.resolve(thief.request(), revalidate=True)


async def test_credentials_are_sent_only_to_archives_on_the_same_origin(sources: ChartSources, charts: Charts) -> None:
    async with Charts() as mirror:
        mirror.add("hello", "0.2.0")
        charts.add("hello", "0.1.0")
        charts.add("hello", "0.2.0", urls=[str(mirror.url("/hello-0.2.0.tgz"))])
        for version in ("0.1.0", "0.2.0"):
            await sources.resolve(charts.request(version=version, credentials=BasicCredentials("jane", "pw")))
        assert charts.authorizations("/hello-0.1.0.tgz") == ["Basic amFuZTpwdw=="]
        assert mirror.authorizations("/hello-0.2.0.tgz") == [None]


async def test_a_chart_fetched_with_credentials_is_not_returned_to_others(open_sources: Open, charts: Charts) -> None:
    archive = charts.add("hello", "0.1.0")

    async def guarded(request: web.Request) -> web.StreamResponse:
        let_in = request.headers.get("Authorization") == BasicCredentials("jane", "pw").authorization
        return web.Response(body=archive) if let_in else web.Response(status=401)

    charts.routes["/hello-0.1.0.tgz"] = guarded  # anyone may read its index
    for _ in range(2):  # the second time from the disk cache
        async with open_sources() as sources:
            known = await sources.resolve(charts.request(credentials=BasicCredentials("jane", "pw")))
            for others in (None, BasicCredentials("jane", "no"), BasicCredentials("joe", "pw")):
                with pytest.raises(ChartSourceError, match="access is denied"):
                    await sources.resolve(charts.request(credentials=others))
            assert (await sources.fetch(known)).path.read_bytes() == archive
    assert charts.authorizations("/hello-0.1.0.tgz").count(BasicCredentials("jane", "pw").authorization) == 1


async def test_an_archive_that_is_no_chart_is_refused_and_not_fetched_again(
    sources: ChartSources, charts: Charts
) -> None:
    charts.add("hello", "0.1.0", b"not a chart")
    for _ in range(2):
        with pytest.raises(ChartInvalid, match="not compressed with gzip"):
            await sources.resolve(charts.request())
    assert charts.count("/hello-0.1.0.tgz") == 1


async def test_an_archive_over_the_bound_is_refused(sources: ChartSources, charts: Charts) -> None:
    charts.add("hello", "0.1.0", b"\x1f\x8b" + b"x" * MIB)
    with pytest.raises(ChartInvalid, match="more than 1,048,576 bytes"):
        await sources.resolve(charts.request())


async def test_a_deleted_archive_is_not_found(sources: ChartSources, charts: Charts) -> None:
    charts.add("hello", "0.1.0")
    del charts.routes["/hello-0.1.0.tgz"]
    with pytest.raises(ChartNotFound, match=r"hello-0\.1\.0\.tgz returned status 404"):
        await sources.resolve(charts.request())


async def test_a_deployed_chart_stays_resolved_while_the_repository_is_unavailable(
    sources: ChartSources, charts: Charts, clock: Clock
) -> None:
    charts.add("hello", "0.1.0")
    before = await sources.resolve(charts.request())
    charts.routes.clear()
    charts.routes["/index.yaml"] = Reply(status=500)
    clock.now += 10_000
    after = await sources.resolve(charts.request())
    assert after == before
    assert (await sources.fetch(after)).info == before.info
    with pytest.raises(SourceUnavailable):
        await sources.list_charts(charts.request().repository)


async def test_loopback_is_refused_unless_it_is_allowed(open_sources: Open, charts: Charts) -> None:
    async with open_sources(allow_loopback_repositories=False) as sources:
        with pytest.raises(AddressRefused, match="XAPP_ALLOW_LOOPBACK_REPOSITORIES"):
            await sources.resolve(charts.request())
    assert not charts.requests


async def test_charts_and_versions_are_listed(sources: ChartSources, charts: Charts) -> None:
    charts.add("hello", "0.1.0", description="Says hello", appVersion="1.0")
    charts.add("hello", "0.2.0")
    charts.add("other", "1.0.0")
    repository = charts.request().repository
    index = await sources.list_charts(repository)
    assert index is not None
    assert {name: len(entries) for name, entries in index.charts.items()} == {"hello": 2, "other": 1}
    versions = await sources.list_versions(repository, "hello")
    assert [(entry.version, entry.description) for entry in versions] == [("0.2.0", ""), ("0.1.0", "Says hello")]
    assert await sources.list_versions(repository, "nothing") == ()


async def test_a_chart_missing_from_the_index_is_looked_up_in_a_newer_one(
    open_sources: Open, charts: Charts, clock: Clock
) -> None:
    charts.add("hello", "0.1.0")
    async with open_sources() as sources:
        repository = charts.request().repository
        assert await sources.list_versions(repository, "late") == ()
        charts.add("late", "1.0.0")
        assert await sources.list_versions(repository, "late") == ()
        clock.now += 11
        assert [entry.version for entry in await sources.list_versions(repository, "late")] == ["1.0.0"]


async def test_an_uploaded_archive_is_checked_and_stored(sources: ChartSources) -> None:
    archive = chart_archive()
    stored, again = await sources.store_archive(archive), await sources.store_archive(archive)
    assert stored.path == again.path
    assert stored.path.read_bytes() == archive
    with pytest.raises(ChartInvalid, match="more than 1,048,576 bytes"):
        await sources.store_archive(chart_archive_of_size(MIB + 1))
    assert (await sources.store_archive(chart_archive_of_size(MIB))).info.size == MIB
    with pytest.raises(ChartInvalid, match="empty"):
        await sources.store_archive(b"")


async def test_an_uploaded_archive_is_compared_with_its_digest(sources: ChartSources) -> None:
    archive = chart_archive()
    digest = hashlib.sha256(archive).hexdigest()
    for right in (digest, f"sha256:{digest}"):
        assert (await sources.store_archive(archive, expected_digest=right)).info.digest == digest
    for wrong in ("sha256:" + "0" * 64, "md5:1", ""):
        with pytest.raises(DigestMismatch):
            await sources.store_archive(archive, expected_digest=wrong)


async def test_a_stored_archive_is_found_by_its_source(sources: ChartSources) -> None:
    file = await sources.store_archive(chart_archive(), source="secret-1")
    found = await sources.open_stored(f"sha256:{file.info.digest}", source="secret-1")
    assert found is not None
    assert found.path == file.path
    assert await sources.open_stored(file.info.digest, source="secret-2") is None
    assert await sources.open_stored("0" * 64, source="secret-1") is None


async def test_a_cancelled_caller_does_not_end_the_download_of_others(sources: ChartSources, charts: Charts) -> None:
    archive = charts.add("hello", "0.1.0")
    started, released = asyncio.Event(), asyncio.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        started.set()
        await released.wait()
        return web.Response(body=archive)

    charts.routes["/hello-0.1.0.tgz"] = slow
    first, second = (asyncio.create_task(sources.resolve(charts.request())) for _ in range(2))
    await started.wait()
    first.cancel()
    released.set()
    assert (await second).version == "0.1.0"
    assert charts.count("/hello-0.1.0.tgz") == 1


async def test_an_error_contains_no_local_path(sources: ChartSources, tmp_path: Path) -> None:
    for content in (b"", b"text", b"\x1f\x8bbroken", chart_archive({"Chart.yaml": "name: [\n"})):
        with pytest.raises(ChartInvalid) as caught:
            await sources.store_archive(content)
        assert str(tmp_path) not in caught.value.message
