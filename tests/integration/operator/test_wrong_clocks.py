"""An operator that starts on a machine whose clock is wrong: the time of the API server counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.operator_clock import OperatorClock
from tests.integration.operator.test_dependencies import deploy, wait_for_reason
from tests.localcluster import Cluster
from tests.support.operator import OperatorProcess
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

HOUR = 3600
TIMEOUT_SECONDS = 20
SETTINGS = {"XAPP_LEASE_SECONDS": "6"}


@pytest.fixture(params=[HOUR, -HOUR], ids=["ahead", "behind"])
def wrong_operator(
    operator: OperatorProcess, cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[OperatorProcess]:
    """An operator with a wrong clock, instead of the one that the tests of this folder share."""
    clock = OperatorClock.build(tmp_path)
    if clock is None:
        pytest.skip("needs a C compiler")
    clock.set_ahead(request.param)
    operator.stop()
    wrong = OperatorProcess(cluster, tmp_path, {**SETTINGS, **clock.environment})
    wrong.start()
    yield wrong
    wrong.stop()
    operator.start()


def test_a_deletion_waits_for_dependents_until_the_timeout(
    cluster: Cluster, namespace: str, wrong_operator: OperatorProcess
) -> None:
    xapps = XAppClient(cluster, namespace)
    deploy(xapps, "first", timeout=f"{TIMEOUT_SECONDS}s")
    deploy(xapps, "second", "first")
    xapps.wait_ready("second")
    xapps.kubectl("delete", "xapp", "first", "--wait=false")
    deleted_at = time.monotonic()
    wait_for_reason(xapps, "first", "DependencyNotReady")
    xapps.wait_gone("xapp", "first", seconds=TIMEOUT_SECONDS + 30)
    assert time.monotonic() - deleted_at >= TIMEOUT_SECONDS - 2
    assert set(xapps.helm_releases()) == {"second"}
    assert wrong_operator.error_lines() == []
    xapps.kubectl("delete", "xapps", "--all", "--timeout=60s")
