"""The samples name the repository, the versions and the image that `make run` provides."""

from pathlib import Path

import yaml

from tests.localrun.image import IMAGE
from tests.localrun.samples import APPLIED_XAPP, NAMESPACE, REAL_NODE_VALUES, UPLOADED_XAPP, Samples

FOLDER = Path(__file__).parents[3] / "manifests" / "samples"


def test_the_manifest_names_the_repository_that_was_started() -> None:
    manifest = yaml.safe_load(Samples.read(FOLDER).manifest_for("http://127.0.0.1:40000"))
    assert manifest["spec"]["url"] == "http://127.0.0.1:40000"
    assert manifest["metadata"] == {"name": APPLIED_XAPP, "namespace": NAMESPACE}


def test_form_and_manifest_request_the_version_of_the_chart() -> None:
    samples = Samples.read(FOLDER)
    form = yaml.safe_load(samples.form)
    assert form["version"] == samples.hello_world.version
    assert "-".join(form[part] for part in ("organization", "team", "xAppName")) == UPLOADED_XAPP
    assert yaml.safe_load(samples.manifest)["spec"]["version"] == samples.kpi_store.version


def test_both_samples_get_the_same_extra_values_on_the_real_node() -> None:
    plain, real = Samples.read(FOLDER), Samples.read(FOLDER).on_real_node()
    real_node_values = dict(REAL_NODE_VALUES)
    assert yaml.safe_load(real.values) == {**yaml.safe_load(plain.values), **real_node_values}
    before, after = (yaml.safe_load(each.manifest)["spec"] for each in (plain, real))
    assert after == {**before, "values": {**before["values"], **real_node_values}}


def test_the_charts_name_the_image_that_is_built_for_them() -> None:
    for chart in Samples.read(FOLDER).charts:
        image = yaml.safe_load((FOLDER / "charts" / chart.name / "values.yaml").read_text())["image"]
        assert f"{image['repository']}:{image['tag']}" == IMAGE == f"{image['repository']}:{chart.app_version}"
