"""When a source that is not available is tried again."""

from __future__ import annotations

import math

import pytest

from tests.unit.reconcile.xapps import xapp
from xapp_operator.api.conditions import Reason
from xapp_operator.api.models import Metadata
from xapp_operator.api.status_parts import Step
from xapp_operator.domain.planning.actions import Nothing, Wait
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.domain.planning.plan_input import Digests
from xapp_operator.domain.planning.progress import NO_RETRIES
from xapp_operator.errors import SourcePending, SourceUnavailable, XAppError
from xapp_operator.reconcile.work.source_backoff import SLOW_RECHECK_SECONDS, SourceBackoff

NOW = 1_000_000.0
DIGESTS = Digests("c", "v")
AWAY = SourceUnavailable("away")
GONE = SourceUnavailable("no such chart", permanent=True)
PENDING = SourcePending("the chart is read")
BACKED_OFF = 8.0


def metadata(generation: int = 1) -> Metadata:
    return xapp().metadata.model_copy(update={"generation": generation})


def wait(backoff: SourceBackoff, now: float, *, generation: int = 1) -> float:
    return backoff.record_wait(metadata(generation), now=now)


def test_a_reconcile_before_the_next_try_counts_as_none_and_changes_nothing() -> None:
    backoff = SourceBackoff(Backoff())
    due = wait(backoff, NOW)
    for step in range(1, 1000):
        assert wait(backoff, NOW + (due - NOW) * step / 1000) == due
    assert backoff.retries(("ns", "hello")).count == 1
    later = wait(backoff, due)
    assert (later > due, backoff.retries(("ns", "hello")).count) == (True, 2)
    assert backoff.retries(("ns", "hello")).next_at == later


def test_the_pauses_grow_to_the_maximum_and_not_beyond() -> None:
    backoff, now, pauses = SourceBackoff(Backoff()), NOW, []
    for _ in range(20):
        due = wait(backoff, now)
        pauses.append(due - now)
        now = due
    for count, pause in enumerate(pauses):
        middle = min(2.0**count, 300.0)
        assert 0.8 * middle <= pause <= min(1.2 * middle, 300.0), f"pause {count + 1}: {pause} s"


def test_a_reconcile_at_the_time_of_a_try_counts_as_none_however_long_the_pause_is() -> None:
    backoff = SourceBackoff(Backoff(300.0, 300.0))
    for number in range(1, 100):  # half of the pauses are the longest that there is
        due = wait(backoff, NOW + 1e4 * number)
        assert wait(backoff, NOW + 1e4 * number) == due
        assert backoff.retries(("ns", "hello")).count == number


def test_a_changed_spec_starts_again() -> None:
    backoff, now = SourceBackoff(Backoff()), NOW
    for _ in range(10):
        now = wait(backoff, now)
    assert wait(backoff, now - 1.0, generation=2) <= now - 1.0 + 1.2
    assert backoff.retries(("ns", "hello")).count == 1


def test_a_clock_that_was_set_back_does_not_make_a_wait_longer() -> None:
    backoff = SourceBackoff(Backoff())
    wait(backoff, NOW)
    assert wait(backoff, NOW - 1e6) <= NOW - 1e6 + 300.0


def test_a_source_that_answered_is_forgotten() -> None:
    backoff = SourceBackoff(Backoff())
    wait(backoff, NOW)
    backoff.forget(("ns", "hello"))
    assert backoff.retries(("ns", "hello")) == NO_RETRIES


@pytest.mark.parametrize(
    ("decision", "desired", "delay", "counts"),
    [
        (Nothing(), DIGESTS, math.inf, 0),
        (Nothing(), GONE, math.inf, 0),
        (Nothing(), AWAY, BACKED_OFF, 4),
        (Nothing(), PENDING, math.inf, 3),
        (Wait(Reason.UPGRADE_FAILED, "no", stalled=True), DIGESTS, math.inf, 0),
        (Wait(Reason.UPGRADE_FAILED, "no", stalled=True), AWAY, BACKED_OFF, 4),
        (Wait(Reason.SUSPENDED, "stays"), None, math.inf, 0),
        (Wait(Reason.PROGRESSING, "soon", until=NOW + 2.0), DIGESTS, 2.0, 3),
        (Wait(Reason.PROGRESSING, "soon", until=NOW + 2.0), AWAY, 2.0, 4),
        (Wait(Reason.PROGRESSING, "late", until=NOW + 900.0), AWAY, BACKED_OFF, 4),
        (Wait(Reason.PROGRESSING, "the chart is read", step=Step.CHART), PENDING, SLOW_RECHECK_SECONDS, 3),
        (Wait(Reason.CHART_PULL_FAILED, "away"), AWAY, BACKED_OFF, 4),
        (Wait(Reason.PROGRESSING, "helm runs for another"), None, BACKED_OFF, 4),
    ],
)
def test_a_source_that_may_come_back_is_tried_again_whatever_was_decided(
    decision: Wait | Nothing, desired: Digests | XAppError | None, delay: float, counts: int
) -> None:
    backoff, due = SourceBackoff(Backoff()), NOW - 100.0
    for _ in range(3):
        due = wait(backoff, due)
    found = backoff.requeue_delay(metadata(), decision, desired, now=NOW)
    assert found == (pytest.approx(delay, rel=0.2) if delay != math.inf else math.inf)
    assert backoff.retries(("ns", "hello")).count == counts
