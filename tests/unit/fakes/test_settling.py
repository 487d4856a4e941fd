"""A history has settled when nothing has been written for a while, whatever happened before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.fakes.histories import QUIET_SECONDS, SETTLED_AFTER_MAX_SECONDS, History, make_settings, run_history


def test_the_last_write_counts(tmp_path: Path) -> None:
    late = QUIET_SECONDS - 10.0

    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(10.0)
        since = history.cluster.clock.monotonic()
        asyncio.get_running_loop().call_later(late, history.set_tag, "two")
        await history.settle()
        assert history.deployed_tags == ["two"]
        assert history.cluster.clock.monotonic() - since >= late + QUIET_SECONDS

    run_history(make_settings(tmp_path), play)


def test_what_is_written_again_and_again_never_settles(tmp_path: Path) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        for number in range(int(SETTLED_AFTER_MAX_SECONDS / 60.0) + 2):
            asyncio.get_running_loop().call_later(60.0 * number, history.set_tag, ["one", "two"][number % 2])
        with pytest.raises(AssertionError, match="never settles"):
            await history.settle()

    run_history(make_settings(tmp_path), play)
