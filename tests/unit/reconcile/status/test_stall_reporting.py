"""When an XApp begins to be Stalled, and when a step of helm has told it."""

from __future__ import annotations

import pytest

from tests.unit.reconcile.xapps import raw
from xapp_operator.api.models import XApp
from xapp_operator.api.status_texts import MESSAGE_MAX
from xapp_operator.common.text import shorten
from xapp_operator.reconcile.status.stall_reporting import find_begun_stall

GONE = "the chart does not exist"
REFUSED = 'ConfigMap "hello" is invalid'


def stalled(
    reason: str | None,
    message: str = GONE,
    *,
    generation: int = 1,
    attempt: tuple[str, str] | None = None,
    released: str | None = None,
) -> XApp:
    """Return an XApp; `attempt` is the outcome and the message of the last one, and `released` the reason."""
    body = raw()
    fixed = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": generation}
    conditions = [{"type": "Ready", "status": "False", "reason": "Progressing", "message": "", **fixed}]
    if reason is not None:
        conditions.append({"type": "Stalled", "status": "True", "reason": reason, "message": message, **fixed})
    if released is not None:
        conditions.append({"type": "Released", "status": "True", "reason": released, "message": "", **fixed})
    body["status"]["conditions"] = conditions
    if attempt is not None:
        body["status"]["lastAttempt"] = {"action": "Upgrade", "outcome": attempt[0], "message": attempt[1]}
    return XApp.model_validate(body)


def told(before: XApp, after: XApp) -> str | None:
    found = find_begun_stall(before, after)
    return None if found is None else found.message


def test_the_first_stall_and_each_other_reason_are_told() -> None:
    assert told(stalled(None), stalled("ChartPullFailed")) == GONE
    assert told(stalled("ValuesInvalid", GONE), stalled("ChartPullFailed")) == GONE
    assert told(stalled("ChartPullFailed"), stalled(None)) is None


@pytest.mark.parametrize(("generation", "expected"), [(1, None), (2, "there is no version 2")])
def test_another_message_is_told_about_another_spec(generation: int, expected: str | None) -> None:
    after = stalled("ChartPullFailed", "there is no version 2", generation=generation)
    assert told(stalled("ChartPullFailed"), after) == expected


def test_another_spec_with_the_same_message_is_not_told() -> None:
    assert told(stalled("ChartPullFailed"), stalled("ChartPullFailed", generation=2)) is None


@pytest.mark.parametrize("message", [REFUSED, f"{REFUSED}; not rolled back: no earlier revision is kept"])
def test_what_a_failed_step_has_told_is_not_told_again(message: str) -> None:
    assert told(stalled(None), stalled("UpgradeFailed", message, attempt=("Failed", REFUSED))) is None


def test_a_message_that_the_status_has_cut_is_recognized() -> None:
    long = "x" * (MESSAGE_MAX + 100)
    after = stalled("UpgradeFailed", long, attempt=("Failed", shorten(long, MESSAGE_MAX)))
    assert told(stalled(None), after) is None


@pytest.mark.parametrize("message", ["", GONE])
def test_another_failure_after_a_failed_step_is_told(message: str) -> None:
    after = stalled("UpgradeFailed", REFUSED, attempt=("Failed", message))
    assert told(stalled(None), after) == REFUSED


@pytest.mark.parametrize(("released", "expected"), [("RollbackSucceeded", None), ("UpgradeSucceeded", REFUSED)])
def test_only_a_rollback_has_told_of_an_upgrade_that_was_never_healthy(released: str, expected: str | None) -> None:
    after = stalled("HealthCheckFailed", REFUSED, attempt=("Unhealthy", REFUSED), released=released)
    assert told(stalled(None), after) == expected
