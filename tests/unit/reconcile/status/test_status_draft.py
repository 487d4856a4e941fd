"""How annotations and attempts are stored in the status, also odd ones."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_RETRY_AT, ANNOTATION_ROLLBACK_TO
from xapp_operator.api.status_parts import LastAttempt, LastTest
from xapp_operator.api.status_texts import MESSAGE_MAX
from xapp_operator.domain.planning.plan_input import ObservedRelease, TestOutcome
from xapp_operator.reconcile.status.status_draft import (
    StatusDraft,
    attempt_from_status,
    begin_test_run,
    is_unhandled,
    load_test_run,
    requested_value,
    utc,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC).timestamp()


def _annotated(value: str, name: str = ANNOTATION_RETRY_AT) -> XApp:
    body = raw()
    body["metadata"]["annotations"] = {name: value}
    return XApp.model_validate(body)


@pytest.mark.parametrize("value", ["", "now", "x" * MESSAGE_MAX])
def test_annotation_is_stored_unchanged(value: str) -> None:
    assert requested_value(_annotated(value), "retry_at") == value


def test_annotation_too_long_for_the_status_is_stored_as_its_digest() -> None:
    stored = requested_value(_annotated("x" * 5000), "retry_at")
    other = requested_value(_annotated("x" * 4999 + "y"), "retry_at")
    assert stored is not None
    assert len(stored) <= MESSAGE_MAX
    assert stored != other


@pytest.mark.parametrize(
    ("revision", "kept"), [("", "@"), ("1", "1@"), ("1234567890", "1234567890@"), ("12345678901", "")]
)
def test_the_revision_of_a_long_rollback_to_is_stored_too(revision: str, kept: str) -> None:
    xapp = _annotated(f"{revision}@{'x' * 5000}", ANNOTATION_ROLLBACK_TO)
    stored = requested_value(xapp, "rollback_to")
    assert stored is not None
    assert stored.startswith(f"{kept}sha256:")


@pytest.mark.parametrize("outcome", [None, "Weird"])
def test_attempt_with_an_unknown_outcome_is_no_attempt(outcome: str | None) -> None:
    last = LastAttempt.model_validate({"action": "Install", "outcome": outcome, "firstAt": "2026-01-01T00:00:00Z"})
    assert attempt_from_status(last, now=NOW) is None


@pytest.mark.parametrize(("stored", "expected"), [("2026-05-01T00:00:00Z", None), ("2031-01-01T00:00:00Z", NOW)])
def test_times_of_an_attempt_in_the_future_count_as_now(stored: str, expected: float | None) -> None:
    last = LastAttempt.model_validate({"action": "Install", "outcome": "Failed", "firstAt": stored, "lastAt": stored})
    attempt = attempt_from_status(last, now=NOW)
    assert attempt is not None
    expected = expected or datetime.fromisoformat(stored).timestamp()
    assert (attempt.first_at, attempt.last_at) == (expected, expected)


@pytest.mark.parametrize("value", ["", "now", "x" * 5000])
def test_annotation_is_unhandled_until_it_is_marked(value: str) -> None:
    xapp = _annotated(value)
    draft = StatusDraft.from_status(xapp, now=time.time())
    assert is_unhandled(xapp, draft.handled, "retry_at")
    assert not is_unhandled(xapp, draft.handled, "force_at")
    handled = draft.with_handled(xapp, "retry_at").handled
    assert not is_unhandled(xapp, handled, "retry_at")
    removed = xapp.model_copy(update={"metadata": xapp.metadata.model_copy(update={"annotations": {}})})
    assert not is_unhandled(removed, handled, "retry_at")


@pytest.mark.parametrize(("observed", "held", "labelled"), [(2, 1, 3), (1, None, None), (-1, None, 3)])
def test_held_and_labelled_revision_end_with_the_generation(
    observed: int, held: int | None, labelled: int | None
) -> None:
    body = raw()
    body["status"] = {"observedGeneration": observed, "heldRevision": 1, "release": {"revision": 3}}
    draft = StatusDraft.from_status(XApp.model_validate(body), now=time.time())
    assert (draft.held_revision, draft.labelled_revision) == (held, labelled)


FIRST = ObservedRelease(1, "deployed", "hello", None, has_own_attempt=True, modified_at=1.0)


def test_a_run_of_tests_that_did_not_end_is_counted_on() -> None:
    first = begin_test_run(None, FIRST, requested=False, now=100.0)
    assert (first.outcome, first.count, first.first_at) == (TestOutcome.RUNNING, 1, 100.0)
    lost = begin_test_run(first, FIRST, requested=False, now=900.0)
    assert (lost.count, lost.first_at) == (2, 900.0)  # no operator worked on it in between
    interrupted = replace(first, outcome=TestOutcome.INTERRUPTED)
    assert begin_test_run(interrupted, FIRST, requested=False, now=900.0).first_at == 100.0
    for before in (replace(first, outcome=TestOutcome.FAILED), replace(first, revision=2)):
        assert begin_test_run(before, FIRST, requested=True, now=900.0).count == 1


def test_a_run_of_tests_dated_in_the_future_counts_as_now() -> None:
    stored = LastTest(revision=1, outcome="Running", first_at=utc(5000.0), last_at=utc(6000.0))
    run = load_test_run(stored, now=1000.0)
    assert run is not None
    assert (run.first_at, run.last_at) == (1000.0, 1000.0)
    assert load_test_run(stored.model_copy(update={"outcome": "Unheard"}), now=1000.0) is None


FAILED_INSTALL = {"action": "Install", "outcome": "Failed", "chartDigest": "c", "valuesDigest": "v"}
UNHEALTHY_UPGRADE = {"action": "Upgrade", "outcome": "Unhealthy", "chartDigest": "c", "valuesDigest": "v"}
DEPLOYED = {"revision": 2, "chartDigest": "c", "valuesDigest": "v"}
ROLLED_BACK = {"revision": 3, "chartDigest": "c", "valuesDigest": "old"}


@pytest.mark.parametrize(
    ("attempt", "release", "changed", "suspend", "kept"),
    [
        (FAILED_INSTALL, {}, False, False, True),
        (FAILED_INSTALL, {}, True, False, False),
        (FAILED_INSTALL, {}, True, True, True),
        (UNHEALTHY_UPGRADE, DEPLOYED, True, False, True),
        (UNHEALTHY_UPGRADE, ROLLED_BACK, True, False, False),
        (UNHEALTHY_UPGRADE, ROLLED_BACK, False, False, True),
        (FAILED_INSTALL | {"outcome": "Succeeded"}, DEPLOYED, True, False, True),
    ],
)
def test_a_changed_spec_ends_a_failure_unless_what_is_deployed_is_unhealthy(
    attempt: dict[str, str], release: dict[str, str | int], changed: bool, suspend: bool, kept: bool
) -> None:
    body = raw()
    body["spec"]["suspend"] = suspend
    body["status"] = {
        "observedGeneration": 1 if changed else 2,
        "lastAttempt": attempt | {"firstAt": "2026-05-01T00:00:00Z"},
        "release": release,
    }
    assert (StatusDraft.from_status(XApp.model_validate(body), now=time.time()).attempt is not None) == kept


@pytest.mark.parametrize(
    ("outcome", "annotation", "observed", "handled"),
    [
        ("Failed", "1", 1, "1"),
        ("Running", "1", 1, "1"),
        ("Interrupted", "1", 1, "1"),
        ("Failed", "1@again", 1, None),
        ("Failed", "1", 2, None),
        ("Succeeded", "1", 1, None),
    ],
)
def test_a_changed_spec_ends_a_requested_rollback_that_has_not_succeeded(
    outcome: str, annotation: str, observed: int, handled: str | None
) -> None:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_ROLLBACK_TO: annotation}
    attempt = {"action": "Rollback", "outcome": outcome, "rollbackTo": "1", "firstAt": "2026-01-01T00:00:00Z"}
    body["status"] = {"observedGeneration": observed, "lastAttempt": attempt}
    assert StatusDraft.from_status(XApp.model_validate(body), now=NOW).handled.rollback_to == handled
