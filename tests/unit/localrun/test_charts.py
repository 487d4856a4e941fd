"""Sample charts are packed reproducibly, and listed in the index."""

import hashlib
import io
import tarfile
from pathlib import Path

import yaml

from tests.localrun.charts import pack_chart, repository_index

CHARTS = Path(__file__).parents[3] / "manifests" / "samples" / "charts"


def test_the_same_folder_gives_the_same_bytes() -> None:
    assert pack_chart(CHARTS / "hello-world").data == pack_chart(CHARTS / "hello-world").data


def test_an_archive_holds_the_chart_in_a_folder_of_its_name() -> None:
    with tarfile.open(fileobj=io.BytesIO(pack_chart(CHARTS / "kpi-store").data)) as archive:
        names = set(archive.getnames())
    assert {"kpi-store/Chart.yaml", "kpi-store/values.schema.json", "kpi-store/templates/statefulset.yaml"} <= names
    assert all(name.startswith("kpi-store/") for name in names)
    assert "kpi-store/.helmignore" not in names


def test_the_index_has_the_digest_and_the_url_of_the_archive() -> None:
    chart = pack_chart(CHARTS / "hello-world")
    (entry,) = yaml.safe_load(repository_index([chart]))["entries"]["hello-world"]
    assert entry["digest"] == hashlib.sha256(chart.data).hexdigest()
    assert entry["urls"] == ["hello-world-0.2.1.tgz"]
    assert entry["version"] == "0.2.1"
