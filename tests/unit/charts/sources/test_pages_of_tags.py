"""Registries that list their tags on many pages, and name the next page in different ways."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from aiohttp import web

from tests.unit.charts.sources.test_oci_registry import Registry, clock, registry, sources
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.sources import registry_tags
from xapp_operator.errors import ChartSourceError, SourceTimeout

__all__ = ["clock", "registry", "sources"]

LIST = "/v2/acme/hello/tags/list"
OLDER = [f"0.1.{number:04}" for number in range(45)]


def list_tags(registry: Registry, tags: Sequence[str], *, at_once: int, link: str = LIST) -> None:
    """List the tags on pages, whatever the client asks for, as quay.io does."""

    async def page(request: web.Request) -> web.StreamResponse:
        rest = tags[tags.index(request.query["last"]) + 1 :] if "last" in request.query else tags
        following = {"Link": f'<{link}?n={at_once}&last={rest[at_once - 1]}>; rel="next"'} if rest[at_once:] else {}
        return web.Response(text=json.dumps({"tags": rest[:at_once]}), headers=following)

    registry.routes[LIST] = page


async def test_newest_version_is_found_on_the_last_of_many_pages(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "9.0.0")
    list_tags(registry, [*OLDER, "9.0.0"], at_once=2)
    assert (await sources.resolve(registry.request(version=">=0"))).version == "9.0.0"
    assert registry.count(LIST) == 23


@pytest.mark.parametrize("registry_calls_itself", ["https://127.0.0.1:PORT", "http://registry:5000", "/below/a/proxy"])
async def test_next_page_is_read_from_the_registry_whatever_it_calls_itself(
    sources: ChartSources, registry: Registry, registry_calls_itself: str
) -> None:
    registry.push("acme/hello", "9.0.0")
    own_name = registry_calls_itself.replace("PORT", str(registry.url().port))
    list_tags(registry, [*OLDER, "9.0.0"], at_once=20, link=f"{own_name}{LIST}")
    assert (await sources.resolve(registry.request(version=">=0"))).version == "9.0.0"


@pytest.mark.parametrize(("bound", "what"), [("_MAX_PAGES", "or more than 44 pages"), ("MAX_ENTRIES", "44 tags")])
async def test_list_that_is_longer_than_the_bound_is_refused(
    sources: ChartSources, registry: Registry, monkeypatch: pytest.MonkeyPatch, bound: str, what: str
) -> None:
    registry.push("acme/hello", OLDER[-1])
    list_tags(registry, OLDER, at_once=1)
    monkeypatch.setattr(registry_tags, bound, len(OLDER) - 1)
    with pytest.raises(ChartSourceError, match=what) as refused:
        await sources.resolve(registry.request(version=">=0"))
    assert refused.value.permanent
    monkeypatch.setattr(registry_tags, bound, len(OLDER))
    assert (await sources.resolve(registry.request(version=">=0"))).version == OLDER[-1]


async def test_list_that_takes_too_long_is_refused(
    sources: ChartSources, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.push("acme/hello", "0.1.0")
    list_tags(registry, OLDER, at_once=1)
    monkeypatch.setattr(registry_tags, "_LIST_SECONDS", 0.0)
    with pytest.raises(SourceTimeout, match="did not list all of its tags"):
        await sources.resolve(registry.request(version=">=0"))


async def test_page_that_is_missing_is_no_end(sources: ChartSources, registry: Registry) -> None:
    registry.push("acme/hello", "0.1.0")

    async def page(request: web.Request) -> web.StreamResponse:
        if "last" in request.query:
            return web.Response(status=404)
        return web.Response(text='{"tags": ["0.1.0"]}', headers={"Link": f'<{LIST}?last=0.1.0>; rel="next"'})

    registry.routes[LIST] = page
    with pytest.raises(ChartSourceError, match="404"):
        await sources.resolve(registry.request(version=">=0"))


async def test_what_is_too_long_for_a_tag_is_not_kept(sources: ChartSources, registry: Registry) -> None:
    """A registry may send 2,000 pages of 1 MiB. The longest tag has 128 characters."""
    registry.push("acme/hello", "0.1.0")
    longest, longer = (f"9.0.0-{'a' * count}" for count in (122, 123))
    list_tags(registry, [longer, longest, "0.1.0"], at_once=1)
    found = await sources.list_versions(registry.request().repository, "hello")
    assert [each.version for each in found] == [longest, "0.1.0"]
