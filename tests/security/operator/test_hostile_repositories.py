"""A tenant whose repositories and registries attack their readers: other namespaces still get their charts.

What is refused, and how, is tested in tests/security/repositories.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.security.operator.hostile_repositories import HostileServer, serve_hostile_repositories
from tests.security.operator.neighbour import Neighbour
from tests.support.chart_server import ChartServer
from tests.support.workload import workload_chart
from tests.support.xapps import Json, XAppClient

pytestmark = pytest.mark.integration

SLOW_REPOSITORIES = 50


@pytest.fixture
def hostile() -> Iterator[HostileServer]:
    with serve_hostile_repositories() as server:
        yield server


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        server.add("workload", "0.1.0", workload_chart())
        yield server


def attack(xapps: XAppClient, urls: list[str]) -> list[str]:
    """Apply an XApp for each repository, and return their names when some of them are being worked on."""
    manifests: list[Json] = [
        xapps.remote_manifest(f"stuck{at}", url=url, chart="workload", repoName=f"repository{at}")
        for at, url in enumerate(urls)
    ]
    xapps.apply({"apiVersion": "v1", "kind": "List", "items": manifests})
    xapps.wait_until(lambda: len(xapps.names("chartrepository")) > 0, what="a repository to be saved")
    return [manifest["metadata"]["name"] for manifest in manifests]


def test_slow_repositories_do_not_delay_another_namespace(
    xapps: XAppClient, neighbour: Neighbour, hostile: HostileServer, charts: ChartServer
) -> None:
    attack(xapps, [hostile.url(f"slow/{at}") for at in range(SLOW_REPOSITORIES)])
    neighbour.check_ready_in_time("at-the-start", repository=charts.url)
    xapps.wait_until(lambda: hostile.slow_readers > 0, what="a slow download to begin")
    neighbour.check_ready_in_time("later", repository=charts.url)


@pytest.mark.parametrize("kind", ["giant index", "registry challenges"])
def test_hostile_answers_do_not_delay_another_namespace(
    xapps: XAppClient, neighbour: Neighbour, hostile: HostileServer, charts: ChartServer, kind: str
) -> None:
    urls = [hostile.url(f"giant/{at}") for at in range(10)]
    if kind == "registry challenges":
        urls = [hostile.url(f"charts{at}", scheme="oci") for at in range(10)]
    names = attack(xapps, urls)
    neighbour.check_ready_in_time(repository=charts.url)

    def all_refused() -> bool:
        conditions = [xapps.current_condition(name, "Ready") for name in names]
        return all(condition is not None and condition["reason"] == "ChartPullFailed" for condition in conditions)

    xapps.wait_until(all_refused, what="all to be refused")
