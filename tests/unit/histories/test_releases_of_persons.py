"""A release that a person made: what is done as soon as it changes, although no XApp owns it."""

from __future__ import annotations

import pytest

from tests.support.fakes.histories import STORED_CHART, History, run_history
from tests.unit.histories.test_adoption import condition, create_other
from xapp_operator.config import Settings

SOON_SECONDS = 10.0
"""Much less than the resync, which would notice it too."""


async def wait_for_step(history: History, command: str) -> None:
    def has_run() -> bool:
        return command in [each.command for each in history.helm_steps]

    assert await history.cluster.wait_for(has_run, seconds=SOON_SECONDS)


@pytest.mark.parametrize("name", ["hello", "other"])
def test_a_release_that_goes_away_makes_room_at_once(settings: Settings, name: str) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        if name == "hello":
            history.create(tag="one")
        else:
            history.cluster.create(STORED_CHART)
            create_other(history, name, tag="one", releaseName="hello")
        await history.cluster.wait(2 * SOON_SECONDS)
        assert condition(history, "Stalled", name)[1] == "AccessDenied"
        history.uninstall_by_hand()
        await wait_for_step(history, "install")

    run_history(settings, play, lambda _: None)


def test_a_step_of_a_person_that_ends_is_followed_at_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one", status="pending-install")
        history.create(tag="two", adopt=True, timeout="1h")
        await history.cluster.wait(SOON_SECONDS)
        history.leave_behind("deployed")
        await wait_for_step(history, "upgrade")

    run_history(settings, play)
