"""Rollbacks and removals over REST that wait: what `?wait=` answers when the operator and helm do the work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from tests.support.gateway import GatewayServer
from tests.support.workload import CONFIGMAP, HOOK, workload_chart
from tests.support.xapps import Json, XAppClient

pytestmark = pytest.mark.integration

LONG: Final = "300"
"""Longer than the client waits for an answer, so that an answer is one that came early."""
SHORT: Final = "0.5"
SLOW_HOOK: Final = "4s"
FAILING_HOOK: Final = """\
apiVersion: batch/v1
kind: Job
metadata: {name: hello-clean-up, annotations: {helm.sh/hook: pre-delete}}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {xapp-operator.io/test-fail: Error}}
    spec: {restartPolicy: Never, containers: [{name: clean-up, image: "registry.example.com/clean-up:1"}]}
"""
IMMUTABLE_AT_TWO: Final = CONFIGMAP + '{{- if eq .Values.greeting "two" }}\nimmutable: true\n{{- end }}\n'
"""The ConfigMap, which cannot be changed any more once `greeting` is two."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The xApp hello, and requests that wait for it."""

    xapps: XAppClient
    http: httpx.Client

    def deploy(self, archive: bytes, **spec: Any) -> Json:
        """Deploy, and wait until it is Ready; return the manifest."""
        manifest = self.xapps.uploaded_manifest("hello", archive, **spec)
        self.xapps.apply(manifest)
        self.xapps.wait_ready("hello")
        return manifest

    def deploy_twice(self, archive: bytes, **spec: Any) -> None:
        """Deploy revision 1 with the greeting one, then revision 2 with two."""
        manifest = self.deploy(archive, **{**spec, "values": {**spec.get("values", {}), "greeting": "one"}})
        manifest["spec"]["values"] = {"greeting": "two"}
        self.xapps.apply(manifest)
        assert self.xapps.wait_ready("hello")["release"]["revision"] == 2

    def roll_back(self, *, wait: str) -> httpx.Response:
        """Ask for revision 1, once the gateway knows revision 2."""
        self.xapps.wait_until(lambda: self.record()["release"]["revision"] == 2, what="the gateway to see revision 2")
        return self.http.post(self.path("rollback"), json={"revision": 1}, params={"wait": wait})

    def remove(self, *, wait: str) -> httpx.Response:
        body = {"name": "hello", "namespace": self.xapps.namespace}
        return self.http.request("DELETE", "/api/deployment/xapp", json=body, params={"wait": wait})

    def path(self, *what: str) -> str:
        return "/".join(("/api/xapps", self.xapps.namespace, "hello", *what))

    def record(self) -> Json:
        found: Json = self.http.get(self.path()).json()
        return found

    def greeting(self) -> str | None:
        found = self.xapps.get("configmap", "hello")
        return None if found is None else found["data"]["greeting"]

    def left(self) -> list[str]:
        """Return what is left of the XApp and its release."""
        found = self.xapps.names("xapps,deployments,services,configmaps,secrets", "xapp-operator.io/xapp=hello")
        return found + self.xapps.names("secrets", "owner=helm") + self.xapps.names("xapps")

    def events(self, reason: str) -> list[str]:
        listed = json.loads(self.xapps.kubectl("get", "events", "-o", "json"))["items"]
        return [each["message"] for each in listed if each["reason"] == reason]


@pytest.fixture
def waiting(xapps: XAppClient, gateway: GatewayServer) -> Iterator[Waiting]:
    with gateway.client() as http:
        yield Waiting(xapps, http)


def test_a_rollback_that_is_done_and_ready_in_time_is_200_with_the_new_revision(waiting: Waiting) -> None:
    waiting.deploy_twice(workload_chart())
    answer = waiting.roll_back(wait=LONG)
    record = answer.json()
    assert (answer.status_code, record["ready"], record["release"]["revision"]) == (200, True, 3), record
    assert waiting.greeting() == "one"
    found = waiting.record()
    assert (found["heldRevision"], found["history"][0]["description"]) == (1, "Rollback to 1")


def test_a_rollback_whose_hook_takes_longer_is_202_and_goes_on(waiting: Waiting) -> None:
    hook = HOOK.replace("pre-install,pre-upgrade", "pre-rollback")
    waiting.deploy_twice(workload_chart(templates__hook=hook), values={"hookSeconds": SLOW_HOOK})
    answer = waiting.roll_back(wait=SHORT)
    assert (answer.status_code, answer.json()["ready"], waiting.greeting()) == (202, False, "two"), answer.text
    waiting.xapps.wait_until(lambda: waiting.record()["heldRevision"] == 1, what="the rollback", xapp="hello")
    assert waiting.xapps.wait_ready("hello")["release"]["revision"] == 3
    assert waiting.greeting() == "one"


