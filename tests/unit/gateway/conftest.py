"""A gateway over real HTTP without an API server, its store filled by the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package's gateway; its uploads are under `cache`."""
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="package")
def gateway(folder: Path) -> Iterator[GatewayServer]:
    """A gateway whose caches count as synced."""
    settings, opened = offline_gateway(folder)
    with serve_gateway(settings, opened) as one:
        yield one


@pytest.fixture
def http(gateway: GatewayServer) -> Iterator[httpx.Client]:
    """A client of it."""
    with gateway.client() as client:
        yield client
