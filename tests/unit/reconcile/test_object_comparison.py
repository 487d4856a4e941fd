"""How one object differs from its manifest, in the words of an API server in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.event_loop import calls_in_this_thread
from tests.support.fakes.kinds import DISCOVERY, KINDS, discovery_of_kinds
from tests.unit.kube.fake_cluster import FakeCluster
from tests.unit.reconcile.xapps import xapp
from xapp_operator.api.json import JsonObject
from xapp_operator.common.off_loop import LOOP_MAX_BYTES
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.errors import AccessDenied, ApiUnavailable, Conflict, FieldError, Invalid
from xapp_operator.helm.applied_objects import AppliedObject
from xapp_operator.helm.manifest import ObjectRef
from xapp_operator.kube import discovery
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.transport import ApiRequest
from xapp_operator.monitor.release_objects import ReleaseObject
from xapp_operator.reconcile.object_comparison import Comparison, ObjectComparer, body_to_apply, retry_conflicts

CONFIGMAP = ("", "v1", "ConfigMap")
DEPLOYMENT = ("apps", "v1", "Deployment")
HPAS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
SCALED_OBJECTS = Resource("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
IGNORE = "xapp-operator.io/ignore-drift"

UNSERVED = Comparison(unknown="Widget one: the cluster does not serve its kind of example.com/v1")


def manifest(kind: tuple[str, str, str] = CONFIGMAP, *, ignore: str = "", **fields: Any) -> JsonObject:
    """Return an object as Helm applies it."""
    group, version, name = kind
    annotations = {"meta.helm.sh/release-name": "hello", "meta.helm.sh/release-namespace": "ns"}
    if ignore:
        annotations[IGNORE] = ignore
    return {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": name,
        "metadata": {
            "name": "one",
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {**annotations},
        },
        **fields,
    }


class Compared:
    """Objects of a release in a cluster, and how they compare."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.comparer = ObjectComparer(xapp(), self.cluster.kube, self.cluster.kube)

    async def install(self, body: JsonObject, resource: Resource = CONFIGMAPS, *, manager: str = "helm") -> None:
        await self.cluster.kube.apply(resource, "one", body, namespace="ns", field_manager=manager)

    async def edit(self, change: JsonObject, resource: Resource = CONFIGMAPS) -> None:
        """Change an object so that Helm no longer manages its fields."""
        metadata = {**change.get("metadata", {})} | {"managedFields": [{"manager": "jane"}]}  # type: ignore[dict-item]
        await self.cluster.kube.patch(resource, "one", {**change, "metadata": metadata}, namespace="ns")

    async def compare(self, body: JsonObject | None, *, kind: str = "ConfigMap", expires: bool = False) -> Any:
        api_version = str((body or {}).get("apiVersion", "v1"))
        reference = ObjectRef(api_version, kind, "ns", "one")
        group = api_version.rpartition("/")[0]
        found = ReleaseObject(
            (kind, "ns", "one"), f"{group}/v1" if group else "v1", live=None, watched=False, expires=expires
        )
        return await self.comparer.compare(found, AppliedObject(reference, body))

    @property
    def dry_runs(self) -> int:
        return sum("dryRun" in each.params for each in self.cluster.transport.requests)


@pytest.fixture
def compared() -> Compared:
    return Compared()


async def test_an_object_whose_fields_helm_manages_is_as_applied_without_a_dry_run(compared: Compared) -> None:
    body = manifest(data={"a": "b"})
    await compared.install(body)
    found = await compared.compare(body)
    assert (found.drift, found.unknown, bool(found.managed)) == (None, "", True)
    assert compared.dry_runs == 0


async def test_a_secret_with_string_data_is_never_as_applied_without_a_dry_run(compared: Compared) -> None:
    """The API server turns `stringData` into `data`, so the fields that helm manages do not tell."""
    body = manifest(("", "v1", "Secret"), stringData={"a": "b"})
    await compared.install(body, SECRETS)
    for expected in (1, 2):
        found = await compared.compare(body, kind="Secret")
        assert (found.drift, found.unknown, found.managed) == (None, "", b"")
        assert compared.dry_runs == expected


async def test_a_changed_field_is_named_with_who_changed_it(compared: Compared) -> None:
    body = manifest(data={"a": "b"})
    await compared.install(body)
    await compared.edit({"data": {"a": "other"}})
    found = await compared.compare(body)
    assert found.drift == DriftedObject("ConfigMap", "ns", "one", paths=("/data/a",), managers=found.drift.managers)
    assert (found.unknown, found.denied, found.managed) == ("", False, b"")
    assert compared.dry_runs == 1


