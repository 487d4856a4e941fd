"""Limits on concurrent requests."""

from __future__ import annotations

import pytest

from xapp_operator.errors import TooManyConcurrentRequests
from xapp_operator.gateway.http.limits import ConcurrencyLimit


def test_a_request_over_the_limit_is_refused() -> None:
    slots = ConcurrencyLimit(2, message="2 are the most: ask again later")
    with (
        slots.acquire(),
        slots.acquire(),
        pytest.raises(TooManyConcurrentRequests, match="2 are the most"),
        slots.acquire(),
    ):
        pass


def test_a_slot_is_released_after_success_and_error() -> None:
    slots = ConcurrencyLimit(1, message="one is the most")
    with pytest.raises(KeyError), slots.acquire():
        raise KeyError
    with slots.acquire():
        pass
