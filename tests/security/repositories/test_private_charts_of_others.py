"""Threat: a tenant gets the private chart of another tenant, which is in the cache, from a registry."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

import pytest

from tests.unit.charts.sources.test_oci_registry import JANE, JANES_HEADER, Registry
from xapp_operator.charts.chart_request import BasicCredentials, RepositoryCredentials
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.errors import SourceAccessDenied

MANIFEST = "/v2/acme/hello/manifests/0.1.0"


@pytest.fixture
async def registry() -> AsyncIterator[Registry]:
    async with Registry() as one:
        yield one


@pytest.mark.parametrize("credentials", [None, BasicCredentials("jane", "wrong")])
async def test_whoever_only_knows_the_digest_does_not_get_it(
    sources: ChartSources, registry: Registry, credentials: RepositoryCredentials | None
) -> None:
    registry.push("acme/hello", "0.1.0")
    manifest = registry.routes[MANIFEST]
    registry.protect('Basic realm="registry"', allowed=JANES_HEADER)
    registry.routes[MANIFEST] = manifest  # everybody may read it
    await sources.fetch(await sources.resolve(registry.request(credentials=JANE)))

    with pytest.raises(SourceAccessDenied):
        await sources.resolve(registry.request(credentials=credentials))


async def test_the_same_credentials_share_it(sources: ChartSources, registry: Registry) -> None:
    digest = hashlib.sha256(registry.push("acme/hello", "0.1.0")).hexdigest()
    registry.protect('Basic realm="registry"', allowed=JANES_HEADER)
    for _ in range(2):
        await sources.fetch(await sources.resolve(registry.request(credentials=JANE), revalidate=True))
    assert registry.count(f"/v2/acme/hello/blobs/sha256:{digest}") == 1
