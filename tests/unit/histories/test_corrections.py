"""What is told of a correction that the API server does not take now."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import History, run_history
from tests.unit.histories.situations.actions import CORRECT, allow, install, refuse, set_live_tag
from tests.unit.histories.test_removals import events
from xapp_operator.config import Settings


@pytest.mark.parametrize(
    "refusal",
    [Refused(409, "Conflict", "the object has been modified"), Refused(404, "NotFound", "not found")],
    ids=["changed all the time", "gone meanwhile"],
)
def test_an_object_that_changes_all_the_time_is_not_called_corrected(settings: Settings, refusal: Refused) -> None:
    async def play(history: History) -> None:
        await install(history, driftDetection=CORRECT)
        refuse(history, "PATCH", "/configmaps/hello", refusal, dry_run=False)
        set_live_tag(history, "theirs")
        await history.cluster.wait(30.0)
        assert history.live_tags == {"theirs", "one"}
        assert (history.cluster.condition("Drifted") or {})["reason"] == "DriftDetected"
        assert events(history, "DriftCorrected") == []
        allow(history)

    history = run_history(settings, play)
    assert events(history, "DriftCorrected") == [("Normal", "ConfigMap hello (/data/tag, changed by kubectl)")]
