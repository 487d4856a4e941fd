"""The labels of an XApp come with the objects that helm applies, and are in the manifest that helm stores."""

from __future__ import annotations

import subprocess

import pytest

from tests.integration.helm.conftest import DEPLOYMENT, WORKLOAD, HelmNamespace, MakeChart, hook
from tests.localcluster import Cluster
from xapp_operator.errors import Invalid
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata
from xapp_operator.helm.labelling.post_rendering import LABELLED_BYTES_MAX

pytestmark = pytest.mark.integration

ADDED = ObjectMetadata(
    {"xapp-operator.io/xapp": "hello"}, {"xapp-operator.io/team": "R&D"}, "xapp-operator.io/component"
)
REPEATED_KEY = DEPLOYMENT.replace("  replicas: 1\n", "  replicas: 1\n  replicas: 1\n")
NULL_ANNOTATIONS = DEPLOYMENT.replace("metadata:\n  name", "metadata:\n  annotations:\n  name", 1)
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"


def _labels(helm_namespace: HelmNamespace, kind: str, name: str = "hello") -> dict[str, str]:
    found: dict[str, str] = helm_namespace.get(kind, name)["metadata"].get("labels", {})
    return found


def _stored_manifest(cluster: Cluster, namespace: str) -> str:
    return subprocess.run(
        [cluster.helm_path, "get", "manifest", "hello", "--namespace", namespace],
        env=cluster.env,
        capture_output=True,
        check=True,
        text=True,
    ).stdout


async def test_every_object_but_no_hook_has_the_labels_when_helm_has_ended(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart, cluster: Cluster
) -> None:
    archive = chart({**WORKLOAD, "templates/service.yaml": SERVICE, "templates/hook.yaml": hook("post-install")})
    result = await engine.install(helm_namespace.release_request(chart=archive, object_metadata=ADDED))
    assert result.labelled
    assert _labels(helm_namespace, "deployment")["xapp-operator.io/xapp"] == "hello"
    assert _labels(helm_namespace, "service", "web")["xapp-operator.io/component"] == "web"
    annotations = helm_namespace.get("deployment", "hello")["metadata"]["annotations"]
    assert annotations["xapp-operator.io/team"] == "R&D"
    assert "xapp-operator.io/xapp" not in _labels(helm_namespace, "job", "hello-hook")
    stored = _stored_manifest(cluster, helm_namespace.namespace)
    assert stored.count("xapp-operator.io/xapp") == 2
    assert stored.strip() == result.manifest.strip()


async def test_an_upgrade_gives_new_objects_the_labels(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    await engine.install(helm_namespace.release_request(chart=chart(WORKLOAD)))
    archive = chart({**WORKLOAD, "templates/service.yaml": SERVICE})
    result = await engine.upgrade(helm_namespace.release_request(chart=archive, object_metadata=ADDED))
    assert result.labelled
    for kind, name in (("deployment", "hello"), ("service", "web")):
        assert _labels(helm_namespace, kind, name)["xapp-operator.io/xapp"] == "hello"


@pytest.mark.parametrize(
    ("templates", "labelled"),
    [
        ({"templates/deployment.yaml": REPEATED_KEY}, True),
        ({"templates/deployment.yaml": NULL_ANNOTATIONS}, True),
        ({"templates/empty.yaml": "# nothing\n"}, False),  # helm calls this an error of the post-renderer
    ],
    ids=["a key twice", "null annotations", "no object"],
)
async def test_charts_that_helm_accepts_are_installed(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart, templates: dict[str, str], *, labelled: bool
) -> None:
    archive = chart({"values.yaml": "app: one\ntag: 1\n", **templates})
    result = await engine.install(helm_namespace.release_request(chart=archive, object_metadata=ADDED))
    assert (result.status, result.revision, result.labelled) == ("deployed", 1, labelled)


async def test_a_large_manifest_is_installed_without_labels(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    repeats = LABELLED_BYTES_MAX // 1_000_000 + 1
    large = (
        f"{{{{- range until {repeats} }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c-{{{{ . }}}}}}\n"
        'data: {a: "{{ repeat 900000 "a" }}"}\n---\n{{- end }}\n'
    )
    result = await engine.install(
        helm_namespace.release_request(chart=chart({"templates/large.yaml": large}), object_metadata=ADDED)
    )
    assert (result.status, result.labelled) == ("deployed", False)
    assert "xapp-operator.io/xapp" not in _labels(helm_namespace, "configmap", "c-0")


async def test_a_text_of_the_chart_that_the_api_server_quotes_is_no_error_of_the_post_renderer(
    engine: HelmEngine, helm_namespace: HelmNamespace, chart: MakeChart
) -> None:
    refused = SERVICE.replace("spec: {", 'spec: {type: "error merging manifests: x", ')
    with pytest.raises(Invalid, match="Unsupported value"):
        await engine.install(
            helm_namespace.release_request(chart=chart({"templates/s.yaml": refused}), object_metadata=ADDED)
        )
    assert helm_namespace.revision_statuses() == {1: "failed"}
