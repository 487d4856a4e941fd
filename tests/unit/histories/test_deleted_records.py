"""Deletions of XApps whose release has no record any more: what they remove, and what they request for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_by_hand import delete_record
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import create_other
from tests.unit.histories.test_removals import (
    KEPT,
    KEPT_MESSAGE,
    LABELS,
    OTHER_RELEASE,
    OWNER,
    events,
    install,
    is_gone,
    refuse,
    wait_gone,
)
from tests.unit.histories.test_removals_elsewhere import is_search
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.removals import UNCLAIMED

SERVICES = Target("", "v1", "services", NAMESPACE)


def note_searches(history: History) -> list[str]:
    """Return the paths at which the operator looks for labelled objects from now on, a list that grows."""
    paths: list[str] = []
    history.cluster.refuse = lambda request: paths.append(request.path) if is_search(request) else None
    return paths


async def suspend(history: History) -> None:
    history.edit(suspend=True)
    await history.cluster.wait(10.0)


async def delete_at_once(history: History) -> None:
    delete_record(history, 1)
    history.delete()


async def delete_later(history: History) -> None:
    await suspend(history)
    delete_record(history, 1)
    await history.cluster.wait(60.0)
    assert not (history.cluster.xapp() or {})["status"].get("release")
    history.delete()


async def delete_after_a_restart(history: History) -> None:
    await suspend(history)
    delete_record(history, 1)
    await history.cluster.wait(60.0)
    history.cluster.restart()
    await history.cluster.wait(20.0)
    history.delete()


@pytest.mark.parametrize("delete", [delete_at_once, delete_later, delete_after_a_restart])
def test_the_objects_of_a_release_go_although_somebody_deleted_its_record(
    settings: Settings, delete: Callable[[History], Awaitable[None]]
) -> None:
    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        for name, labels, owner in (
            ("ours", LABELS, OWNER),
            ("kept", LABELS, {**OWNER, **KEPT}),
            ("unlabelled", {}, OWNER),
            ("labelled", LABELS, {}),
            ("other-release", LABELS, {**OWNER, **OTHER_RELEASE}),
        ):
            server.create(SERVICES, {"metadata": {"name": name, "labels": labels, "annotations": owner}})
        await history.cluster.wait(5.0)
        await delete(history)
        await wait_gone(history)
        assert history.live_tags == set()
        assert server.all("deployments") == []
        left = {each["metadata"]["name"] for each in server.all("services")}
        assert left == {"kept", "unlabelled", "labelled", "other-release"}

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == [("Warning", KEPT_MESSAGE + "Service/kept")]
    assert [each.command for each in history.helm_steps] == ["install"]


def test_only_the_kinds_of_the_release_are_searched_if_they_are_known(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        paths = note_searches(history)
        await delete_later(history)
        await wait_gone(history)
        assert [path.rpartition("/")[2] for path in paths] == ["deployments", "configmaps"]

    run_history(settings, play)


async def uninstall_with_the_operator(history: History) -> None:
    history.delete()


async def uninstall_by_hand(history: History) -> None:
    await suspend(history)
    history.uninstall_by_hand()
    await history.cluster.wait(5.0)
    history.delete()


async def uninstall_by_hand_before_a_restart(history: History) -> None:
    await suspend(history)
    history.uninstall_by_hand()
    await history.cluster.wait(5.0)
    history.cluster.restart()
    await history.cluster.wait(20.0)
    history.delete()


@pytest.mark.parametrize(
    ("delete", "searched"),
    [(uninstall_with_the_operator, False), (uninstall_by_hand, False), (uninstall_by_hand_before_a_restart, True)],
)
def test_nothing_is_searched_if_the_operator_knows_that_nothing_is_left(
    settings: Settings, delete: Callable[[History], Awaitable[None]], searched: bool
) -> None:
    async def play(history: History) -> None:
        await install(history)
        paths = note_searches(history)
        await delete(history)
        await wait_gone(history)
        assert bool(paths) is searched

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == []


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_searched_for_an_xapp_that_never_had_a_release(settings: Settings, fails: bool) -> None:
    async def play(history: History) -> None:
        if fails:
            history.cluster.helm.faults = [Fault("execution error at (hello/templates/x.yaml:1:4): no")] * 9
        history.create(tag="one", suspend=not fails)
        await history.cluster.wait(10.0)
        assert history.cluster.revisions == {}
        assert bool((history.cluster.xapp() or {})["status"].get("lastAttempt")) is fails
        paths = note_searches(history)
        history.delete()
        await wait_gone(history)
        assert paths == []

    run_history(settings, play)


@pytest.mark.parametrize("deleted", [False, True])
def test_labelled_objects_of_an_xapp_that_never_had_a_release_are_told_and_stay(
    settings: Settings, deleted: bool
) -> None:
    """They may be what an XApp of that name has left, whose release somebody took out of Helm's hands."""

    async def play(history: History) -> None:
        history.create(tag="one", suspend=True)
        server = history.cluster.server
        body = {"metadata": {"name": "left", "labels": LABELS, "annotations": OWNER}}
        for namespace in (NAMESPACE, "other"):
            server.create(Target("", "v1", "services", namespace), body)
        await history.cluster.wait(10.0)
        if deleted:
            server.delete(Target("", "v1", "services", NAMESPACE, "left"), {})
            await history.cluster.wait(5.0)
        history.delete()
        await wait_gone(history)
        assert len(server.all("services")) == (1 if deleted else 2)

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == ([] if deleted else [("Warning", UNCLAIMED + "Service/left")])


def test_objects_without_a_record_stay_until_no_other_xapp_depends_on_them(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        create_other(history, dependsOn=[{"name": "hello"}])
        await history.cluster.wait(20.0)
        await delete_at_once(history)
        await history.cluster.wait(TIMEOUT_SECONDS - 5.0)
        assert not is_gone(history)
        history.cluster.delete("other")
        await wait_gone(history)
        assert history.live_tags == set()

    run_history(settings, play)


def test_objects_without_a_record_that_may_not_be_listed_are_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, lambda request: is_search(request) and request.path.endswith("/configmaps"))

    async def play(history: History) -> None:
        await install(history)
        await delete_later(history)
        await wait_gone(history)
        assert history.live_tags == {"one"}
        history.removed.clear()

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == [("Warning", f"cannot GET /api/v1/namespaces/{NAMESPACE}/configmaps")]
