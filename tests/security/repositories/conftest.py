"""Chart sources as both processes use them, and servers on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.charts.http_site import WebServer
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config.settings import Settings


@pytest.fixture
async def sources(tmp_path: Path) -> AsyncIterator[ChartSources]:
    async with ChartSources(Settings(cache_dir=tmp_path / "cache", allow_loopback_repositories=True)) as one:
        yield one


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with WebServer() as one:
        yield one
