"""The sample manifest is applied with the address at which the charts are really served."""

from pathlib import Path

import yaml

from tests.localrun.samples import APPLIED, NAMESPACE, UPLOADED, Samples

FOLDER = Path(__file__).parents[3] / "manifests" / "samples"


def test_the_manifest_names_the_repository_that_was_started() -> None:
    manifest = yaml.safe_load(Samples.read(FOLDER).manifest_for("http://127.0.0.1:40000"))
    assert manifest["spec"]["url"] == "http://127.0.0.1:40000"
    assert manifest["metadata"] == {"name": APPLIED, "namespace": NAMESPACE}


def test_form_and_manifest_ask_for_the_version_that_the_chart_has() -> None:
    samples = Samples.read(FOLDER)
    form = yaml.safe_load(samples.form)
    assert form["version"] == samples.hello_world.version
    assert "-".join(form[part] for part in ("organization", "team", "xAppName")) == UPLOADED
    assert yaml.safe_load(samples.manifest)["spec"]["version"] == samples.kpi_store.version
