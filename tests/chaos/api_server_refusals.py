"""Makes the API server answer the operators with 429 or 500, by its own means.

429 comes from flow control. 500 comes from an admission webhook that is down, for writes, and for reads, which no
admission sees, from an authorizer that fails.

The operators are one service account, so that nobody else is refused: flow control never applies to administrators.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Final

from tests.localcluster import Cluster, KubectlFailed
from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.waiting import wait_until
from tests.support.audit import read_audit_events
from tests.support.operator import SYSTEM_NAMESPACE

ACCOUNT: Final = "chaos-operator"
USER: Final = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{ACCOUNT}"
NAME: Final = "chaos"
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
READS: Final = ("get", "list", "watch")
RELOAD_SECONDS: Final = 90.0
"""The API server looks at its files every minute, should the notice of a change get lost."""
HELD: Final = "chaos-held"
HELD_NAMESPACE: Final = "default"
HELD_SECONDS: Final = 10
"""So long does the API server wait for the TLS handshake of a webhook."""
HELD_TRIES: Final = 5
ACCEPT_SECONDS: Final = 2.0
AT_ONCE: Final = timedelta(seconds=0.5)
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
    """Give requests of the operators no place, without a queue, until the end of the block.

    A level without places still lets one request in while it executes none, so one is kept executing: for at most
    HELD_SECONDS.
    """
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
            {"verbs": list(verbs), "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]},
            {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"], "namespaces": [HELD_NAMESPACE]},
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
    with _applied(cluster, level), _applied(cluster, schema), _request_executing(cluster):
        yield


@contextlib.contextmanager
def _request_executing(cluster: Cluster) -> Iterator[None]:
    """Keep a request in the name of the operators executing: it waits for a webhook that never answers."""
    command = [str(cluster.kubectl_path), f"--as={USER}", "-n", HELD_NAMESPACE, "create", "configmap", NAME]
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(ACCEPT_SECONDS)
        hook = _webhook(
            url=f"https://127.0.0.1:{listener.getsockname()[1]}/",
            rule={"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]},
            condition=f'request.namespace == "{HELD_NAMESPACE}" && request.name == "{NAME}"',
            seconds=HELD_SECONDS,
        )
        stack.enter_context(_applied(cluster, _webhooks(HELD, hook)))
        for _ in range(HELD_TRIES):  # the API server may not know the webhook yet
            request = subprocess.Popen([*command, "--dry-run=server"], env=cluster.env, stdout=DEVNULL, stderr=DEVNULL)
            stack.callback(request.wait)
            with contextlib.suppress(TimeoutError):
                stack.enter_context(listener.accept()[0])
                break
        yield


@contextlib.contextmanager
def answering_500(cluster: Cluster, resources: Sequence[str]) -> Iterator[None]:
    """Let a webhook that does not answer decide about writes of the operators until the end of the block."""
    hook = _webhook(
        url="https://127.0.0.1:1/",
        rule={"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": list(resources)},
        condition=f'request.userInfo.username == "{USER}"',
        seconds=1,
    )
    with _applied(cluster, _webhooks(NAME, hook)):
        yield


def _webhook(*, url: str, rule: dict[str, Any], condition: str, seconds: int) -> dict[str, Any]:
    return {
        "name": "chaos.example.com",
        "clientConfig": {"url": url},
        "rules": [{**rule, "scope": "*"}],
        "matchConditions": [{"name": "chosen", "expression": condition}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": seconds,
    }


def _webhooks(name: str, hook: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [hook],
    }


@contextlib.contextmanager
def answering_reads_with_500(cluster: Cluster, authorization: Path, verbs: Sequence[str]) -> Iterator[None]:
    """Let an authorizer fail for reads of the operators until the end of the block.

    The authorizer is a webhook whose condition cannot be evaluated. The API server asks no webhook then, and answers
    with 500. It reads the file `authorization` again when it changes. Raises DeadlineExceeded when it does not.
    """
    before = authorization.read_text()
    condition = (
        f'request.user == "{USER}" && has(request.resourceAttributes) '
        f"&& request.resourceAttributes.verb in {json.dumps(list(verbs))} && int(request.user) == 0"
    )
    webhook = {
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(cluster.kubeconfig)},
        "matchConditions": [{"expression": condition}],
        "failurePolicy": "Deny",
        "subjectAccessReviewVersion": "v1",
        "matchConditionSubjectAccessReviewVersion": "v1",
        "timeout": "1s",
        "authorizedTTL": "1s",
        "unauthorizedTTL": "1s",
    }
    config = json.loads(before)
    config["authorizers"].insert(0, {"type": "Webhook", "name": NAME, "webhook": webhook})
    path = f"/api/v1/namespaces{'' if 'list' in verbs else '/default'}"
    write_private_file(authorization, json.dumps(config))
    try:
        wait_until(lambda: _is_refused(cluster, path), timeout=RELOAD_SECONDS, what="the authorizer that fails")
        yield
    finally:
        write_private_file(authorization, before)


def _is_refused(cluster: Cluster, path: str) -> bool:
    try:
        cluster.kubectl("get", "--raw", path, f"--as={USER}")
    except KubectlFailed:
        return True
    return False


def refusals(cluster: Cluster, code: HTTPStatus, *, since: datetime) -> Counter[str]:
    """Return how many requests of the operators were answered with a status since a time, by verb."""
    assert cluster.audit_log is not None
    began = f"{since:%Y-%m-%dT%H:%M:%S.%fZ}"
    return Counter(
        each["verb"]
        for each in read_audit_events(cluster.audit_log, containing=f'"code":{code.value}')
        if each["user"]["username"] == USER and each["stage"] == "ResponseComplete" and each["stageTimestamp"] >= began
    )


def expired_watches(cluster: Cluster, *, since: datetime) -> list[str]:
    """Return the watches of the operators that the API server has ended with 410 since a time, by their paths.

    Their status in the audit log is 200, because 410 comes as an event of the watch. So those that ended at once are
    repeated, and count if the answer is 410.
    """
    assert cluster.audit_log is not None
    found = []
    for each in read_audit_events(cluster.audit_log, containing='"verb":"watch"'):
        began, ended = (datetime.fromisoformat(each[key]) for key in ("requestReceivedTimestamp", "stageTimestamp"))
        address = urllib.parse.urlsplit(each["requestURI"])
        version = urllib.parse.parse_qs(address.query).get("resourceVersion")
        is_of_operator = each["user"]["username"] == USER and each["stage"] == "ResponseComplete"
        if is_of_operator and version and began >= since and ended - began < AT_ONCE:
            query = f"watch=true&resourceVersion={version[0]}&timeoutSeconds=1"
            if '"code":410' in cluster.kubectl("get", "--raw", f"{address.path}?{query}"):
                found.append(f"{address.path} of {version[0]}")
    return found


@contextlib.contextmanager
def _applied(cluster: Cluster, manifest: dict[str, Any]) -> Iterator[None]:
    cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))
    try:
        yield
    finally:
        cluster.kubectl("delete", manifest["kind"], manifest["metadata"]["name"])
