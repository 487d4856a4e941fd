"""The chart repository on loopback serves its files over HTTP."""

import httpx
import pytest

from tests.localrun.charts import PackedChart
from tests.localrun.repository import chart_repository

CHART = PackedChart(name="a", version="1.0.0", app_version="1", description="", data=b"archive")


def test_the_repository_serves_its_index_and_its_archives() -> None:
    with chart_repository([CHART], preferred_port=0) as url:
        assert b"a-1.0.0.tgz" in httpx.get(f"{url}/index.yaml").content
        assert httpx.get(f"{url}/a-1.0.0.tgz").content == b"archive"


@pytest.mark.parametrize("path", ["/", "/b-1.0.0.tgz", "/../etc/passwd"])
def test_the_repository_serves_nothing_else(path: str) -> None:
    with chart_repository([CHART], preferred_port=0) as url:
        assert httpx.get(f"{url}{path}").status_code == 404


def test_the_repository_uses_another_port_when_the_preferred_one_is_in_use() -> None:
    with chart_repository([CHART], preferred_port=0) as first:
        taken = int(first.rpartition(":")[2])
        with chart_repository([CHART], preferred_port=taken) as second:
            assert second != first
            assert httpx.get(f"{second}/index.yaml").status_code == 200
