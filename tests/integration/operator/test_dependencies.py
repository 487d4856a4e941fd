"""dependsOn orders installs and deletions, and a cycle is reported."""

from __future__ import annotations

import json

import pytest

from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

OTHERS = 150
"""XApps between two others in a list, so that the operator needs a while from the one to the other."""


def deploy(xapps: XAppClient, name: str, *depends_on: str, timeout: str = "5m") -> None:
    dependencies = [{"name": other} for other in depends_on]
    xapps.apply(xapps.uploaded_manifest(name, workload_chart(), dependsOn=dependencies, timeout=timeout))


def wait_for_reason(xapps: XAppClient, name: str, reason: str) -> str:
    """Wait until Ready has the reason; return its message."""

    def found() -> dict[str, str]:
        return xapps.current_condition(name, "Ready") or {}

    xapps.wait_until(lambda: found().get("reason") == reason, what=f"{name} to be {reason}", xapp=name)
    return found()["message"]


def event_reasons(xapps: XAppClient, name: str) -> set[str]:
    events = json.loads(xapps.kubectl("get", "events", "-o", "json"))["items"]
    return {event["reason"] for event in events if event["involvedObject"]["name"] == name}


def test_dependency_is_awaited(xapps: XAppClient) -> None:
    deploy(xapps, "second", "first")
    assert "first" in wait_for_reason(xapps, "second", "DependencyNotReady")
    assert xapps.helm_releases() == {}
    deploy(xapps, "first")
    xapps.wait_ready("first")
    xapps.wait_ready("second", seconds=15)  # woken, not found by a poll


def test_a_deletion_waits_for_those_that_depend_on_the_xapp(xapps: XAppClient) -> None:
    deploy(xapps, "first")
    deploy(xapps, "second", "first")
    xapps.wait_ready("second")
    xapps.kubectl("delete", "xapp", "first", "--wait=false")
    message = wait_for_reason(xapps, "first", "DependencyNotReady")
    assert "depend on this one are deleted: second. After spec.timeout (5m)" in message
    assert set(xapps.helm_releases()) == {"first", "second"}
    xapps.kubectl("delete", "xapp", "second", "--timeout=60s")
    xapps.wait_gone("xapp", "first", seconds=30)
    assert xapps.helm_releases() == {}
    assert "DependentsLeft" not in event_reasons(xapps, "first")


def test_a_deletion_waits_no_longer_than_the_timeout_of_the_xapp(xapps: XAppClient) -> None:
    deploy(xapps, "first", timeout="4s")
    deploy(xapps, "second", "first")
    xapps.wait_ready("second")
    xapps.kubectl("delete", "xapp", "first", "--timeout=60s")
    assert set(xapps.helm_releases()) == {"second"}
    assert "DependentsLeft" in event_reasons(xapps, "first")
    assert xapps.wait_ready("second")["phase"] == "Deployed"


def test_a_cycle_is_stalled_at_every_member_until_it_is_opened(xapps: XAppClient) -> None:
    deploy(xapps, "first")
    deploy(xapps, "second", "first")
    xapps.wait_ready("second")
    deploy(xapps, "first", "second")
    assert "first → second → first" in xapps.wait_stalled("first")["message"]
    assert "second → first → second" in xapps.wait_stalled("second")["message"]
    deploy(xapps, "first")
    xapps.wait_ready("first", seconds=30)
    xapps.wait_ready("second", seconds=30)


def test_members_of_a_cycle_are_deleted_together(xapps: XAppClient) -> None:
    deploy(xapps, "first")
    xapps.wait_ready("first")
    deploy(xapps, "second", "first")
    xapps.wait_ready("second")
    deploy(xapps, "first", "second")
    xapps.wait_stalled("second")
    xapps.kubectl("delete", "xapps", "--all", "--timeout=60s")
    assert xapps.helm_releases() == {}


def test_an_operator_that_starts_deletes_nothing_before_it_knows_what_depends_on_it(
    xapps: XAppClient, operator: OperatorProcess
) -> None:
    deploy(xapps, "core")
    deploy(xapps, "zz", "core")  # by its name, the last of a list
    xapps.wait_ready("zz")
    other = xapps.uploaded_manifest("other", workload_chart(), suspend=True)
    many = [{**other, "metadata": {**other["metadata"], "name": f"other-{number:03}"}} for number in range(OTHERS)]
    xapps.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": many}))
    xapps.kubectl("delete", "xapp", "core", "--wait=false")
    wait_for_reason(xapps, "core", "DependencyNotReady")
    operator.kill()
    operator.start()
    xapps.kubectl("annotate", "xapp", "zz", "xapp-operator.io/reconcile-at=again")
    xapps.wait_until(
        lambda: xapps.status("zz").get("handled", {}).get("reconcileAt") == "again",
        what="the operator to be at work",
        xapp="zz",
    )
    assert set(xapps.helm_releases()) == {"core", "zz"}
