"""A deletion that is changed to leave the release, and objects that an uninstall leaves, with the real helm."""

from __future__ import annotations

import json

import pytest

from tests.integration.operator.test_release_states import change_spec, deploy, failing_hook, records, uid
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

HANGING_HOOK = failing_hook("pre-delete").replace("  activeDeadlineSeconds: 1\n", "")


def test_a_release_stays_whole_when_the_deletion_that_hangs_in_a_hook_is_changed(xapps: XAppClient) -> None:
    chart = workload_chart(templates__hook=HANGING_HOOK)
    deploy(xapps, chart, timeout="10m", values={"failAt": "pre-delete"})
    before = uid(xapps, "deployment"), uid(xapps, "configmap")
    xapps.kubectl("delete", "xapp", "hello", "--wait=false")
    xapps.wait_until(lambda: xapps.get("job", "hello-hook") is not None, what="the hook", xapp="hello")
    assert records(xapps) == {1: "uninstalling"}
    change_spec(xapps, deletionPolicy="Orphan")
    xapps.wait_gone("xapp", "hello")
    assert records(xapps) == {1: "deployed"}
    assert "Restored" in xapps.event_reasons()
    deploy(xapps, chart, timeout="10m", values={"failAt": "pre-delete"})
    assert (uid(xapps, "deployment"), uid(xapps, "configmap")) == before
    assert records(xapps) == {1: "deployed"}


def test_an_object_whose_label_was_changed_stays_and_is_named(xapps: XAppClient) -> None:
    deploy(xapps)
    xapps.kubectl("label", "configmap", "hello", "app.kubernetes.io/managed-by=me", "--overwrite")
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert (records(xapps), uid(xapps, "deployment")) == ({}, None)
    assert uid(xapps, "configmap") is not None
    events = json.loads(xapps.kubectl("get", "events", "--field-selector=reason=LeftBehind", "-o", "json"))["items"]
    (message,) = (each["message"] for each in events)
    assert message.endswith(": ConfigMap/hello")
