"""Deletions of XApps whose record is damaged, and that have objects in other namespaces."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import History, run_history
from tests.unit.histories.test_removals import (
    KEPT,
    KEPT_MESSAGE,
    LABELS,
    OTHER_RELEASE,
    OWNER,
    RECORD,
    events,
    install,
    refuse,
    wait_gone,
)
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

ELSEWHERE = (
    "objects of the release in other namespaces may be left: cannot GET {}. Find them with: kubectl get {} "
    "--all-namespaces -l xapp-operator.io/xapp=hello"
)


@pytest.mark.parametrize("denied", [False, True])
def test_objects_in_other_namespaces_of_a_release_whose_record_is_damaged(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, denied: bool
) -> None:
    refuse(monkeypatch, lambda request: denied and request.path.endswith("/namespaces/other/services"))
    requested: list[str] = []

    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        for name, owner in (("ours", OWNER), ("kept", {**OWNER, **KEPT}), ("foreign", OTHER_RELEASE)):
            body = {"metadata": {"name": name, "labels": LABELS, "annotations": owner}}
            server.create(Target("", "v1", "services", "other"), body)
        await history.cluster.wait(5.0)
        server.patch(RECORD, {"data": {"release": "bm90IGEgcmVsZWFzZQ=="}})
        history.cluster.refuse = lambda request: requested.append(request.path)
        history.delete()
        await wait_gone(history)
        left = {each["metadata"]["name"] for each in server.all("services")}
        assert left == ({"ours", "kept", "foreign"} if denied else {"kept", "foreign"})
        assert history.live_tags == set()

    history = run_history(settings, play)
    message = ELSEWHERE.format("/api/v1/namespaces/other/services", "services")
    assert events(history, "LeftBehind") == [("Warning", message if denied else KEPT_MESSAGE + "Service/kept")]
    assert "/apis/apps/v1/deployments" not in requested, "the inventory is known"


@pytest.mark.parametrize("denied", [False, True])
def test_all_namespaces_are_searched_if_a_record_is_damaged_before_a_restart(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, denied: bool
) -> None:
    paths = ("/api/v1/secrets", "/apis/apps/v1/replicasets")
    refuse(monkeypatch, lambda request: denied and request.path in paths and bool(is_search(request)))
    target = Target("", "v1", "secrets", "other")

    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        server.create(target, {"type": "Opaque", "metadata": {"name": "ours", "labels": LABELS, "annotations": OWNER}})
        server.patch(RECORD, {"data": {"release": "bm90IGEgcmVsZWFzZQ=="}})
        history.cluster.restart()
        await history.cluster.wait(10.0)
        history.delete()
        await wait_gone(history)
        assert bool(server.find("secrets", "ours", namespace="other")) is denied
        assert history.live_tags == set()

    history = run_history(settings, play)
    message = ELSEWHERE.format("/apis/apps/v1/replicasets", "replicasets.apps,secrets")
    assert events(history, "LeftBehind") == ([("Warning", message)] if denied else [])


def is_search(request: ApiRequest) -> bool:
    return request.params.get("labelSelector") == "xapp-operator.io/xapp=hello"
