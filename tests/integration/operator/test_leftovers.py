"""Objects that helm leaves when a revision fails, with the real helm: the operator deletes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.charts import chart_archive
from tests.support.refusable_job import JOB, REFUSED
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-{{ .Values.tag }}"}
"""
ARCHIVE = chart_archive({"values.yaml": "completions: 1", "templates/a.yaml": CONFIGMAP, "templates/b.yaml": JOB})


def _deploy(xapps: XAppClient, tag: str, *, completions: int = 1, **spec: Any) -> None:
    values = {"tag": tag, "completions": completions}
    xapps.apply(xapps.uploaded_manifest("hello", ARCHIVE, values=values, upgrade={"onFailure": "none"}, **spec))


def _configmaps(xapps: XAppClient) -> list[str]:
    return [each for each in xapps.names("configmaps") if each.startswith("hello-")]


def _fail_to_upgrade(xapps: XAppClient) -> None:
    _deploy(xapps, "one")
    xapps.wait_ready("hello")
    _deploy(xapps, "two", completions=REFUSED)
    xapps.wait_stalled("hello")
    assert _configmaps(xapps) == ["hello-one", "hello-two"]


def test_the_next_upgrade_takes_what_the_failed_one_has_created(xapps: XAppClient) -> None:
    _fail_to_upgrade(xapps)
    _deploy(xapps, "three")
    xapps.wait_ready("hello")
    xapps.wait_until(lambda: _configmaps(xapps) == ["hello-three"], what="hello-two to be gone")
    xapps.wait_until(lambda: "LeftoversDeleted" in xapps.event_reasons(), what="the event")


def test_a_rollback_takes_what_the_revision_before_the_failed_one_had(xapps: XAppClient) -> None:
    """helm compares its target with the failed revision only. That one is beyond maxHistory after it."""
    for tag in ("one", "two"):
        _deploy(xapps, tag, maxHistory=3)
        xapps.wait_ready("hello")
    _deploy(xapps, "three", completions=REFUSED, maxHistory=3)
    xapps.wait_stalled("hello")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/rollback-to=1")
    xapps.wait_until(lambda: _configmaps(xapps) == ["hello-one"], what="hello-two to be gone")
    xapps.wait_until(lambda: _revisions(xapps) == [1, 2, 4], what="the failed revision to be gone")


def _revisions(xapps: XAppClient) -> list[int]:
    listed = xapps.kubectl("get", "secrets", "-l", "owner=helm", "-o", "jsonpath={.items[*].metadata.labels.version}")
    return sorted(map(int, listed.split()))


def test_a_deletion_takes_the_objects_of_all_revisions(xapps: XAppClient) -> None:
    _fail_to_upgrade(xapps)
    xapps.kubectl("delete", "xapp", "hello", "--wait=false")
    xapps.wait_gone("xapp", "hello")
    assert _configmaps(xapps) == []
