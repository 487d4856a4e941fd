"""An XApp with `adopt: true` renders an object of another XApp, of a kind that the operator may not watch."""

from __future__ import annotations

import pytest

from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

SHARED = """\
apiVersion: v1
kind: ReplicationController
metadata: {name: shared}
spec:
  replicas: 0
  selector: {app: shared}
  template:
    metadata: {labels: {app: shared}}
    spec: {containers: [{name: main, image: registry.invalid/main}]}
"""
LOOKUP = '{{- $_ := required "no account" (lookup "v1" "ServiceAccount" .Release.Namespace "default") }}\n'


@pytest.mark.parametrize("lookup", ["", LOOKUP], ids=["without the cluster", "with the cluster"])
def test_it_is_left_to_its_xapp(xapps: XAppClient, prepared: str, lookup: str) -> None:
    archive = chart_archive({"templates/shared.yaml": lookup + SHARED})
    account = f"system:serviceaccount:{prepared}:xapp-deployer"
    assert xapps.kubectl("auth", "can-i", "update", "replicationcontrollers", f"--as={account}").strip() == "yes"
    xapps.apply(xapps.uploaded_manifest("hello", archive))
    xapps.wait_ready("hello")
    xapps.apply(xapps.uploaded_manifest("other", archive, adopt=True))
    message = xapps.wait_stalled("other")["message"]
    assert message.startswith("ReplicationController shared belongs to the XApp hello, and adopt takes over nothing")
    shared = xapps.get("replicationcontroller", "shared")
    assert shared is not None
    assert shared["metadata"]["annotations"]["meta.helm.sh/release-name"] == "hello"
