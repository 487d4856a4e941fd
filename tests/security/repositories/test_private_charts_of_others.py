"""Threat: a tenant gets the private chart of another tenant, from a registry or from the cache."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.unit.charts.http_site import WebServer
from tests.unit.charts.sources.test_oci_registry import JANE, JANES_HEADER, Registry, indexed
from xapp_operator.charts.chart_request import BasicCredentials, RepositoryCredentials
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.sources.oci_reference import OciReference
from xapp_operator.errors import ChartNotFound, ChartSourceError, SourceAccessDenied

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


@pytest.mark.parametrize(
    "tag",
    [
        "x%2F..%2F..%2F..%2F..%2Fmallory%2Fhello%2Fmanifests%2F0.1.0",
        "x%252F..%252F..",
        "x%3Fdigest",
        "..",
        ".x",
        "x" * 129,
        "x ",
        "",
    ],
)
async def test_the_tag_in_an_index_leads_to_no_other_place(sources: ChartSources, registry: Registry, tag: str) -> None:
    """A manifest of mallory that names a chart of acme would count as one of acme, and get the chart from the cache."""
    async with WebServer() as site:
        request = await indexed(site, registry, f"oci://{registry.url().authority}/acme/hello:{tag}")
        with pytest.raises(ChartSourceError, match=r"not a valid (tag|chart name) in a registry: use") as caught:
            await sources.resolve(request)
    assert caught.value.permanent
    assert not registry.requests


async def test_the_version_in_an_index_leads_to_no_other_place(sources: ChartSources, registry: Registry) -> None:
    version = f"0.1.0-{'x' * 130}"
    async with WebServer() as site:
        url = f"oci://{registry.url().authority}/acme/hello"
        request = await indexed(site, registry, url, version=version)
        with pytest.raises(ChartSourceError, match="not a valid tag in a registry"):
            await sources.resolve(replace(request, version=version))
    assert not registry.requests


async def test_no_part_of_a_url_in_a_registry_leads_to_another_place(registry: Registry) -> None:
    repository, base = registry.request().repository, registry.url("")
    for name in ("acme/../mallory", "acme%2F..%2Fmallory", "/acme", ""):
        with pytest.raises(ChartNotFound, match="not a valid chart name"):
            OciReference(repository, base, name)
    reference = OciReference(repository, base, "acme/hello")
    with pytest.raises(ChartSourceError, match="not a valid tag"):
        reference.manifest_url("x%2F..")
    for digest in ("", "../0", "0" * 63, "0" * 63 + "A", "0" * 64 + "\n"):
        with pytest.raises(ValueError, match="sha256"):
            reference.blob_url(digest)
    assert reference.blob_url("0" * 64).path == f"/v2/acme/hello/blobs/sha256:{'0' * 64}"
