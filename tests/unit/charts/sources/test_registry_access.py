"""A registry is asked whether it can be used with given credentials."""

from __future__ import annotations

import pytest

from tests.unit.charts.http_site import Reply
from tests.unit.charts.sources.test_oci_registry import JANE, JANES_HEADER, Registry, clock, registry, sources
from xapp_operator.charts.chart_request import RepositoryCredentials, TokenCredentials
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.errors import ChartSourceError, SourceAccessDenied

__all__ = ["clock", "registry", "sources"]


async def check(sources: ChartSources, registry: Registry, credentials: RepositoryCredentials | None) -> int | None:
    return await sources.check_access(registry.request(credentials=credentials).repository)


@pytest.mark.parametrize("challenge", ['Basic realm="x"', "Bearer realm=TOKEN"])
async def test_credentials_that_a_registry_accepts_are_confirmed(
    sources: ChartSources, registry: Registry, challenge: str
) -> None:
    registry.routes["/v2/"] = Reply(b"{}")
    registry.issue("t1")
    is_basic = challenge.startswith("Basic")
    registry.protect(
        challenge.replace("TOKEN", str(registry.url("/token"))), allowed=JANES_HEADER if is_basic else "Bearer t1"
    )

    assert await check(sources, registry, JANE) is None
    assert "scope" not in "".join(one.target for one in registry.requests)


@pytest.mark.parametrize("credentials", [JANE, TokenCredentials("wrong")])
async def test_credentials_that_a_registry_refuses_are_an_error(
    sources: ChartSources, registry: Registry, credentials: RepositoryCredentials
) -> None:
    registry.routes["/v2/"] = Reply(b"{}")
    registry.protect('Basic realm="x"', allowed="nothing")

    with pytest.raises(SourceAccessDenied):
        await check(sources, registry, credentials)


async def test_a_registry_that_wants_a_token_for_everything_answers_all_the_same(
    sources: ChartSources, registry: Registry
) -> None:
    registry.routes["/v2/"] = Reply(b"", status=401)

    assert await check(sources, registry, None) is None


async def test_a_server_that_is_no_registry_is_named(sources: ChartSources, registry: Registry) -> None:
    for credentials in (JANE, None):
        with pytest.raises(ChartSourceError, match="registry"):
            await check(sources, registry, credentials)
