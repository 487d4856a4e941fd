"""The clock that remembers its jumps, and the one that a server tells."""

from __future__ import annotations

import pytest

from tests.support.fakes.clock import START, FakeClock, WrongClock
from xapp_operator.common.clock import (
    AGREEMENT_SECONDS,
    DISAGREEMENT_SECONDS,
    JUMP_SECONDS,
    PERIODS_KEPT,
    JumpAwareClock,
    ServerClock,
)

HOUR = 3600.0


class MachineClocks:
    """The clock of a machine, and the one that notices its jumps."""

    def __init__(self) -> None:
        self.machine = FakeClock()
        self.machine.advance(1000.0)
        self.jump_aware = JumpAwareClock(self.machine)

    def tell(self, *, after: float = 10.0, jump: float = 0.0) -> float:
        """Return the time after so many seconds; a jump comes at once."""
        self.machine.offset += jump
        self.machine.advance(after)
        return self.jump_aware.now()

    def age(self, told: float) -> float:
        """Return how long ago that was."""
        return self.jump_aware.now() - self.jump_aware.corrected(told)


@pytest.fixture
def clocks() -> MachineClocks:
    return MachineClocks()


def test_both_clocks_are_those_of_the_machine(clocks: MachineClocks) -> None:
    assert clocks.tell(jump=HOUR) == clocks.machine.now() == START + 1010.0 + HOUR
    assert clocks.jump_aware.monotonic() == clocks.machine.monotonic() == 1010.0


def test_without_a_jump_no_time_is_corrected(clocks: MachineClocks) -> None:
    for told in (clocks.tell(), 0.0, START, START + HOUR):
        clocks.tell(jump=JUMP_SECONDS)
        clocks.machine.offset -= JUMP_SECONDS
        assert clocks.jump_aware.corrected(told) == told
        assert not clocks.jump_aware.has_jumped


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
@pytest.mark.parametrize("back", [False, True])
def test_what_was_told_before_during_and_after_a_jump_is_as_old_as_it_is(
    clocks: MachineClocks, jump: float, back: bool
) -> None:
    before = clocks.tell()
    during = clocks.tell(jump=jump)
    after = clocks.tell(jump=-jump if back else 0.0)
    clocks.tell()
    assert [clocks.age(each) for each in (before, during, after)] == [30.0, 20.0, 10.0]
    assert clocks.jump_aware.has_jumped


@pytest.mark.parametrize("jump", [20.0, -20.0, 5.0, -5.0])
@pytest.mark.parametrize("back", [False, True])
def test_no_time_is_older_than_it_is_where_it_may_have_been_told_twice(
    clocks: MachineClocks, jump: float, back: bool
) -> None:
    before = clocks.tell()
    during = clocks.tell(jump=jump)
    after = clocks.tell(jump=-jump if back else 0.0)
    clocks.tell()
    for told, age in ((before, 30.0), (during, 20.0), (after, 10.0)):
        assert age - abs(jump) <= clocks.age(told) <= age


def test_what_was_told_before_the_process_began_is_corrected_too(clocks: MachineClocks) -> None:
    told = clocks.jump_aware.now() - 2 * HOUR
    clocks.tell(jump=HOUR)
    assert clocks.age(told) == 2 * HOUR + 10.0


def test_a_time_that_was_told_twice_is_the_last_one(clocks: MachineClocks) -> None:
    told = clocks.tell()
    clocks.tell(jump=-HOUR)
    assert clocks.tell(after=HOUR) > told
    assert clocks.age(told) == 10.0


def test_the_jump_may_have_been_at_any_time_since_the_last_look(clocks: MachineClocks) -> None:
    """Another process has told these times, of which this one knows nothing."""
    begun = clocks.jump_aware.now()
    clocks.machine.advance(10.0)
    before = clocks.machine.now()
    clocks.machine.offset -= HOUR
    clocks.machine.advance(10.0)
    after = clocks.machine.now()
    clocks.tell(after=10.0)
    assert [clocks.age(each) for each in (begun, before, after)] == [30.0, 20.0, 10.0]


def test_a_time_in_whole_seconds_counts_as_told_after_the_jump(clocks: MachineClocks) -> None:
    clocks.tell(after=0.75)
    told = clocks.tell(after=0.0, jump=-HOUR)
    assert clocks.age(int(told)) == 0.75


@pytest.mark.parametrize("told", [START + HOUR / 2, START + 3 * HOUR])
def test_a_time_that_was_never_told_stays(clocks: MachineClocks, told: float) -> None:
    clocks.tell(jump=HOUR)
    assert clocks.jump_aware.corrected(told) == told


