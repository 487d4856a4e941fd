"""A policy of the cluster gives new XApps the finalizer, so that the operator need not write it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from tests.localcluster.access import KubectlFailed
from tests.localcluster.cluster import ROOT
from tests.support.workload import workload_chart
from tests.support.xapps import Json, XAppClient
from xapp_operator.api.names import FINALIZER

pytestmark = pytest.mark.integration

POLICY = ROOT / "manifests" / "components" / "finalizer-policy" / "finalizer-policy.yaml"


@pytest.fixture
def policy(xapps: XAppClient) -> Iterator[None]:
    """Put the policy in force for the namespace of the test."""
    objects = list(yaml.safe_load_all(POLICY.read_text()))
    for each in objects:
        each["metadata"]["name"] += f".{xapps.namespace}"
    policy, binding = objects
    policy["spec"]["matchConstraints"]["namespaceSelector"] = {
        "matchLabels": {"kubernetes.io/metadata.name": xapps.namespace}
    }
    binding["spec"]["policyName"] = policy["metadata"]["name"]
    text = yaml.safe_dump_all(objects)
    xapps.kubectl("apply", "-f", "-", input=text)
    try:
        probe = xapps.uploaded_manifest("probe", workload_chart())
        xapps.wait_until(lambda: _is_in_force(xapps, probe), what="the policy to be in force")
        yield
    finally:
        xapps.kubectl("delete", "-f", "-", input=text)


def _is_in_force(xapps: XAppClient, probe: Json) -> bool:
    try:
        return _created(xapps, probe, "--dry-run=server") == [FINALIZER]
    except KubectlFailed:  # 503, up to 5 s after the definition of the kind was created
        return False


def _created(xapps: XAppClient, manifest: Json, *flags: str) -> list[str]:
    """Return the finalizers of an XApp as the API server answers its creation."""
    answer = json.loads(xapps.kubectl("create", "-f", "-", "-o", "json", *flags, input=json.dumps(manifest)))
    finalizers: list[str] = answer["metadata"].get("finalizers", [])
    return finalizers


@pytest.mark.usefixtures("policy")
def test_a_new_xapp_has_the_finalizer_at_once(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    assert _created(xapps, manifest) == [FINALIZER]
    xapps.wait_ready("hello")
    xapps.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(manifest))
    found = json.loads(xapps.kubectl("get", "xapp", "hello", "-o", "json", "--show-managed-fields"))
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert "kopf" not in {each["manager"] for each in found["metadata"]["managedFields"]}
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert xapps.get("deployment", "hello") is None


@pytest.mark.usefixtures("policy")
def test_finalizers_of_others_stay(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    other = "example.com/kept"
    manifest["metadata"]["finalizers"] = [other]
    assert _created(xapps, manifest, "--dry-run=server") == [other, FINALIZER]
    manifest["metadata"]["finalizers"] = [FINALIZER, other]
    assert _created(xapps, manifest, "--dry-run=server") == [FINALIZER, other]