def test_a_rollback_is_not_200_before_its_pods_are_ready(waiting: Waiting) -> None:
    manifest = waiting.xapps.uploaded_manifest("hello", workload_chart(), values={"fail": "CrashLoopBackOff"})
    waiting.xapps.apply(manifest)
    waiting.xapps.wait_until(
        lambda: waiting.xapps.status("hello").get("release", {}).get("revision") == 1, what="revision 1", xapp="hello"
    )
    waiting.deploy(workload_chart(), values={"greeting": "two"})
    answer = waiting.roll_back(wait="3")
    record = answer.json()
    assert (answer.status_code, record["ready"], record["stalled"]) == (202, False, False), record
    # The rollback itself is done.
    waiting.xapps.wait_until(
        lambda: "CrashLoopBackOff" in (waiting.record()["message"] or ""), what="the cause", xapp="hello"
    )
    assert (waiting.record()["heldRevision"], waiting.record()["release"]["revision"]) == (1, 3)


def test_a_rollback_that_cannot_succeed_is_202_at_once_with_the_cause(waiting: Waiting) -> None:
    waiting.deploy_twice(workload_chart(templates__configmap=IMMUTABLE_AT_TWO))
    answer = waiting.roll_back(wait=LONG)
    record = answer.json()
    assert (answer.status_code, record["stalled"], record["reason"]) == (202, True, "RollbackFailed"), record
    assert "immutable" in record["message"]


def test_a_rollback_that_was_refused_is_no_success_although_the_xapp_is_ready(waiting: Waiting) -> None:
    waiting.xapps.create_deployer()
    waiting.deploy_twice(workload_chart(), serviceAccountName="deployer")
    waiting.xapps.kubectl("delete", "rolebinding", "deployer")
    answer = waiting.roll_back(wait=LONG)
    record = answer.json()
    assert (answer.status_code, record["ready"], record["release"]["revision"]) == (202, True, 2), record
    released = next(each for each in waiting.record()["conditions"] if each["type"] == "Released")
    assert (released["status"], released["reason"]) == ("False", "AccessDenied")


def test_a_removal_is_200_when_the_xapp_and_its_release_are_gone(waiting: Waiting) -> None:
    waiting.deploy(workload_chart())
    answer = waiting.remove(wait=LONG)
    assert (answer.status_code, answer.json()["phase"], waiting.left()) == (200, "Uninstalling", []), answer.text
    assert waiting.remove(wait=LONG).status_code == 404


def test_a_removal_whose_hook_takes_longer_is_202_and_goes_on(waiting: Waiting) -> None:
    hook = HOOK.replace("pre-install,pre-upgrade", "pre-delete")
    waiting.deploy(workload_chart(templates__hook=hook), values={"hookSeconds": SLOW_HOOK})
    answer = waiting.remove(wait=SHORT)
    assert (answer.status_code, answer.json()["phase"], waiting.greeting()) == (202, "Uninstalling", "hello")
    assert waiting.remove(wait=LONG).status_code == 200
    assert waiting.left() == []


def test_a_removal_whose_hook_fails_is_200_after_the_try_without_hooks(waiting: Waiting) -> None:
    waiting.deploy(workload_chart(templates__clean_up=FAILING_HOOK))
    assert waiting.remove(wait=LONG).status_code == 200
    assert waiting.left() == []
    assert any("hello-clean-up" in message for message in waiting.events("UninstallFailed"))


def test_a_removal_that_cannot_succeed_is_202_at_once_with_the_cause(waiting: Waiting) -> None:
    waiting.xapps.create_deployer()
    waiting.deploy(workload_chart(), serviceAccountName="deployer")
    waiting.xapps.kubectl("delete", "rolebinding", "deployer")
    answer = waiting.remove(wait=LONG)
    record = answer.json()
    assert (answer.status_code, record["stalled"], record["reason"]) == (202, True, "AccessDenied"), record
    waiting.xapps.grant_deployer()
    assert waiting.http.post(waiting.path("actions"), json={"action": "retry"}).status_code == 202
    waiting.xapps.wait_gone("xapp", "hello")
    assert waiting.left() == []
