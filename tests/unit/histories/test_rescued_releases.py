"""A deletion that is changed to leave the release, after its uninstall has begun."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fakes.api_server import Refused
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import BROKEN
from tests.unit.histories.test_removals import events, install, is_gone, wait_gone
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SOON_SECONDS = 12.0
LONG_SECONDS = 60.0
RESCUED = (
    "revision 1 of hello stays, and is deployed again: its uninstall was ended before it deleted anything. If the "
    "chart has pre-delete hooks, they may have run, or run still"
)


def object_uids(history: History) -> set[str]:
    server = history.cluster.server
    return {each["metadata"]["uid"] for kind in ("configmaps", "deployments") for each in server.all(kind)}


async def hang(history: History) -> None:
    """Delete the XApp, and wait until helm, which has deleted nothing yet, waits for a hook."""
    history.cluster.helm.pause = LONG_SECONDS
    history.delete()
    assert await history.cluster.wait_for(
        lambda: "uninstalling" in history.cluster.revisions.values(), seconds=2 * LONG_SECONDS
    )


async def rescue(history: History, *, seconds: float = SOON_SECONDS) -> None:
    history.edit(deletionPolicy="Orphan")
    await wait_gone(history, seconds=seconds)
    history.cluster.helm.pause = 0.2


def test_a_release_of_which_nothing_was_deleted_is_deployed_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        before = object_uids(history)
        await hang(history)
        await rescue(history)
        assert history.cluster.revisions == {1: "deployed"}
        assert "deleted" not in history.records[0]["info"]
        history.create(tag="one")
        await history.cluster.wait(LONG_SECONDS)
        assert object_uids(history) == before

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "uninstall"]
    assert history.outcome == "Ready InstallSucceeded"
    assert events(history, "Restored") == [("Normal", RESCUED)]
    assert events(history, "LeftBehind") == []


def test_a_release_whose_pre_delete_hook_has_failed_is_deployed_again(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.faults = [Fault("failed pre-delete: it never ended", writes=1)] * 9
        history.delete()
        await history.cluster.wait(2 * TIMEOUT_SECONDS)
        await rescue(history)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "deployed"}


@pytest.mark.parametrize("tag", ["two", BROKEN])
def test_a_failed_upgrade_stays_failed(settings: Settings, tag: str) -> None:
    async def play(history: History) -> None:
        await install(history, upgrade={"onFailure": "none"})
        history.cluster.helm.faults = [Fault("field is immutable", writes=1)]
        history.set_tag(tag)
        await history.cluster.wait(20.0)
        assert history.cluster.revisions == {1: "deployed", 2: "failed"}
        await hang(history)
        await rescue(history)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "deployed", 2: "failed"}


def test_what_helm_wrote_last_counts_although_it_comes_late(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.pause, history.cluster.server.lag = LONG_SECONDS, 0.0
        history.delete()
        assert await history.cluster.wait_for(lambda: bool(history.cluster.helm.running), seconds=SOON_SECONDS)
        history.edit(deletionPolicy="Orphan")
        assert await history.cluster.wait_for(lambda: not history.cluster.helm.running, seconds=SOON_SECONDS)
        await history.cluster.wait(0.5)
        history.leave_behind("uninstalling")
        await wait_gone(history, seconds=SOON_SECONDS)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "deployed"}


def test_a_release_that_is_partly_deleted_stays_as_it_is_and_is_named(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.faults = [Fault(writes=2)] * 9
        history.delete()
        assert await history.cluster.wait_for(lambda: not history.cluster.server.all("deployments"), seconds=60.0)
        history.edit(deletionPolicy="Orphan")
        await wait_gone(history, seconds=SOON_SECONDS)
        history.cluster.helm.faults.clear()

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "uninstalling"}
    message = (
        "the release stays, but its uninstall had begun, so helm calls it uninstalling: these objects do not exist any "
        "more, or are being deleted: Deployment/hello. To remove what is left, run helm uninstall hello --no-hooks. An "
        "XApp that takes the release over uninstalls it first, and then installs it again"
    )
    assert events(history, "LeftBehind") == [("Warning", message)]
    assert events(history, "Restored") == []


def test_an_uninstall_of_a_person_is_not_undone(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, deletionPolicy="Orphan")
        history.leave_behind("uninstalling")
        history.delete()
        await wait_gone(history, seconds=SOON_SECONDS)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "uninstalling"}
    ((_, message),) = events(history, "LeftBehind")
    assert "uninstalling: another helm process has begun it. " in message


def test_an_uninstall_of_a_person_is_told_although_the_status_tells_of_no_step(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, deletionPolicy="Orphan")
        history.delete()
        await wait_gone(history, seconds=SOON_SECONDS)
        history.leave_behind("uninstalling")
        history.create(tag="one", deletionPolicy="Orphan")
        await history.cluster.wait(5.0)  # the other helm is waited for
        history.delete()
        await wait_gone(history, seconds=SOON_SECONDS)

    history = run_history(settings, play)
    ((_, message),) = events(history, "LeftBehind")
    assert "uninstalling: another helm process has begun it. " in message


def test_an_uninstall_of_a_release_of_others_is_not_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("three", status="uninstalling")
        history.create(tag="one", deletionPolicy="Orphan")
        await history.cluster.wait(5.0)
        history.delete()
        await wait_gone(history, seconds=SOON_SECONDS)
        history.orphaned = True

    assert events(run_history(settings, play), "LeftBehind") == []


def forbid_reading(request: ApiRequest) -> None:
    if "/configmaps/" in request.path:
        raise Refused(403, "Forbidden", "configmaps is forbidden: cannot get them")


def forbid_writing(request: ApiRequest) -> None:
    if request.method == "PUT" and "/secrets/" in request.path:
        raise Refused(403, "Forbidden", "secrets is forbidden: cannot update them")


def answer_nothing(request: ApiRequest) -> None:
    if "/configmaps/" in request.path:
        raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")


def write_nothing(request: ApiRequest) -> None:
    if request.method == "PUT" and "/secrets/" in request.path:
        raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")


@pytest.mark.parametrize(
    ("refuse", "told"),
    [
        (forbid_reading, "it is not known whether its objects are there: "),
        (forbid_writing, "its objects are there, but its record cannot be put back: "),
        (answer_nothing, "it is not known whether its objects are there: "),
        (write_nothing, "its objects are there, but its record cannot be put back: "),
    ],
)
def test_no_refusal_keeps_the_xapp(settings: Settings, refuse: Callable[[ApiRequest], None], told: str) -> None:
    async def play(history: History) -> None:
        await install(history)
        await hang(history)
        history.cluster.refuse = refuse
        history.edit(deletionPolicy="Orphan")
        if refuse in (answer_nothing, write_nothing):
            await history.cluster.wait(TIMEOUT_SECONDS - 5.0)
            assert not is_gone(history)
        await wait_gone(history, seconds=4 * TIMEOUT_SECONDS)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "uninstalling"}
    ((_, message),) = events(history, "LeftBehind")
    assert f"uninstalling: {told}" in message


@pytest.mark.parametrize("refuse", [answer_nothing, write_nothing])
def test_a_cluster_that_answers_later_is_waited_for(settings: Settings, refuse: Callable[[ApiRequest], None]) -> None:
    async def play(history: History) -> None:
        await install(history)
        await hang(history)
        history.cluster.refuse = refuse
        history.edit(deletionPolicy="Orphan")
        await history.cluster.wait(10.0)
        history.cluster.refuse = lambda _: None
        await wait_gone(history, seconds=TIMEOUT_SECONDS)

    assert run_history(settings, play).cluster.revisions == {1: "deployed"}
