"""How annotations and attempts are stored in the status, also odd ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_RETRY_AT
from xapp_operator.api.status_parts import LastAttempt
from xapp_operator.api.status_texts import MESSAGE_MAX
from xapp_operator.reconcile.status_draft import (
    StatusDraft,
    attempt_from_status,
    is_unhandled,
    requested_value,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC).timestamp()


def _annotated(value: str) -> XApp:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_RETRY_AT: value}
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
    draft = StatusDraft.from_status(xapp)
    assert is_unhandled(xapp, draft.handled, "retry_at")
    assert not is_unhandled(xapp, draft.handled, "force_at")
    assert not is_unhandled(xapp, draft.with_handled(xapp, "retry_at").handled, "retry_at")


@pytest.mark.parametrize(("observed", "held", "labelled"), [(2, 1, 3), (1, None, None), (-1, None, 3)])
def test_held_and_labelled_revision_end_with_the_generation(
    observed: int, held: int | None, labelled: int | None
) -> None:
    body = raw()
    body["status"] = {"observedGeneration": observed, "heldRevision": 1, "release": {"revision": 3}}
    draft = StatusDraft.from_status(XApp.model_validate(body))
    assert (draft.held_revision, draft.labelled_revision) == (held, labelled)
