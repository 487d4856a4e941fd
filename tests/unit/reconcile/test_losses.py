"""Labels that somebody takes off again and again are put back ever later."""

from __future__ import annotations

from xapp_operator.reconcile.losses import RESET_SECONDS, LabelBackoff

KEY = ("ric", "hello")


def test_the_first_loss_is_mended_at_once_and_the_next_after_a_pause() -> None:
    losses = LabelBackoff(first=1, longest=300)
    assert losses.next_repair_at(KEY) == 0
    losses.record_repair(KEY, now=100)
    assert losses.next_repair_at(KEY) == 101


def test_pauses_double_up_to_the_longest() -> None:
    losses = LabelBackoff(first=1, longest=10)
    now, pauses = 100.0, []
    for _ in range(6):
        losses.record_repair(KEY, now=now)
        pauses.append(losses.next_repair_at(KEY) - now)
        now = losses.next_repair_at(KEY)
    assert pauses == [1, 2, 4, 8, 10, 10]


def test_after_peace_a_loss_counts_as_the_first() -> None:
    losses = LabelBackoff(first=1, longest=300)
    for now in (100.0, 101.0, 103.0):
        losses.record_repair(KEY, now=now)
    losses.record_repair(KEY, now=103 + RESET_SECONDS)
    assert losses.next_repair_at(KEY) == 103 + RESET_SECONDS + 1


def test_a_foe_who_comes_as_often_as_the_longest_pause_meets_no_peace() -> None:
    losses = LabelBackoff(first=1, longest=300)
    now = 0.0
    for _ in range(12):
        losses.record_repair(KEY, now=now)
        now = losses.next_repair_at(KEY) + 10
    losses.record_repair(KEY, now=now)
    assert losses.next_repair_at(KEY) == now + 300


def test_xapps_are_told_apart_and_forgotten() -> None:
    losses = LabelBackoff(first=1, longest=300)
    losses.record_repair(KEY, now=100)
    assert losses.next_repair_at(("ric", "other")) == 0
    losses.forget(KEY)
    assert losses.next_repair_at(KEY) == 0
