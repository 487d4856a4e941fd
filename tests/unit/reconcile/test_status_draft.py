"""What the status notes of wishes and attempts, also where somebody wrote something odd."""

from __future__ import annotations

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.models import MESSAGE_MAX, LastAttempt, XApp
from xapp_operator.api.names import ANNOTATION_RETRY_AT
from xapp_operator.reconcile.status_draft import attempt_from_status, requested_value


def _annotated(value: str) -> XApp:
    body = raw()
    body["metadata"]["annotations"] = {ANNOTATION_RETRY_AT: value}
    return XApp.model_validate(body)


@pytest.mark.parametrize("value", ["", "now", "x" * MESSAGE_MAX])
def test_wish_is_noted_as_it_is(value: str) -> None:
    assert requested_value(_annotated(value), ANNOTATION_RETRY_AT) == value


def test_wish_too_long_for_the_status_is_noted_by_its_digest() -> None:
    noted = requested_value(_annotated("x" * 5000), ANNOTATION_RETRY_AT)
    other = requested_value(_annotated("x" * 4999 + "y"), ANNOTATION_RETRY_AT)
    assert noted is not None
    assert len(noted) <= MESSAGE_MAX
    assert noted != other


@pytest.mark.parametrize("outcome", [None, "Weird"])
def test_attempt_with_an_outcome_that_nobody_knows_is_no_attempt(outcome: str | None) -> None:
    last = LastAttempt.model_validate({"action": "Install", "outcome": outcome, "firstAt": "2026-01-01T00:00:00Z"})
    assert attempt_from_status(last) is None
