"""When a revision was deployed: helm tells it by the clock of its machine, which may be wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.reconcile.status.test_revision_history import DEPLOYED, UPGRADE, draft, info, known
from xapp_operator.domain.planning.plan_input import Attempt
from xapp_operator.reconcile.status.revision_history import build_history

HOUR = 3600
CREATED = 1_800_000_000
DURING = replace(UPGRADE, first_at=CREATED - 0.5)
AFTER = replace(UPGRADE, first_at=CREATED + 1.0)


@pytest.mark.parametrize(
    ("ahead", "attempt", "expected"),
    [
        (0, DURING, 0),
        (20, DURING, 0),
        (-20, DURING, 0),
        (HOUR, DURING, 0),
        (-HOUR, DURING, 0),
        (-HOUR, replace(DURING, first_at=CREATED + 0.5), 0),  # the creation is told in whole seconds
        # A record from a backup is created anew, long after its release was deployed.
        (-HOUR, AFTER, -HOUR),
        (-HOUR, None, -HOUR),
    ],
)
def test_the_time_of_helm_counts_only_for_a_record_from_before_the_attempt(
    ahead: float, attempt: Attempt | None, expected: float
) -> None:
    told = DEPLOYED.model_copy(update={"last_deployed": datetime.fromtimestamp(CREATED + ahead, UTC)})
    record = replace(info(3, "deployed"), created=CREATED)
    (found,) = build_history(draft(known(2), attempt=attempt), told, [record])
    assert found.deployed_at == datetime.fromtimestamp(CREATED + expected, UTC)


def test_without_a_time_of_helm_there_is_none() -> None:
    (found,) = build_history(draft(attempt=DURING), DEPLOYED, [replace(info(3, "deployed"), created=CREATED)])
    assert found.deployed_at is None
