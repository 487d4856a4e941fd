"""Rendering a chart to find out whether a release of a person came from it: how often, and who waits meanwhile."""

from __future__ import annotations

from tests.support.fakes.histories import History, run_history
from tests.unit.histories.situations.actions import remove_other, take_the_place
from tests.unit.histories.test_adoption import condition, create_other, fail_to_render
from xapp_operator.config.settings import Settings

SECONDS = 20.0


def test_a_chart_that_cannot_be_rendered_is_rendered_once_while_its_adoption_waits(settings: Settings) -> None:
    rendered: list[None] = []

    async def play(history: History) -> None:
        history.install_by_hand("one")
        template = history.cluster.helm._template
        fail_to_render(history, lambda: rendered.append(None))
        history.create(tag="one", adopt=True, dependsOn=[{"name": "missing"}])
        await history.cluster.wait(SECONDS)
        for number in range(3):
            history.edit(maxHistory=number + 3)
            await history.cluster.wait(SECONDS)
        assert condition(history, "Ready")[1] == "DependencyNotReady"
        assert len(rendered) == 1
        history.cluster.helm._template = template  # type: ignore[method-assign]
        history.edit(dependsOn=None)

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"


def test_a_release_whose_chart_waits_for_a_place_holds_no_worker(narrow: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        history.install_by_hand("one")
        await take_the_place(history)
        history.create(tag="one", adopt=True)
        await cluster.wait(10.0)
        told = "the release is compared with the chart, to adopt it"
        assert condition(history, "Ready")[1:] == ("Progressing", told)
        create_other(history, "third", suspend=True)
        await cluster.wait(10.0)
        assert (cluster.xapp("third") or {})["status"]["phase"] == "Suspended"
        assert condition(history, "Ready")[1:] == ("Progressing", told)
        cluster.delete("third")
        await cluster.wait(100.0)
        assert condition(history, "Ready")[0] == "True"
        await remove_other(history)

    history = run_history(narrow.model_copy(update={"workers": 1}), play)
    assert [each.command for each in history.helm_steps if each.release == "hello"] == []
