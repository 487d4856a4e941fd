"""Charts with unusual objects: in other namespaces, expiring Jobs, removed kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.charts import chart_archive
from tests.support.workload import DEPLOYMENT, VALUES, workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Release.Name }}"}
spec:
  ttlSecondsAfterFinished: 1
  template:
    metadata: {annotations: {xapp-operator.io/test-complete-after: 1s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example.com/main:1}]}
"""
SERVICE_ELSEWHERE = """\
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Values.elsewhere }}"}
spec: {ports: [{port: 80}]}
"""


@pytest.fixture
def elsewhere(xapps: XAppClient) -> Iterator[str]:
    name = f"{xapps.namespace[:50]}-else"
    xapps.cluster.kubectl("create", "namespace", name)
    yield name
    xapps.cluster.kubectl("delete", "namespace", name, "--wait=false")


def test_job_that_expires_after_its_work_leaves_the_xapp_ready(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", chart_archive({"templates/job.yaml": JOB})))
    xapps.wait_until(lambda: xapps.names("job") == ["hello"], what="the Job to be made")
    xapps.wait_gone("job", "hello")
    assert xapps.wait_ready("hello")["resources"] == {"total": 1, "ready": 1}


def test_objects_in_another_namespace_count_for_health(xapps: XAppClient, elsewhere: str) -> None:
    placed = DEPLOYMENT.replace("metadata:\n", "metadata:\n  namespace: {{ .Values.elsewhere }}\n", 1)
    archive = chart_archive(
        {"values.yaml": VALUES, "templates/deployment.yaml": placed, "templates/service.yaml": SERVICE_ELSEWHERE}
    )
    xapps.apply(xapps.uploaded_manifest("hello", archive, values={"elsewhere": elsewhere}))
    status = xapps.wait_ready("hello")
    assert status["resources"] == {"total": 2, "ready": 2}
    assert [service["name"] for service in status["services"]] == ["hello"]


def test_foreign_object_with_the_operators_labels_is_no_service_of_the_xapp(xapps: XAppClient, elsewhere: str) -> None:
    forged = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "forged",
            "namespace": elsewhere,
            "labels": {"xapp-operator.io/xapp": "hello"},
            "annotations": {"meta.helm.sh/release-name": "hello", "meta.helm.sh/release-namespace": xapps.namespace},
        },
        "spec": {"ports": [{"port": 80}]},
    }
    xapps.cluster.kubectl("apply", "-f", "-", input=json.dumps(forged))
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    assert [service["name"] for service in xapps.wait_ready("hello")["services"]] == ["hello"]


def test_chart_that_renders_nothing_any_more_has_no_objects(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    xapps.apply(xapps.uploaded_manifest("hello", chart_archive({}, version="0.2.0"), version="0.2.0"))
    status = xapps.wait_ready("hello")
    assert status["resources"] == {"total": 0, "ready": 0}
