"""Releases and objects that were there before the XApp: what `adopt` takes over, and what it leaves to others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault, HelmFailed
from tests.support.fakes.histories import CONFIGMAP, DEPLOYMENT, History, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.kopf import KopfStandIn
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.unit.histories.generation import PASSING
from tests.unit.histories.situations.actions import allow, forbidden, refuse, store
from xapp_operator.api.names import FINALIZER
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

SECONDS = 20.0
NOT_RENDERED = (
    'template: hello/templates/a.yaml:1:2: executing "hello/templates/a.yaml" at <.Values.a.b>: nil pointer evaluating '
    "interface {}.b"
)
COMMON = CONFIGMAP.replace("{{ .Release.Name }}", "common")
HOOK = COMMON.replace("metadata:", "metadata:\n  annotations: {helm.sh/hook: post-delete}")
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.example.com
"""
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: shared
rules: []
"""
XAPP_LABEL = "xapp-operator.io/xapp"
REFUSED = 'ConfigMap "hello" is invalid: data.tag: Invalid value: "one": must be two'


def condition(history: History, kind: str, name: str = "hello") -> tuple[str, str, str]:
    found: dict[str, Any] = history.cluster.condition(kind, name) or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def create_other(history: History, name: str, **spec: Any) -> None:
    body = xapp_body(**spec)
    body["metadata"]["name"] = name
    history.cluster.create(body)


def fail_to_render(history: History, told: Callable[[], None] = lambda: None) -> None:
    """Let helm template fail; each time, `told` is called."""

    async def fail(run: Any) -> str:
        told()
        raise HelmFailed(NOT_RENDERED)

    history.cluster.helm._template = fail  # type: ignore[method-assign]


def common_archive(history: History) -> Json:
    """Store a chart without appVersion whose object has the same name in every release; return the reference to it."""
    files = {"Chart.yaml": "{apiVersion: v2, name: common, version: 0.1.0}", "values.yaml": "tag: one\n"}
    packed = chart_archive({**files, "templates/configmap.yaml": COMMON}, name="common")
    stored = chart_archive_manifest(packed, namespace=NAMESPACE)
    history.cluster.create(stored)
    return {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}


@pytest.mark.parametrize(("tag", "steps"), [("one", ["install"]), ("two", ["install", "upgrade"])])
def test_a_release_that_an_xapp_has_left_can_be_adopted_under_another_name(
    settings: Settings, tag: str, steps: list[str]
) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", deletionPolicy="Orphan")
        await history.cluster.wait(SECONDS)
        create_other(history, "other", tag=tag, releaseName="hello")
        await history.cluster.wait(SECONDS)
        history.delete()
        await history.cluster.wait(SECONDS)
        status, reason, message = condition(history, "Ready", "other")
        assert (status, reason) == ("False", "AccessDenied")
        assert "was left by the XApp hello, which no longer exists. Set adopt: true to take it over" in message
        history.cluster.edit({"spec": {"adopt": True}}, "other")
        await history.cluster.wait(3 * SECONDS)
        assert condition(history, "Ready", "other")[0] == "True"
        assert history.deployed_tags == [tag]
        labels = history.cluster.server.get(Target("", "v1", "configmaps", NAMESPACE, "hello"))["metadata"]["labels"]
        assert labels["xapp-operator.io/xapp"] == "other"

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == steps


async def delete_hello(history: History) -> None:
    """Delete the XApp hello, whose release must go with it, whatever an XApp before it has left."""
    history.delete()
    await history.cluster.wait(SECONDS)
    history.removed = [each for each in history.removed if each[0]["metadata"]["name"] == "hello"]
    history.orphaned = False


def assert_uninstalled(history: History) -> None:
    assert history.outcome == "gone"
    assert history.cluster.revisions == {}
    assert history.live_tags == set()


@pytest.mark.parametrize("tag", ["two", BROKEN])
@pytest.mark.parametrize("made_by", ["a person", "an earlier XApp"])
def test_a_revision_from_before_the_adoption_is_the_xapps_own_after_a_rollback(
    settings: Settings, made_by: str, tag: str
) -> None:
    async def play(history: History) -> None:
        if made_by == "a person":
            history.install_by_hand("one")
        else:
            create_other(history, "other", archive=store(history, name="hello", cm=CONFIGMAP), releaseName="hello")
            await history.cluster.wait(SECONDS)
            history.cluster.edit({"spec": {"deletionPolicy": "Orphan"}}, "other")
            history.cluster.delete("other")
            await history.cluster.wait(SECONDS)
        history.create(tag=tag, adopt=True)
        await history.cluster.wait(4 * SECONDS)
        if tag != BROKEN:
            history.annotate("rollback-to", "1")
            await history.cluster.wait(SECONDS)
        history.edit(adopt=False, suspend=True)  # what is adopted need not be adopted again
        await history.cluster.wait(SECONDS)
        body = history.cluster.xapp()
        assert body is not None
        assert body["status"]["release"]["revision"] == max(history.cluster.revisions) == 3
        assert history.deployed_tags == ["one"]
        await delete_hello(history)

    assert_uninstalled(run_history(settings, play))


@pytest.mark.parametrize(
    ("name", "content", "steps"),
    [
        ("crds/crontab.yaml", CRD, []),
        ("templates/hook.yaml", HOOK, []),
        ("templates/more.yaml", COMMON, ["upgrade"]),
        ("templates/deployment.yaml", "", ["upgrade"]),
    ],
)
def test_a_release_of_a_person_is_upgraded_if_the_chart_has_less_or_more_than_hooks_and_crds(
    settings: Settings, name: str, content: str, steps: list[str]
) -> None:
    """The manifest in the record has neither."""

    async def play(history: History) -> None:
        history.install_by_hand("one")
        templates = {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT}
        files = {"values.yaml": "tag: one\n", **templates, name: content}
        stored = chart_archive_manifest(chart_archive(files), namespace=NAMESPACE)
        history.cluster.create(stored)
        reference = {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
        history.create(tag="one", archive=reference, adopt=True)

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready")
    assert [each.command for each in history.helm_steps] == steps


def test_a_release_of_a_person_is_upgraded_if_it_cannot_be_recognized(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        template = history.cluster.helm._template
        fail_to_render(history, lambda: setattr(history.cluster.helm, "_template", template))
        history.create(tag="one", adopt=True)

    history = run_history(settings, play)
    assert history.outcome == "Ready UpgradeSucceeded"
    assert [each.command for each in history.helm_steps] == ["upgrade"]


def test_a_release_that_is_not_recognized_is_rendered_once_and_for_each_try(settings: Settings) -> None:
    rendered: list[None] = []

    async def play(history: History) -> None:
        history.install_by_hand("one")
        fail_to_render(history, lambda: rendered.append(None))
        history.cluster.helm.refusals['{"tag": "one"}'] = Fault(PASSING)
        history.create(tag="one", adopt=True)
        await history.cluster.wait(SECONDS)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["upgrade"] * 5
    assert len(rendered) == 1 + 5


def test_a_release_of_an_xapp_that_exists_is_not_adopted(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        create_other(history, "other", tag="two", releaseName="hello", adopt=True)
        await history.cluster.wait(SECONDS)
        assert "belongs to the XApp hello." in condition(history, "Stalled", "other")[2]

    history = run_history(settings, play)
    assert history.deployed_tags == ["one"]


def test_objects_of_an_xapp_that_exists_are_not_taken_over(settings: Settings) -> None:
    async def play(history: History) -> None:
        archive = common_archive(history)
        history.create(tag="one", archive=archive)
        await history.cluster.wait(SECONDS)
        assert "appVersion" not in (history.cluster.xapp() or {})["status"]["release"]
        create_other(history, "other", tag="two", archive=archive, adopt=True)
        await history.cluster.wait(SECONDS)
        status, reason, message = condition(history, "Stalled", "other")
        assert (status, reason) == ("True", "InstallFailed")
        assert message.startswith("ConfigMap common belongs to the XApp hello, and adopt takes over nothing of an XApp")
        assert history.outcome == "Ready InstallSucceeded"
        assert history.live_tags == {"one"}
        history.edit(deletionPolicy="Orphan")
        history.delete()
        await history.cluster.wait(SECONDS)
        history.cluster.edit({"metadata": {"annotations": {"xapp-operator.io/retry-at": "now"}}}, "other")
        await history.cluster.wait(SECONDS)
        assert condition(history, "Ready", "other")[0] == "True"
        assert history.live_tags == {"two"}

    run_history(settings, play)


def test_objects_of_an_xapp_that_is_being_deleted_are_taken_over(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", archive=common_archive(history), deletionPolicy="Orphan")
        await history.cluster.wait(SECONDS)
        history.cluster.edit({"metadata": {"finalizers": [FINALIZER, "example.com/held"]}})
        history.delete()
        await history.cluster.wait(SECONDS)
        create_other(history, "other", tag="two", archive=store(history, name="other", cm=COMMON), adopt=True)
        await history.cluster.wait(SECONDS)
        assert condition(history, "Ready", "other")[0] == "True"
        assert history.live_tags == {"two"}
        history.cluster.edit({"metadata": {"finalizers": None}})

    assert run_history(settings, play).outcome == "gone"


def test_nothing_is_taken_over_before_all_xapps_are_known(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    handle_one = KopfStandIn._handle_one

    async def handle_hello_late(kopf: KopfStandIn, kind: str, body: Json) -> float | None:
        if body["metadata"]["name"] == "hello":
            await asyncio.sleep(5.0)
        return await handle_one(kopf, kind, body)

    async def play(history: History) -> None:
        archive = common_archive(history)
        history.create(tag="one", archive=archive)
        await history.cluster.wait(SECONDS)
        history.cluster.downtime = 10.0
        history.cluster.restart()
        await history.cluster.wait(1.0)
        create_other(history, "other", tag="two", archive=archive, adopt=True)
        monkeypatch.setattr(KopfStandIn, "_handle_one", handle_hello_late)
        await history.cluster.wait(3 * SECONDS)
        assert condition(history, "Stalled", "other")[2].startswith("ConfigMap common belongs to the XApp hello, and")
        assert history.live_tags == {"one"}

    run_history(settings, play)


def test_nothing_is_taken_over_before_the_releases_of_other_xapps_are_known(settings: Settings) -> None:
    """The operator watches a kind like ClusterRole only from the first record on that has one."""

    async def play(history: History) -> None:
        archive = store(history, name="role", cm=CONFIGMAP, role=ROLE)
        history.create(tag="one", archive=archive)
        await history.cluster.wait(SECONDS)
        history.cluster.downtime = 5.0
        history.cluster.latency = lambda request: 20.0 if request.path.endswith(".hello.v1") else 0.0
        history.cluster.restart()
        create_other(history, "other", tag="one", archive=archive, adopt=True)
        await history.cluster.wait(3 * SECONDS)
        assert condition(history, "Stalled", "other")[2].startswith("ClusterRole shared belongs to the XApp hello, and")
        assert [owner_of(each) for each in history.cluster.server.all("clusterroles")] == ["hello"]

    run_history(settings, play)


def owner_of(body: Json) -> str | None:
    annotations: dict[str, str] = body["metadata"].get("annotations", {})
    return annotations.get("meta.helm.sh/release-name")


def owned_by(release: str, namespace: str = NAMESPACE) -> dict[str, str]:
    return {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}


@pytest.mark.parametrize(
    ("annotations", "labels", "owner"),
    [
        ({}, {}, "other"),
        (owned_by("theirs"), {}, "theirs"),
        ({}, {XAPP_LABEL: "hello"}, None),
        (owned_by("a-persons"), {XAPP_LABEL: "hello"}, "a-persons"),
        (owned_by("theirs", "elsewhere"), {XAPP_LABEL: "hello"}, "other"),
        (owned_by("a-persons"), {XAPP_LABEL: "gone"}, "other"),
        (owned_by("other"), {XAPP_LABEL: "hello"}, "other"),
        ({}, {XAPP_LABEL: "other"}, "other"),
    ],
)
def test_the_metadata_of_an_object_say_whether_it_belongs_to_another_xapp(
    settings: Settings, annotations: dict[str, str], labels: dict[str, str], owner: str | None
) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", releaseName="theirs")
        body: Json = {"metadata": {"name": "common", "annotations": annotations, "labels": labels}}
        body["data"] = {"tag": "one"}
        history.cluster.server.create(Target("", "v1", "configmaps", NAMESPACE), body)
        await history.cluster.wait(SECONDS)
        create_other(history, "other", tag="one", archive=store(history, name="other", cm=COMMON), adopt=True)
        await history.cluster.wait(SECONDS)
        stored: Json = history.cluster.server.get(Target("", "v1", "configmaps", NAMESPACE, "common"))
        assert owner_of(stored) == owner
        message = "" if owner == "other" else "ConfigMap common belongs to the XApp hello, and adopt takes over nothing"
        assert condition(history, "Stalled", "other")[2].startswith(message)
        assert (condition(history, "Ready", "other")[0] == "True") == (owner == "other")
        history.cluster.delete("other")  # which is not checked
        await history.cluster.wait(SECONDS)
        history.removed.clear()

    run_history(settings, play)


def test_objects_of_an_xapp_in_another_namespace_are_not_taken_over(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        body: Json = {"metadata": {"name": "common", "annotations": owned_by("hello")}, "data": {"tag": "one"}}
        history.cluster.server.create(Target("", "v1", "configmaps", "elsewhere"), body)
        away = COMMON.replace("metadata:", "metadata:\n  namespace: elsewhere")
        create_other(history, "other", tag="one", archive=store(history, name="other", cm=away), adopt=True)
        await history.cluster.wait(SECONDS)
        assert condition(history, "Stalled", "other")[2].startswith("ConfigMap common belongs to the XApp hello, and")

    run_history(settings, play)


def test_nothing_is_taken_over_while_objects_cannot_be_read(settings: Settings) -> None:
    async def play(history: History) -> None:
        archive = common_archive(history)
        history.create(tag="one", archive=archive)
        await history.cluster.wait(SECONDS)
        refuse(history, "GET", "/configmaps/common", Refused(500, "InternalError", "etcd is slow"))
        create_other(history, "other", tag="two", archive=archive, adopt=True)
        await history.cluster.wait(SECONDS)
        assert "etcd is slow" in condition(history, "Ready", "other")[2]
        allow(history)
        history.cluster.edit({"metadata": {"annotations": {"xapp-operator.io/retry-at": "now"}}}, "other")
        await history.cluster.wait(SECONDS)
        assert condition(history, "Stalled", "other")[2].startswith("ConfigMap common belongs to the XApp hello, and")

    run_history(settings, play)


def test_four_objects_are_read_at_once(settings: Settings) -> None:
    """Fewer would delay an adoption, and more would load the API server."""
    begun: list[float] = []

    async def play(history: History) -> None:
        def latency(request: ApiRequest) -> float:
            if request.method != "GET" or "/configmaps/many-" not in request.path:
                return 0.0
            begun.append(history.cluster.clock.monotonic())
            return 1.0

        history.cluster.latency = latency
        objects = {f"m{number}": COMMON.replace("common", f"many-{number}") for number in range(6)}
        history.create(tag="one", archive=store(history, name="many", **objects), adopt=True)
        assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)

    run_history(settings, play)
    assert [round(each - begun[0]) for each in begun[:6]] == [0, 0, 0, 0, 1, 1]


def test_helm_says_which_object_it_may_not_read(settings: Settings) -> None:
    async def play(history: History) -> None:
        refuse(history, "GET", "/configmaps/common", forbidden("configmaps"))
        history.create(tag="one", archive=common_archive(history), adopt=True)
        await history.cluster.wait(SECONDS)
        allow(history)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install"]


def test_a_chart_that_does_not_render_is_named_when_it_adopts(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        fail_to_render(history)
        history.cluster.helm.refusals['{"tag": "two"}'] = Fault(NOT_RENDERED)
        create_other(history, "other", tag="two", adopt=True)
        assert await history.cluster.wait_for(
            lambda: "nil pointer" in condition(history, "Ready", "other")[2], seconds=SECONDS
        )

    run_history(settings, play)


@pytest.mark.parametrize(("concurrency", "number"), [(8, 12), (1, 1)])
def test_xapps_that_adopt_at_once_are_all_installed(settings: Settings, concurrency: int, number: int) -> None:
    names = [f"other-{each}" for each in range(number)]

    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        for name in names:
            create_other(history, name, tag="one", adopt=True)
        await history.cluster.wait(60.0)
        assert [condition(history, "Ready", name)[0] for name in names] == ["True"] * number
        history.note("delete the others")  # which are not checked
        for name in names:
            history.cluster.delete(name)
        await history.cluster.wait(60.0)
        history.removed.clear()

    run_history(settings.model_copy(update={"helm_concurrency": concurrency}), play)


def test_an_object_that_another_release_has_taken_is_not_called_missing(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        target = Target("", "v1", "configmaps", NAMESPACE, "hello")
        metadata = {
            "labels": {"xapp-operator.io/xapp": None},
            "annotations": {"meta.helm.sh/release-name": 'their "one"'},
        }
        history.cluster.server.patch(target, {"metadata": metadata}, manager="kubectl")
        await history.cluster.wait(3 * SECONDS)
        message = 'ConfigMap hello: belongs to the release "their \\"one\\"" now'
        assert condition(history, "Ready") == ("False", "HealthCheckFailed", message)
        assert "it belongs to another release" in condition(history, "Drifted")[2]
        back = {"annotations": {"meta.helm.sh/release-name": "hello"}}
        history.cluster.server.patch(target, {"metadata": back}, manager="kubectl")
        await history.cluster.wait(3 * SECONDS)
        assert history.outcome == "Ready InstallSucceeded"

    run_history(settings, play)


def test_a_record_that_helm_cannot_read_is_named(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.refusals['{"tag": "one"}'] = Fault(REFUSED, writes=1)
        history.create(tag="one")
        await history.cluster.wait(SECONDS)
        assert history.outcome == "Stalled InstallFailed"
        record = Target("", "v1", "secrets", NAMESPACE, "sh.helm.release.v1.hello.v1")
        history.cluster.server.patch(record, {"data": {"release": "Z2FyYmFnZQ=="}})
        history.cluster.helm.faults = [Fault("release: already exists")]
        history.set_tag("two")
        await history.cluster.wait(SECONDS)
        message = condition(history, "Stalled")[2]
        assert message.startswith("Secret sh.helm.release.v1.hello.v1: this release record is damaged: remove it")
        history.cluster.server.delete(record, {})
        history.annotate("retry-at")

    def check(history: History) -> None:
        assert history.outcome == "Ready InstallSucceeded"

    run_history(settings, play, check)


def test_a_release_whose_record_may_not_be_read_is_told_and_adopted_later(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.install_by_hand("one")
        refuse(history, "GET", "/secrets/sh.helm.release.v1.hello.v1", forbidden("secrets"))
        history.create(tag="one", adopt=True)
        await history.cluster.wait(SECONDS)
        status, reason, message = condition(history, "Stalled")
        assert (status, reason) == ("True", "AccessDenied")
        assert "secrets is forbidden" in message
        allow(history)
        await history.cluster.wait(6 * SECONDS)
        assert history.outcome == "Ready InstallSucceeded"

    history = run_history(settings, play)
    assert history.helm_steps == []
