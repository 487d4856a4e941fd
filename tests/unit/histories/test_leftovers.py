"""Objects whose names change from one revision to the next: helm leaves some when a revision between them fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as property_settings
from hypothesis import strategies as st

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import begin_overtaken_rollback_by_hand, finish_by_hand
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE, Kill
from tests.support.properties import must_occur, occurred
from tests.unit.histories.generation import (
    PASSING,
    PERMANENT,
    SIGKILL,
    ScriptedEvent,
    changes,
    deletions,
    kills,
    requests,
    restarts,
    rollbacks,
    scripts,
    tags,
)
from tests.unit.histories.generation import events as events_of
from tests.unit.histories.situations.actions import allow, forbidden, refuse
from tests.unit.histories.test_generated_histories import HISTORIES
from xapp_operator.config.settings import Settings

SECONDS = 30.0
MORE_HISTORIES = property_settings(HISTORIES, max_examples=property_settings().max_examples)
NAMED = CONFIGMAP.replace("{{ .Release.Name }}", "{{ .Release.Name }}-{{ .Values.tag }}")
KEPT = NAMED.replace("metadata:", "metadata:\n  annotations: {helm.sh/resource-policy: keep}")


def store(history: History, configmap: str = NAMED) -> Json:
    """Store a chart with a ConfigMap that has the tag in its name; return the reference to it."""
    files = {
        "values.yaml": "tag: one\n",
        "templates/configmap.yaml": configmap,
        "templates/deployment.yaml": DEPLOYMENT,
    }
    stored = chart_archive_manifest(chart_archive(files), namespace=NAMESPACE)
    history.cluster.create(stored)
    return {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}


async def install(history: History, configmap: str = NAMED, **spec: Any) -> None:
    history.create(tag="one", archive=store(history, configmap), **spec)
    await history.cluster.wait(SECONDS)


def fail(history: History, tag: str, error: str = PERMANENT, *, writes: int = 2) -> None:
    """Let each step with this tag fail after its record and its first object."""
    history.cluster.helm.refusals[json.dumps({"tag": tag})] = Fault(error, writes)


def configmaps(history: History) -> list[str]:
    return sorted(each["metadata"]["name"] for each in history.cluster.server.all("configmaps"))


def events(history: History, reason: str) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["reason"] == reason]


@pytest.mark.parametrize("error", [PERMANENT, PASSING])
@pytest.mark.parametrize("on_failure", ["none", "rollback"])
def test_what_a_failed_upgrade_has_created_goes_after_the_next_one(
    settings: Settings, error: str, on_failure: str
) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": on_failure})
        fail(history, "two", error)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-three"]

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready")
    if on_failure == "none":  # otherwise helm has deleted it when it rolled back
        (told,) = events(history, "LeftoversDeleted")
        assert told == "deleted what revisions that failed had left: ConfigMap/hello-two"


@pytest.mark.parametrize("disturbance", [*(Kill(write, after=True) for write in range(8)), SIGKILL, PASSING])
def test_what_a_rollback_that_was_disturbed_has_left_goes(settings: Settings, disturbance: Kill | str) -> None:
    async def play(history: History) -> None:
        await install(history, timeout="10s")

        def disturb(step: Any) -> None:
            if step.command == "rollback" and isinstance(disturbance, Kill) and history.cluster.lives == 1:
                history.cluster.kill = disturbance

        history.cluster.helm.on_step.append(disturb)
        if isinstance(disturbance, str):
            history.cluster.helm.faults = [None, Fault(disturbance, 2)]
        history.set_tag(BROKEN)
        await history.cluster.wait(90.0)
        assert configmaps(history) == ["hello-one"]
        assert history.deployed_tags == ["one"]
        assert history.cluster.lives == (2 if isinstance(disturbance, Kill) else 1)

    run_history(settings, play)


def test_what_a_rollback_that_failed_for_good_has_left_goes_after_the_next_upgrade(settings: Settings) -> None:
    """helm calls the rollback superseded when the upgrade has replaced it, and the revision before it as well."""

    async def play(history: History) -> None:
        await install(history, timeout="10s")
        history.cluster.helm.faults = [None, Fault(PERMANENT, 2)]
        history.set_tag(BROKEN)
        await history.cluster.wait(90.0)
        assert [each.command for each in history.helm_steps][-1] == "rollback"
        assert len(configmaps(history)) == 2
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-three"]

    history = run_history(settings, play)
    assert events(history, "LeftoversDeleted") == [
        "deleted what revisions that failed had left: ConfigMap/hello-broken"
    ]


def test_what_a_helm_of_a_person_has_made_that_ends_after_a_newer_revision_goes(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"}, maxHistory=2)
        fail(history, "two")
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        assert list(history.cluster.revisions) == [1, 3]
        begin_overtaken_rollback_by_hand(history, 1, number=2)
        await history.cluster.wait(1.0)
        finish_by_hand(history, 2)
        assert configmaps(history) == ["hello-one", "hello-three"]
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-three"]
        cleaned = len(events(history, "LeftoversDeleted"))
        await history.cluster.wait(300.0)
        assert len(events(history, "LeftoversDeleted")) == cleaned

    run_history(settings, play)


def test_what_a_failed_install_has_created_goes_after_the_next_one(settings: Settings) -> None:
    async def play(history: History) -> None:
        fail(history, "one")
        await install(history)
        assert configmaps(history) == ["hello-one"]
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-two"]

    assert run_history(settings, play).outcome == "Ready InstallSucceeded"


def test_what_the_revision_in_force_had_goes_when_the_one_after_it_failed(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.set_tag("two")
        await history.cluster.wait_for(lambda: history.deployed_tags == ["two"], seconds=SECONDS)
        fail(history, "three")
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == [f"hello-{tag}" for tag in history.deployed_tags]

    run_history(settings, play)


@pytest.mark.parametrize("max_history", [1, 2, 10])
def test_a_deletion_takes_the_objects_of_all_revisions(settings: Settings, max_history: int) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"}, maxHistory=max_history)
        for tag in ("two", "three"):
            fail(history, tag)
            history.set_tag(tag)
            await history.cluster.wait(SECONDS)
        history.delete()

    history = run_history(settings, play)
    assert history.outcome == "gone"
    assert configmaps(history) == []


@pytest.mark.parametrize("restarted", [False, True])
def test_a_revision_beyond_the_history_stays_until_what_helm_has_left_is_deleted(
    settings: Settings, restarted: bool
) -> None:
    """helm compares the target of a rollback with the failed revision only, and leaves what the good one had."""
    answer = Refused(500, "InternalError", "no answer of a webhook")

    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"}, maxHistory=3)
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        fail(history, "three")
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        if restarted:
            refuse(history, "DELETE", "/configmaps/hello-two", answer)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        if restarted:
            assert "hello-two" in configmaps(history)
            assert list(history.cluster.revisions) == [1, 2, 3, 4]
            history.cluster.restart()
            allow(history)
            await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-one"]
        assert list(history.cluster.revisions) == [1, 2, 4]

    run_history(settings, play)


def test_the_last_good_revision_stays_when_the_one_that_was_killed_is_deleted(settings: Settings) -> None:
    """The upgrade that follows becomes unhealthy soon after, so the next one that fails must return to the first."""

    async def play(history: History) -> None:
        await install(history, maxHistory=1, timeout="10s")
        history.cluster.helm.faults = [Fault("", 3)]
        history.set_tag("two")
        await history.cluster.wait(1.0)
        history.set_tag("three")
        await history.cluster.wait(12.0)
        assert list(history.cluster.revisions) == [1, 3]
        history.cluster.crash()
        await history.cluster.wait(SECONDS)
        history.cluster.outage = False
        history.set_tag(BROKEN)
        await history.cluster.wait(120.0)
        assert history.deployed_tags == ["one"]

    run_history(settings, play)


def test_a_deletion_in_the_middle_of_an_upgrade_takes_the_objects_of_both(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.pause = 3.0
        history.set_tag("two")
        assert await history.cluster.wait_for(lambda: "hello-two" in configmaps(history), seconds=SECONDS)
        history.delete()

    history = run_history(settings, play)
    assert history.outcome == "gone"
    assert configmaps(history) == []


def test_objects_of_others_and_those_that_helm_keeps_stay(settings: Settings) -> None:
    target = Target("", "v1", "configmaps", NAMESPACE, "hello-two")

    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        fail(history, "two")
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        other = {"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}}
        history.cluster.server.patch(target, other)
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        assert configmaps(history) == ["hello-three", "hello-two"]
        assert events(history, "LeftoversDeleted") == []
        history.cluster.server.delete(target, {})

    run_history(settings, play)

    async def keep(history: History) -> None:
        await install(history, KEPT, upgrade={"onFailure": "none"})
        fail(history, "two")
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        assert "hello-two" in configmaps(history)
        for name in ("hello-one", "hello-two"):
            target = Target("", "v1", "configmaps", NAMESPACE, name)
            if name in configmaps(history):
                history.cluster.server.delete(target, {})

    run_history(settings, keep)


def test_what_may_not_be_deleted_is_told_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        fail(history, "two")
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        refuse(history, "DELETE", "/configmaps/hello-two", forbidden("configmaps"))
        history.set_tag("three")
        await history.cluster.wait(300.0)
        assert len(events(history, "LeftBehind")) == 1
        assert history.outcome == "Ready UpgradeSucceeded"
        allow(history)
        history.cluster.server.delete(Target("", "v1", "configmaps", NAMESPACE, "hello-two"), {})

    run_history(settings, play)


def test_what_could_not_be_deleted_is_deleted_later_and_the_xapp_stays_ready(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        fail(history, "two")
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        refuse(history, "DELETE", "/configmaps/hello-two", Refused(500, "InternalError", "no answer of a webhook"))
        history.set_tag("three")
        for _ in range(10):
            await history.cluster.wait(SECONDS)
            assert history.outcome == "Ready UpgradeSucceeded"
        assert "no answer of a webhook" in events(history, "LeftBehind")[0]
        allow(history)
        await history.cluster.wait(100.0)
        assert configmaps(history) == ["hello-three"]

    run_history(settings, play)


def test_revisions_that_succeed_cost_no_look_at_older_ones(settings: Settings) -> None:
    def reads(history: History) -> list[str]:
        assert history.cluster.transport is not None
        requests = history.cluster.transport.requests
        return [each.path for each in requests if each.method == "GET" and "/secrets/sh.helm" in each.path]

    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        before = len(reads(history))
        history.set_tag("three")
        await history.cluster.wait(SECONDS)
        usual = reads(history)[before:]
        fail(history, "broken-2")
        history.set_tag("broken-2")
        await history.cluster.wait(SECONDS)
        history.set_tag("one")
        await history.cluster.wait(SECONDS)
        before = len(reads(history))
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        assert reads(history)[before:] == usual

    run_history(settings, play)


def _refuse_and_set(tag: str) -> Callable[[History], None]:
    def act(history: History) -> None:
        fail(history, tag)
        history.set_tag(tag)

    return act


def label_with_helm(history: History) -> None:
    """Let labels come with the objects, and the watches be quick enough to show that."""
    history.cluster.helm.post_renders = True
    history.cluster.server.lag = 0.05


_refused_tags = events_of("refused tag", _refuse_and_set, ["two", "three"], pauses=[3.0, 12.0])


@must_occur(killed=3, failed_step=10, deleted=3, gone=3, labelled=10)
@MORE_HISTORIES
@given(
    remedy=st.sampled_from(["none", "none", "rollback"]),
    max_history=st.sampled_from([1, 2, 3, 10]),
    labelled=st.booleans(),
    happened=scripts(
        tags, *[_refused_tags] * 3, changes, kills, rollbacks, rollbacks, requests, restarts, deletions, many=5
    ),
)
def test_every_object_is_one_of_the_revision_in_force(
    settings: Settings, remedy: str, max_history: int, labelled: bool, happened: list[ScriptedEvent]
) -> None:
    """The check of all histories sees it, because each tag has an object of its own."""

    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": remedy}, maxHistory=max_history)
        for event in happened:
            event.act(history)
            await history.cluster.wait(event.pause)

    history = run_history(settings, play, watch=label_with_helm if labelled else lambda _: None)
    if history.cluster.lives > 1:
        occurred("killed")
    if any(not step.done for step in history.helm_steps):
        occurred("failed_step")
    if events(history, "LeftoversDeleted"):
        occurred("deleted")
    if history.outcome == "gone":
        occurred("gone")
    if labelled:
        occurred("labelled")
