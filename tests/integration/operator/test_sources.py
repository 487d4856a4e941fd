"""Chart sources: an HTTP repository with its failures, and errors that only the operator can detect."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive, chart_archive_of_size, tar_gz
from tests.support.workload import FILES, workload_chart
from tests.support.xapps import XAppClient
from xapp_operator.api.names import ANNOTATION_ORIGIN, REPOSITORY_CREDENTIALS_TYPE

pytestmark = pytest.mark.integration


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        for version in ("0.1.0", "0.2.0", "0.3.0"):
            server.add("workload", version, workload_chart(version=version))
        yield server


def test_chart_from_a_repository_becomes_ready_and_the_address_is_saved(xapps: XAppClient, charts: ChartServer) -> None:
    xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="workload", version="0.2.0"))
    assert xapps.wait_ready("hello")["release"]["chartVersion"] == "0.2.0"
    saved = xapps.get("chartrepository", "charts")
    assert saved is not None
    assert saved["spec"]["url"] == charts.url
    xapps.wait_until(
        lambda: (xapps.get("chartrepository", "charts") or {}).get("status", {}).get("charts") == 1,
        what="the repository to know its charts",
    )


def test_range_selects_the_newest_matching_version(xapps: XAppClient, charts: ChartServer) -> None:
    xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="workload", chartVersion=">=0.1 <0.3"))
    assert xapps.wait_ready("hello")["release"]["chartVersion"] == "0.2.0"


def test_two_xapps_with_one_chart_download_it_once(xapps: XAppClient) -> None:
    with ChartServer() as charts:
        charts.add("single", "0.1.0", workload_chart(name="single", onlyhere="a: b"))
        for name in ("one", "two", "three"):
            xapps.apply(xapps.remote_manifest(name, url=charts.url, chart="single"))
        for name in ("one", "two", "three"):
            xapps.wait_ready(name)
        assert charts.requests["/single-0.1.0.tgz"] == 1
        assert charts.requests["/index.yaml"] == 1


def test_delete_succeeds_when_the_chart_source_is_gone(xapps: XAppClient) -> None:
    with ChartServer() as charts:
        charts.add("workload", "0.1.0", workload_chart())
        xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="workload"))
        xapps.wait_ready("hello")
    xapps.kubectl("delete", "chartrepository", "charts")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.helm_releases() == {}


def test_missing_version_is_stalled_and_names_those_that_exist(xapps: XAppClient, charts: ChartServer) -> None:
    xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="workload", version="9.9.9"))
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "ChartPullFailed"
    for version in ("9.9.9", "0.1.0", "0.2.0", "0.3.0"):
        assert version in stalled["message"]
    ready = xapps.current_condition("hello", "Ready")
    assert ready is not None
    assert ready["status"] == "False"
    assert ready["message"] == stalled["message"]


@pytest.mark.parametrize("annotation", ["reconcile-at", "retry-at", "force-at"])
def test_a_request_ends_the_stall_when_the_index_has_a_new_version(
    xapps: XAppClient, charts: ChartServer, annotation: str
) -> None:
    xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="workload", version="0.4.0"))
    xapps.wait_stalled("hello")
    charts.add("workload", "0.4.0", workload_chart(version="0.4.0"))
    xapps.kubectl("annotate", "xapp/hello", f"xapp-operator.io/{annotation}=1")
    assert xapps.wait_ready("hello")["release"]["chartVersion"] == "0.4.0"


def test_reconcile_at_is_in_force_until_the_repository_answers(xapps: XAppClient, charts: ChartServer) -> None:
    manifest = xapps.remote_manifest("hello", url=charts.url, chart="workload", version="0.1.0")
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    charts.add("workload", "0.9.0", workload_chart(version="0.9.0"))
    manifest["spec"]["version"] = "0.9.0"
    manifest["metadata"]["annotations"] = {"xapp-operator.io/reconcile-at": "1"}
    with charts.dropping("/index.yaml"):
        before = charts.requests["/index.yaml"]
        xapps.apply(manifest)
        xapps.wait_until(lambda: charts.requests["/index.yaml"] >= before + 3, what="more tries", xapp="hello")
        assert xapps.current_condition("hello", "Stalled") is None
    xapps.wait_ready("hello")
    assert xapps.status("hello")["handled"]["reconcileAt"] == "1"


def test_missing_chart_is_stalled(xapps: XAppClient, charts: ChartServer) -> None:
    xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="nothing"))
    assert "nothing" in xapps.wait_stalled("hello")["message"]


def test_repository_that_does_not_answer_is_tried_again(xapps: XAppClient) -> None:
    with ChartServer() as charts:
        url = charts.url
    xapps.apply(xapps.remote_manifest("hello", url=url, chart="workload"))
    xapps.wait_until(
        lambda: (xapps.current_condition("hello", "Reconciling") or {}).get("reason") == "ChartPullFailed",
        what="the failure to show",
        xapp="hello",
    )
    assert xapps.current_condition("hello", "Stalled") is None


def test_refused_address_is_stalled(xapps: XAppClient) -> None:
    xapps.apply(xapps.remote_manifest("hello", url="http://169.254.169.254/charts", chart="workload"))
    assert "169.254.169.254" in xapps.wait_stalled("hello")["message"]


def test_repo_name_saved_with_another_url_is_stalled(xapps: XAppClient, charts: ChartServer) -> None:
    xapps.apply(xapps.remote_manifest("first", url=charts.url, chart="workload"))
    xapps.wait_ready("first")
    xapps.apply(xapps.remote_manifest("second", url=charts.url + "/other", chart="workload"))
    stalled = xapps.wait_stalled("second")
    assert charts.url in stalled["message"]
    assert "repoName" in stalled["message"]


def test_repository_with_credentials(xapps: XAppClient) -> None:
    with ChartServer(username="jane", password="s3cr3t-of-jane") as charts:
        charts.add("workload", "0.1.0", workload_chart())
        xapps.apply(xapps.remote_manifest("hello", url=charts.url, chart="workload"))
        xapps.wait_until(
            lambda: (xapps.current_condition("hello", "Ready") or {}).get("reason") == "ChartPullFailed",
            what="the refusal to show",
            xapp="hello",
        )
        xapps.kubectl(
            "create",
            "secret",
            "generic",
            "login",
            f"--type={REPOSITORY_CREDENTIALS_TYPE}",
            "--from-literal=username=jane",
            "--from-literal=password=s3cr3t-of-jane",
        )
        xapps.kubectl("annotate", "secret", "login", f"{ANNOTATION_ORIGIN}={charts.url}")
        patch = json.dumps({"spec": {"secretRef": {"name": "login"}, "allowPlainHTTP": True}})
        xapps.kubectl("patch", "chartrepository", "charts", "--type=merge", "-p", patch)
        xapps.wait_ready("hello")
        everything = xapps.kubectl("get", "xapps,chartrepositories,events", "-o", "json")
        assert "s3cr3t-of-jane" not in everything


def test_digest_that_does_not_match_is_stalled(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    manifest["spec"]["archive"]["digest"] = "sha256:" + "0" * 64
    xapps.apply(manifest)
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "ChartPullFailed"
    assert "digest" in stalled["message"]


def test_digest_that_is_changed_later_is_checked_too(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["archive"]["digest"] = "sha256:" + "0" * 64
    xapps.apply(manifest)
    assert "digest" in xapps.wait_stalled("hello")["message"]


def test_missing_archive_is_stalled_until_it_exists(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    name = manifest["spec"]["archive"]["chartArchiveRef"]["name"]
    xapps.kubectl("delete", "chartarchive", name)
    xapps.apply(manifest)
    assert name in xapps.wait_stalled("hello")["message"]
    xapps.uploaded_manifest("hello", workload_chart())
    xapps.wait_ready("hello")


def test_a_deployed_xapp_says_that_its_archive_is_gone_and_what_to_do(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    name = manifest["spec"]["archive"]["chartArchiveRef"]["name"]
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "chartarchive", name)

    def ready_message() -> str:
        condition = xapps.current_condition("hello", "Ready")
        assert condition is not None
        assert condition["status"] == "True", "the release does not need its archive"
        message: str = condition["message"]
        return message

    xapps.wait_until(lambda: f"ChartArchive {name}" in ready_message(), what="the message", xapp="hello")
    assert "Upload the chart again" in ready_message()
    xapps.uploaded_manifest("hello", workload_chart())
    xapps.wait_until(lambda: name not in ready_message(), what="the message to be as before", xapp="hello")
    assert xapps.status("hello")["release"]["revision"] == 1


def test_an_archive_of_exactly_1_mib_is_installed(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", chart_archive_of_size(1024 * 1024)))
    assert xapps.wait_ready("hello")["release"]["revision"] == 1


def test_a_chart_in_a_secret_of_an_earlier_version_is_used_and_not_written(xapps: XAppClient) -> None:
    manifest = xapps.secret_manifest("hello", workload_chart())
    secret = manifest["spec"]["archive"]["secretRef"]["name"]
    before = xapps.get("secret", secret)
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    manifest["spec"]["values"] = {"greeting": "again"}
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["revision"] == 2
    assert xapps.get("secret", secret) == before


BAD_ARCHIVES = {
    "empty": (b"", "empty"),
    "not gzip": (b"hello", "gzip"),
    "library chart": (
        tar_gz({"lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 0.1.0\ntype: library\n"}),
        "library",
    ),
    "template that does not parse": (chart_archive({"templates/x.yaml": "{{ if }}"}), "x.yaml"),
}


@pytest.mark.parametrize("case", sorted(BAD_ARCHIVES))
def test_bad_archive_is_stalled_with_the_reason(xapps: XAppClient, case: str) -> None:
    archive, word = BAD_ARCHIVES[case]
    xapps.apply(xapps.secret_manifest("hello", archive))
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] in ("ChartInvalid", "ChartPullFailed")
    assert word in stalled["message"]
    assert xapps.helm_releases() == {}


def test_values_that_violate_the_schema_are_stalled_until_fixed(xapps: XAppClient) -> None:
    schema = json.dumps({"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 3}}})
    archive = chart_archive({**FILES, "values.schema.json": schema}, name="workload")
    manifest = xapps.uploaded_manifest("hello", archive, values={"replicas": 7})
    xapps.apply(manifest)
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "ValuesInvalid"
    assert "replicas" in stalled["message"]
    manifest["spec"]["values"] = {"replicas": 2}
    xapps.apply(manifest)
    xapps.wait_ready("hello")


def test_values_from_secrets_and_configmaps_are_merged_and_watched(xapps: XAppClient) -> None:
    xapps.kubectl("create", "configmap", "base", "--from-literal=values.yaml=greeting: base\nextra: {a: base, b: base}")
    xapps.kubectl("create", "secret", "generic", "top", "--from-literal=my.yaml=extra: {b: top, c: 010}")
    manifest = xapps.uploaded_manifest(
        "hello",
        workload_chart(),
        values={"extra": {"d": "own"}},
        valuesFrom=[
            {"kind": "ConfigMap", "name": "base"},
            {"kind": "Secret", "name": "top", "key": "my.yaml"},
            {"kind": "Secret", "name": "none", "optional": True},
        ],
    )
    xapps.apply(manifest)
    xapps.wait_ready("hello")
    found = xapps.get("configmap", "hello")
    assert found is not None
    assert {key: found["data"][key] for key in ("greeting", "a", "b", "c", "d")} == {
        "greeting": "base",
        "a": "base",
        "b": "top",
        "c": "8",
        "d": "own",
    }
    patch = json.dumps({"data": {"values.yaml": "greeting: changed"}})
    xapps.kubectl("patch", "configmap", "base", "--type=merge", "-p", patch)
    xapps.wait_until(
        lambda: (xapps.get("configmap", "hello") or {"data": {}})["data"].get("greeting") == "changed",
        what="the change of the ConfigMap to reach the release",
        xapp="hello",
    )


def test_missing_values_object_is_stalled_until_it_exists(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(), valuesFrom=[{"kind": "Secret", "name": "later"}]))
    stalled = xapps.wait_stalled("hello")
    assert stalled["reason"] == "ValuesInvalid"
    assert "later" in stalled["message"]
    xapps.kubectl("create", "secret", "generic", "later", "--from-literal=values.yaml=greeting: late")
    xapps.wait_ready("hello")


def test_cluster_address_is_set_where_the_chart_declares_it(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    found = xapps.get("configmap", "hello")
    assert found is not None
    addresses = xapps.kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.addresses[*].address}").split()
    assert found["data"]["kubeIp"] in addresses
