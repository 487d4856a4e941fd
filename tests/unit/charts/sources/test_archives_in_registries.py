"""Archives that the index of an HTTP repository places in a registry, as Bitnami's does."""

from __future__ import annotations

import hashlib

import pytest
import yaml

from tests.support.charts import chart_archive
from tests.unit.charts.clock import Clock
from tests.unit.charts.http_site import Reply
from tests.unit.charts.sources.test_oci_registry import Registry, clock, registry, sources
from xapp_operator.charts.chart_request import ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.errors import ChartNotFound, DigestMismatch

__all__ = ["clock", "registry", "sources"]

OLD, NEW = (chart_archive({"values.yaml": f"tag: {tag}\n"}, version="0.1.0") for tag in ("old", "new"))
MANIFEST = "/v2/acme/hello/manifests/0.1.0"


def digest(archive: bytes) -> str:
    return hashlib.sha256(archive).hexdigest()


def list_archive(registry: Registry, archive: bytes | None = None) -> None:
    """Serve an index with the chart at its place in the registry, and with its digest if the archive is given."""
    entry = {"name": "hello", "version": "0.1.0", "urls": [f"oci://{registry.url().authority}/acme/hello:0.1.0"]}
    if archive is not None:
        entry["digest"] = digest(archive)
    index = {"apiVersion": "v1", "entries": {"hello": [entry]}}
    registry.routes["/index.yaml"] = Reply(yaml.safe_dump(index).encode())


def request(registry: Registry, *, interval: float | None = None) -> ChartRequest:
    repository = Repository(url=str(registry.url("")), interval_seconds=interval)
    return ChartRequest(repository=repository, chart="hello", version="0.1.0")


async def test_one_that_is_pushed_after_the_index_is_found(
    sources: ChartSources, registry: Registry, clock: Clock
) -> None:
    list_archive(registry, NEW)
    with pytest.raises(ChartNotFound):
        await sources.resolve(request(registry))
    registry.push("acme/hello", "0.1.0", NEW)
    with pytest.raises(ChartNotFound):
        await sources.resolve(request(registry))
    assert registry.count(MANIFEST) == 1
    clock.now += 11
    assert (await sources.resolve(request(registry))).digest == digest(NEW)


async def test_one_that_is_pushed_after_the_index_is_found_at_once_on_request(
    sources: ChartSources, registry: Registry
) -> None:
    list_archive(registry, NEW)
    with pytest.raises(ChartNotFound):
        await sources.resolve(request(registry))
    registry.push("acme/hello", "0.1.0", NEW)
    assert (await sources.resolve(request(registry), revalidate=True)).digest == digest(NEW)


async def test_tag_that_has_moved_is_found_on_request(sources: ChartSources, registry: Registry) -> None:
    list_archive(registry)
    registry.push("acme/hello", "0.1.0", OLD)
    await sources.resolve(request(registry))
    registry.push("acme/hello", "0.1.0", NEW)
    assert (await sources.resolve(request(registry))).digest == digest(OLD)
    assert (await sources.resolve(request(registry), revalidate=True)).digest == digest(NEW)


async def test_tag_that_has_moved_is_found_after_the_interval(
    sources: ChartSources, registry: Registry, clock: Clock
) -> None:
    list_archive(registry)
    registry.push("acme/hello", "0.1.0", OLD)
    await sources.resolve(request(registry, interval=20))
    registry.push("acme/hello", "0.1.0", NEW)
    clock.now += 21
    assert (await sources.resolve(request(registry, interval=20))).digest == digest(NEW)


async def test_tag_that_has_moved_with_the_index_is_found(
    sources: ChartSources, registry: Registry, clock: Clock
) -> None:
    """The index is read again before the registry is asked again."""
    list_archive(registry, OLD)
    registry.push("acme/hello", "0.1.0", OLD)
    clock.now += 1
    await sources.list_charts(request(registry).repository)
    clock.now += 200
    await sources.resolve(request(registry))
    registry.push("acme/hello", "0.1.0", NEW)
    list_archive(registry, NEW)
    clock.now += 200
    assert (await sources.resolve(request(registry))).digest == digest(NEW)


async def test_tag_that_differs_from_the_index_is_refused(sources: ChartSources, registry: Registry) -> None:
    list_archive(registry, OLD)
    registry.push("acme/hello", "0.1.0", NEW)
    for revalidate in (False, True):
        with pytest.raises(DigestMismatch):
            await sources.resolve(request(registry), revalidate=revalidate)
