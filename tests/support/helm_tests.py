"""An XApp in a history whose chart has tests (`helm test`), and what a user sees of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.helm import FakeHelm, _Run
from tests.support.fakes.histories import CONFIGMAP, History
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE

TEST = """\
apiVersion: v1
kind: Pod
metadata:
  name: hello-NAME
  labels: {{ .Values.labels }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: {{ .Values.policy }}
    xapp-operator.io/test-complete-after: {{ .Values.seconds }}
spec:
  restartPolicy: Never
  containers: [{name: setup, image: "example.com/setup:1"}, {name: probe, image: "example.com/probe:1"}]
"""
VALUES = "tag: one\nlabels: {}\nseconds: 1s\npolicy: before-hook-creation\n"
FAILS = {"labels": "{xapp-operator.io/test-fail: Error}"}
ENDLESS = {"seconds": "10000s"}
ENABLED = {"enabled": True}
LOG = "Its log is with the tests of the xApp, or: kubectl logs --namespace=ns"
PASSING = "Internal error occurred: etcdserver: request timed out"


def store_chart(history: History, *tests: str, **templates: str) -> Json:
    """Store a chart with these tests; return the fields of the spec that choose it."""
    files = {f"templates/{name}.yaml": TEST.replace("NAME", name) for name in tests}
    files |= {f"templates/{name}.yaml": template for name, template in templates.items()}
    archive = chart_archive({"values.yaml": VALUES, "templates/configmap.yaml": CONFIGMAP, **files})
    stored = chart_archive_manifest(archive, namespace=NAMESPACE)
    if history.cluster.server.find("chartarchives", stored["metadata"]["name"]) is None:
        history.cluster.create(stored)
    reference = {"name": stored["metadata"]["name"]}
    return {"archive": {"chartArchiveRef": reference, "digest": stored["spec"]["digest"]}}


def deploy(history: History, *tests: str, values: Json | None = None, test: Json = ENABLED, **spec: Any) -> None:
    """Create the XApp with a chart that has these tests, `probe` if none is named."""
    chart = store_chart(history, *(tests or ("probe",)))
    history.create(values={"tag": "one", **(values or {})}, test=test, **chart, **spec)


def last_test(history: History) -> Json:
    found: Json = (history.cluster.xapp() or {}).get("status", {}).get("lastTest") or {}
    return found


def outcome_of(history: History) -> tuple[str, str, str]:
    """Return status, reason and message of the condition TestSuccess."""
    found = history.cluster.condition("TestSuccess") or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def events(history: History) -> list[tuple[str, str, str]]:
    """Return type, reason and message of the events about tests."""
    found = (each for each in history.cluster.server.all("events") if each["reason"].startswith("Test"))
    return [(each["type"], each["reason"], each["message"]) for each in found for _ in range(each["count"])]


def pods(history: History) -> dict[str, str]:
    """Return the uid of each pod."""
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in history.cluster.server.all("pods")}


def runs_by_outcome(metrics: str, *, action: str = "test") -> dict[str, float]:
    """Return how many runs of tests, or other actions, ended with each outcome."""
    lines = (line for line in metrics.splitlines() if line.startswith("xapp_operator_reconcile"))
    found = (line.split("outcome=")[1] for line in lines if "_count{" in line and f'action="{action}"' in line)
    return {each.split('"')[1]: float(each.split()[-1]) for each in found}


async def wait_tested(history: History, outcome: str, *, revision: int = 1, seconds: float = 60.0) -> None:
    def reached() -> bool:
        last = last_test(history)
        return (last.get("outcome"), last.get("revision")) == (outcome, revision)

    assert await history.cluster.wait_for(reached, seconds=seconds), last_test(history)


async def wait_running(history: History, name: str = "hello-probe") -> None:
    assert await history.cluster.wait_for(lambda: name in pods(history), seconds=60.0)


def refuse_tests(
    monkeypatch: pytest.MonkeyPatch, failure: Callable[[], Exception], *, times: int = 1000
) -> list[float]:
    """Let `helm test` fail so often; return when it was run, a list that grows."""
    runs: list[float] = []
    run_tests = FakeHelm._test

    async def fail(self: FakeHelm, run: _Run) -> str:
        runs.append(self.clock.monotonic())
        if len(runs) <= times:
            raise failure()
        return await run_tests(self, run)

    monkeypatch.setattr(FakeHelm, "_test", fail)
    return runs
