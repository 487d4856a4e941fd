"""What the operator relies on when helm renders a chart and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.contracts.helm import CHART, HOOK, HelmSubject
from tests.support.charts import chart_archive
from xapp_operator.api.json import JsonObject, obj
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata
from xapp_operator.helm.releases.release_storage import decode_release
from xapp_operator.helm.requests import DryRunRequest, TemplateRequest
from xapp_operator.kube.resources import CONFIGMAPS

HOOK_VALUES = "name: hello\ntext: one\nevent: post-install\nseconds: 0s\nlabels: {}\n"
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.example.com
"""
LABELLED = ObjectMetadata({"xapp-operator.io/xapp": "hello"}, {})


@pytest.fixture
def full_chart(helm: HelmSubject) -> Path:
    """A chart with a hook and a CustomResourceDefinition."""
    path = helm.chart.with_name("crds.tgz")
    files = {**CHART, "values.yaml": HOOK_VALUES, "templates/hook.yaml": HOOK, "crds/crontab.yaml": CRD}
    path.write_bytes(chart_archive(files))
    return path


def _kinds(manifest: str) -> list[str]:
    return sorted(each["kind"] for each in yaml.safe_load_all(manifest) if each)


class HelmRenderingContract:
    async def test_what_a_chart_renders_has_its_crds_and_hooks_too(self, helm: HelmSubject, full_chart: Path) -> None:
        """What a record stores has neither."""
        rendered = await helm.engine.template(
            TemplateRequest(
                name="hello",
                namespace=helm.namespace,
                chart=full_chart,
                values={"name": "hello"},
                kube_version="v1.36.0",
                api_versions=("v1",),
                skip_schema=True,
                chart_name="hello",
            )
        )

        assert _kinds(rendered.manifest) == ["ConfigMap", "CustomResourceDefinition", "Deployment", "Pod"]
        assert rendered.hooks == ""

    @pytest.mark.parametrize("upgrade", [False, True])
    async def test_a_dry_run_of_the_operator_tells_objects_and_hooks_and_changes_nothing(
        self, helm: HelmSubject, full_chart: Path, *, upgrade: bool
    ) -> None:
        if upgrade:
            await helm.engine.install(helm.request(text="before"))
        else:  # an object that helm takes over
            existing: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hello"}}
            await helm.kube.create(CONFIGMAPS, existing, namespace=helm.namespace)
        before = await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace), await helm.secrets()

        rendered = await helm.engine.dry_run(
            DryRunRequest(
                name="hello",
                namespace=helm.namespace,
                chart=full_chart,
                values={"name": "hello"},
                upgrade=upgrade,
                take_ownership=True,
                chart_name="hello",
            )
        )

        assert (
            _kinds(rendered.manifest) == ["ConfigMap", "Deployment"]
            if upgrade
            else [
                "ConfigMap",
                "CustomResourceDefinition",
                "Deployment",
            ]
        )
        assert _kinds(rendered.hooks) == ["Pod"]
        assert (await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace), await helm.secrets()) == before

    async def test_labels_come_with_the_objects_and_are_stored(self, helm: HelmSubject) -> None:
        """helm passes what it has rendered to its post-renderer, and applies and stores what comes back."""
        request = helm.request(object_metadata=LABELLED)
        installed = await helm.engine.install(request)
        upgraded = await helm.engine.upgrade(replace(request, labels={"xapp-operator.io/attempt": "2"}))

        for result in (installed, upgraded):
            assert result.labelled
            rendered = [each for each in yaml.safe_load_all(result.manifest) if each]
            assert [each["metadata"]["labels"]["xapp-operator.io/xapp"] for each in rendered] == ["hello", "hello"]
        found = await helm.kube.get(CONFIGMAPS, "hello", namespace=helm.namespace)
        assert obj(obj(found, "metadata"), "labels")["xapp-operator.io/xapp"] == "hello"
        records = [decode_release(each) for each in await helm.secrets()]
        assert [each.manifest.strip() for each in records] == [installed.manifest.strip(), upgraded.manifest.strip()]
