"""Makes the API server answer the operators with 429 (flow control) or 500 (a webhook that is down), by its own means.

The operators are one service account, so that nobody else is refused: flow control never applies to administrators.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.localcluster import Cluster
from tests.support.operator import SYSTEM_NAMESPACE

ACCOUNT: Final = "chaos-operator"
USER: Final = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{ACCOUNT}"
NAME: Final = "chaos"
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
FIRST: Final = 2
"""The precedence 1 is reserved."""


def create_operator_account(cluster: Cluster) -> str:
    """Create the service account of the operators, with every right, and return a token of it."""
    cluster.kubectl("-n", SYSTEM_NAMESPACE, "create", "serviceaccount", ACCOUNT)
    account = f"--serviceaccount={SYSTEM_NAMESPACE}:{ACCOUNT}"
    cluster.kubectl("create", "clusterrolebinding", ACCOUNT, "--clusterrole=cluster-admin", account)
    return cluster.kubectl("-n", SYSTEM_NAMESPACE, "create", "token", ACCOUNT, "--duration=48h").strip()


@contextlib.contextmanager
def answering_429(cluster: Cluster, verbs: Sequence[str]) -> Iterator[None]:
    """Give requests of the operators no place, without a queue, until the end of the block."""
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": NAME},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 0,
                "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"},
            },
        },
    }
    rule = {
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": ACCOUNT, "namespace": SYSTEM_NAMESPACE}}],
        "resourceRules": [
            {"verbs": list(verbs), "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
        ],
    }
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": NAME},
        "spec": {
            "matchingPrecedence": FIRST,
            "priorityLevelConfiguration": {"name": NAME},
            "rules": [rule],
        },
    }
    with _applied(cluster, level), _applied(cluster, schema):
        yield


@contextlib.contextmanager
def answering_500(cluster: Cluster, resources: Sequence[str]) -> Iterator[None]:
    """Let a webhook that does not answer decide about writes of the operators until the end of the block."""
    hook = {
        "name": "chaos.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": list(resources), "scope": "*"}
        ],
        "matchConditions": [{"name": "operators", "expression": f'request.userInfo.username == "{USER}"'}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [hook],
    }
    with _applied(cluster, configuration):
        yield


@contextlib.contextmanager
def _applied(cluster: Cluster, manifest: dict[str, Any]) -> Iterator[None]:
    cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))
    try:
        yield
    finally:
        cluster.kubectl("delete", manifest["kind"], manifest["metadata"]["name"])
