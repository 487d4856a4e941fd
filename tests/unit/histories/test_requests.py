"""What the operator asks the API server for during an install and an upgrade."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import FakeApiServer
from tests.support.fakes.helm import Fault
from tests.support.fakes.helm_records import record_target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import CONFIGMAP_TARGET, count_reads
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest


@pytest.mark.parametrize(("lag", "listed"), [(0.0, 0), (0.5, 0), (2.0, 2)])
def test_revisions_are_listed_only_when_the_watch_is_late(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, lag: float, listed: int
) -> None:
    lists: list[str] = []
    handle = FakeApiServer.handle

    def record(self: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> object:
        selector = request.params.get("labelSelector", "")
        if request.path.endswith("/secrets") and "name=" in selector:
            lists.append(selector)
        return handle(self, request, manager=manager)

    monkeypatch.setattr(FakeApiServer, "handle", record)

    async def play(history: History) -> None:
        history.cluster.server.lag = lag
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.set_tag("two")
        await history.cluster.wait(20.0)

    history = run_history(settings, play)
    assert history.live_tags == {"two"}
    assert len(lists) == listed


def test_a_deletion_answers_only_the_request_for_another_try(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        history.cluster.helm.refusals["{}"] = Fault("denied")
        history.delete()
        await history.cluster.wait(20.0)
        history.annotate("reconcile-at")
        history.annotate("retry-at")
        await history.cluster.wait(20.0)
        assert set((history.cluster.xapp() or {})["status"]["handled"]) == {"retryAt"}
        history.cluster.helm.refusals.clear()
        history.annotate("retry-at")

    run_history(settings, play)


def test_no_object_is_read_for_a_revision_whose_record_is_damaged(settings: Settings) -> None:
    """The objects that are known belong to the revision before."""

    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        server, transport = history.cluster.server, history.cluster.transport
        assert transport is not None
        labels = server.get(record_target(NAMESPACE, "hello", 1))["metadata"]["labels"]
        server.patch(CONFIGMAP_TARGET, {"metadata": {"labels": {"xapp-operator.io/xapp": None}}})
        damaged = record_target(NAMESPACE, "hello", 2)
        metadata = {"name": damaged.name, "namespace": NAMESPACE, "labels": {**labels, "version": "2"}}
        server.create(damaged, {"metadata": metadata, "data": {"release": "Z2FyYmFnZQ=="}})
        before = len(transport.requests)
        await history.cluster.wait(100.0)
        read = {each.path.rpartition("/")[2] for each in transport.requests[before:] if each.method == "GET"}
        assert damaged.name in read
        assert "hello" not in read
        server.delete(damaged, {})

    run_history(settings, play)


def test_the_record_of_a_failed_release_is_read_once_for_each_version(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(20.0)
        server, transport = history.cluster.server, history.cluster.transport
        assert transport is not None
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault("Deployment is invalid", writes=1)
        history.set_tag("two")
        await history.cluster.wait(600.0)
        assert history.outcome == "Stalled UpgradeFailed"
        newest = record_target(NAMESPACE, "hello", max(history.cluster.revisions))

        async def observe_again() -> None:
            for number in range(5):
                server.patch(CONFIGMAP_TARGET, {"metadata": {"labels": {"seen": str(number)}}})
                await history.cluster.wait(60.0)

        before = count_reads(history, newest.name)
        await observe_again()
        assert count_reads(history, newest.name) == before
        server.patch(newest, {"metadata": {"labels": {"seen": "again"}}}, manager="")
        await observe_again()
        assert count_reads(history, newest.name) == before + 1
        history.cluster.helm.refusals.clear()

    run_history(settings, play, lambda _: None)
