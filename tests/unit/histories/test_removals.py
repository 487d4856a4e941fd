"""Deletions of XApps: what goes, what is left and named, and what keeps an XApp from going away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.support.fakes.api_server import FakeApiServer, Refused, Target
from tests.support.fakes.helm import FakeHelm, Fault, HelmFailed, _Run
from tests.support.fakes.helm_records import decode_record, encode_record
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.support.helm_tests import deploy as deploy_with_tests
from tests.support.helm_tests import wait_tested
from xapp_operator.config.settings import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.slots import HelmSlot
from xapp_operator.kube.transport import ApiRequest

DENIED = (
    'secrets "sh.helm.release.v1.hello.v1" is forbidden: User "jane" cannot delete resource "secrets" in API group "" '
    'in the namespace "ns"'
)
UNINSTALL = "{}"
"""The values of an uninstall, by which `FakeHelm.refusals` finds it."""
RECORD = Target("", "v1", "secrets", NAMESPACE, "sh.helm.release.v1.hello.v1")
CONFIGMAP = Target("", "v1", "configmaps", NAMESPACE, "hello")
LABELS = {"xapp-operator.io/xapp": "hello"}
OWNER = {"meta.helm.sh/release-name": "hello", "meta.helm.sh/release-namespace": NAMESPACE}
KEPT = {"helm.sh/resource-policy": " Keep"}
KEPT_MESSAGE = "these objects stay, because they have the annotation helm.sh/resource-policy: keep: "
NOT_OWNED_MESSAGE = (
    "these objects stay, because Helm's label and annotations do not say that they belong to the release: "
)
CLUSTER_ROLES = Target("rbac.authorization.k8s.io", "v1", "clusterroles")
OTHER_RELEASE = {"meta.helm.sh/release-name": "other"}


def events(history: History, reason: str) -> list[tuple[str, str]]:
    """Return type and message of the events with a reason."""
    found = (each for each in history.cluster.server.all("events") if each["reason"] == reason)
    return [(each["type"], each["message"]) for each in found]


async def install(history: History, **spec: Any) -> None:
    history.create(tag="one", **spec)
    assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)
    await history.cluster.wait(5.0)


def is_gone(history: History) -> bool:
    return history.cluster.xapp() is None


async def wait_gone(history: History, *, seconds: float = 60.0) -> None:
    assert await history.cluster.wait_for(lambda: is_gone(history), seconds=seconds)


def delete_namespace(history: History, *, with_xapp: bool = True) -> None:
    """Begin to delete the namespace, as `kubectl delete namespace` does: its objects follow, and the XApp with them."""
    server, namespace = history.cluster.server, Target("", "v1", "namespaces", "", NAMESPACE)
    server.patch(namespace, {"metadata": {"finalizers": ["kubernetes"]}})
    server.delete(namespace, {})
    if with_xapp:
        history.delete()


def delete_records(history: History) -> None:
    server = history.cluster.server
    for number in history.cluster.revisions:
        server.delete(Target("", "v1", "secrets", NAMESPACE, f"sh.helm.release.v1.hello.v{number}"), {})


def refuse(monkeypatch: pytest.MonkeyPatch, refuses: Callable[[ApiRequest], bool]) -> None:
    """Forbid the requests of the operator that `refuses` picks."""
    handle = FakeApiServer.handle

    def check(server: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
        if refuses(request):
            raise Refused(403, "Forbidden", f"cannot {request.method} {request.path}")
        return handle(server, request, manager=manager)

    monkeypatch.setattr(FakeApiServer, "handle", check)


def record_uninstalls(monkeypatch: pytest.MonkeyPatch, output: str = "") -> list[dict[str, str]]:
    """Return the flags of each `helm uninstall`, a list that grows; each also prints `output`."""
    runs: list[dict[str, str]] = []
    uninstall = FakeHelm._uninstall

    async def record(self: FakeHelm, run: _Run) -> str:
        runs.append(run.flags)
        return output + await uninstall(self, run)

    monkeypatch.setattr(FakeHelm, "_uninstall", record)
    return runs


def test_objects_that_helm_has_left_are_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    output = (
        "These resources were kept due to the resource policy:\n[Secret] kept\n[ClusterRole] system:kept\n\n"
        "1 resource(s) were not deleted because they are not owned by this release:\n[Service] other\n\n"
        "2 resource(s) were not deleted because their ownership could not be verified:\n"
        "[ConfigMap] one: connection refused\n[ConfigMap] two: connection refused\n\n[Secret] none\n"
    )
    runs = record_uninstalls(monkeypatch, output)

    async def play(history: History) -> None:
        await install(history)
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert [message for _, message in events(history, "LeftBehind")] == [
        KEPT_MESSAGE + "Secret/kept, ClusterRole/system:kept",
        NOT_OWNED_MESSAGE + "Service/other",
        "helm could not verify that these objects are deleted; check them yourself: ConfigMap/one, ConfigMap/two",
    ]
    assert [("no-hooks" in flags, flags["namespace"]) for flags in runs] == [(False, NAMESPACE)]


def test_an_ordinary_uninstall_leaves_nothing_and_warns_of_nothing(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert [each for each in history.cluster.server.all("events") if each["type"] == "Warning"] == []


def test_a_forbidden_uninstall_keeps_the_xapp_until_it_is_allowed(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.refusals[UNINSTALL] = Fault(DENIED)
        history.delete()
        await history.cluster.wait(60.0)
        ready = history.cluster.condition("Ready") or {}
        assert (ready["status"], ready["reason"]) == ("False", "AccessDenied")
        assert "jane may not delete secrets in namespace ns" in ready["message"]
        assert history.live_tags == {"one"}
        assert (history.cluster.xapp() or {})["status"]["release"]["revision"] == 1
        history.cluster.helm.refusals.clear()
        history.annotate("retry-at")
        await wait_gone(history)

    history = run_history(settings, play)
    ((kind, message),) = events(history, "AccessDenied")
    assert (kind, "jane may not delete secrets in namespace ns" in message) == ("Warning", True)


def test_missing_rights_do_not_keep_an_xapp_in_a_namespace_that_is_deleted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubernetes deletes the RoleBindings first, and the release with the namespace."""
    runs = record_uninstalls(monkeypatch)

    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.refusals[UNINSTALL] = Fault(DENIED, writes=1)
        delete_namespace(history)
        await wait_gone(history)
        history.removed.clear()  # Kubernetes deletes what is left
        delete_records(history)

    run_history(settings, play)
    assert ["no-hooks" in flags for flags in runs] == [True]