def test_small_jumps_add_up(clocks: MachineClocks) -> None:
    told = clocks.tell()
    for _ in range(4):
        clocks.tell(jump=JUMP_SECONDS)
    assert clocks.age(told) == pytest.approx(40.0, abs=JUMP_SECONDS)


def test_the_oldest_of_many_jumps_are_forgotten(clocks: MachineClocks) -> None:
    first = clocks.tell()
    second = clocks.tell(jump=HOUR)
    for _ in range(PERIODS_KEPT - 1):
        clocks.tell(jump=HOUR)
    assert clocks.jump_aware.corrected(first) == first
    assert clocks.age(second) == 10.0 * (PERIODS_KEPT - 1)


class Server:
    """A server, and a client of it whose machine has a clock of its own."""

    def __init__(self, *, ahead: float = 0.0) -> None:
        self.clock = FakeClock()
        self.machine = WrongClock(self.clock, ahead=ahead)
        self.told = ServerClock(self.machine)

    def answer(self, *, after: float = 0.0, wrong: float = 0.0) -> None:
        """Tell the time in a response; `wrong` is how much another server behind the same address is ahead."""
        self.clock.advance(after)
        self.told.learn(int(self.clock.now() + wrong))

    def error(self) -> float:
        """Return by how much the client takes it for later than it is."""
        return self.told.now() - self.clock.now()


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_before_the_first_response_the_clock_is_that_of_the_machine(ahead: float) -> None:
    assert Server(ahead=ahead).error() == ahead


@pytest.mark.parametrize("ahead", [HOUR, -HOUR, 2 * AGREEMENT_SECONDS, -2 * AGREEMENT_SECONDS])
def test_a_wrong_clock_is_right_after_the_first_response(ahead: float) -> None:
    server = Server(ahead=ahead)
    server.answer(after=1000.75)
    assert abs(server.error()) <= 0.5
    assert server.told.monotonic() == server.clock.monotonic()


@pytest.mark.parametrize("ahead", [0.0, AGREEMENT_SECONDS - 1.0, 1.0 - AGREEMENT_SECONDS])
def test_a_small_difference_is_none(ahead: float) -> None:
    server = Server(ahead=ahead)
    for _ in range(10):
        server.answer(after=10.25)
        assert server.error() == ahead


def test_who_sets_the_clock_of_the_machine_changes_nothing() -> None:
    server = Server()
    server.answer()
    server.machine.ahead = HOUR
    assert server.error() == 0.0
    server.answer(after=DISAGREEMENT_SECONDS)
    server.answer(after=DISAGREEMENT_SECONDS)
    assert server.error() == 0.0


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_server_whose_clock_is_set_is_followed_when_it_says_so_for_long(jump: float) -> None:
    server = Server()
    server.answer()
    server.clock.offset += jump
    server.machine.ahead -= jump
    server.answer(after=DISAGREEMENT_SECONDS)
    server.answer(after=DISAGREEMENT_SECONDS - 1.0)
    assert server.error() == -jump
    server.answer(after=1.0)
    assert abs(server.error()) <= 0.5


def test_a_server_whose_clock_is_set_together_with_that_of_the_machine_is_followed_at_once() -> None:
    server = Server()
    server.answer()
    server.clock.offset += HOUR
    server.answer()
    assert server.error() == 0.0


@pytest.mark.parametrize("wrong", [HOUR, -HOUR])
def test_another_server_is_not_followed_while_the_first_one_answers(wrong: float) -> None:
    server = Server()
    server.answer()
    for _ in range(10):
        server.answer(after=DISAGREEMENT_SECONDS - 1.0, wrong=wrong)
        server.answer(after=DISAGREEMENT_SECONDS - 1.0)
        assert server.error() == 0.0


def test_late_responses_that_are_far_apart_prove_nothing() -> None:
    server = Server()
    server.answer()
    for _ in range(10):
        server.answer(after=HOUR, wrong=-60.0)
        server.answer()
        assert server.error() == 0.0


def test_of_two_servers_that_disagree_the_one_is_followed_that_agrees_with_the_machine() -> None:
    server = Server()
    server.answer(wrong=HOUR)
    assert server.error() == pytest.approx(HOUR, abs=0.5)
    server.answer()
    assert server.error() == 0.0
    server.answer(wrong=HOUR)
    assert server.error() == 0.0
