"""Places for what lasts: a bound, and a refusal that tells it."""

from __future__ import annotations

import pytest

from xapp_operator.errors import TooManyAtOnce
from xapp_operator.gateway.slots import Slots


def test_who_comes_when_all_places_are_taken_is_told_so() -> None:
    slots = Slots(2, refusal="2 are the most: ask again later")
    with slots.taken(), slots.taken(), pytest.raises(TooManyAtOnce, match="2 are the most"), slots.taken():
        pass


def test_a_place_is_free_again_however_it_was_left() -> None:
    slots = Slots(1, refusal="one is the most")
    with pytest.raises(KeyError), slots.taken():
        raise KeyError
    with slots.taken():
        pass