@pytest.mark.parametrize("terminating", [True, False])
def test_releases_that_may_not_be_listed_after_the_uninstall(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, terminating: bool
) -> None:
    forbidden: list[str] = []
    shown: set[str] = set()
    refuse(monkeypatch, lambda request: bool(forbidden) and "name=" in request.params.get("labelSelector", ""))

    async def play(history: History) -> None:
        def note(plural: str, body: Json) -> None:
            if plural == "xapps":
                shown.update(each["reason"] for each in body["status"].get("conditions", ()))

        await install(history)
        history.cluster.server.on_stored.append(note)
        forbidden.append("list")
        delete_namespace(history) if terminating else history.delete()
        await wait_gone(history)

    run_history(settings, play)
    assert ("AccessDenied" in shown) is not terminating


def test_dependents_are_waited_for_until_the_timeout_and_then_named(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        other = xapp_body(tag="one", dependsOn=[{"name": "hello"}], xAppName="other")
        other["metadata"]["name"] = "other"
        history.cluster.create(other)
        await history.cluster.wait(20.0)
        history.delete()
        await history.cluster.wait(TIMEOUT_SECONDS - 5.0)
        assert not is_gone(history)
        assert events(history, "DependentsLeft") == []
        await wait_gone(history)
        history.removed.clear()  # the revisions that are left are those of the other
        history.cluster.delete("other")
        assert await history.cluster.wait_for(lambda: history.cluster.xapp("other") is None, seconds=60.0)

    history = run_history(settings, play)
    message = "uninstalled after spec.timeout, although these XApps depend on it: other"
    assert events(history, "DependentsLeft") == [("Warning", message)]


def test_a_release_whose_record_is_damaged_is_found_by_its_labels(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse_uninstall(self: FakeHelm, run: _Run) -> str:
        raise HelmFailed("no release provided")  # helm can read none of the records

    monkeypatch.setattr(FakeHelm, "_uninstall", refuse_uninstall)

    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        foreign = {"metadata": {"name": "foreign", "labels": LABELS, "annotations": {**OWNER, **OTHER_RELEASE}}}
        kept = {"metadata": {"name": "data", "labels": LABELS, "annotations": {**OWNER, **KEPT}}}
        for body in (foreign, kept):
            server.create(Target("", "v1", "services", NAMESPACE), body)
        server.patch(RECORD, {"data": {"release": "bm90IGEgcmVsZWFzZQ=="}})
        history.delete()
        await wait_gone(history)
        assert history.live_tags == set()
        assert history.cluster.revisions == {}
        assert {each["metadata"]["name"] for each in server.all("services")} == {"foreign", "data"}

    history = run_history(settings, play)
    assert events(history, "LeftBehind") == [("Warning", KEPT_MESSAGE + "Service/data")]


@pytest.mark.parametrize("denied", [False, True])
def test_objects_outside_of_a_namespace_that_is_deleted_go_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, denied: bool
) -> None:
    refuse(monkeypatch, lambda request: denied and request.path.endswith("/clusterroles"))

    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        for name, labels, owner in (
            ("ours", LABELS, OWNER),
            ("kept", LABELS, {**OWNER, **KEPT}),
            ("theirs", {}, OWNER),
            ("other-release", LABELS, {**OWNER, **OTHER_RELEASE}),
            ("other-namespace", LABELS, {**OWNER, "meta.helm.sh/release-namespace": "other"}),
        ):
            body = {"metadata": {"name": name, "labels": labels, "annotations": owner}}
            server.create(CLUSTER_ROLES, body)
        delete_records(history)
        history.uninstall_by_hand()
        delete_namespace(history)
        await wait_gone(history)
        left = {each["metadata"]["name"] for each in server.all("clusterroles")}
        stay = {"kept", "theirs", "other-release", "other-namespace"}
        assert left == (stay | {"ours"} if denied else stay)

    history = run_history(settings, play)
    refusal = "cannot GET /apis/rbac.authorization.k8s.io/v1/clusterroles"
    assert events(history, "LeftBehind") == [("Warning", refusal if denied else KEPT_MESSAGE + "ClusterRole/kept")]


@pytest.mark.parametrize(
    ("damaged", "away"),
    [(False, "clusterroles.rbac.authorization.k8s.io"), (True, "poddisruptionbudgets.policy")],
)
def test_a_kind_without_an_answer_is_given_up_after_the_timeout(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, damaged: bool, away: str
) -> None:
    async def refuse_uninstall(self: FakeHelm, run: _Run) -> str:
        raise HelmFailed("no release provided")  # helm can read none of the records

    if damaged:
        monkeypatch.setattr(FakeHelm, "_uninstall", refuse_uninstall)

    async def play(history: History) -> None:
        def check(request: ApiRequest) -> None:
            if request.path.endswith("/" + away.partition(".")[0]) and "labelSelector" in request.params:
                raise Refused(503, "ServiceUnavailable", "the server is currently unable to handle the request")

        await install(history)
        server = history.cluster.server
        server.create(CLUSTER_ROLES, {"metadata": {"name": "ours", "labels": LABELS, "annotations": OWNER}})
        history.cluster.refuse = check
        if damaged:
            server.patch(RECORD, {"data": {"release": "bm90IGEgcmVsZWFzZQ=="}})
            history.delete()
        else:
            delete_records(history)
            history.uninstall_by_hand()
            delete_namespace(history)
        await history.cluster.wait(TIMEOUT_SECONDS - 5.0)
        assert (server.all("clusterroles") == []) is damaged  # the other kinds do not wait for it
        assert not is_gone(history)
        assert events(history, "LeftBehind") == []
        await wait_gone(history)

    history = run_history(settings, play)
    ((kind, message),) = events(history, "LeftBehind")
    assert kind == "Warning"
    assert message.startswith(f"given up after spec.timeout; check them yourself: {away}: ")


NOT_FOUND = "uninstall: Release not loaded: hello: release: not found"


def test_records_that_helm_has_left_after_the_objects_are_deleted(settings: Settings) -> None:
    """Helm stops at a record that it does not find under its usual name."""

    async def play(history: History) -> None:
        await install(history)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        history.cluster.helm.faults = [Fault(NOT_FOUND, writes=3)]  # the status of the newest one, and two objects
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "uninstall"]
    assert history.cluster.revisions == {}


