"""Deletions of XApps whose record is damaged or gone, and that have objects outside of their namespace."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.test_removals import (
    CLUSTER_ROLES,
    KEPT,
    KEPT_MESSAGE,
    LABELS,
    OTHER_RELEASE,
    OWNER,
    RECORD,
    delete_namespace,
    delete_records,
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


VOLUMES = Target("", "v1", "persistentvolumes")
NAMESPACES = Target("", "v1", "namespaces")


@pytest.mark.parametrize("terminating", [True, False])
def test_cluster_scoped_objects_of_all_groups_are_deleted_the_namespaces_last(
    settings: Settings, terminating: bool
) -> None:
    """Only those that the label and the annotations of Helm both assign to the release."""
    deleted: list[str] = []

    def note(request: ApiRequest) -> None:
        if request.method == "DELETE":
            deleted.append(request.path)

    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        for target in (VOLUMES, CLUSTER_ROLES, NAMESPACES):
            for name, labels, owner in (
                ("ours", LABELS, OWNER),
                ("kept", LABELS, {**OWNER, **KEPT}),
                ("unlabelled", {}, OWNER),
                ("labelled", LABELS, {}),
                ("other-release", LABELS, {**OWNER, **OTHER_RELEASE}),
            ):
                server.create(target, {"metadata": {"name": name, "labels": labels, "annotations": owner}})
        history.cluster.refuse = note
        if terminating:
            delete_records(history)
            history.uninstall_by_hand()
            delete_namespace(history)
        else:
            server.patch(RECORD, {"data": {"release": "bm90IGEgcmVsZWFzZQ=="}})
            history.delete()
        await wait_gone(history)
        stay = {"kept", "unlabelled", "labelled", "other-release"}
        for target in (VOLUMES, CLUSTER_ROLES, NAMESPACES):
            names = {each["metadata"]["name"] for each in server.all(target.plural)}
            assert names - {NAMESPACE} == stay

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == [
        ("Warning", f"{KEPT_MESSAGE}ClusterRole/kept, PersistentVolume/kept, Namespace/kept")
    ]
    wide = [path for path in deleted if path.endswith("/ours")]
    assert wide == [
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/ours",
        "/api/v1/persistentvolumes/ours",
        "/api/v1/namespaces/ours",
    ]
