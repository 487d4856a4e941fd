"""Each refusal of a real API server becomes the right error; the unit tests have a table of the texts."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator

import pytest

from tests.integration.helm.conftest import CONFIGMAP, SIMPLE, WORKLOAD, HelmNamespace, MakeChart
from tests.localcluster import Cluster, KubectlFailed
from tests.localcluster.waiting import wait_until
from xapp_operator.errors import (
    ApiUnavailable,
    ChartInvalid,
    HelmError,
    Invalid,
    NamespaceTerminating,
    QuotaExceeded,
    ReleaseTooLarge,
    ValuesInvalid,
    XAppError,
)
from xapp_operator.helm.engine import HelmEngine

pytestmark = pytest.mark.integration

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: hello}\nspec: {selector: {a: b}, ports: [{port: %s}]%s}\n"


async def refused(
    engine: HelmEngine, helm_namespace: HelmNamespace, template: str, kind: type[XAppError], match: str
) -> XAppError:
    archive = helm_namespace.make_chart({"templates/object.yaml": template})
    with pytest.raises(kind, match=match) as caught:
        await engine.install(helm_namespace.release_request(chart=archive))
    return caught.value


async def test_an_exhausted_quota_is_transient(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    helm_namespace.kubectl("create", "quota", "q", "--hard=services=0")
    wait_until(
        lambda: helm_namespace.get("resourcequota", "q").get("status", {}).get("hard"),
        timeout=30,
        what="the quota to count",
    )
    error = await refused(engine, helm_namespace, SERVICE % (80, ""), QuotaExceeded, "exceeded quota: q")
    assert not error.permanent


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {%s, containers: [{name: main, image: x%s}]}\n"


async def test_a_limit_range_is_no_missing_right(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    limits = {"type": "Pod", "max": {"memory": "64Mi"}}
    limit_range = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limits]}}
    helm_namespace.kubectl("create", "-f", "-", stdin=json.dumps(limit_range))
    template = POD % ("restartPolicy: Never", ", resources: {limits: {memory: 128Mi}}")
    error = await refused(engine, helm_namespace, template, Invalid, "maximum memory usage per Pod is 64Mi")
    assert error.permanent
    assert "Admission control of this cluster refuses it" in error.message


async def test_a_priority_class_that_does_not_exist_is_named(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    template = POD % ("priorityClassName: high", "")
    error = await refused(engine, helm_namespace, template, Invalid, "no PriorityClass with name high")
    assert error.permanent


async def test_a_service_account_that_does_not_exist_is_named(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    template = POD % ("serviceAccountName: missing", "")
    error = await refused(engine, helm_namespace, template, HelmError, "Create the service account")
    assert 'serviceaccount "missing" not found' in error.message
    assert not error.permanent


@pytest.mark.parametrize("annotations", ["", ", annotations: {helm.sh/hook: pre-install}"])
async def test_an_object_without_a_name_is_permanent(
    engine: HelmEngine, helm_namespace: HelmNamespace, annotations: str
) -> None:
    template = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{generateName: x-{annotations}}}\n"
    error = await refused(engine, helm_namespace, template, ChartInvalid, "replace generateName by name")
    assert error.permanent


async def test_an_immutable_field_is_permanent(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    archive = chart(WORKLOAD)
    await engine.install(helm_namespace.release_request(chart=archive))
    with pytest.raises(Invalid, match="field is immutable") as caught:
        await engine.upgrade(helm_namespace.release_request(chart=archive, values={"app": "another"}))
    assert caught.value.permanent
    assert "another" not in caught.value.message


async def test_a_value_out_of_range_names_the_field(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    error = await refused(engine, helm_namespace, SERVICE % (99999, ""), Invalid, r"spec\.ports\[0\]\.port")
    assert error.permanent
    assert "99999" not in error.message


async def test_a_quantity_that_is_none_is_permanent(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    template = POD % ("restartPolicy: Never", ", resources: {requests: {cpu: 1.2.3cpu}}")
    error = await refused(engine, helm_namespace, template, Invalid, "quantities must match the regular expression")
    assert error.permanent
    assert "Fix the values or the chart" in error.message


async def test_an_unknown_field_is_named(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    await refused(engine, helm_namespace, SERVICE % (80, ", nope: 1"), Invalid, r"\.spec\.nope")


async def test_a_missing_kind_is_named(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    template = "apiVersion: foo.example.com/v1\nkind: Foo\nmetadata: {name: a}\n"
    error = await refused(engine, helm_namespace, template, HelmError, "kind Foo of foo.example.com/v1")
    assert not error.permanent


async def test_a_name_in_use_is_reported(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    await engine.install(helm_namespace.release_request())
    with pytest.raises(HelmError, match="still in use"):
        await engine.install(helm_namespace.release_request())


async def test_an_upgrade_without_a_release_is_reported(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    with pytest.raises(HelmError, match="no deployed releases"):
        await engine.upgrade(helm_namespace.release_request())


async def test_a_release_over_a_mebibyte_is_permanent(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    noise = base64.b64encode(random.Random(1).randbytes(900_000))
    with pytest.raises(ReleaseTooLarge, match="1 MiB") as caught:
        await engine.install(helm_namespace.release_request(chart=chart({**SIMPLE, "files/noise": noise})))
    assert caught.value.permanent


async def test_an_object_that_is_too_large_is_not_reported_as_the_release(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    template = CONFIGMAP.replace("{{- toYaml .Values.data | nindent 2 }}", 'a: {{ repeat 1200000 "x" }}')
    await refused(engine, helm_namespace, template, Invalid, "an object of the chart is larger")


async def test_values_that_violate_the_schema_are_refused_before_any_object_exists(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    schema = json.dumps({"type": "object", "properties": {"data": {"type": "array"}}})
    with pytest.raises(ValuesInvalid) as caught:
        await engine.install(helm_namespace.release_request(chart=chart({**SIMPLE, "values.schema.json": schema})))
    assert [error.field for error in caught.value.errors] == ["values.data"]
    assert helm_namespace.revision_statuses() == {}


async def test_templates_that_refuse_the_values_are_permanent(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    archive = chart({"templates/a.yaml": '{{ required "set the host" .Values.host }}'})
    with pytest.raises(ValuesInvalid, match=r"hello/templates/a\.yaml:1:\d+: set the host"):
        await engine.install(helm_namespace.release_request(chart=archive))
    with pytest.raises(ChartInvalid, match="nil pointer"):
        await engine.install(helm_namespace.release_request(chart=chart({"templates/a.yaml": "{{ .Values.a.b.c }}"})))


async def test_a_secret_value_is_masked_in_an_error(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    archive = chart({"templates/a.yaml": "{{ fail (printf `cannot use %s` .Values.db.password) }}"})
    with pytest.raises(ValuesInvalid) as caught:
        await engine.install(
            helm_namespace.release_request(chart=archive, values={"db": {"password": "hunter2-hunter2"}})
        )
    assert "hunter2" not in caught.value.message


@pytest.fixture
def terminating(helm_namespace: HelmNamespace) -> Iterator[None]:
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    helm_namespace.kubectl("create", "--filename", "-", stdin=json.dumps(held))
    helm_namespace.cluster.kubectl("delete", "namespace", helm_namespace.namespace, "--wait=false")
    yield
    helm_namespace.kubectl("patch", "configmap", "held", "--type=merge", '--patch={"metadata":{"finalizers":null}}')


@pytest.mark.usefixtures("terminating")
async def test_a_terminating_namespace_is_transient(engine: HelmEngine, helm_namespace: HelmNamespace) -> None:
    with pytest.raises(NamespaceTerminating) as caught:
        await engine.install(helm_namespace.release_request())
    assert not caught.value.permanent


def admission(name: str, namespace: str) -> list[dict[str, object]]:
    """Return a policy that refuses Services of one name, and a webhook for ConfigMaps that no server answers."""
    group = "admissionregistration.k8s.io"
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    services = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"]}
    configmaps = {**services, "resources": ["configmaps"]}
    return [
        {
            "apiVersion": f"{group}/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [services]},
                "validations": [{"expression": "object.metadata.name != 'hello'", "message": "hello is taken"}],
            },
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": selector},
            },
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": "away.example.com",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "timeoutSeconds": 2,
                    "namespaceSelector": selector,
                    "clientConfig": {"url": "https://127.0.0.1:1/admit"},
                    "rules": [configmaps],
                }
            ],
        },
    ]


@pytest.fixture
def admitting(cluster: Cluster, helm_namespace: HelmNamespace) -> Iterator[None]:
    objects = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": admission(helm_namespace.namespace, helm_namespace.namespace)}
    )
    cluster.kubectl("create", "--filename", "-", input=objects)
    try:
        for probe in ("service", "configmap"):
            _wait_for_refusal(helm_namespace, probe)
        yield
    finally:
        cluster.kubectl("delete", "--wait=false", "--filename", "-", input=objects)


def _wait_for_refusal(helm_namespace: HelmNamespace, kind: str) -> None:
    metadata = {"name": "hello", "namespace": helm_namespace.namespace}
    spec = {"spec": {"ports": [{"port": 80}]}} if kind == "service" else {}
    probe = json.dumps(
        {"apiVersion": "v1", "kind": kind.capitalize().replace("map", "Map"), "metadata": metadata, **spec}
    )

    def answered_with_refusal() -> bool:
        try:
            helm_namespace.kubectl("create", "--dry-run=server", "--filename", "-", stdin=probe)
        except KubectlFailed as error:
            return "denied" in str(error) or "webhook" in str(error)
        return False

    wait_until(answered_with_refusal, timeout=30, what="the admission to be called", interval=0.2)


@pytest.mark.usefixtures("admitting")
async def test_a_denial_by_admission_is_permanent_and_its_outage_is_transient(
    engine: HelmEngine, helm_namespace: HelmNamespace
) -> None:
    error = await refused(engine, helm_namespace, SERVICE % (80, ""), Invalid, "hello is taken")
    assert error.permanent
    with pytest.raises(ApiUnavailable, match=r"away\.example\.com") as caught:
        await engine.install(helm_namespace.release_request(name="other"))
    assert not caught.value.permanent
