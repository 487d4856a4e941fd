"""A rollback, and what `adopt` took over since the revision that it goes back to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE, Kill
from tests.unit.histories.generation import PASSING, PERMANENT, SIGKILL
from tests.unit.histories.situations.actions import count_reads
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS = 30.0
THEIRS = CONFIGMAP.replace("{{ .Release.Name }}", "theirs")
NEW = CONFIGMAP.replace("{{ .Release.Name }}", "new")
TARGET = Target("", "v1", "configmaps", NAMESPACE, "theirs")
POLICY = "helm.sh/resource-policy"


def store(history: History, name: str, **templates: str) -> Json:
    files = {f"templates/{each}.yaml": text for each, text in templates.items()}
    files |= {"values.yaml": "tag: one\n", "templates/deployment.yaml": DEPLOYMENT}
    stored = chart_archive_manifest(chart_archive(files, name=name), namespace=NAMESPACE)
    history.cluster.create(stored)
    return {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}


def create_theirs(history: History, **metadata: Any) -> None:
    metadata = {"name": "theirs", "labels": {"app": "theirs"}, **metadata}
    history.cluster.server.create(TARGET, {"metadata": metadata, "data": {"tag": "free"}})


async def install(history: History, **spec: Any) -> None:
    history.create(tag="one", adopt=True, archive=store(history, "plain"), **spec)
    await history.cluster.wait(SECONDS)
    assert history.outcome.startswith("Ready")


def upgrade(history: History, tag: str) -> None:
    """Upgrade to a chart with two ConfigMaps, of which one exists already."""
    history.edit(archive=store(history, "adopting", a=NEW, b=THEIRS), values={"tag": tag})


def configmaps(history: History) -> dict[str, Json]:
    return {each["metadata"]["name"]: each["metadata"] for each in history.cluster.server.all("configmaps")}


def told(history: History) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["reason"] == "LeftBehind"]


def assert_left(history: History) -> None:
    """Assert that the object of a person is there as it was, and that of the failed revision is not."""
    found = configmaps(history)
    assert list(found) == ["theirs"]
    assert found["theirs"]["labels"] == {"app": "theirs"}
    assert not found["theirs"].get("annotations")
    message = "the rollback leaves objects that adopt took over, outside of the release: ConfigMap/theirs"
    assert set(told(history)) == {message}


async def delete(history: History) -> None:
    """Delete the XApp, with which the object of a person does not go; then that."""
    history.delete()
    await history.cluster.wait(60.0)
    assert list(configmaps(history)) == ["theirs"]
    history.cluster.server.delete(TARGET, {})


def fail(history: History, *, writes: int = 3) -> None:
    """Let upgrades to two fail after their record and their first objects."""
    history.cluster.helm.refusals['{"tag": "two"}'] = Fault(PERMANENT, writes)


@pytest.mark.parametrize("failure", ["an object is refused", "not healthy", "fails before it takes it over"])
def test_an_automatic_rollback_leaves_what_the_failed_upgrade_took_over(settings: Settings, failure: str) -> None:
    async def play(history: History) -> None:
        create_theirs(history)
        await install(history, timeout="10s")
        tag = BROKEN if failure == "not healthy" else "two"
        fail(history, writes=3 if failure == "an object is refused" else 2)
        upgrade(history, tag)
        await history.cluster.wait(90.0)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback"]
        assert_left(history)
        await delete(history)

    run_history(settings, play)


@pytest.mark.parametrize("error", [PASSING, SIGKILL])
@pytest.mark.parametrize("writes", range(4))
def test_a_rollback_that_is_tried_again_leaves_it_too(settings: Settings, error: str, writes: int) -> None:
    async def play(history: History) -> None:
        create_theirs(history)
        await install(history)
        fail(history)
        history.cluster.helm.faults = [Fault(error, writes)]  # the upgrade is refused, so the rollback gets it
        upgrade(history, "two")
        await history.cluster.wait(120.0)
        assert history.cluster.helm.faults == []
        assert history.deployed_tags == ["one"]
        assert_left(history)
        await delete(history)

    run_history(settings, play)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", range(9))
def test_a_kill_of_the_operator_deletes_nothing_that_was_taken_over(
    settings: Settings, write: int, after: bool
) -> None:
    async def play(history: History) -> None:
        create_theirs(history)
        await install(history)
        fail(history)

        def disturb(step: Any) -> None:
            if step.command == "upgrade" and history.cluster.lives == 1:
                history.cluster.kill = Kill(write + 4, after=after)

        history.cluster.helm.on_step.append(disturb)
        upgrade(history, "two")
        await history.cluster.wait(150.0)
        assert history.cluster.lives > 1
        assert history.deployed_tags == ["one"]
        assert_left(history)
        await delete(history)

    run_history(settings, play)


def test_what_an_earlier_revision_made_goes_with_the_rollback(settings: Settings) -> None:
    """It is older than the revision that is rolled back, but not than the one that made it."""

    async def play(history: History) -> None:
        create_theirs(history)
        await install(history, upgrade={"onFailure": "none"})
        fail(history)
        upgrade(history, "two")
        await history.cluster.wait(SECONDS)
        assert sorted(configmaps(history)) == ["new", "theirs"]
        history.annotate("retry-at")
        await history.cluster.wait(SECONDS)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert len([each for each in history.helm_steps if each.command == "upgrade"]) > 1
        assert_left(history)
        await delete(history)

    run_history(settings, play)


def test_a_requested_rollback_leaves_what_was_taken_over_since(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_theirs(history)
        await install(history)
        upgrade(history, "two")
        await history.cluster.wait(SECONDS)
        assert history.deployed_tags == ["two"]
        history.annotate("rollback-to", "1")
        await history.cluster.wait(SECONDS)
        assert history.deployed_tags == ["one"]
        assert_left(history)
        await delete(history)

    run_history(settings, play)


def test_helm_does_not_run_if_it_cannot_be_kept(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_theirs(history)
        await install(history)
        fail(history)

        def check(request: ApiRequest) -> None:
            if request.method == "PATCH" and POLICY.encode() in (request.body or b""):
                raise Refused(403, "Forbidden", "configmaps is forbidden")

        history.cluster.refuse = check
        upgrade(history, "two")
        await history.cluster.wait(90.0)
        assert [each.command for each in history.helm_steps] == ["install", "upgrade"]
        assert sorted(configmaps(history)) == ["new", "theirs"]
        assert history.outcome.startswith("Stalled")
        history.cluster.refuse = lambda _: None
        history.annotate("retry-at")
        await history.cluster.wait(90.0)
        history.cluster.server.delete(TARGET, {})

    run_history(settings, play)


@pytest.mark.parametrize("adopt", [False, True])
def test_only_an_xapp_that_adopts_reads_what_a_rollback_would_delete(settings: Settings, adopt: bool) -> None:
    reads: list[int] = []

    async def play(history: History) -> None:
        def note(step: Any) -> None:
            if step.command == "rollback":
                reads.append(count_reads(history, "new"))

        history.cluster.helm.on_step.append(note)
        await install(history)
        history.edit(adopt=adopt)
        fail(history)
        upgrade(history, "two")
        await history.cluster.wait(SECONDS)
        assert list(configmaps(history)) == []
        assert reads == [3 if adopt else 1]  # one more before the upgrade, and one before the rollback
        assert told(history) == []

    run_history(settings, play)
