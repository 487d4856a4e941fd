"""A policy of the cluster refuses the finalizer for a while: that is told, and everything goes on when it is gone."""

from __future__ import annotations

import pytest

from tests.support.finalizer_refusal import refused_finalizers
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient
from xapp_operator.api.names import FINALIZER

pytestmark = pytest.mark.integration

MESSAGE = "not now, with hunter2"


def test_a_refused_finalizer_is_told_and_written_when_it_is_allowed(xapps: XAppClient) -> None:
    with refused_finalizers(xapps.cluster, xapps.namespace, 422, message=MESSAGE):
        xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
        added = xapps.wait_stalled("hello")
        assert xapps.get("deployment", "hello") is None
    xapps.wait_ready("hello")

    with refused_finalizers(xapps.cluster, xapps.namespace, 422, message=MESSAGE):
        xapps.kubectl("delete", "xapp", "hello", "--wait=false")
        removed = xapps.wait_stalled("hello")
        assert xapps.get("deployment", "hello") is None
    xapps.wait_gone("xapp", "hello")

    assert (added["reason"], removed["reason"]) == ("InstallFailed", "UninstallFailed")
    assert f"the finalizer {FINALIZER} cannot be added, without which nothing is deployed: " in added["message"]
    assert f"the finalizer {FINALIZER} cannot be removed, although the release is gone: " in removed["message"]
    for condition in (added, removed):
        assert "ValidatingAdmissionPolicy" in condition["message"]
        assert "hunter2" not in condition["message"]
