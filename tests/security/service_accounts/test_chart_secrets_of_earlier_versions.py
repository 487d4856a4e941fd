"""An XApp of an earlier version, whose chart is in a Secret, goes on with the rights of this version."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.support.charts import chart_archive
from tests.support.operator import OperatorProcess
from tests.support.xapps import Json, XAppClient

pytestmark = pytest.mark.integration

ARCHIVE = chart_archive()
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()
SECRET = f"chart-{DIGEST[:16]}"


def deploy_as_earlier_versions(xapps: XAppClient) -> Json:
    """Write XApp and Secret as the earlier gateway did, and the owner as the earlier operator did."""
    manifest = xapps.secret_manifest("hello", ARCHIVE)
    manifest["spec"]["archive"]["digest"] = f"sha256:{DIGEST}"
    xapps.apply(manifest)
    xapp = xapps.get("xapp", "hello")
    assert xapp is not None
    owner = {"apiVersion": xapp["apiVersion"], "kind": "XApp", "name": "hello", "uid": xapp["metadata"]["uid"]}
    xapps.kubectl(
        "patch", "secret", SECRET, "--type=merge", "-p", json.dumps({"metadata": {"ownerReferences": [owner]}})
    )
    return manifest


def test_it_stays_ready_takes_new_values_and_is_deleted(
    xapps: XAppClient, prepared: str, operator: OperatorProcess
) -> None:
    assert prepared == xapps.namespace
    manifest = deploy_as_earlier_versions(xapps)
    before = xapps.wait_ready("hello")["release"]

    operator.stop()
    operator.start()
    xapps.apply(manifest | {"metadata": manifest["metadata"] | {"annotations": {"xapp-operator.io/reconcile-at": "1"}}})
    xapps.wait_until(
        lambda: xapps.status("hello").get("handled", {}).get("reconcileAt") == "1", what="a look at it", xapp="hello"
    )
    assert xapps.wait_ready("hello")["release"] == before

    manifest["spec"]["values"] = {"greeting": "of this version"}
    xapps.apply(manifest)
    after = xapps.wait_ready("hello")["release"]
    assert (after["revision"], after["chartDigest"]) == (before["revision"] + 1, before["chartDigest"])
    secret = xapps.get("secret", SECRET)
    assert secret is not None
    assert [each["name"] for each in secret["metadata"]["ownerReferences"]] == ["hello"]

    xapps.kubectl("delete", "xapp", "hello", "--wait=false")
    xapps.wait_gone("xapp", "hello")
    assert xapps.names("secrets", "owner=helm") == []
    xapps.wait_gone("secret", SECRET)
