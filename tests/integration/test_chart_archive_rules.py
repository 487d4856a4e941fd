"""The API server refuses an invalid or changed ChartArchive with a message that names the field and the rule."""

from __future__ import annotations

import base64
import copy
import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.localcluster import Cluster
from tests.localcluster.access import KubectlFailed
from tests.localrun.cluster_setup import install_crds
from tests.support.charts import chart_archive, chart_archive_manifest

pytestmark = pytest.mark.integration

MIB: Final = 1024 * 1024
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def rules_namespace(cluster: Cluster) -> Iterator[str]:
    install_crds(cluster)
    name = f"archive-rules-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def manifest(rules_namespace: str) -> dict[str, Any]:
    return chart_archive_manifest(chart_archive(), namespace=rules_namespace)


def _apply(cluster: Cluster, manifest: dict[str, Any], *arguments: str) -> str:
    return cluster.kubectl("apply", "--server-side", *arguments, "-f", "-", input=json.dumps(manifest))


def _with(**changes: Any) -> Change:
    """Return the change of fields: `chart__name` is `spec.chart.name`."""

    def change(manifest: dict[str, Any]) -> None:
        for path, value in changes.items():
            target = manifest["spec"]
            *parents, field = path.split("__")
            for parent in parents:
                target = target[parent]
            target[field] = value

    return change


def _with_name(name: str) -> Change:
    return lambda manifest: manifest["metadata"].update(name=name)


def _base64(size: int) -> str:
    return base64.b64encode(secrets.token_bytes(size)).decode()


REFUSED: dict[str, tuple[Change, tuple[str, ...]]] = {
    "no base64": (_with(archive="a\nb="), ("spec.archive", "must be base64")),
    "base64 for URLs": (_with(archive="-_-_"), ("spec.archive", "must be base64")),
    "one byte over 1 MiB": (_with(archive=_base64(MIB + 1)), ("spec.archive", "1048576 bytes")),
    "two bytes over 1 MiB": (_with(archive=_base64(MIB + 2)), ("spec.archive", "1048576 bytes")),
    "three bytes over 1 MiB": (_with(archive=_base64(MIB + 3)), ("spec.archive", "1398104")),
    "an empty archive": (_with(archive=""), ("spec.archive",)),
    "a digest that is none": (_with(digest="md5:1"), ("spec.digest", "sha256:")),
    "a chart without a name": (_with(chart__name=""), ("spec.chart.name",)),
    "a chart without a version": (_with(chart__version=None), ("spec.chart.version",)),
    "a description over 1,024 characters": (_with(chart__description="x" * 1025), ("spec.chart.description", "1024")),
    "a name that ends in .tgz": (_with_name("hello.tgz"), (".tgz, .prov or .yaml",)),
    "the name of the index": (_with_name("index.yaml"), (".tgz, .prov or .yaml",)),
    "the name of a provenance file": (_with_name("hello.tgz.prov"), (".tgz, .prov or .yaml",)),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_bad_archive_is_refused_with_field_and_rule(cluster: Cluster, manifest: dict[str, Any], case: str) -> None:
    change, words = REFUSED[case]
    change(manifest)
    with pytest.raises(KubectlFailed) as refusal:
        _apply(cluster, manifest, "--dry-run=server")
    for word in words:
        assert word in str(refusal.value)
    assert manifest["spec"]["archive"][:40] not in str(refusal.value) or len(manifest["spec"]["archive"]) < 40


@pytest.mark.parametrize("size", [MIB, MIB - 1, MIB - 2, 3])
def test_an_archive_up_to_1_mib_is_stored(cluster: Cluster, manifest: dict[str, Any], size: int) -> None:
    manifest["spec"]["archive"] = _base64(size)
    manifest["metadata"]["name"] = f"size-{size}"
    _apply(cluster, manifest)
    stored = cluster.kubectl("get", "xca", f"size-{size}", "-n", manifest["metadata"]["namespace"], "-o", "json")
    assert json.loads(stored)["spec"]["archive"] == manifest["spec"]["archive"]


CHANGES: dict[str, Change] = {
    "archive": _with(archive=_base64(3)),
    "digest": _with(digest=f"sha256:{'0' * 64}"),
    "chart": _with(chart__version="9.9.9"),
    "a further field": _with(chart__description="another"),
}


@pytest.mark.parametrize("case", sorted(CHANGES))
def test_the_spec_cannot_be_changed(cluster: Cluster, manifest: dict[str, Any], case: str) -> None:
    _apply(cluster, manifest)
    changed = copy.deepcopy(manifest)
    CHANGES[case](changed)
    with pytest.raises(KubectlFailed, match="cannot be changed: create another one"):
        _apply(cluster, changed)


def test_labels_annotations_and_owners_can_be_changed(cluster: Cluster, manifest: dict[str, Any]) -> None:
    _apply(cluster, manifest)
    name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
    cluster.kubectl("annotate", "xca", name, "-n", namespace, "xapp-operator.io/keep=true", "--overwrite")
    found = json.loads(cluster.kubectl("get", "xca", name, "-n", namespace, "-o", "json"))
    assert found["metadata"]["annotations"]["xapp-operator.io/keep"] == "true"


def test_listing_shows_chart_and_version(cluster: Cluster, manifest: dict[str, Any]) -> None:
    _apply(cluster, manifest)
    namespace = manifest["metadata"]["namespace"]
    chosen = ("-n", namespace, "-l", "xapp-operator.io/chart=hello,xapp-operator.io/chart-version=0.1.0")
    head, row, *_ = cluster.kubectl("get", "chartarchives", *chosen, "-o", "wide").splitlines()
    assert head.split() == ["NAME", "CHART", "VERSION", "APP", "VERSION", "AGE", "KEEP", "DIGEST"]
    assert row.split()[:3] == [manifest["metadata"]["name"], "hello", "0.1.0"]


def test_kubectl_explain_describes_the_fields(cluster: Cluster, rules_namespace: str) -> None:
    assert "at most 1 MiB" in cluster.kubectl("explain", "xca.spec.archive")
    assert "ChartArchive" in cluster.kubectl("explain", "xapp.spec.archive.chartArchiveRef")