@pytest.mark.parametrize("large", [False, True])
async def test_a_large_object_is_compared_in_a_thread(compared: Compared, large: bool) -> None:
    body = manifest(data={"a": "b", "large": "x" * LOOP_MAX_BYTES if large else ""})
    await compared.install(body)
    await compared.edit({"data": {"a": "other"}})
    with calls_in_this_thread("xapp_operator.domain") as called:
        assert (await compared.compare(body)).drift
    work = {"pack_helm_fields", "manages_all", "with_live_values", "find_replaced", "find_differences", "find_managers"}
    assert work & called == (set() if large else work)


async def test_long_paths_are_cut(compared: Compared) -> None:
    """Each of many differences in one large object would be kept with the same long names."""
    body = manifest(data={"x" * 1000: "b"})
    await compared.install(body)
    await compared.edit({"data": {"x" * 1000: "other"}})
    assert (await compared.compare(body)).drift.paths == ("/data/" + "x" * 73 + "…",)


async def test_an_equal_object_that_others_manage_has_no_drift(compared: Compared) -> None:
    body = manifest(data={"a": "b"})
    await compared.install(body, manager="jane")
    found = await compared.compare(body)
    assert (found.drift, found.unknown, found.managed) == (None, "", b"")
    assert compared.dry_runs == 1


@pytest.mark.parametrize(
    ("expires", "ignore", "missing"), [(False, "", True), (True, "", False), (False, "all", False)]
)
async def test_an_object_that_is_gone_is_missing_unless_it_may_go(
    compared: Compared, expires: bool, ignore: str, missing: bool
) -> None:
    found = await compared.compare(manifest(ignore=ignore), expires=expires)
    assert found == Comparison(DriftedObject("ConfigMap", "ns", "one", missing=True) if missing else None)


async def test_an_object_of_a_kind_that_is_gone_cannot_be_compared(compared: Compared) -> None:
    found = await compared.compare(manifest(("example.com", "v1", "Widget")), kind="Widget")
    assert found == UNSERVED
    assert found.may_become_wrong


async def test_an_object_of_a_version_that_the_cluster_has_just_dropped_is_not_missing(
    compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "MISSING_KIND_MAX_AGE_SECONDS", -1.0)
    monkeypatch.setitem(KINDS, ("example.com", "v1"), {"widgets": ("Widget", True)})
    monkeypatch.setitem(DISCOVERY, "/apis", discovery_of_kinds(core=False))
    body = manifest(("example.com", "v1", "Widget"))
    assert (await compared.compare(body, kind="Widget")).drift.missing
    monkeypatch.delitem(KINDS, ("example.com", "v1"))
    monkeypatch.setitem(DISCOVERY, "/apis", discovery_of_kinds(core=False))
    monkeypatch.setitem(KINDS, ("example.com", "v1"), {"widgets": ("Widget", True)})  # the paths are as before
    assert await compared.compare(body, kind="Widget") == UNSERVED


