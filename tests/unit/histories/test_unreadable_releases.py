"""A release of which the operator cannot read what it consists of: the status tells it, and nothing else stops."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, LAG_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.unit.histories.situations.actions import RECORD, allow, count_reads, install, refuse, remove, store
from tests.unit.histories.situations.drift import CLUSTER_ROLE
from xapp_operator.config.settings import Settings
from xapp_operator.helm import manifest
from xapp_operator.kube.transport import ApiRequest

RECORD_PATH = f"/{RECORD.name}"
NOT_ALLOWED = Refused(
    403,
    "Forbidden",
    'secrets "x" is forbidden: User "operator" cannot get resource "secrets" in API group "" in the namespace "ns"',
)
UNREADABLE = Refused(500, "InternalError", "etcdserver: corrupt")


@pytest.fixture
def one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the operator read manifests of one object only: the chart has two."""
    monkeypatch.setattr(manifest, "OBJECTS_MAX", 1)


def message(history: History) -> str:
    return str((history.cluster.condition("Ready") or {}).get("message"))


def resources(history: History) -> Json:
    found: Json = (history.cluster.xapp() or {})["status"]["resources"]
    return found


def steps(history: History) -> list[str]:
    return [each.command for each in history.helm_steps]


@pytest.mark.usefixtures("one_object")
def test_a_manifest_that_cannot_be_read_is_told_and_its_release_can_be_uninstalled(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        assert history.outcome == "Stalled ChartInvalid"
        assert message(history) == (
            "the release's manifest has more than 1 objects: make the chart smaller. So the objects of the release are "
            "not known: change the chart or its values"
        )
        assert history.cluster.runtime is not None
        kept = history.cluster.runtime._context.unreadable_manifests
        assert kept
        await remove(history)
        assert steps(history) == ["install", "uninstall"]
        await history.cluster.wait(LAG_SECONDS + 1.0)
        assert not kept

    run_history(settings, play)


@pytest.mark.usefixtures("one_object")
def test_a_manifest_that_cannot_be_read_is_told_after_a_restart_and_is_read_once(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.annotate("retry-at")
        await history.cluster.wait(10.0)
        history.cluster.restart()
        await history.cluster.wait(1000.0)
        assert history.outcome == "Stalled ChartInvalid"
        assert count_reads(history, RECORD.name) == 1
        history.edit(archive=store(history, cm=CONFIGMAP))
        await history.cluster.wait(20.0)
        assert history.outcome == "Ready UpgradeSucceeded"
        assert resources(history) == {"total": 1, "ready": 1}

    run_history(settings, play, lambda _: None)


@pytest.mark.usefixtures("one_object")
@pytest.mark.parametrize("retried", [False, True])
def test_an_upgrade_to_a_manifest_that_cannot_be_read_is_told_until_the_chart_changes(
    settings: Settings, *, retried: bool
) -> None:
    """What the release consisted of before does not count."""

    async def play(history: History) -> None:
        readable = store(history, cm=CONFIGMAP)
        other = store(history, version="0.2.0", one=DEPLOYMENT, two=CLUSTER_ROLE)
        await install(history, archive=readable)
        history.edit(archive=other)
        await history.cluster.wait(20.0)
        if retried:
            history.annotate("retry-at")
            await history.cluster.wait(120.0)
        assert history.outcome == "Stalled ChartInvalid"
        assert steps(history) == ["install", "upgrade"]
        assert resources(history) == {"total": 0, "ready": 0}
        history.edit(archive=readable)
        await history.cluster.wait(20.0)
        assert history.outcome == "Ready UpgradeSucceeded"

    run_history(settings, play, lambda _: None)


@pytest.mark.usefixtures("one_object")
def test_what_could_not_be_read_is_forgotten_with_the_release(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.uninstall_by_hand()
        history.edit(archive=store(history, cm=CONFIGMAP))
        await history.cluster.wait(20.0)
        assert history.cluster.revisions == {1: "deployed"}
        assert history.outcome == "Ready InstallSucceeded"

    run_history(settings, play, lambda _: None)


@pytest.mark.parametrize("backoff_seconds", [1.0, 600.0])
def test_a_manifest_that_cannot_be_read_for_its_labels_is_told_at_once_and_is_read_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, backoff_seconds: float
) -> None:
    async def play(history: History) -> None:
        await install(history)
        monkeypatch.setattr(manifest, "OBJECTS_MAX", 1)
        history.edit(version="0.2.0")
        await history.cluster.wait(20.0)
        assert history.outcome == "Stalled ChartInvalid"
        await history.cluster.wait(500.0)
        assert count_reads(history, RECORD.name) == 1
        monkeypatch.undo()
        history.set_tag("two")

    def check(history: History) -> None:
        assert history.outcome == "Ready UpgradeSucceeded"

    pauses = {"backoff_first_seconds": backoff_seconds, "backoff_max_seconds": backoff_seconds}
    run_history(settings.model_copy(update=pauses), play, check)


@pytest.mark.parametrize(
    ("refused", "unchanged", "outcome", "told"),
    [
        (NOT_ALLOWED, "Stalled AccessDenied", "Stalled AccessDenied", "Grant that permission"),
        (UNREADABLE, "Ready InstallSucceeded", "NotReady Progressing", "etcdserver: corrupt"),
    ],
)
@pytest.mark.parametrize("deleted", [False, True])
def test_a_record_that_cannot_be_read_is_told_and_its_release_can_be_uninstalled(
    settings: Settings, refused: Refused, unchanged: str, outcome: str, told: str, *, deleted: bool
) -> None:
    """What may pass is told to whom it lets wait; otherwise the status stays as it is."""

    async def play(history: History) -> None:
        await install(history)
        refuse(history, "GET", RECORD_PATH, refused)
        history.cluster.restart()
        await history.cluster.wait(60.0)
        assert history.outcome == unchanged
        history.set_tag("two")
        await history.cluster.wait(60.0)
        assert history.outcome == outcome
        assert told in message(history)
        assert history.cluster.server.find("secrets", RECORD.name) is not None
        if deleted:
            await remove(history)
            assert steps(history) == ["install", "uninstall"]
        else:
            allow(history)

    def check(history: History) -> None:
        assert history.outcome == ("gone" if deleted else "Ready UpgradeSucceeded")

    run_history(settings, play, check)


def test_a_record_that_could_not_be_read_once_is_not_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        before = len(history.cluster.writes)

        def refuse_once(request: ApiRequest) -> None:
            if request.method == "GET" and request.path.endswith(RECORD_PATH):
                allow(history)
                raise UNREADABLE

        history.cluster.refuse = refuse_once
        history.cluster.restart()
        await history.cluster.wait(20.0)
        assert count_reads(history, RECORD.name) == 2
        assert history.cluster.writes[before:] == []

    run_history(settings, play)


@pytest.mark.parametrize("refused", [NOT_ALLOWED, UNREADABLE])
def test_the_conditions_of_a_suspended_release_stay_when_its_record_cannot_be_read(
    settings: Settings, refused: Refused
) -> None:
    async def play(history: History) -> None:
        await install(history)
        refuse(history, "GET", RECORD_PATH, refused)
        history.edit(suspend=True)
        history.cluster.restart()
        await history.cluster.wait(60.0)
        status = (history.cluster.xapp() or {})["status"]
        assert status["phase"] == "Suspended"
        assert status["observedGeneration"] == 2
        ready, released = status["conditions"]
        assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "InstallSucceeded")
        assert (released["type"], released["status"]) == ("Released", "True")

    run_history(settings, play)


@pytest.mark.parametrize("suspended", [False, True])
def test_a_deletion_whose_namespace_may_not_be_read_tells_that_and_goes_on_by_itself(
    settings: Settings, *, suspended: bool
) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.edit(suspend=suspended)
        await history.cluster.wait(10.0)
        refuse(history, "GET", f"/namespaces/{NAMESPACE}", NOT_ALLOWED)
        history.delete()
        await history.cluster.wait(60.0)
        assert history.outcome == "Stalled AccessDenied"
        allow(history)
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)

    run_history(settings, play)


def test_after_a_rollback_whose_record_cannot_be_read_nothing_of_the_upgrade_is_missed(settings: Settings) -> None:
    named = CONFIGMAP.replace("name: {{ .Release.Name }}", "name: hello-{{ .Values.tag }}")

    async def play(history: History) -> None:
        await install(history, archive=store(history, one=named, two=DEPLOYMENT))
        history.set_tag(BROKEN)
        await history.cluster.wait(20.0)
        assert resources(history) == {"total": 2, "ready": 1}
        refuse(history, "GET", "/sh.helm.release.v1.hello.v3", NOT_ALLOWED)
        await history.cluster.wait(60.0)
        assert history.cluster.revisions[3] == "deployed"
        assert (history.cluster.xapp() or {})["status"]["health"] == {"status": "Healthy"}
        allow(history)

    run_history(settings, play)
