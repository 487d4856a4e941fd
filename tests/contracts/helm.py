"""What the operator relies on in helm: what each step leaves in Helm's storage and in the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.charts import chart_archive
from tests.support.fakes.helm_records import decode_record, encode_record
from tests.support.helm_requests import no_secrets
from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.domain.chart_values.yaml_values import dump_values
from xapp_operator.errors import HelmError, HelmTimeout, HookFailed, Invalid, NotFound
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.releases.release_storage import Hook, decode_release, release_secret_name
from xapp_operator.helm.requests import ReleaseRequest, RollbackRequest, TestRequest, UninstallRequest
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CONFIGMAPS, DEPLOYMENTS, PODS, SECRETS, Resource

CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Values.name }}
data:
  text: {{ .Values.text | quote }}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: 1
  selector: {matchLabels: {app: hello}}
  template:
    metadata: {labels: {app: hello}}
    spec: {containers: [{name: main, image: "example.com/xapp:{{ .Values.text }}"}]}
"""
CHART = {
    "values.yaml": "name: hello\ntext: one\n",
    "templates/configmap.yaml": CONFIGMAP,
    "templates/deployment.yaml": DEPLOYMENT,
}
HOOK = """\
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-hook
  labels: {{ .Values.labels }}
  annotations:
    helm.sh/hook: {{ .Values.event }}
    xapp-operator.io/test-complete-after: {{ .Values.seconds }}
spec:
  restartPolicy: Never
  containers: [{name: main, image: "example.com/hook:1"}]
"""
"""A hook whose pod ends by itself; the fakes and the test cluster know the label and the annotation."""
FAILS = "{xapp-operator.io/test-fail: Error}"
REFUSED = "Not A Name"
"""A name with which the API server refuses the ConfigMap."""
SYSTEM_LABELS = {"createdAt", "modifiedAt"}


@dataclass
class HelmSubject:
    """One release of one helm, fake or real."""

    engine: HelmEngine
    kube: KubeClient
    namespace: str
    chart: Path

    def request(self, *, name: str = "hello", text: str = "one", label: str = "1", **options: Any) -> ReleaseRequest:
        return ReleaseRequest(
            name="hello",
            namespace=self.namespace,
            chart=self.chart,
            values=dump_values({"name": name, "text": text}),
            labels={"xapp-operator.io/attempt": label},
            timeout=60,
            **options,
        )

    def rollback(self, revision: int) -> RollbackRequest:
        return RollbackRequest(
            name="hello", namespace=self.namespace, revision=revision, timeout=60, read_secrets=no_secrets
        )

    @property
    def uninstall(self) -> UninstallRequest:
        return UninstallRequest(name="hello", namespace=self.namespace, timeout=60, read_secrets=no_secrets)

    async def secrets(self) -> list[JsonObject]:
        found = await self.kube.list(SECRETS, namespace=self.namespace, label_selector="owner=helm")
        return sorted(found.items, key=lambda each: int(text(obj(obj(each, "metadata"), "labels"), "version")))

    async def statuses(self) -> dict[int, str]:
        """Return the status of each revision, which label and payload must agree on."""
        found = {}
        for secret in await self.secrets():
            record = decode_release(secret)
            assert text(obj(obj(secret, "metadata"), "labels"), "status") == record.status
            found[record.revision] = record.status
        return found

    async def labels(self) -> list[str]:
        return [text(obj(obj(each, "metadata"), "labels"), "xapp-operator.io/attempt") for each in await self.secrets()]

    async def set_status(self, revision: int, status: str, change: Callable[[JsonObject], JsonObject]) -> None:
        name = release_secret_name("hello", revision)
        secret = await self.kube.get(SECRETS, name, namespace=self.namespace)
        await self.kube.replace(SECRETS, change(secret), namespace=self.namespace)
        assert (await self.statuses())[revision] == status

    async def copy_record(self, revision: int, number: int) -> None:
        """Store the record of a revision under the name of another one too."""
        secret = await self.kube.get(SECRETS, release_secret_name("hello", revision), namespace=self.namespace)
        labels = {**obj(obj(secret, "metadata"), "labels"), "version": str(number)}
        metadata: JsonObject = {"name": release_secret_name("hello", number), "labels": labels}
        await self.kube.create(SECRETS, {**secret, "metadata": metadata}, namespace=self.namespace)

    async def hook(self) -> Hook:
        """Return the only hook of the newest revision."""
        (hook,) = decode_release((await self.secrets())[-1]).hooks
        return hook

    async def hook_pod(self) -> str:
        """Return the uid of the pod of the hook, or nothing without one."""
        found = await self.kube.list(PODS, namespace=self.namespace, field_selector="metadata.name=hello-hook")
        return "".join(text(obj(each, "metadata"), "uid") for each in found.items)

    async def run_tests(self, *, seconds: int = 60) -> None:
        request = TestRequest(name="hello", namespace=self.namespace, timeout=seconds, read_secrets=no_secrets)
        await self.engine.test(request)

    async def fail_upgrade(self, **options: Any) -> None:
        with pytest.raises(Invalid):
            await self.engine.upgrade(self.request(name=REFUSED, **options))


