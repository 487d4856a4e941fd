"""What GitOps tools rely on: no difference once the operator has worked, and managers that keep to their own fields."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.localcluster import KubectlFailed
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

ARGUMENTS: Final = {
    "client-side": (),
    "server-side": ("--server-side", "--field-manager=gitops"),
}


def apply(xapps: XAppClient, manifest: dict[str, Any], manager: str) -> None:
    """Apply server-side as `manager`, which forces nothing."""
    xapps.kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", input=json.dumps(manifest))


def change(xapps: XAppClient, **spec: Any) -> dict[str, Any]:
    """Return a manifest with these fields of the spec only."""
    metadata = {"name": "hello", "namespace": xapps.namespace}
    return {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "XApp", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("how", ARGUMENTS)
def test_there_is_no_difference_once_the_operator_has_worked(xapps: XAppClient, how: str) -> None:
    repository = {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {"name": "charts", "namespace": xapps.namespace},
        "spec": {"url": "http://127.0.0.1:9/charts"},
    }
    xapp = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "hi"})
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": [repository, xapp]})
    xapps.kubectl("apply", *ARGUMENTS[how], "-f", "-", input=given)
    xapps.wait_ready("hello")
    xapps.wait_until(
        lambda: "status" in (xapps.get("chartrepository", "charts") or {}), what="the operator to see the repository"
    )

    assert xapps.kubectl("diff", *ARGUMENTS[how], "-f", "-", input=given) == ""
    with pytest.raises(KubectlFailed, match=r"-f -: $"):  # no message: it found a difference
        xapps.kubectl("diff", *ARGUMENTS[how], "-f", "-", input=given.replace('"hi"', '"there"'))


def test_two_managers_keep_to_their_own_fields(xapps: XAppClient) -> None:
    desired = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "hi"})
    apply(xapps, desired, "gitops")
    xapps.wait_ready("hello")
    apply(xapps, change(xapps, values={"logLevel": "debug"}), "person")
    xapps.wait_until(lambda: xapps.wait_ready("hello")["release"]["revision"] == 2, what="the upgrade")

    apply(xapps, desired, "gitops")
    found = xapps.get("xapp", "hello") or {}
    assert found["spec"]["values"] == {"greeting": "hi", "logLevel": "debug"}
    assert found["metadata"]["finalizers"]
    assert (found["metadata"]["generation"], xapps.wait_ready("hello")["release"]["revision"]) == (2, 2)
    with pytest.raises(KubectlFailed, match=r'conflict with "gitops".*\.spec\.values\.greeting'):
        apply(xapps, change(xapps, values={"greeting": "there", "logLevel": "debug"}), "person")

    # What one manager leaves out of its manifest goes, if nobody else has it.
    apply(xapps, change(xapps), "person")
    assert (xapps.get("xapp", "hello") or {})["spec"]["values"] == {"greeting": "hi"}
