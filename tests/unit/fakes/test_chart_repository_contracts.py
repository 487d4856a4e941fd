"""The fake chart repository does what one over HTTP does. The real one needs no cluster, so both are here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.chart_repository import ChartRepositoryContract, downloader, sources
from tests.support.chart_server import ChartServer
from tests.support.fakes.chart_repository import FakeChartRepository

__all__ = ["downloader", "sources"]

JANE = {"username": "jane", "password": "secret"}


class TestFakeChartRepository(ChartRepositoryContract):
    """The fake keeps the contract."""

    @pytest.fixture
    def served(self, guarded: FakeChartRepository, monkeypatch: pytest.MonkeyPatch) -> FakeChartRepository:
        repository = FakeChartRepository()
        repository.latency = guarded.latency = 0.01
        repository.serve(monkeypatch, guarded)
        return repository

    @pytest.fixture
    def guarded(self) -> FakeChartRepository:
        return FakeChartRepository("https://guarded.example.com", **JANE)


class TestChartServer(ChartRepositoryContract):
    """A server on loopback keeps the contract."""

    @pytest.fixture
    def served(self) -> Iterator[ChartServer]:
        with ChartServer() as server:
            yield server

    @pytest.fixture
    def guarded(self) -> Iterator[ChartServer]:
        with ChartServer(**JANE) as server:
            yield server