@pytest.fixture
def hello_chart(tmp_path: Path) -> Path:
    path = tmp_path / "hello.tgz"
    path.write_bytes(chart_archive(CHART))
    return path


def with_hook(helm: HelmSubject, event: str, *, seconds: str = "0s", labels: str = "{}") -> HelmSubject:
    """Return the subject with a chart that has a hook."""
    hook = HOOK.replace("{{ .Values.labels }}", labels)
    path = helm.chart.with_name("hook.tgz")
    values = f"name: hello\ntext: one\nevent: {event}\nseconds: {seconds}\n"
    path.write_bytes(chart_archive({**CHART, "values.yaml": values, "templates/hook.yaml": hook}))
    return replace(helm, chart=path)


class HelmContract:
    """`helm` is the subject, whose namespace is empty."""

    async def test_install_records_and_owns_its_objects(self, helm: HelmSubject) -> None:
        result = await helm.engine.install(helm.request())

        assert (result.revision, result.status) == (1, "deployed")
        assert (result.chart_name, result.chart_version) == ("hello", "0.1.0")
        assert (result.app_version, result.description) == ("1.0", "Install complete")
        assert result.first_deployed
        assert result.manifest.count("# Source: hello/templates/") == 2
        (secret,) = await helm.secrets()
        metadata, record = obj(secret, "metadata"), decode_release(secret)
        assert secret["type"] == "helm.sh/release.v1"
        assert {key: value for key, value in obj(metadata, "labels").items() if key not in SYSTEM_LABELS} == {
            "name": "hello",
            "owner": "helm",
            "status": "deployed",
            "version": "1",
            "xapp-operator.io/attempt": "1",
        }
        assert record.manifest == result.manifest
        assert (record.status, record.description, record.config) == (
            "deployed",
            "Install complete",
            {"name": "hello", "text": "one"},
        )
        live = await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)
        assert obj(live, "metadata")["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
        assert obj(live, "metadata")["annotations"] == {
            "meta.helm.sh/release-name": "hello",
            "meta.helm.sh/release-namespace": helm.namespace,
        }

    async def test_an_upgrade_dates_its_record_like_the_one_before(self, helm: HelmSubject) -> None:
        """So only the API server knows when a record was written."""
        await helm.engine.install(helm.request())
        await helm.kube.patch(
            SECRETS,
            release_secret_name("hello", 1),
            {"metadata": {"labels": {"modifiedAt": "1"}}},
            namespace=helm.namespace,
        )
        await helm.engine.upgrade(helm.request(text="two"))

        metadata = obj((await helm.secrets())[-1], "metadata")
        assert obj(metadata, "labels")["modifiedAt"] == "1"
        (written,) = [each for each in items(metadata, "managedFields") if each["manager"] == "Helm"]
        assert text(written, "time") >= text(metadata, "creationTimestamp")

    async def test_helm_manages_the_fields_of_the_manifest(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())

        own: JsonObject = {
            "f:annotations": {"f:meta.helm.sh/release-name": {}, "f:meta.helm.sh/release-namespace": {}},
            "f:labels": {"f:app.kubernetes.io/managed-by": {}},
        }
        spec: JsonObject = {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}, "f:name": {}}}},
            },
        }
        wanted: list[tuple[Resource, JsonObject]] = [
            (CONFIGMAPS, {"f:data": {"f:text": {}}}),
            (DEPLOYMENTS, {"f:spec": spec}),
        ]
        for resource, fields in wanted:
            live: dict[str, Any] = await helm.kube.get(resource, "hello", namespace=helm.namespace)
            found = [each for each in live["metadata"]["managedFields"] if each["manager"] == "helm"]
            assert [(each["operation"], each["fieldsV1"]) for each in found] == [
                ("Apply", {"f:metadata": own, **fields})
            ]

    async def test_upgrade_supersedes(self, helm: HelmSubject) -> None:
        first = await helm.engine.install(helm.request())
        theirs: JsonObject = {"metadata": {"labels": {"theirs": "kept"}}, "data": {"theirs": "kept"}}
        await helm.kube.patch(CONFIGMAPS, "hello", theirs, namespace=helm.namespace)

        result = await helm.engine.upgrade(helm.request(text="two", label="2"))

        assert (result.revision, result.description) == (2, "Upgrade complete")
        assert result.first_deployed == first.first_deployed
        assert await helm.statuses() == {1: "superseded", 2: "deployed"}
        assert await helm.labels() == ["1", "2"]
        live = await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)
        assert live["data"] == {"text": "two", "theirs": "kept"}
        assert obj(obj(live, "metadata"), "labels")["theirs"] == "kept"

    async def test_upgrade_deletes_what_the_chart_no_longer_has(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())

        await helm.engine.upgrade(helm.request(name="other"))

        await helm.kube.get(CONFIGMAPS, "other", namespace=helm.namespace)
        with pytest.raises(NotFound):
            await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)

    @pytest.mark.parametrize("policy", ["keep", "Keep", None])
    async def test_a_rollback_deletes_what_its_target_has_not_whosever_it_is_unless_it_is_kept(
        self, helm: HelmSubject, policy: str | None
    ) -> None:
        """The annotation of the live object counts, and only if it is exactly this."""
        await helm.engine.install(helm.request())
        await helm.engine.upgrade(helm.request(name="other"))
        annotations: JsonObject = {"helm.sh/resource-policy": policy, "meta.helm.sh/release-name": None}
        change: JsonObject = {"metadata": {"annotations": annotations}}
        await helm.kube.patch(CONFIGMAPS, "other", change, namespace=helm.namespace)

        await helm.engine.rollback(helm.rollback(1))

        found = await helm.kube.list(CONFIGMAPS, namespace=helm.namespace, field_selector="metadata.name=other")
        assert len(found.items) == (policy == "keep")

    async def test_helm_deletes_no_revision(self, helm: HelmSubject) -> None:
        """Its own limit is 10 revisions."""
        await helm.engine.install(helm.request())
        for _ in range(11):
            await helm.fail_upgrade()
        await helm.engine.rollback(helm.rollback(1))

        assert sorted(await helm.statuses()) == list(range(1, 14))

    async def test_failed_install_is_replaced(self, helm: HelmSubject) -> None:
        with pytest.raises(Invalid):
            await helm.engine.install(helm.request(name=REFUSED))
        assert await helm.statuses() == {1: "failed"}
        with pytest.raises(HelmError):
            await helm.engine.install(helm.request())

        await helm.engine.install(helm.request(replace=True))

        assert await helm.statuses() == {1: "failed", 2: "deployed"}

    async def test_failed_upgrade_leaves_the_old_revision_deployed(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())
        await helm.fail_upgrade()
        assert await helm.statuses() == {1: "deployed", 2: "failed"}

        await helm.engine.upgrade(helm.request(text="three"))

        assert await helm.statuses() == {1: "superseded", 2: "failed", 3: "deployed"}

    async def test_rollback_is_a_new_revision_with_the_labels_of_the_old_one(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())
        await helm.fail_upgrade(label="2")

        await helm.engine.rollback(helm.rollback(1))

        assert await helm.statuses() == {1: "superseded", 2: "failed", 3: "deployed"}
        assert await helm.labels() == ["1", "2", "1"]
        assert decode_release((await helm.secrets())[-1]).description == "Rollback to 1"

    async def test_failed_rollback_supersedes_where_it_started(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())
        await helm.fail_upgrade()

        with pytest.raises(Invalid):
            await helm.engine.rollback(helm.rollback(2))
        assert await helm.statuses() == {1: "deployed", 2: "superseded", 3: "failed"}
        with pytest.raises(HelmError) as missing:
            await helm.engine.rollback(helm.rollback(9))
        assert missing.value.permanent

    async def test_upgrade_of_superseded_revisions(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())
        await helm.set_status(1, "superseded", lambda secret: _with_status(secret, "superseded"))

        await helm.engine.upgrade(helm.request())

        assert await helm.statuses() == {1: "superseded", 2: "deployed"}

    @pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "pending-rollback"])
    async def test_pending_release_locks(self, helm: HelmSubject, status: str) -> None:
        await helm.engine.install(helm.request())
        await helm.set_status(1, status, lambda secret: _with_status(secret, status))

        with pytest.raises(HelmError) as locked:
            await helm.engine.upgrade(helm.request())
        assert not locked.value.permanent
        with pytest.raises(HelmError):
            await helm.engine.install(helm.request(replace=True))
        assert await helm.statuses() == {1: status}
        assert await helm.engine.uninstall(helm.uninstall) == ()
        assert await helm.statuses() == {}

    async def test_uninstall_removes_the_history_and_its_own_objects(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())
        await helm.engine.upgrade(helm.request(text="two"))
        foreign: JsonObject = {"metadata": {"annotations": {"meta.helm.sh/release-name": "another"}}}
        await helm.kube.patch(CONFIGMAPS, "hello", foreign, namespace=helm.namespace)

        left = await helm.engine.uninstall(helm.uninstall)

        assert [(each.name, each.reason) for each in left or ()] == [("ConfigMap/hello", "not owned")]
        assert await helm.statuses() == {}
        await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)
        with pytest.raises(NotFound):
            await helm.kube.get(DEPLOYMENTS, "hello", namespace=helm.namespace)
        assert await helm.engine.uninstall(helm.uninstall) is None

    async def test_uninstall_stops_at_a_record_that_is_not_found_under_its_name(self, helm: HelmSubject) -> None:
        """Helm then says that the release is not found."""
        await helm.engine.install(helm.request())
        await helm.engine.upgrade(helm.request(text="two"))
        await helm.copy_record(1, 7)

        assert await helm.engine.uninstall(helm.uninstall) is None

        names = {text(obj(each, "metadata"), "name") for each in await helm.secrets()}
        assert names == {release_secret_name("hello", 2), release_secret_name("hello", 7)}
        for resource in (CONFIGMAPS, DEPLOYMENTS):
            with pytest.raises(NotFound):
                await helm.kube.get(resource, "hello", namespace=helm.namespace)

    async def test_a_newest_record_under_another_name_is_uninstalled(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())
        await helm.copy_record(1, 7)
        await helm.kube.delete(SECRETS, release_secret_name("hello", 1), namespace=helm.namespace)

        assert await helm.engine.uninstall(helm.uninstall) is None

        names = [text(obj(each, "metadata"), "name") for each in await helm.secrets()]
        assert names == [release_secret_name("hello", 7)]
        with pytest.raises(NotFound):
            await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)

    async def test_helm_ends_at_a_record_that_is_no_release(self, helm: HelmSubject) -> None:
        await helm.engine.install(helm.request())
        release: JsonObject = {"data": {"release": encode_record({})}}
        await helm.kube.patch(SECRETS, release_secret_name("hello", 1), release, namespace=helm.namespace)

        with pytest.raises(HelmError):
            await helm.engine.upgrade(helm.request(text="two"))
        with pytest.raises(HelmError):
            await helm.engine.uninstall(helm.uninstall)
        await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)

    async def test_existing_object_is_not_taken_without_being_told(self, helm: HelmSubject) -> None:
        existing: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hello"}}
        await helm.kube.create(CONFIGMAPS, existing, namespace=helm.namespace)

        with pytest.raises(HelmError) as refused:
            await helm.engine.install(helm.request())
        assert refused.value.permanent
        assert "adopt: true" in refused.value.message
        assert await helm.statuses() == {}

        await helm.engine.install(helm.request(take_ownership=True))
        assert await helm.statuses() == {1: "deployed"}

    async def test_upgrade_needs_a_release(self, helm: HelmSubject) -> None:
        with pytest.raises(HelmError):
            await helm.engine.upgrade(helm.request())

        assert await helm.statuses() == {}

    async def test_tests_run_when_they_are_asked_for_and_each_time_anew(self, helm: HelmSubject) -> None:
        helm = with_hook(helm, "test")
        result = await helm.engine.install(helm.request())
        assert "hook" not in result.manifest
        hook = await helm.hook()
        assert (hook.kind, hook.name, hook.events) == ("Pod", "hello-hook", ("test",))
        assert (hook.phase, hook.started_at, await helm.hook_pod()) == ("", "", "")

        await helm.run_tests()

        hook, first = await helm.hook(), await helm.hook_pod()
        assert (hook.phase, bool(hook.started_at), bool(hook.completed_at)) == ("Succeeded", True, True)
        await helm.run_tests()
        assert await helm.hook_pod() not in ("", first)
        assert await helm.statuses() == {1: "deployed"}

    async def test_a_test_that_fails_leaves_its_pod_and_the_release(self, helm: HelmSubject) -> None:
        helm = with_hook(helm, "test", labels=FAILS)
        await helm.engine.install(helm.request())

        with pytest.raises(HookFailed):
            await helm.run_tests()

        assert (await helm.hook()).phase == "Failed"
        assert await helm.hook_pod()
        assert await helm.statuses() == {1: "deployed"}

    async def test_a_test_that_does_not_end_fails_after_the_timeout(self, helm: HelmSubject) -> None:
        helm = with_hook(helm, "test", seconds="600s")
        await helm.engine.install(helm.request())

        with pytest.raises(HelmTimeout):
            await helm.run_tests(seconds=1)

        assert (await helm.hook()).phase == "Failed"

    async def test_an_install_whose_hook_fails_leaves_a_failed_revision_without_objects(
        self, helm: HelmSubject
    ) -> None:
        helm = with_hook(helm, "pre-install", labels=FAILS)

        with pytest.raises(HookFailed):
            await helm.engine.install(helm.request())

        assert await helm.statuses() == {1: "failed"}
        assert (await helm.hook()).phase == "Failed"
        with pytest.raises(NotFound):
            await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)


def _with_status(secret: JsonObject, status: str) -> JsonObject:
    """Return a record with another status, in payload and label."""

    record = decode_record(secret)
    assert record is not None
    record["info"]["status"] = status
    metadata = {key: value for key, value in obj(secret, "metadata").items() if key != "managedFields"}
    metadata["labels"] = {**obj(metadata, "labels"), "status": status}
    return {**secret, "metadata": metadata, "data": {"release": encode_record(record)}}