def test_a_record_under_another_name_goes_with_the_release(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        record = server.get(RECORD)
        server.create(RECORD, {**record, "metadata": {"name": "copy", "labels": record["metadata"]["labels"]}})
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert history.cluster.revisions == {}


UNSERVED = "---\napiVersion: example.com/v1\nkind: Gone\nmetadata: {name: hello}\n"
NO_MATCHES = 'resource mapping not found: no matches for kind "Gone" in version "example.com/v1"'


@pytest.mark.parametrize("unserved", [True, False])
def test_an_object_of_a_kind_that_is_gone_does_not_keep_the_release(settings: Settings, unserved: bool) -> None:
    async def play(history: History) -> None:
        await install(history)
        server = history.cluster.server
        record = decode_record(server.get(RECORD))
        assert record is not None
        if unserved:
            record["manifest"] += UNSERVED
            server.patch(RECORD, {"data": {"release": encode_record(record)}})
        history.cluster.helm.faults = [Fault(NO_MATCHES)]
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    messages = [message for _, message in events(history, "UninstallFailed")]
    told = ["the cluster does not serve kind Gone of example.com/v1: install its CustomResourceDefinition"]
    assert messages == ([] if unserved else told)


def test_uninstall_by_a_person_is_waited_for(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history)
        history.leave_behind("uninstalling")
        await history.cluster.wait(TIMEOUT_SECONDS - 2.0)
        assert [each.command for each in history.helm_steps] == ["install"]
        ready = history.cluster.condition("Ready") or {}
        assert ready["message"].startswith("another helm process has set revision 1 to uninstalling.")

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "uninstall", "install"]
    assert history.outcome == "Ready InstallSucceeded"
    message = "the uninstall of hello had begun: it is finished without hooks, and the chart is installed again"
    assert events(history, "Reinstalled") == [("Warning", message)]


