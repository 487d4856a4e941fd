"""An invalid manifest fails at `kubectl apply`, with a message that names the field and the rule."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.localcluster import Cluster
from tests.localcluster.access import KubectlFailed
from tests.localrun.cluster_setup import install_crds

pytestmark = pytest.mark.integration

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module", autouse=True)
def crds(cluster: Cluster) -> None:
    install_crds(cluster)


@pytest.fixture(scope="module")
def rules_namespace(cluster: Cluster) -> Iterator[str]:
    cluster.kubectl("create", "namespace", "crd-rules")
    yield "crd-rules"
    cluster.kubectl("delete", "namespace", "crd-rules", "--wait=false")


@pytest.fixture
def remote(rules_namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "XApp",
        "metadata": {"name": "acme-ran-hello", "namespace": rules_namespace},
        "spec": {
            "xAppName": "hello",
            "organization": "acme",
            "team": "ran",
            "version": "0.2.1",
            "owner": "jane",
            "method": "Remote Chart Repository",
            "namespace": rules_namespace,
            "chartName": "hello",
            "url": "https://charts.example.com",
            "repoName": "acme",
        },
    }


def _apply(cluster: Cluster, manifest: dict[str, Any], *arguments: str) -> str:
    return cluster.kubectl("apply", "--server-side", *arguments, "-f", "-", input=json.dumps(manifest))


def _use_upload_method(manifest: dict[str, Any]) -> None:
    spec = manifest["spec"]
    spec["method"] = "Upload Chart"
    for name in ("chartName", "url", "repoName"):
        del spec[name]
    spec["archive"] = {"secretRef": {"name": "chart-0123456789abcdef", "key": "chart.tgz"}}


def _with_spec(**values: Any) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        for name, value in values.items():
            if value is None:
                del manifest["spec"][name]
            else:
                manifest["spec"][name] = value

    return change


def _all_of(*changes: Change) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        for each in changes:
            each(manifest)

    return change


def _with_name(name: str) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        manifest["metadata"]["name"] = name

    return change


REFUSED: dict[str, tuple[Change, tuple[str, ...]]] = {
    "required field missing": (_with_spec(owner=None), ("spec.owner", "Required")),
    "unknown method": (
        _with_spec(method="Git"),
        ("spec.method", "Remote Chart Repository", "Upload Chart"),
    ),
    "version with letters": (_with_spec(version="v1.2"), ("spec.version", "dotted numeric", "0.2.1")),
    "version as a number": (_with_spec(version=1.0), ("spec.version", "string")),
    "remote without chartName": (_with_spec(chartName=None), ("spec.chartName", "required with method", "archive")),
    "remote without url": (_with_spec(url=None), ("spec.url", "required with method")),
    "remote without repoName": (_with_spec(repoName=None), ("spec.repoName", "required with method")),
    "remote with archive": (
        _with_spec(archive={"secretRef": {"name": "a", "key": "b"}}),
        ("spec.archive", "forbidden with method", "remove it"),
    ),
    "upload with chartName": (
        _all_of(_use_upload_method, _with_spec(chartName="x")),
        ("spec.chartName", "forbidden with method"),
    ),
    "upload with url": (
        _all_of(_use_upload_method, _with_spec(url="https://x.example")),
        ("spec.url", "forbidden with method"),
    ),
    "upload with repoName": (
        _all_of(_use_upload_method, _with_spec(repoName="x")),
        ("spec.repoName", "forbidden with method"),
    ),
    "upload without archive": (
        _all_of(_use_upload_method, _with_spec(archive=None)),
        ("spec.archive", "required with method"),
    ),
    "archive in two places": (
        _all_of(
            _use_upload_method,
            _with_spec(archive={"secretRef": {"name": "a", "key": "b"}, "configMapRef": {"name": "a", "key": "b"}}),
        ),
        ("spec.archive", "exactly one of chartArchiveRef, secretRef and configMapRef"),
    ),
    "archive in a chart archive and a Secret": (
        _all_of(
            _use_upload_method,
            _with_spec(archive={"secretRef": {"name": "a", "key": "b"}, "chartArchiveRef": {"name": "a"}}),
        ),
        ("spec.archive", "exactly one of chartArchiveRef"),
    ),
    "archive nowhere": (_all_of(_use_upload_method, _with_spec(archive={})), ("spec.archive", "exactly one")),
    "digest that is none": (
        _all_of(_use_upload_method, _with_spec(archive={"secretRef": {"name": "a", "key": "b"}, "digest": "md5:1"})),
        ("spec.archive.digest", "sha256:"),
    ),
    "url without scheme": (_with_spec(url="charts.example.com"), ("spec.url", "http://", "oci://")),
    "url of another scheme": (_with_spec(url="ftp://charts.example.com"), ("spec.url", "http://")),
    "url with credentials": (_with_spec(url="https://me:secret@charts.example.com"), ("spec.url", "credentials")),
    "url with a space": (_with_spec(url="http://exa mple.com"), ("spec.url", "no spaces")),
    "url with a port out of range": (_with_spec(url="http://localhost:99999"), ("spec.url", "65535")),
    "url with a broken address": (_with_spec(url="http://[::1"), ("spec.url", "must be a URL")),
    "repoName that is no name": (_with_spec(repoName="My Repo"), ("spec.repoName", "lower-case")),
    "identity without letters": (_with_spec(organization="---"), ("spec.organization", "letter or digit")),
    "namespace of another": (_with_spec(namespace="default"), ("is default", "is in crd-rules", "make the two equal")),
    "name over 63": (_with_name("a" * 64), ("metadata.name", "63")),
    "name over 53 without releaseName": (_with_name("a" * 54), ("metadata.name", "53", "spec.releaseName")),
    "releaseName over 53": (_with_spec(releaseName="a" * 54), ("spec.releaseName", "53")),
    "releaseName that is none": (_with_spec(releaseName="No_Name"), ("spec.releaseName", "Helm release name")),
    "timeout that is none": (_with_spec(timeout="5 minutes"), ("spec.timeout", "1s and 24h")),
    "timeout of nothing": (_with_spec(timeout="0s"), ("spec.timeout", "1s and 24h")),
    "timeout of days": (_with_spec(timeout="25h"), ("spec.timeout", "1s and 24h")),
    "history of none": (_with_spec(maxHistory=0), ("spec.maxHistory", "1")),
    "valuesFrom of another kind": (_with_spec(valuesFrom=[{"kind": "Pod", "name": "x"}]), ("spec.valuesFrom[0].kind",)),
    "drift mode unknown": (_with_spec(driftDetection={"mode": "fix"}), ("spec.driftDetection.mode", "enabled")),
    "deletion policy unknown": (_with_spec(deletionPolicy="Keep"), ("spec.deletionPolicy", "Orphan")),
    "remedy unknown": (_with_spec(upgrade={"onFailure": "retry"}), ("spec.upgrade.onFailure", "rollback")),
    "misspelt field": (_with_spec(chartname="x"), ("chartname",)),
    "values that are a list": (_with_spec(values=[1]), ("spec.values", "object")),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_bad_manifest_is_refused_with_field_and_rule(cluster: Cluster, remote: dict[str, Any], case: str) -> None:
    change, words = REFUSED[case]
    change(remote)
    with pytest.raises(KubectlFailed) as refusal:
        _apply(cluster, remote, "--dry-run=server")
    for word in words:
        assert word in str(refusal.value)


ACCEPTED: dict[str, Change] = {
    "remote": _with_spec(),
    "upload": _use_upload_method,
    "upload with a chart archive": _all_of(_use_upload_method, _with_spec(archive={"chartArchiveRef": {"name": "a"}})),
    "address with brackets": _with_spec(url="http://[::1]:8080/charts"),
    "oci": _with_spec(url="oci://registry.example.com/charts"),
    "range": _with_spec(chartVersion=">=0.2 <1"),
    "name of 63 with releaseName": _all_of(_with_name("a" * 63), _with_spec(releaseName="short")),
    "name of 53": _with_name("a" * 53),
    "values of any shape": _with_spec(values={"a": [1, {"b": None}], "c": "x"}),
    "long timeout": _with_spec(timeout="1h30m"),
}


@pytest.mark.parametrize("case", sorted(ACCEPTED))
def test_good_manifest_is_accepted(cluster: Cluster, remote: dict[str, Any], case: str) -> None:
    ACCEPTED[case](remote)
    _apply(cluster, remote, "--dry-run=server")


@pytest.fixture
def applied(cluster: Cluster, remote: dict[str, Any]) -> Iterator[dict[str, Any]]:
    _apply(cluster, remote)
    yield remote
    cluster.kubectl("delete", "xapp", "--all", "-n", remote["metadata"]["namespace"])


IMMUTABLE: dict[str, Change] = {
    "spec.xAppName": _with_spec(xAppName="other"),
    "spec.organization": _with_spec(organization="other"),
    "spec.team": _with_spec(team="other"),
    "spec.releaseName": _with_spec(releaseName="other"),
}


@pytest.mark.parametrize("field", sorted(IMMUTABLE))
def test_identity_cannot_be_changed(cluster: Cluster, applied: dict[str, Any], field: str) -> None:
    changed = copy.deepcopy(applied)
    IMMUTABLE[field](changed)
    with pytest.raises(KubectlFailed) as refusal:
        _apply(cluster, changed, "--dry-run=server")
    assert field in str(refusal.value)
    assert "create a new XApp" in str(refusal.value)


def test_release_name_may_be_set_to_the_effective_name(cluster: Cluster, applied: dict[str, Any]) -> None:
    applied["spec"]["releaseName"] = applied["metadata"]["name"]
    _apply(cluster, applied, "--dry-run=server")


def test_status_starts_with_nothing_observed(cluster: Cluster, applied: dict[str, Any]) -> None:
    namespace, name = applied["metadata"]["namespace"], applied["metadata"]["name"]
    stored = json.loads(cluster.kubectl("get", "xapp", name, "-n", namespace, "-o", "json"))
    assert stored["status"] == {"observedGeneration": -1}


def test_kubectl_explain_describes_the_fields(cluster: Cluster) -> None:
    assert "Upload Chart" in cluster.kubectl("explain", "xapp.spec.method")
    assert "sha256" in cluster.kubectl("explain", "xa.spec.archive.digest")
    assert "oci://" in cluster.kubectl("explain", "chartrepo.spec.url")


def test_listing_shows_the_columns(cluster: Cluster, applied: dict[str, Any]) -> None:
    namespace = applied["metadata"]["namespace"]
    assert cluster.kubectl("get", "xa", "-n", namespace).split("\n")[0].split() == [
        *("NAME", "XAPP", "VERSION", "READY", "PHASE", "HEALTH", "REVISION", "AGE")
    ]
    wide = cluster.kubectl("get", "all", "-n", namespace, "-o", "wide")
    assert "xapp.xapp-operator.io/acme-ran-hello" in wide
    assert wide.split("\n")[0].split()[-3:] == ["NAMESPACE", "CHART", "MESSAGE"]
