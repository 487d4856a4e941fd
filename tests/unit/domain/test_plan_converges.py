"""Where the plan leads: whatever helm does on the way, it comes to rest with what works, if anything does."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.domain.helm_model import KILLED, Fate, World
from tests.unit.domain.situations import OLD, OTHER, WANTED, spec
from xapp_operator.domain.actions import Install, Nothing, Rollback, Uninstall, Wait
from xapp_operator.domain.situation import DEPLOYED, FAILED, SUPERSEDED, UNINSTALLING, Earlier

LOOKS = 400
GOOD_OLD = [Earlier(1, SUPERSEDED, OTHER), Earlier(2, DEPLOYED, OLD)]

HISTORIES: list[list[Earlier]] = [
    [],
    GOOD_OLD,
    [Earlier(1, DEPLOYED, WANTED)],
    [Earlier(1, FAILED, OLD)],
    [Earlier(1, "pending-install", OLD)],
    [*GOOD_OLD, Earlier(3, FAILED, OTHER)],
    [*GOOD_OLD, Earlier(3, "pending-upgrade", WANTED)],
    [*GOOD_OLD, Earlier(3, "pending-rollback", OTHER)],
    [Earlier(1, UNINSTALLING, OLD)],
    [Earlier(1, "uninstalled", OLD)],
    [Earlier(1, SUPERSEDED, OLD)],
]
passing = [each for each in Fate if each not in (Fate.REFUSED, Fate.REFUSED_EARLY)]

worlds = st.builds(
    World,
    desired=st.just(WANTED),
    fates=st.lists(st.sampled_from(Fate), max_size=6),
    finally_=st.sampled_from([each for each in Fate if each not in KILLED]),
    revisions=st.sampled_from(HISTORIES).map(list),
    sick=st.sampled_from([frozenset(), frozenset({WANTED}), frozenset({WANTED, OLD, OTHER})]),
    wanted=st.sampled_from([spec(), spec(on_failure="none")]),
).filter(lambda world: world.finally_ is Fate.WORKS or not world.uninstalling)  # those are retried for ever


@settings(max_examples=600)
@given(worlds)
def test_plan_comes_to_rest_whatever_helm_does(world: World) -> None:
    world.settle(LOOKS)

    assert len(world.steps) <= 60


@settings(max_examples=300)
@given(worlds)
def test_upgrade_that_was_undone_is_not_made_again(world: World) -> None:
    """By itself: between two returns to another revision there is a step that failed or was killed."""
    broken = sum(fate is not Fate.WORKS for fate in world.fates)

    world.settle(LOOKS)

    digests = [each.digests for each in world.revisions if each.deployed]
    returns = sum(before == WANTED != after for before, after in pairwise(digests))
    assert returns <= 1 + broken


@settings(max_examples=300)
@given(worlds)
def test_release_that_once_was_deployed_is_never_lost(world: World) -> None:
    had = [each for each in world.revisions if each.status == DEPLOYED]

    world.settle(LOOKS)

    assert not any(isinstance(step, Uninstall) for step in world.steps) or not had
    if had:
        assert any(each.deployed for each in world.revisions)
        assert not any(isinstance(step, Install) for step in world.steps)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(passing), max_size=4),
    st.sampled_from(HISTORIES),
)
def test_what_passes_in_time_ends_deployed(fates: list[Fate], history: list[Earlier]) -> None:
    world = World(WANTED, list(fates), revisions=list(history))

    assert world.settle(LOOKS) == Nothing()

    assert world.revisions[-1].status == DEPLOYED
    assert world.revisions[-1].digests == WANTED
    assert not any(isinstance(step, Rollback) for step in world.steps)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(passing), max_size=3), st.sampled_from(HISTORIES))
def test_upgrade_that_never_becomes_healthy_ends_where_it_came_from(fates: list[Fate], history: list[Earlier]) -> None:
    world = World(WANTED, list(fates), revisions=list(history), sick=frozenset({WANTED}))
    upgrade = any(each.deployed for each in history) and history[-1].digests != WANTED

    answer = world.settle(LOOKS)

    assert isinstance(answer, Wait) or (history and history[-1].digests == WANTED)
    if upgrade:
        assert world.revisions[-1].status == DEPLOYED
        assert world.revisions[-1].digests != WANTED


def test_uninstall_that_always_fails_is_tried_every_five_minutes() -> None:
    world = World(WANTED, [], finally_=Fate.FAILS, revisions=[Earlier(1, UNINSTALLING, OLD)])

    for _ in range(100):
        world.look()
    first, tries = world.now, len(world.steps)
    for _ in range(100):
        world.look()

    assert world.now - first >= 300.0 * (len(world.steps) - tries)
