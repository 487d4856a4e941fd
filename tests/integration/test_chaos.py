"""A short run of `make chaos`: each fault must meet what it is for, and nothing may be late or lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.campaign import FAULTS, FaultResult, Plan, run
from tests.localcluster import Binaries

pytestmark = [pytest.mark.integration, pytest.mark.no_retry]

QUICK_FAULTS = ("operator killed while helm runs", "helm killed", "XApp changed ten times")
LIMIT_SECONDS = 60.0
SEED = 2
"""With this seed, helm still runs when the faults look for it."""


def test_a_short_run_loses_nothing(tmp_path: Path, binaries: Binaries) -> None:
    assert binaries
    faults = tuple(replace(each, limit=LIMIT_SECONDS) for each in FAULTS if each.name in QUICK_FAULTS)
    results: dict[str, FaultResult] = {}
    run(Plan(seed=SEED, rounds=len(faults), xapps=8, faults=faults), tmp_path, results)
    assert [lost for each in results.values() for lost in each.lost] == []
    converged = {name: (each.converged, each.without_effect, each.late) for name, each in results.items()}
    assert converged == dict.fromkeys(("start", *QUICK_FAULTS), (1, 0, 0))
