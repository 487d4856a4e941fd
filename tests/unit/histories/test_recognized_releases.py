"""When a release of a person is rendered, to see whether it can be adopted as it is."""

from __future__ import annotations

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.generation import PASSING
from tests.unit.histories.test_adoption import SECONDS, fail_to_render
from xapp_operator.config.settings import Settings


def test_a_release_of_a_person_is_adopted_once_the_spec_wants_what_it_has(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault(PASSING)
        history.create(tag="two", adopt=True)
        await history.cluster.wait(5.0)
        assert history.outcome == "NotReady UpgradeFailed"
        tries = len(history.helm_steps)
        history.set_tag("one")
        await history.cluster.wait(20.0)
        assert history.outcome.startswith("Ready")
        assert (len(history.helm_steps), history.cluster.revisions) == (tries, {1: "deployed"})

    run_history(settings, play)


def test_a_release_of_a_person_is_not_rendered_unless_it_may_be_taken_over(settings: Settings) -> None:
    rendered: list[None] = []

    async def play(history: History) -> None:
        history.install_by_hand("one")
        fail_to_render(history, lambda: rendered.append(None))
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Stalled AccessDenied"
        history.orphaned = True

    run_history(settings, play)
    assert rendered == []


def test_a_release_of_another_version_is_upgraded_although_the_chart_renders_the_same(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        templates = {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT}
        packed = chart_archive({"values.yaml": "tag: one\n", **templates}, version="99.0.0")
        stored = chart_archive_manifest(packed, namespace=NAMESPACE)
        history.cluster.create(stored)
        reference = {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
        history.create(tag="one", archive=reference, adopt=True)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["upgrade"]