async def test_an_object_that_another_release_took_over_is_not_corrected(compared: Compared) -> None:
    body = manifest(data={"a": "b"})
    await compared.install(body)
    await compared.edit({"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}})
    found = await compared.compare(body)
    assert found.drift.refusal == "it belongs to another release"
    assert found.drift.paths == ("/metadata/annotations/meta.helm.sh~1release-name",)
    assert compared.dry_runs == 0


async def test_what_an_annotation_ignores_is_no_drift(compared: Compared) -> None:
    await compared.install(manifest(data={"a": "b", "c": "d"}))
    await compared.edit({"data": {"a": "other", "c": "other"}})
    assert await compared.compare(manifest(ignore="all", data={"a": "b"})) == Comparison()
    assert compared.dry_runs == 0
    found = await compared.compare(manifest(ignore="/data/a", data={"a": "b", "c": "d"}))
    assert "/data/c" in found.drift.paths
    assert "/data/a" not in found.drift.paths
    assert found.drift.kept == (("data", "a"),)


async def test_a_wrong_annotation_keeps_the_object_from_being_corrected(compared: Compared) -> None:
    wrong = manifest(ignore="data", data={"a": "b"})
    await compared.install(wrong)
    found = await compared.compare(wrong)
    assert found.unknown.startswith(f"ConfigMap one: its annotation {IGNORE} is neither ")
    assert found.drift is None
    await compared.edit({"data": {"a": "other"}})
    found = await compared.compare(wrong)
    assert found.drift.refusal.startswith(f"its annotation {IGNORE} is neither ")
    assert found.unknown == ""


async def test_a_manifest_that_cannot_be_read_is_unknown(compared: Compared) -> None:
    found = await compared.compare(None)
    assert found.unknown == (
        "ConfigMap one: it is not compared, because its manifest has unusual values or more than 100,000, or that of "
        "the release has more than 200,000"
    )
    assert not found.denied


@pytest.mark.parametrize("error", [AccessDenied("you may not"), ApiUnavailable("no"), Conflict("changed")])
async def test_a_failure_is_told_or_left_for_later(compared: Compared, error: Exception) -> None:
    def fail(request: ApiRequest) -> None:
        if "configmaps" in request.path:
            tried.append(request)
            raise error

    tried: list[ApiRequest] = []
    compared.cluster.transport.before = fail
    found = await compared.compare(manifest())
    denied = Comparison(unknown="ConfigMap one: you may not", denied=True)
    assert found == (denied if isinstance(error, AccessDenied) else None)
    assert len(tried) == (3 if isinstance(error, Conflict) else 1)


@pytest.mark.parametrize("fields", [("spec.a", ""), ()])
async def test_a_dry_run_that_is_refused_names_the_fields(compared: Compared, fields: tuple[str, ...]) -> None:
    def refuse(request: ApiRequest) -> None:
        if "dryRun" in request.params:
            raise Invalid("no: a secret value", errors=tuple(FieldError(each, "is wrong") for each in fields))

    body = manifest(data={"a": "b"})
    await compared.install(body, manager="jane")
    compared.cluster.transport.before = refuse
    found = await compared.compare(body)
    if fields:
        drift = DriftedObject("ConfigMap", "ns", "one", paths=("spec.a",), refusal="the API server refuses the change")
        assert found == Comparison(drift)
    else:
        assert found == Comparison(unknown="ConfigMap one: the API server refuses a dry run of its manifest")


def pod_spec(port: int) -> JsonObject:
    ports: JsonObject = {"name": "http", "containerPort": port, "protocol": "TCP"}
    container: JsonObject = {"name": "main", "ports": [ports]}
    return {"replicas": 1, "template": {"spec": {"containers": [container]}}}


async def compare_edited_port(compared: Compared, edit: JsonObject, **options: Any) -> Any:
    """Change the number of a port, of which the API server cannot have both; Helm has applied the other one."""

    def refuse(request: ApiRequest) -> None:
        if "dryRun" in request.params:
            field = "spec.template.spec.containers[0].ports[1].name"
            raise Invalid("no", errors=(FieldError(field, "Duplicate value"),))

    body = manifest(DEPLOYMENT, spec=pod_spec(8080), **options)
    await compared.install(body, DEPLOYMENTS)
    await compared.cluster.kube.patch(DEPLOYMENTS, "one", {"spec": edit}, namespace="ns")
    compared.cluster.transport.before = refuse
    return await compared.compare(body, kind="Deployment")


PORT = "/spec/template/spec/containers/0/ports/0"


async def test_an_item_with_another_key_is_drift_that_a_correction_replaces(compared: Compared) -> None:
    found = await compare_edited_port(compared, {**pod_spec(9090), "replicas": 5})
    assert (found.drift.paths, found.drift.managers) == ((PORT,), ("xapp-operator",))
    assert (found.drift.refusal, found.drift.replaced, found.drift.kept) == ("", True, ())
    assert found.may_become_wrong, "the replicas may be those of a scaler"


async def test_replicas_that_an_autoscaler_sets_stay_beside_an_item_that_is_replaced(compared: Compared) -> None:
    reference: JsonObject = {"scaleTargetRef": {"name": "one"}}
    await compared.cluster.create(HPAS, "scaler", namespace="ns", spec=reference)
    found = await compare_edited_port(compared, {**pod_spec(9090), "replicas": 5})
    assert (found.drift.paths, found.drift.kept) == ((PORT,), (("spec", "replicas"),))


async def test_an_item_that_an_annotation_protects_is_not_replaced(compared: Compared) -> None:
    """Its own value stays, but the API server refuses that too."""
    found = await compare_edited_port(compared, pod_spec(9090), ignore=f"{PORT}/name")
    assert found.drift.refusal.startswith(f"the annotation {IGNORE} of the object protects the item")
    assert not found.drift.replaced


async def test_an_item_that_another_manager_applies_is_not_replaced(compared: Compared) -> None:
    body = manifest(DEPLOYMENT, spec=pod_spec(9090))
    await compared.install(body, DEPLOYMENTS, manager="kustomize")
    found = await compare_edited_port(compared, pod_spec(9090))
    assert found.drift.refusal == "the item in its place is applied server-side by kustomize: remove it there"
    assert found.drift.managers == ("kustomize",)


@pytest.mark.parametrize("target", [{"kind": "Deployment", "name": "one"}, {"name": "one"}])
async def test_replicas_that_an_autoscaler_sets_are_no_drift(compared: Compared, target: JsonObject) -> None:
    body = manifest(DEPLOYMENT, spec={"replicas": 1, "paused": False})
    await compared.install(body, DEPLOYMENTS)
    await compared.edit({"spec": {"replicas": 5}}, DEPLOYMENTS)
    found = await compared.compare(body, kind="Deployment")
    assert found.drift.paths == ("/spec/replicas",)
    assert found.drift.group == "apps"

    await compared.cluster.create(HPAS, "scaler", namespace="ns", spec={"scaleTargetRef": target})
    compared.comparer = ObjectComparer(xapp(), compared.cluster.kube, compared.cluster.kube)
    assert (await compared.compare(body, kind="Deployment")).drift is None
    await compared.edit({"spec": {"paused": True}}, DEPLOYMENTS)
    listed = len([each for each in compared.cluster.requests("GET") if "autoscaler" in each.path])
    found = await compared.compare(body, kind="Deployment")
    assert (found.drift.paths, found.drift.kept) == (("/spec/paused",), (("spec", "replicas"),))
    assert len([each for each in compared.cluster.requests("GET") if "autoscaler" in each.path]) == listed


@pytest.mark.parametrize("api_version", ["example.com/v1", "v1"])
async def test_a_scaler_of_an_object_of_another_group_does_not_count(compared: Compared, api_version: str) -> None:
    body = manifest(DEPLOYMENT, spec={"replicas": 1})
    await compared.install(body, DEPLOYMENTS)
    await compared.edit({"spec": {"replicas": 5}}, DEPLOYMENTS)
    reference: JsonObject = {"apiVersion": api_version, "kind": "Deployment", "name": "one"}
    await compared.cluster.create(HPAS, "scaler", namespace="ns", spec={"scaleTargetRef": reference})
    assert (await compared.compare(body, kind="Deployment")).drift.paths == ("/spec/replicas",)


async def test_objects_compared_at_the_same_time_share_one_list_of_scalers(compared: Compared) -> None:
    body = manifest(DEPLOYMENT, spec={"replicas": 1})
    await compared.install(body, DEPLOYMENTS)
    await compared.edit({"spec": {"replicas": 5}}, DEPLOYMENTS)
    await asyncio.gather(*(compared.compare(body, kind="Deployment") for _ in range(3)))
    assert len([each for each in compared.cluster.requests("GET") if "autoscaler" in each.path]) == 1


@pytest.mark.parametrize(("target", "scaled"), [("one", True), ("other", False)])
async def test_replicas_that_a_paused_keda_object_keeps_are_no_drift(
    compared: Compared, monkeypatch: pytest.MonkeyPatch, target: str, scaled: bool
) -> None:
    monkeypatch.setitem(KINDS, ("keda.sh", "v1alpha1"), {"scaledobjects": ("ScaledObject", True)})
    monkeypatch.setitem(DISCOVERY, "/apis", discovery_of_kinds(core=False))
    body = manifest(DEPLOYMENT, spec={"replicas": 1})
    await compared.install(body, DEPLOYMENTS)
    await compared.edit({"spec": {"replicas": 5}}, DEPLOYMENTS)
    reference: JsonObject = {"scaleTargetRef": {"name": target}}  # while paused, it has no HorizontalPodAutoscaler
    await compared.cluster.create(SCALED_OBJECTS, "scaler", namespace="ns", spec=reference)
    found = await compared.compare(body, kind="Deployment")
    assert (found.drift is None) is scaled
    assert found.replicas_differ


async def test_a_request_is_repeated_while_the_object_keeps_changing() -> None:
    failures = [Conflict("one"), Conflict("two")]

    async def request() -> str:
        if failures:
            raise failures.pop()
        return "done"

    assert await retry_conflicts(request) == "done"
    failures += [Conflict(str(each)) for each in range(4)]
    with pytest.raises(Conflict):
        await retry_conflicts(request)
    assert len(failures) == 1


def test_what_is_applied_names_the_version_that_was_compared() -> None:
    live: JsonObject = {"metadata": {"uid": "u", "resourceVersion": "7", "name": "one"}, "spec": {"a": 1, "b": 2}}
    body: JsonObject = {"metadata": {"name": "one"}, "spec": {"a": 5, "b": 6}}
    assert body_to_apply(body, live, [("spec", "a")]) == {
        "metadata": {"name": "one", "uid": "u", "resourceVersion": "7"},
        "spec": {"a": 1, "b": 6},
    }
