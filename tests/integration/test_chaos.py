"""A short run of `make chaos`, and the parts of it that count losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.campaign import FAULTS, FaultResult, Plan, run
from tests.localcluster import Binaries

pytestmark = pytest.mark.integration

QUICK_FAULTS = ("operator killed while helm runs", "helm killed", "XApp changed ten times")


def test_a_short_run_loses_nothing(tmp_path: Path, binaries: Binaries) -> None:
    assert binaries
    faults = tuple(each for each in FAULTS if each.name in QUICK_FAULTS)
    results: dict[str, FaultResult] = {}
    run(Plan(seed=2, rounds=2, xapps=8, faults=faults), tmp_path, results)
    assert sum(each.times for each in results.values()) == 3, "the start and two rounds"
    assert [lost for each in results.values() for lost in each.lost] == []
