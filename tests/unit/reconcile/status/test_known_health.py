"""What the history tells of the health of revisions, also of those that it lacks."""

from __future__ import annotations

import pytest

from tests.unit.reconcile.status.test_revision_history import draft, info, known, known_until, recorded, release
from xapp_operator.api.models import ReleaseStatus, RevisionStatus
from xapp_operator.domain.planning.plan_input import PastRevision
from xapp_operator.reconcile.status.revision_history import (
    add_known_health,
    build_history,
    find_never_healthy,
    forget_other_revisions,
)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([known(1, healthy=True), known(2, healthy=False)], [True, False, False]),
        ([known(2, healthy=True), known(4)], [None, True, False]),
        ([known(1), known(4)], [None, False, False]),
        ([known(4)], [None, None, None]),
        ([], [None, None, None]),
    ],
)
def test_a_revision_that_the_history_lacks_never_was_healthy_unless_it_is_older_than_all(
    history: list[RevisionStatus], expected: list[bool | None]
) -> None:
    past = tuple(PastRevision(number, "superseded", None) for number in (1, 2, 3))
    found = add_known_health(release(*past), history)
    assert [each.was_healthy for each in found.past_revisions] == expected
    assert find_never_healthy((1, 2, 3), history) == {n for n in (1, 2, 3) if expected[n - 1] is False}


def test_the_history_notes_that_of_the_revisions_it_lacked() -> None:
    deployed = ReleaseStatus(revision=5)
    stored = [*(info(number) for number in range(1, 5)), info(5, "deployed")]
    found = build_history(draft(known(4, healthy=True), known(2, healthy=True)), deployed, stored)
    assert [(each.revision, each.was_healthy) for each in found[1:]] == [(4, True), (3, False), (2, True), (1, None)]


def test_of_a_record_that_was_created_again_nothing_is_known() -> None:
    """It may come from a backup."""
    after = forget_other_revisions(known_until(3, "a", "b", "c"), recorded("a", "other", "c"))
    assert [(each.revision, each.secret_uid) for each in after.history] == [(3, "c"), (2, "other"), (1, "a")]
    assert after.history[1] == RevisionStatus(revision=2, secret_uid="other", status="x")
    assert find_never_healthy((1, 2, 3), after.history) == set()


def test_of_the_record_in_force_that_was_created_again_nothing_stays() -> None:
    after = forget_other_revisions(known_until(2, "a", "b", "c"), recorded("a", "other", "c"))
    assert [each.revision for each in after.history] == [3, 1]
