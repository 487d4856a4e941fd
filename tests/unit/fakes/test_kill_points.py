"""A history that begins with a copy of a cluster, made at a write, ends like one that is played from its beginning."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import pytest

from tests.support.fakes.histories import History, Play, make_settings, run_history
from tests.support.fakes.kill_points import run_with_kills
from tests.support.fakes.operator import BROKEN, Kill
from xapp_operator.config.settings import Settings
from xapp_operator.domain.planning import plan


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return make_settings(tmp_path)


@pytest.fixture
def deployed(settings: Settings) -> History:
    return run_history(settings, install)


async def install(history: History) -> None:
    history.create(tag="one")
    await history.cluster.wait(30.0)


async def upgrade(history: History) -> None:
    history.set_tag("two")
    await history.cluster.wait(30.0)


async def upgrade_without_success(history: History) -> None:
    history.set_tag(BROKEN)
    await history.cluster.wait(90.0)


async def delete(history: History) -> None:
    history.delete()
    await history.cluster.wait(30.0)


def begin_with(kill: Kill, history: History) -> None:
    history.cluster.kill = kill


def end_of(history: History) -> object:
    return history.outcome, history.cluster.revisions, history.tags, history.live_tags


@pytest.mark.parametrize("play", [install, upgrade, upgrade_without_success, delete])
def test_each_kill_ends_like_a_history_with_this_kill(settings: Settings, deployed: History, play: Play) -> None:
    after = None if play is install else deployed
    found = run_with_kills(settings, play, after=after)
    for point, killed in zip(found.points, found.killed, strict=True):
        alone = run_history(settings, play, watch=partial(begin_with, point.kill), after=after)
        assert alone.cluster.lives == 2
        assert end_of(killed) == end_of(alone), point


def test_the_operator_is_killed_before_and_after_each_write(settings: Settings) -> None:
    found = run_with_kills(settings, install)
    writes = found.history.cluster.writes
    places = [(number, after) for number in range(len(writes)) for after in (False, True)]
    kills = [(each.kill.write, each.kill.after) for each in found.points]
    assert kills == [each for each in places if each in kills]
    assert [writes[each.kill.write] for each in found.points] == [each.what for each in found.points]
    of_helm = [number for number, what in enumerate(writes) if what.startswith("install:")]
    assert len(of_helm) == 4
    assert {*itertools.product(of_helm, [False, True])} <= {*kills}


def test_a_kill_is_left_out_if_it_leaves_the_cluster_as_the_one_before_does(settings: Settings) -> None:
    found = run_with_kills(settings, install)
    left = [(each.left.cluster.clock.monotonic(), each.left.cluster.server.newest_version) for each in found.points]
    assert all(one != other for one, other in itertools.pairwise(left))
    assert set(range(len(found.history.cluster.writes))) == {each.kill.write for each in found.points}


def test_a_defect_that_a_kill_shows_is_found_again_when_this_kill_is_played_alone(
    settings: Settings, deployed: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator forgets to unlock releases of which no helm works any more."""
    rules = [each for each in plan._PLAN_RULES if each is not plan._plan_pending]
    monkeypatch.setattr(plan, "_PLAN_RULES", tuple(rules))
    run_history(settings, upgrade, after=deployed)
    with pytest.raises(AssertionError) as found:
        run_with_kills(settings, upgrade, after=deployed)
    assert found.value.__notes__[-1] == (
        "killed after write 0, upgrade: create record pending-upgrade; "
        "it is played alone with where=[Kill(write=0, after=True)].__contains__"
    )
    with pytest.raises(AssertionError) as again:
        run_with_kills(settings, upgrade, after=deployed, where=[Kill(write=0, after=True)].__contains__)
    assert str(again.value) == str(found.value)
    with pytest.raises(AssertionError):
        run_history(settings, upgrade, watch=partial(begin_with, Kill(0, after=True)), after=deployed)
