"""Charts that are uploaded again while the XApp that has used them is removed."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import STORED_CHART, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import install
from xapp_operator.config.settings import Settings

NAME = STORED_CHART["metadata"]["name"]
ARCHIVE = Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, NAME)


@pytest.mark.parametrize("is_used_again", [True, False])
def test_only_a_chart_that_nobody_uses_again_goes_with_its_xapp(settings: Settings, is_used_again: bool) -> None:
    """The gateway takes an XApp that is being removed out of the owners of a chart that somebody uploads again."""

    async def play(history: History) -> None:
        cluster = history.cluster
        await install(history)

        def use_again(plural: str, _: Json) -> None:
            if plural == "secrets" and is_used_again:  # the last record of the release
                cluster.server.patch(ARCHIVE, {"metadata": {"ownerReferences": None}})

        cluster.server.on_removed.append(use_again)
        history.delete()
        assert await cluster.wait_for(lambda: cluster.xapp() is None, seconds=20.0)
        assert (cluster.server.find("chartarchives", NAME) is not None) == is_used_again

    assert run_history(settings, play).outcome == "gone"
