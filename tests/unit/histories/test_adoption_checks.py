"""Rendering a chart before an adoption: whose its objects are, and whether a release of a person came from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import remove_other, take_the_place
from tests.unit.histories.test_adoption import (
    COMMON,
    HOOK,
    NOT_RENDERED,
    common_archive,
    condition,
    create_other,
    fail_to_render,
)
from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.reconcile.stored_releases.object_metadata import MAX_PARALLEL_READS

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


def _fail_templates(history: History, outcome: ProcessResult) -> None:
    """Let each `helm template` end like this."""
    helm = history.cluster.start_helm

    async def start(
        command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
    ) -> ProcessResult:
        if "template" in command.arguments:
            return outcome
        return await helm(command, limits=limits, on_start=on_start)

    history.cluster.start_helm = start


_ENDED = ProcessResult(
    exit_code=1, stdout=b"", stdout_truncated=False, stderr="", timed_out=False, duration_seconds=0.0
)


async def _create_owner(history: History) -> Json:
    """Deploy a chart as hello; return the reference to the chart, in which nothing has a name of the release."""
    archive = common_archive(history)
    history.create(tag="one", archive=archive)
    await history.cluster.wait(SECONDS)
    return archive


def _owner(history: History) -> str:
    (body,) = (each for each in history.cluster.server.all("configmaps") if each["metadata"]["name"] == "common")
    return str(body["metadata"]["labels"]["xapp-operator.io/xapp"])


@pytest.mark.parametrize(
    ("outcome", "told"),
    [(replace(_ENDED, timed_out=True), "did not finish within"), (replace(_ENDED, exit_code=-9), "killed by signal 9")],
)
def test_nothing_is_taken_over_while_the_chart_cannot_be_rendered(
    settings: Settings, outcome: ProcessResult, told: str
) -> None:
    async def play(history: History) -> None:
        archive = await _create_owner(history)
        create_other(history, "other", tag="two", archive=archive, adopt=True)
        await history.cluster.wait(SECONDS)
        status, reason, message = condition(history, "Ready", "other")
        assert (status, reason) == ("False", "InstallFailed")
        assert told in message
        assert condition(history, "Stalled", "other")[0] == ""
        assert _owner(history) == "hello"

    run_history(settings, play, watch=lambda history: _fail_templates(history, outcome))


@pytest.mark.parametrize("template", [COMMON, HOOK])
def test_a_chart_that_needs_the_cluster_is_rendered_with_it(settings: Settings, template: str) -> None:
    async def play(history: History) -> None:
        await _create_owner(history)
        files = {"Chart.yaml": "{apiVersion: v2, name: second, version: 0.1.0}", "values.yaml": "tag: one\n"}
        stored = chart_archive_manifest(
            chart_archive({**files, "templates/a.yaml": template}, name="second"), namespace=NAMESPACE
        )
        history.cluster.create(stored)
        archive = {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
        create_other(history, "other", tag="two", archive=archive, adopt=True)
        await history.cluster.wait(SECONDS)
        assert "ConfigMap common belongs to the XApp hello" in condition(history, "Stalled", "other")[2]
        assert _owner(history) == "hello"
        assert [each.release for each in history.cluster.helm.steps if each.command == "install"] == ["hello"]

    def watch(history: History) -> None:
        _fail_templates(history, replace(_ENDED, stderr=f"Error: {NOT_RENDERED}\n"))

    run_history(settings.model_copy(update={"helm_concurrency": 1}), play, watch=watch)


def test_no_object_is_read_once_one_of_them_cannot_be_read(settings: Settings) -> None:
    template = "\n---\n".join(COMMON.replace("name: common", f"name: many-{number:03}") for number in range(500))
    failed_at, reads = list[int](), 0

    async def play(history: History) -> None:
        cluster = history.cluster
        await _create_owner(history)

        def refuse(request: ApiRequest) -> None:
            nonlocal reads
            reads += "/configmaps/many-" in request.path
            if request.path.endswith("/configmaps/many-007"):
                failed_at.append(reads)
                raise Refused(500, "InternalError", "etcdserver: leader changed")

        cluster.refuse = refuse
        cluster.latency = lambda request: 0.1 if "/configmaps/many-" in request.path else 0.0
        stored = chart_archive_manifest(chart_archive({"templates/a.yaml": template}, name="many"), namespace=NAMESPACE)
        cluster.create(stored)
        archive = {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
        create_other(history, "other", archive=archive, adopt=True)
        assert await cluster.wait_for(lambda: len(failed_at) > 1, seconds=60.0)
        assert failed_at[1] - failed_at[0] < 8 + MAX_PARALLEL_READS
        cluster.edit({"spec": {"suspend": True}}, "other")

    run_history(settings, play)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_objects_that_are_free_are_taken_over_by_a_chart_that_needs_the_cluster(
    settings: Settings, concurrency: int
) -> None:
    async def play(history: History) -> None:
        free = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "common"}, "data": {"tag": "free"}}
        history.cluster.server.create(Target("", "v1", "configmaps", NAMESPACE), free)
        history.create(tag="two", archive=common_archive(history), adopt=True)

    def watch(history: History) -> None:
        _fail_templates(history, replace(_ENDED, stderr=f"Error: {NOT_RENDERED}\n"))

    history = run_history(settings.model_copy(update={"helm_concurrency": concurrency}), play, watch=watch)
    assert history.outcome == "Ready InstallSucceeded"
    assert _owner(history) == "hello"