def test_only_an_uninstall_may_take_a_place_of_its_own_namespace(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    urgent: list[bool] = []
    slot = HelmEngine.slot

    def record(self: HelmEngine, namespace: str, **options: bool) -> AbstractAsyncContextManager[HelmSlot]:
        urgent.append(options["urgent"])
        return slot(self, namespace, **options)

    monkeypatch.setattr(HelmEngine, "slot", record)

    async def play(history: History) -> None:
        deploy_with_tests(history, test={"enabled": False})
        await history.cluster.wait(20.0)
        history.set_tag("two")
        await history.cluster.wait(20.0)
        history.annotate("rollback-to", "1")
        await history.cluster.wait(20.0)
        history.annotate("test-at")
        await wait_tested(history, "Succeeded", revision=3)
        history.delete()
        await wait_gone(history)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "upgrade", "rollback", "uninstall"]
    assert urgent == [False, False, False, False, True]  # the fourth is of the tests


def test_the_objects_of_an_xapp_that_is_being_deleted_are_not_compared(settings: Settings) -> None:
    refused = "Internal error occurred: etcdserver: request timed out"

    def forbid_reading(request: ApiRequest) -> None:
        assert "/configmaps/" not in request.path, f"{request.method} {request.path} during the deletion"

    async def play(history: History) -> None:
        history.create(tag="one", driftDetection={"mode": "enabled"})
        await history.cluster.wait(20.0)
        history.cluster.helm.faults = [Fault(refused)] * 9
        history.delete()
        await history.cluster.wait(10.0)
        history.cluster.refuse = forbid_reading
        server = history.cluster.server
        server.patch(CONFIGMAP, {"metadata": {"labels": {"xapp-operator.io/xapp": None}}, "data": {"tag": "by hand"}})
        await history.cluster.wait(10.0)
        assert history.unexpected == []
        assert not is_gone(history)

    run_history(settings, play)


def test_kinds_that_may_not_be_listed_become_one_event(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are many where a RoleBinding is missing, and what is missing is the same for all."""
    refuse(monkeypatch, lambda request: request.path.endswith(("/ingresses", "/poddisruptionbudgets")))

    async def play(history: History) -> None:
        await install(history)
        history.cluster.helm.refusals[UNINSTALL] = Fault("no release provided")  # helm can read none of the records
        history.cluster.server.patch(RECORD, {"data": {"release": "bm90IGEgcmVsZWFzZQ=="}})
        history.delete()
        await wait_gone(history)

    ((_, message),) = events(run_history(settings, play), "LeftBehind")
    assert message.startswith("cannot GET /apis/")


def test_an_xapp_that_is_not_being_deleted_keeps_its_release_when_its_namespace_goes(settings: Settings) -> None:
    """Otherwise it would be installed again, where nothing can be created."""

    async def play(history: History) -> None:
        await install(history)
        history.leave_behind("uninstalling")
        delete_namespace(history, with_xapp=False)
        history.cluster.helm.refusals[UNINSTALL] = Fault(DENIED)
        assert await history.cluster.wait_for(lambda: history.outcome == "Stalled AccessDenied", seconds=60.0)
        await history.cluster.wait(5.0)
        assert {each.command for each in history.helm_steps} == {"install", "uninstall"}
        assert len([each for each in history.helm_steps if each.command == "install"]) == 1
        history.delete()
        await wait_gone(history)
        history.removed.clear()  # Kubernetes deletes what is left
        delete_records(history)

    run_history(settings, play)


@pytest.mark.parametrize("policy", ["Uninstall", "Orphan"])
def test_a_release_that_cannot_be_uninstalled_is_named_unless_it_is_to_stay(settings: Settings, policy: str) -> None:
    def forbid(request: ApiRequest) -> None:
        if request.path.endswith("/secrets"):
            raise Refused(403, "Forbidden", "secrets is forbidden")

    async def play(history: History) -> None:
        await install(history)
        history.edit(deletionPolicy=policy)
        history.cluster.refuse = forbid
        history.cluster.restart()
        await history.cluster.wait(20.0)
        delete_namespace(history)
        await wait_gone(history)
        history.removed.clear()  # Kubernetes deletes what is left
        history.cluster.refuse = lambda _: None
        delete_records(history)

    told = [message.partition(",")[0] for _, message in events(run_history(settings, play), "LeftBehind")]
    assert told == (["the namespace is being deleted"] if policy == "Uninstall" else [])
