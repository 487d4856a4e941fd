"""The real helm, a registry and keys of gpg."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.localcluster import Binaries
from tests.support.chart_server import ChartServer
from tests.support.chart_signing import GnuPG
from tests.support.oci_registry import LocalRegistry
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.config.settings import Settings
from xapp_operator.helm.engine import HelmEngine


@pytest.fixture(scope="package")
def gpg() -> Iterator[GnuPG]:
    """Keys: `author` and `second` (Ed25519), and those of others."""
    with GnuPG() as one:
        one.create_key("author")
        one.create_key("second", algorithm="ed25519")
        one.create_key("stranger", algorithm="ed25519")
        one.create_key("expired", expired=True)
        one.create_key("revoked", algorithm="ed25519")
        yield one


@pytest.fixture(scope="package")
def helm_path(binaries: Binaries) -> Path:
    return binaries.resolve(["helm"])["helm"]


@pytest.fixture
def settings(tmp_path: Path, helm_path: Path) -> Settings:
    keys = tmp_path / "keys"
    keys.mkdir()
    return Settings(
        helm=str(helm_path), cache_dir=tmp_path / "cache", allow_loopback_repositories=True, signature_keys=keys
    )


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[HelmEngine]:
    one = HelmEngine(settings)
    yield one
    one.close()


@pytest.fixture
async def sources(settings: Settings) -> AsyncIterator[ChartSources]:
    async with ChartSources(settings) as one:
        yield one


@pytest.fixture
def server() -> Iterator[ChartServer]:
    with ChartServer() as one:
        yield one


@pytest.fixture
def registry(binaries: Binaries) -> Iterator[LocalRegistry]:
    with LocalRegistry(binaries.resolve(["registry"])["registry"]) as one:
        yield one
