"""A hook that does not end, or fails: the status says which one, and what is wrong with its pod."""

from __future__ import annotations

import pytest

from tests.support.workload import VALUES, workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-preflight
  annotations:
    helm.sh/hook: pre-install
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  activeDeadlineSeconds: {{ .Values.hookDeadline }}
  backoffLimit: 0
  template:
    metadata:
      labels: {xapp-operator.io/test-fail: {{ .Values.hookFails }}}
    spec:
      restartPolicy: Never
      containers: [{name: preflight, image: "registry.example.com/preflight:1"}]
"""
FIELDS = {"kind": "Job", "name": "hello-preflight"}


def deploy(xapps: XAppClient, *, deadline: int, fails: str) -> None:
    values = f"{VALUES}hookDeadline: {deadline}\nhookFails: {fails}\n"
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart(values=values, templates__hook=HOOK)))


def wait_for_hook(xapps: XAppClient, *parts: str, outcome: str) -> None:
    """Wait until Ready is False with a message that contains all parts, and the last attempt names the hook.

    Both are read at once: the next try forgets the hook.
    """

    def is_so() -> bool:
        status = xapps.status("hello")
        ready = {each["type"]: each for each in status.get("conditions", [])}.get("Ready", {})
        last = status.get("lastAttempt", {})
        is_named = (last.get("hook"), last.get("outcome")) == (FIELDS, outcome)
        return is_named and ready.get("status") == "False" and all(part in ready["message"] for part in parts)

    xapps.wait_until(is_so, what=f"Ready to be False with {parts}, and the hook in the status", xapp="hello")


def test_a_hook_that_does_not_end_is_named_with_the_problem_of_its_pod(xapps: XAppClient) -> None:
    deploy(xapps, deadline=8, fails="ErrImagePull")
    waiting = ("waits for the hook Job hello-preflight", "container preflight: ErrImagePull")
    wait_for_hook(xapps, *waiting, outcome="Running")
    # The deadline of the Job deletes its pod.
    failed = ("hook Job", "hello-preflight failed", "last seen: pod hello-preflight-", "ErrImagePull")
    wait_for_hook(xapps, *failed, outcome="Failed")


def test_a_hook_that_fails_at_once_is_named_with_its_exit_code(xapps: XAppClient) -> None:
    deploy(xapps, deadline=600, fails="Error")
    failed = ("hello-preflight failed", "last seen: pod hello-preflight-", "container preflight", "exit code")
    wait_for_hook(xapps, *failed, outcome="Failed")
