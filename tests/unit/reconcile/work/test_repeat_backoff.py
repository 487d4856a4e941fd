"""Repairs that are undone repeatedly come with growing delays."""

from __future__ import annotations

from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.reconcile.work.repeat_backoff import RepeatBackoff

KEY = ("ric", "hello")


def test_first_repair_is_due_at_once_and_the_next_after_a_delay() -> None:
    backoff = RepeatBackoff(Backoff(1, 300))
    assert backoff.next_repair_at(KEY) == 0
    backoff.record_repair(KEY, now=100)
    assert backoff.next_repair_at(KEY) == 101


def test_delays_double_up_to_the_maximum() -> None:
    backoff = RepeatBackoff(Backoff(1, 10))
    now, delays = 100.0, []
    for _ in range(6):
        backoff.record_repair(KEY, now=now)
        delays.append(backoff.next_repair_at(KEY) - now)
        now = backoff.next_repair_at(KEY)
    assert delays == [1, 2, 4, 8, 10, 10]


def test_after_a_quiet_time_the_delays_start_again() -> None:
    backoff = RepeatBackoff(Backoff(1, 300))
    for now in (100.0, 101.0, 103.0):
        backoff.record_repair(KEY, now=now)
    backoff.record_repair(KEY, now=103 + 59.9)
    assert backoff.next_repair_at(KEY) == 103 + 59.9 + 8
    backoff.record_repair(KEY, now=103 + 59.9 + 60)
    assert backoff.next_repair_at(KEY) == 103 + 59.9 + 60 + 1


def test_removal_at_the_longest_delay_does_not_reset_the_back_off() -> None:
    backoff = RepeatBackoff(Backoff(1, 300))
    now = 0.0
    for _ in range(12):
        backoff.record_repair(KEY, now=now)
        now = backoff.next_repair_at(KEY) + 10
    backoff.record_repair(KEY, now=now)
    assert backoff.next_repair_at(KEY) == now + 300


def test_the_quiet_time_is_at_least_twice_the_last_delay() -> None:
    for quiet, delay in ((199.9, 200.0), (200.0, 100.0)):
        backoff = RepeatBackoff(Backoff(100, 300))
        backoff.record_repair(KEY, now=1000)
        backoff.record_repair(KEY, now=1000 + quiet)
        assert backoff.next_repair_at(KEY) == 1000 + quiet + delay


def test_each_xapp_has_its_own_delay_until_it_is_forgotten() -> None:
    backoff = RepeatBackoff(Backoff(1, 300))
    backoff.record_repair(KEY, now=100)
    assert backoff.next_repair_at(("ric", "other")) == 0
    backoff.forget(KEY)
    assert backoff.next_repair_at(KEY) == 0
