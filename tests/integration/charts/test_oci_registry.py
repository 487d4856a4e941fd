"""Charts are pulled from a real registry, whoever pushed them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.charts.conftest import Helm
from tests.support.charts import chart_archive
from tests.support.oci_registry import LocalRegistry
from xapp_operator.charts.chart_request import ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config.settings import Settings
from xapp_operator.errors import ChartNotFound, SourceUnavailable

pytestmark = pytest.mark.integration


@pytest.fixture
async def sources(tmp_path: Path) -> AsyncIterator[ChartSources]:
    async with ChartSources(Settings(cache_dir=tmp_path / "cache", allow_loopback_repositories=True)) as one:
        yield one


def wanted(registry: LocalRegistry, version: str, *, chart: str = "hello") -> ChartRequest:
    return ChartRequest(repository=Repository(url=f"{registry.url}/acme"), chart=chart, version=version)


async def test_a_chart_pushed_by_helm_is_pulled(
    sources: ChartSources, registry: LocalRegistry, helm: Helm, tmp_path: Path
) -> None:
    archive = chart_archive(version="0.1.0+build.7")
    packed = tmp_path / "hello-0.1.0+build.7.tgz"
    packed.write_bytes(archive)
    pushed = helm("push", packed, f"{registry.url}/acme", "--plain-http")
    assert pushed.returncode == 0, pushed.stderr
    for version in ("0.1.0+build.7", "^0.1"):
        resolved = await sources.resolve(wanted(registry, version))
        assert (resolved.version, resolved.digest) == ("0.1.0+build.7", hashlib.sha256(archive).hexdigest())
        assert (await sources.fetch(resolved)).path.read_bytes() == archive


async def test_the_newest_version_in_the_range_is_pulled(sources: ChartSources, registry: LocalRegistry) -> None:
    for version in ("0.9.0", "0.10.0", "1.0.0-rc.1", "1.0.0"):
        registry.push("acme/hello", version, chart_archive(version=version))
    for version, chosen in (("<1", "0.10.0"), ("*", "1.0.0"), (">=1.0.0-0 <1.0.0", "1.0.0-rc.1"), ("0.9.0", "0.9.0")):
        assert (await sources.resolve(wanted(registry, version))).version == chosen
    with pytest.raises(ChartNotFound, match=r"Existing versions: 1\.0\.0, 1\.0\.0-rc\.1, 0\.10\.0, 0\.9\.0"):
        await sources.resolve(wanted(registry, "2.0.0"))
    with pytest.raises(ChartNotFound, match='no chart "hullo"'):
        await sources.resolve(wanted(registry, "2.0.0", chart="hullo"))


async def test_current_data_is_not_requested_again(sources: ChartSources, registry: LocalRegistry) -> None:
    digest = registry.push("acme/hello", "0.1.0", chart_archive())
    for _ in range(3):
        await sources.fetch(await sources.resolve(wanted(registry, "0.1.0")))
    registry.close()
    assert registry.requests == ["GET /v2/acme/hello/manifests/0.1.0", f"GET /v2/acme/hello/blobs/{digest}"]


async def test_an_unavailable_registry_is_a_transient_failure(sources: ChartSources, registry: LocalRegistry) -> None:
    registry.close()
    with pytest.raises(SourceUnavailable, match="no connection"):
        await sources.resolve(wanted(registry, "0.1.0"))


async def test_a_registry_answers_a_ping(sources: ChartSources, registry: LocalRegistry) -> None:
    assert await sources.list_charts(Repository(url=registry.url)) is None
