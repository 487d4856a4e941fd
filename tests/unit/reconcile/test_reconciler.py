"""Each action has its own name in the metrics."""

from __future__ import annotations

import pytest

from xapp_operator.domain.planning.actions import (
    Action,
    Install,
    RejectRollback,
    RepairLabels,
    UpdateArchiveOwners,
    action_label,
)


@pytest.mark.parametrize(
    ("action", "label"),
    [
        (Install(), "install"),
        (RepairLabels(), "repair_labels"),
        (RejectRollback("no such revision"), "reject_rollback"),
        (UpdateArchiveOwners(), "update_archive_owners"),
    ],
)
def test_label_of_an_action_is_its_name_in_snake_case(action: Action, label: str) -> None:
    assert action_label(action) == label
