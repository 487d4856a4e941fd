"""Which helm steps the status need not record, and how their attempts are found again after a kill."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import examples, must_occur, occurred
from tests.unit.domain.planning.plan_inputs import NAME, NOW, OLD, WANTED, release
from xapp_operator.domain.planning.plan_input import (
    DEPLOYED,
    FAILED,
    INSTALL,
    ROLLBACK,
    SUPERSEDED,
    UNINSTALL,
    UNINSTALLED,
    UNINSTALLING,
    UPGRADE,
    Attempt,
    AttemptOutcome,
    ObservedRelease,
    PastRevision,
)
from xapp_operator.domain.planning.unrecorded_steps import (
    StoredStatus,
    is_recoverable,
    may_start_unrecorded,
    may_stay_running,
    recover_attempt,
)

GOOD = (PastRevision(1, SUPERSEDED, OLD),)
UNFINISHED = [outcome for outcome in AttemptOutcome if outcome is not AttemptOutcome.SUCCEEDED]


def attempt(outcome: AttemptOutcome = AttemptOutcome.SUCCEEDED, action: str = INSTALL) -> Attempt:
    return Attempt(action=action, outcome=outcome, digests=OLD, first_at=NOW, last_at=NOW)


seldom = st.sampled_from([False, False, False, False, True])
attempts = st.sampled_from([*map(attempt, AttemptOutcome), *[attempt(), attempt(action=UPGRADE)] * 6])
statuses = st.builds(
    StoredStatus,
    attempt=st.none() | attempts,
    revision=st.sampled_from([None, 1, 2]),
    tested=seldom,
    ready=seldom,
)


@must_occur(install=5, upgrade=5)
@examples(5)
@given(stored=statuses, action=st.sampled_from([INSTALL, INSTALL, UPGRADE, ROLLBACK, UNINSTALL]), requested=seldom)
def test_every_step_that_starts_unrecorded_is_found_again(stored: StoredStatus, action: str, requested: bool) -> None:
    if not may_start_unrecorded(stored, action, previous=stored.attempt, requested=requested):
        return
    occurred(action.lower())
    made = release(revision=(stored.revision or 0) + 1, earlier=() if stored.revision is None else GOOD)
    found = recover_attempt(stored, made, name=NAME)
    assert found is not None
    assert (found.action, found.outcome, found.digests) == (action, AttemptOutcome.RUNNING, WANTED)
    assert found.revision_before == (stored.revision or 0)


def test_nothing_is_recovered_where_an_attempt_or_a_test_is_stored() -> None:
    for stored in (StoredStatus(attempt=attempt(AttemptOutcome.FAILED)), StoredStatus(tested=True)):
        assert recover_attempt(stored, release(revision=1), name=NAME) is None


@pytest.mark.parametrize("outcome", UNFINISHED)
@pytest.mark.parametrize("action", [INSTALL, UPGRADE])
def test_step_after_one_that_did_not_succeed_is_recorded(outcome: AttemptOutcome, action: str) -> None:
    revision = None if action == INSTALL else 1
    assert not is_recoverable(StoredStatus(attempt(outcome, action), revision), action)
    assert is_recoverable(StoredStatus(attempt(action=action), revision), action)


@pytest.mark.parametrize(
    ("stored", "action", "requested"),
    [
        (StoredStatus(attempt(), revision=1, ready=True), UPGRADE, False),
        (StoredStatus(attempt(), revision=1), UPGRADE, True),
        (StoredStatus(attempt(), revision=1), ROLLBACK, False),
        (StoredStatus(attempt(), revision=1), UNINSTALL, False),
        (StoredStatus(attempt(), revision=1), INSTALL, False),
        (StoredStatus(tested=True), INSTALL, False),
        (StoredStatus(), UPGRADE, False),
    ],
    ids=["ready", "requested", "rollback", "uninstall", "installed again", "tests of another install", "not known"],
)
def test_step_is_recorded_first(stored: StoredStatus, action: str, requested: bool) -> None:
    assert not may_start_unrecorded(stored, action, previous=stored.attempt, requested=requested)


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        (StoredStatus(attempt(), revision=2), release(revision=2, earlier=GOOD)),
        (StoredStatus(attempt(), revision=1), replace(release(earlier=GOOD), digests=None)),
        (StoredStatus(attempt(), revision=1), release(owner=None, earlier=GOOD)),
        (StoredStatus(attempt(), revision=1), release(owner="other", earlier=GOOD)),
        (StoredStatus(attempt(), revision=1), release(attempt_is_ours=False, earlier=GOOD)),
        (StoredStatus(attempt(), revision=1), release(UNINSTALLING, earlier=GOOD)),
        (StoredStatus(attempt(), revision=1), release(UNINSTALLED, earlier=GOOD)),
        (StoredStatus(attempt(AttemptOutcome.FAILED), revision=1), release(FAILED, earlier=GOOD)),
        (StoredStatus(), release(earlier=GOOD)),
        (StoredStatus(attempt(), revision=1), None),
    ],
    ids=[
        "already known",
        "of a person, inherited digests",
        "of a person",
        "of another XApp",
        "of a rollback",
        "uninstalling",
        "uninstalled",
        "recorded",
        "status lost, perhaps healthy before",
        "no release",
    ],
)
def test_nothing_is_recovered(stored: StoredStatus, found: ObservedRelease | None) -> None:
    assert recover_attempt(stored, found, name=NAME) is None


@pytest.mark.parametrize("outcome", UNFINISHED)
def test_step_after_one_that_did_not_succeed_and_is_not_stored_is_recorded(outcome: AttemptOutcome) -> None:
    stored = StoredStatus(attempt(), revision=1)
    assert may_start_unrecorded(stored, UPGRADE, previous=attempt(), requested=False)
    assert not may_start_unrecorded(stored, UPGRADE, previous=attempt(outcome, UPGRADE), requested=False)


def test_first_install_is_recovered_after_installs_that_failed() -> None:
    found = recover_attempt(StoredStatus(), release(earlier=(PastRevision(1, FAILED, OLD),)), name=NAME)
    assert found is not None
    assert found.action == INSTALL


def test_recovered_attempt_began_when_its_record_was_written() -> None:
    made = release(DEPLOYED, revision=1, modified_at=NOW - 7.0)
    found = recover_attempt(StoredStatus(), made, name=NAME)
    assert found is not None
    assert (found.first_at, found.last_at, found.count) == (NOW - 7.0, NOW - 7.0, 1)


@pytest.mark.parametrize("action", [INSTALL, UPGRADE, ROLLBACK])
def test_a_step_that_the_status_calls_running_may_stay_so_for_a_while(action: str) -> None:
    running, released = attempt(AttemptOutcome.RUNNING, action), attempt(AttemptOutcome.RELEASED, action)
    assert may_stay_running(StoredStatus(running), released, requested=False)
    assert not may_stay_running(StoredStatus(running), released, requested=True)
    assert not may_stay_running(StoredStatus(running, ready=True), released, requested=False)


@pytest.mark.parametrize("stored", [None, *(attempt(each, UPGRADE) for each in AttemptOutcome if each != "Running")])
def test_a_step_that_the_status_does_not_call_running_is_told(stored: Attempt | None) -> None:
    assert not may_stay_running(StoredStatus(stored), attempt(AttemptOutcome.RELEASED, UPGRADE), requested=False)


@pytest.mark.parametrize("other", [{"action": INSTALL}, {"digests": WANTED}])
def test_another_step_than_the_one_that_the_status_calls_running_is_told(other: Any) -> None:
    running = replace(attempt(AttemptOutcome.RUNNING, UPGRADE), **other)
    assert not may_stay_running(StoredStatus(running), attempt(AttemptOutcome.RELEASED, UPGRADE), requested=False)
