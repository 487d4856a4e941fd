"""Exponential back-off: it grows, and it is bounded."""

from __future__ import annotations

import math
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.domain.planning.backoff import Backoff


@given(
    st.builds(Backoff, initial=st.floats(0.001, 60.0), maximum=st.floats(60.0, 3600.0)),
    st.integers(1, 100_000),
    st.integers(0, 100_000),
)
def test_back_off_grows_with_the_count_and_is_bounded(backoff: Backoff, count: int, more: int) -> None:
    assert backoff.initial == backoff.delay(1)
    assert backoff.initial <= backoff.delay(count) <= backoff.delay(count + more) <= backoff.maximum


def test_back_off_doubles_from_one_second_to_five_minutes() -> None:
    assert [Backoff().delay(count) for count in range(1, 12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_without_a_failure_the_first_delay_is_meant() -> None:
    assert Backoff(initial=2.0).delay(0) == Backoff(initial=2.0).delay(-1) == 2.0


@pytest.mark.parametrize("failures", [23, 1025, 10**20])
def test_back_off_reaches_its_maximum_however_short_the_first_delay_is(failures: int) -> None:
    assert Backoff(initial=0.001, maximum=3600.0).delay(failures) == 3600.0


@pytest.mark.parametrize("failures", [0, 1, 5, 10_000])
def test_jitter_changes_a_delay_by_a_fifth_at_most(failures: int) -> None:
    delays = [Backoff().jittered(failures) / Backoff().delay(failures) for _ in range(50)]
    assert 0.8 <= min(delays) < max(delays) <= 1.2


@given(st.uuids(), st.integers(1, 40))
def test_an_object_waits_the_same_part_of_each_delay(uid: UUID, failures: int) -> None:
    spread = Backoff().spread_by(str(uid))
    assert 0.8 <= spread.share <= 1.0
    assert spread.delay(failures) == math.ceil(Backoff().delay(failures) * spread.share)
    short = Backoff(initial=0.1).spread_by(str(uid))
    assert short.delay(1) == 0.1 * short.share


def test_objects_that_failed_together_are_not_tried_again_together() -> None:
    """A hundred of them: their next tries are spread over the fifth, and no tenth of it has a quarter of them."""
    shares = [Backoff().spread_by(str(UUID(int=number))).share for number in range(100)]
    tenths = Counter(int((share - 0.8) * 50) for share in shares)
    assert len(tenths) == 10
    assert max(tenths.values()) < 25
