"""The plan converges: whatever helm does, it ends with a working release, if there is one."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import examples, must_occur, occurred
from tests.unit.domain.helm_simulation import KILLED, ReconcilerModel, StepResult
from tests.unit.domain.plan_inputs import OLD, OTHER, WANTED, spec
from xapp_operator.domain.actions import Install, Nothing, Rollback, Uninstall, Wait
from xapp_operator.domain.plan_input import DEPLOYED, FAILED, SUPERSEDED, UNINSTALLING, PastRevision

MAX_RECONCILES = 400
GOOD_OLD = [PastRevision(1, SUPERSEDED, OTHER), PastRevision(2, DEPLOYED, OLD)]

HISTORIES: list[list[PastRevision]] = [
    [],
    GOOD_OLD,
    [PastRevision(1, DEPLOYED, WANTED)],
    [PastRevision(1, FAILED, OLD)],
    [PastRevision(1, "pending-install", OLD)],
    [*GOOD_OLD, PastRevision(3, FAILED, OTHER)],
    [*GOOD_OLD, PastRevision(3, "pending-upgrade", WANTED)],
    [*GOOD_OLD, PastRevision(3, "pending-rollback", OTHER)],
    [PastRevision(1, UNINSTALLING, OLD)],
    [PastRevision(1, "uninstalled", OLD)],
    [PastRevision(1, SUPERSEDED, OLD)],
]
passing = [each for each in StepResult if each not in (StepResult.REFUSED, StepResult.REFUSED_EARLY)]

worlds = st.builds(
    ReconcilerModel,
    desired=st.just(WANTED),
    step_results=st.lists(st.sampled_from(StepResult), max_size=6),
    default_result=st.sampled_from([each for each in StepResult if each not in KILLED]),
    revisions=st.sampled_from(HISTORIES).map(list),
    unhealthy_digests=st.sampled_from([frozenset(), frozenset({WANTED}), frozenset({WANTED, OLD, OTHER})]),
    spec=st.sampled_from([spec(), spec(on_failure="none")]),
).filter(
    lambda world: world.default_result is StepResult.SUCCEEDS or not world.uninstalling
)  # these are retried without a limit


@examples(6)
@given(worlds)
def test_reconciling_always_settles(world: ReconcilerModel) -> None:
    world.reconcile_until_settled(MAX_RECONCILES)

    assert len(world.steps) <= 60


@must_occur(rollback=5)
@examples(3)
@given(worlds)
def test_rolled_back_upgrade_is_not_repeated(world: ReconcilerModel) -> None:
    """Between two rollbacks there is always a step that failed or was killed."""
    broken = sum(fate is not StepResult.SUCCEEDS for fate in world.step_results)

    world.reconcile_until_settled(MAX_RECONCILES)

    digests = [each.digests for each in world.revisions if each.was_deployed]
    returns = sum(before == WANTED != after for before, after in pairwise(digests))
    if returns:
        occurred("rollback")
    assert returns <= 1 + broken


@must_occur(deployed_before=50)
@examples(3)
@given(worlds)
def test_release_that_was_deployed_is_never_uninstalled(world: ReconcilerModel) -> None:
    had = [each for each in world.revisions if each.status == DEPLOYED]

    world.reconcile_until_settled(MAX_RECONCILES)

    assert not any(isinstance(step, Uninstall) for step in world.steps) or not had
    if had:
        occurred("deployed_before")
        assert any(each.was_deployed for each in world.revisions)
        assert not any(isinstance(step, Install) for step in world.steps)


@examples(3)
@given(
    st.lists(st.sampled_from(passing), max_size=4),
    st.sampled_from(HISTORIES),
)
def test_transient_failures_end_deployed(fates: list[StepResult], history: list[PastRevision]) -> None:
    world = ReconcilerModel(WANTED, list(fates), revisions=list(history))

    assert world.reconcile_until_settled(MAX_RECONCILES) == Nothing()

    assert world.revisions[-1].status == DEPLOYED
    assert world.revisions[-1].digests == WANTED
    assert not any(isinstance(step, Rollback) for step in world.steps)


@must_occur(upgrade=50)
@examples(3)
@given(st.lists(st.sampled_from(passing), max_size=3), st.sampled_from(HISTORIES))
def test_upgrade_that_never_becomes_healthy_ends_at_the_old_revision(
    fates: list[StepResult], history: list[PastRevision]
) -> None:
    world = ReconcilerModel(WANTED, list(fates), revisions=list(history), unhealthy_digests=frozenset({WANTED}))
    upgrade = any(each.was_deployed for each in history) and history[-1].digests != WANTED

    answer = world.reconcile_until_settled(MAX_RECONCILES)

    assert isinstance(answer, Wait) or (history and history[-1].digests == WANTED)
    if upgrade:
        occurred("upgrade")
        assert world.revisions[-1].status == DEPLOYED
        assert world.revisions[-1].digests != WANTED


def test_uninstall_that_always_fails_is_retried_every_five_minutes() -> None:
    world = ReconcilerModel(WANTED, [], default_result=StepResult.FAILS, revisions=[PastRevision(1, UNINSTALLING, OLD)])

    for _ in range(100):
        world.reconcile_once()
    first, tries = world.now, len(world.steps)
    for _ in range(100):
        world.reconcile_once()

    assert world.now - first >= 300.0 * (len(world.steps) - tries)
