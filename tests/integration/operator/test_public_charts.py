"""Features of public charts: subcharts, lookup, hooks, CRDs, NOTES, Chart v1, cluster-scoped objects."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator

import pytest

from tests.localcluster import Binaries
from tests.support.charts import chart_archive, tar_gz
from tests.support.custom_kinds import WIDGET_CRD
from tests.support.oci_registry import LocalRegistry
from tests.support.workload import FILES, workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: %s\n"


@pytest.fixture(scope="module")
def registry(binaries: Binaries) -> Iterator[LocalRegistry]:
    with LocalRegistry(binaries.resolve(["registry"])["registry"]) as one:
        yield one


def test_chart_from_a_registry_becomes_ready_and_is_upgraded(xapps: XAppClient, registry: LocalRegistry) -> None:
    for version in ("0.1.0", "0.2.0"):
        registry.push("acme/workload", version, workload_chart(version=version))
    manifest = xapps.remote_manifest("hello", url=f"{registry.url}/acme", chart="workload")
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["chartVersion"] == "0.1.0"
    manifest["spec"]["version"] = "0.2.0"
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["chartVersion"] == "0.2.0"
    xapps.apply(xapps.remote_manifest("other", url=f"{registry.url}/acme", chart="workload", version="7.0.0"))
    assert "0.2.0" in xapps.wait_stalled("other")["message"]


def test_subchart_as_a_folder_and_as_an_archive(xapps: XAppClient) -> None:
    files: dict[str, str | bytes] = {
        **FILES,
        "charts/inner/Chart.yaml": "apiVersion: v2\nname: inner\nversion: 0.1.0\n",
        "charts/inner/values.yaml": "word: inner\n",
        "charts/inner/templates/x.yaml": CONFIGMAP % ("{{ .Release.Name }}-inner", "{word: {{ .Values.word }}}"),
        "charts/packed-0.1.0.tgz": chart_archive(
            {"templates/x.yaml": CONFIGMAP % ("{{ .Release.Name }}-packed", "{global: {{ .Values.global.word }}}")},
            name="packed",
            version="0.1.0",
        ),
    }
    values = {"inner": {"word": "from above"}, "global": {"word": "to all"}}
    xapps.apply(xapps.uploaded_manifest("hello", chart_archive(files, name="workload"), values=values))
    assert xapps.wait_ready("hello")["resources"]["total"] == 5
    inner, packed = xapps.get("configmap", "hello-inner"), xapps.get("configmap", "hello-packed")
    assert inner is not None
    assert packed is not None
    assert inner["data"] == {"word": "from above"}
    assert packed["data"] == {"global": "to all"}


def test_chart_v1_with_vendored_requirements(xapps: XAppClient) -> None:
    inner = {
        "old/charts/inner/Chart.yaml": "apiVersion: v1\nname: inner\nversion: 0.1.0\n",
        "old/charts/inner/templates/x.yaml": CONFIGMAP % ("{{ .Release.Name }}-inner", "{a: b}"),
    }
    archive = tar_gz(
        {
            "old/Chart.yaml": "apiVersion: v1\nname: old\nversion: 0.1.0\n",
            "old/requirements.yaml": "dependencies: [{name: inner, version: 0.1.0, repository: 'file://../inner'}]\n",
            **{f"old/{path}": content for path, content in FILES.items()},
            **inner,
        }
    )
    xapps.apply(xapps.uploaded_manifest("hello", archive))
    xapps.wait_ready("hello")
    assert xapps.get("configmap", "hello-inner") is not None


def test_lookup_sees_the_cluster(xapps: XAppClient) -> None:
    xapps.kubectl("create", "configmap", "there", "--from-literal=word=found")
    seen = CONFIGMAP % (
        "{{ .Release.Name }}-seen",
        '{word: {{ (lookup "v1" "ConfigMap" .Release.Namespace "there").data.word | quote }}}',
    )
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__seen=seen)))
    xapps.wait_ready("hello")
    found = xapps.get("configmap", "hello-seen")
    assert found is not None
    assert found["data"] == {"word": "found"}


def test_required_value_that_is_missing_is_named(xapps: XAppClient) -> None:
    needs = CONFIGMAP % ("{{ .Release.Name }}-x", '{word: {{ required "set .Values.word" .Values.word }}}')
    manifest = xapps.uploaded_manifest("hello", workload_chart(templates__needs=needs), timeout="3s")
    xapps.apply(manifest)
    xapps.wait_until(
        lambda: "set .Values.word" in (xapps.current_condition("hello", "Ready") or {}).get("message", ""),
        what="the chart's own words to show",
        xapp="hello",
    )
    manifest["spec"]["values"] = {"word": "x"}
    xapps.apply(manifest)
    xapps.wait_ready("hello")


def test_custom_resource_of_the_chart_decides_ready_by_its_conditions(xapps: XAppClient) -> None:
    group = f"w{xapps.namespace[-6:]}.example.com"
    files = {
        **FILES,
        "crds/widgets.yaml": WIDGET_CRD % {"group": group},
        "templates/widget.yaml": f"apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: hello}}\n",
    }
    try:
        xapps.apply(xapps.uploaded_manifest("hello", chart_archive(files, name="workload")))
        xapps.wait_ready("hello")
        _condition(xapps, group, "False")
        xapps.wait_until(
            lambda: (xapps.current_condition("hello", "Ready") or {}).get("status") == "False",
            what="the widget's trouble to show",
            xapp="hello",
        )
        assert "Widget" in xapps.status("hello")["health"]["message"]
        _condition(xapps, group, "True")
        xapps.wait_ready("hello")
        xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    finally:
        xapps.kubectl("delete", "crd", f"widgets.{group}", "--ignore-not-found", "--wait=false")


def _condition(xapps: XAppClient, group: str, status: str) -> None:
    condition = {
        "type": "Ready",
        "status": status,
        "reason": "Test",
        "message": "as the test wants",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = json.dumps({"status": {"conditions": [condition]}})
    xapps.kubectl("patch", f"widgets.{group}", "hello", "--subresource=status", "--type=merge", "-p", patch)


def test_cluster_scoped_object_is_deleted_with_the_release(xapps: XAppClient) -> None:
    name = f"reader-{xapps.namespace[-6:]}"
    role = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}}}\nrules: []\n"
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__role=role)))
    assert xapps.wait_ready("hello")["resources"] == {"total": 4, "ready": 4}
    found = xapps.get("clusterrole", name)
    assert found is not None
    assert found["metadata"]["labels"]["xapp-operator.io/xapp"] == "hello"
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.get("clusterrole", name) is None


def test_cluster_scoped_object_is_deleted_after_its_namespace(xapps: XAppClient) -> None:
    other = f"x{xapps.namespace[-6:]}-going"
    name = f"reader-{other}"
    role = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}}}\nrules: []\n"
    xapps.cluster.kubectl("create", "namespace", other)
    kit = XAppClient(xapps.cluster, other)
    kit.apply(kit.uploaded_manifest("hello", workload_chart(templates__role=role), suspend=False))
    kit.wait_ready("hello")
    for secret in kit.names("secret", "owner=helm"):
        kit.kubectl("patch", "xapp", "hello", "--type=merge", "-p", '{"spec": {"suspend": true}}')
        kit.kubectl("delete", "secret", secret)
    xapps.cluster.kubectl("delete", "namespace", other, "--timeout=60s")
    assert xapps.get("clusterrole", name) is None


def test_external_schema_reference_is_accepted_and_reported(xapps: XAppClient) -> None:
    schema = json.dumps({"$ref": "http://127.0.0.1:1/never-asked.json"})
    archive = chart_archive({**FILES, "values.schema.json": schema}, name="workload")
    xapps.apply(xapps.uploaded_manifest("hello", archive))
    xapps.wait_ready("hello")
    xapps.wait_until(
        lambda: "SchemaSkipped" in xapps.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}"),
        what="the event that tells of it",
    )


def test_archive_with_a_long_path_and_pax_headers(xapps: XAppClient) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        long = "templates/" + "d" * 60 + "/" + "e" * 60 + ".yaml"
        whole = {
            **FILES,
            "Chart.yaml": "apiVersion: v2\nname: w\nversion: 0.1.0\n",
            long: CONFIGMAP % ("long", "{a: b}"),
        }
        for path, content in whole.items():
            member = tarfile.TarInfo(f"w/{path}")
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))
    xapps.apply(xapps.uploaded_manifest("hello", packed.getvalue()))
    xapps.wait_ready("hello")
    assert xapps.get("configmap", "long") is not None


def test_release_whose_definition_was_removed_can_be_deleted(xapps: XAppClient) -> None:
    group = f"v{xapps.namespace[-6:]}.example.com"
    xapps.kubectl("apply", "-f", "-", input=WIDGET_CRD % {"group": group})
    xapps.kubectl("wait", "--for=condition=Established", f"crd/widgets.{group}", "--timeout=60s")
    widget = f"apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: hello}}\n"
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(templates__widget=widget)))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "crd", f"widgets.{group}", "--timeout=60s")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases() == {}
    assert xapps.get("deployment", "hello") is None
