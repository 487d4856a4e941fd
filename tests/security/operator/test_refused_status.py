"""A status that the API server would refuse, or refuses: helm does not run again and again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.localcluster import Cluster
from tests.localcluster.access import KubectlFailed
from tests.security.operator.neighbour import Neighbour
from tests.support.charts import chart_archive
from tests.support.operator import OperatorProcess
from tests.support.xapps import Json, XAppClient
from xapp_operator.api.status_texts import CAUSE_MAX

pytestmark = pytest.mark.integration

LONG_FAIL = '{{ fail (repeat 40000 "too long ") }}'


def helm_steps(operator: OperatorProcess, xapps: XAppClient) -> int:
    """Return how many helm steps began in the namespace."""
    lines = operator.log_text().splitlines()
    return sum('"action started"' in line and xapps.namespace in line and '"Install"' in line for line in lines)


def test_a_long_fail_text_is_cut_and_helm_does_not_run_again(
    xapps: XAppClient, operator: OperatorProcess, neighbour: Neighbour
) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", chart_archive({"templates/a.yaml": LONG_FAIL})))
    neighbour.check_ready_in_time()
    condition = xapps.wait_stalled("hello")
    assert "too long" in condition["message"]
    status = xapps.status("hello")
    assert status["lastAttempt"]["outcome"] == "Failed"
    assert 500 < len(status["lastAttempt"]["message"]) <= CAUSE_MAX
    xapps.kubectl("annotate", "xapp", "hello", "xapp-operator.io/reconcile-at=once")
    xapps.wait_until(
        lambda: xapps.status("hello").get("handled", {}).get("reconcileAt") == "once", what="another reconcile"
    )
    assert helm_steps(operator, xapps) == 1


@pytest.fixture
def refused_outcome(cluster: Cluster, namespace: str) -> Iterator[None]:
    """The API server refuses every status of the namespace that says that helm failed."""
    name = f"refuse-{namespace}"[:63]
    policy: Json = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [
                    {
                        "apiGroups": ["xapp-operator.io"],
                        "apiVersions": ["*"],
                        "operations": ["UPDATE"],
                        "resources": ["xapps/status"],
                    }
                ],
            },
            "validations": [{"expression": "object.?status.?lastAttempt.?outcome.orValue('') != 'Failed'"}],
        },
    }
    binding: Json = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    kit = XAppClient(cluster, namespace)
    kit.apply({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})
    yield
    kit.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)


def failure_is_refused(xapps: XAppClient) -> bool:
    patch = json.dumps({"status": {"lastAttempt": {"outcome": "Failed"}}})
    try:
        xapps.kubectl("patch", "xapp", "hello", "--subresource=status", "--type=merge", "--dry-run=server", "-p", patch)
    except KubectlFailed as error:
        return "failed expression" in str(error)
    return False


@pytest.mark.usefixtures("refused_outcome")
def test_helm_runs_once_when_its_failure_cannot_be_written(xapps: XAppClient, operator: OperatorProcess) -> None:
    archive = chart_archive({"templates/a.yaml": '{{ fail "no" }}'})
    xapps.apply(xapps.uploaded_manifest("hello", archive, suspend=True))
    xapps.wait_until(lambda: failure_is_refused(xapps), what="the API server to refuse statuses")
    xapps.apply(xapps.uploaded_manifest("hello", archive))

    def refusals() -> int:
        lines = operator.log_text().splitlines()
        return sum('"reconcile failed"' in line and xapps.namespace in line for line in lines)

    xapps.wait_until(lambda: refusals() >= 3, what="the status to be refused three times")
    assert helm_steps(operator, xapps) == 1
