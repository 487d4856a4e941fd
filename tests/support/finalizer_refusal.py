"""Refuses changes of finalizers of XApps in a real API server, as an admission policy of a cluster may do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.localcluster import Cluster
from tests.localcluster.access import KubectlFailed
from tests.localcluster.waiting import wait_until
from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.api.names import GROUP, VERSION, XAPP_PLURAL

PROBE: Final = "finalizer-probe"
DENIED: Final = "denied request"
SECONDS: Final = 30.0
REASONS: Final = {403: "Forbidden", 422: "Invalid"}
"""The reasons that a ValidatingAdmissionPolicy can give, by their status."""
UNCHANGED: Final = "object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])"


@contextmanager
def refused_finalizers(cluster: Cluster, namespace: str, code: int, *, message: str) -> Iterator[None]:
    """Refuse, until the end of the block, every change of the finalizers of an XApp of the namespace with this status.

    Whether the policy is in force is found out with an XApp of its own.
    """
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": f"finalizers.{namespace}"}}
    policies = [
        {**policy, "kind": "ValidatingAdmissionPolicy", "spec": _rule(namespace, code, message)},
        {
            **policy,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": f"finalizers.{namespace}", "validationActions": ["Deny"]},
        },
    ]
    probe = xapp_manifest(PROBE, namespace=namespace)
    probe["spec"]["suspend"] = True
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(probe))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": policies})
    cluster.kubectl("apply", "-f", "-", input=text)
    try:
        wait_until(lambda: _is_refused(cluster, namespace), timeout=SECONDS, what="the policy to be in force")
        yield
    finally:
        cluster.kubectl("delete", "-f", "-", input=text)
        wait_until(lambda: not _is_refused(cluster, namespace), timeout=SECONDS, what="the policy to be gone")


def _rule(namespace: str, code: int, message: str) -> dict[str, Any]:
    xapps = {"apiGroups": [GROUP], "apiVersions": [VERSION], "operations": ["UPDATE"], "resources": [XAPP_PLURAL]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": [xapps],
        },
        "validations": [{"expression": UNCHANGED, "message": message, "reason": REASONS[code]}],
    }


def _is_refused(cluster: Cluster, namespace: str) -> bool:
    change = json.dumps({"metadata": {"finalizers": ["example.com/probe"]}})
    patch = ("patch", "xapp", PROBE, "--type=merge", "--dry-run=server", "-p", change)
    try:
        cluster.kubectl("-n", namespace, *patch)
    except KubectlFailed as error:
        if DENIED not in str(error):
            raise
        return True
    return False
