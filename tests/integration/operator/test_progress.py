"""The steps that a deployment reports, from its first to the last, and where it stops."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.workload import DEPLOYMENT, workload_chart
from tests.support.xapps import XAppClient
from xapp_operator.gateway.catalog.records import build_xapp_entry

pytestmark = pytest.mark.integration

NAME = "hello"
SLOW_DEPLOYMENT = DEPLOYMENT.replace("greeting: ", "xapp-operator.io/test-ready-after: 4s\n        greeting: ")


@contextmanager
def watching(xapps: XAppClient) -> Iterator[subprocess.Popen[str]]:
    """Watch the XApp: each of its states is one JSON document of the standard output."""
    command = [str(xapps.cluster.kubectl_path), "-n", xapps.namespace, "get", "xapps", "--watch", "--output=json"]
    with subprocess.Popen(command, env=xapps.cluster.env, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def records(output: str) -> list[dict[str, Any]]:
    """Return the record that the gateway makes of each state."""
    decoder, rest, found = json.JSONDecoder(), output.strip(), []
    while rest:
        xapp, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        found.append(json.loads(build_xapp_entry(xapp).record_json))
    return found


def test_each_step_of_an_installation_is_reported_in_order(xapps: XAppClient) -> None:
    with ChartServer() as charts, watching(xapps) as watch:
        charts.add("workload", "0.1.0", workload_chart(templates__deployment=SLOW_DEPLOYMENT))
        with charts.holding("/workload-0.1.0.tgz"):
            values = {"hookSeconds": "1s"}
            xapps.apply(xapps.remote_manifest(NAME, url=charts.url, chart="workload", timeout="90s", values=values))
            xapps.wait_until(
                lambda: xapps.status(NAME).get("progress", {}).get("step") == "chart", what="the step chart", xapp=NAME
            )
            ready = xapps.current_condition(NAME, "Ready")
            assert ready is not None
            assert (ready["status"], ready["reason"]) == ("False", "Progressing")
            assert "nextTryAt" not in xapps.status(NAME)["progress"]
        xapps.wait_ready(NAME)
        watch.terminate()
        states = records(watch.communicate(timeout=30)[0])
    steps = [state["progress"]["step"] for state in states]
    assert list(dict.fromkeys(steps)) == ["queued", "chart", "helm", "objects", "ready"]
    assert steps == sorted(steps, key=list(dict.fromkeys(steps)).index)  # none comes back
    helm = next(state["progress"] for state in states if state["progress"]["step"] == "helm")
    assert helm["deadline"] > helm["startedAt"]
    assert helm["attempt"] == 1


def test_a_template_that_stops_is_the_step_render(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive({"templates/x.yaml": '{{ fail "no E2 address" }}'})))
    xapps.wait_stalled(NAME)
    assert xapps.status(NAME)["progress"]["step"] == "render"


def test_a_repository_that_fails_keeps_its_failure_while_it_is_tried_again(xapps: XAppClient) -> None:
    with ChartServer() as charts:
        xapps.apply(xapps.remote_manifest(NAME, url=charts.url, chart="workload"))
        xapps.wait_stalled(NAME)
        with charts.holding("/index.yaml"):
            requests = charts.requests["/index.yaml"]
            xapps.kubectl("annotate", "xapp", NAME, "xapp-operator.io/reconcile-at=1")
            xapps.wait_until(lambda: charts.requests["/index.yaml"] > requests, what="another request")
            xapps.wait_until(lambda: step_and_reason(xapps) == ("chart", "Progressing"), what="the step chart")
        xapps.wait_until(lambda: step_and_reason(xapps) == ("chart", "ChartPullFailed"), what="the failure")


def test_a_repository_that_does_not_answer_is_tried_with_growing_pauses(xapps: XAppClient) -> None:
    started = time.monotonic()
    xapps.apply(xapps.remote_manifest(NAME, url="http://127.0.0.1:9/y", chart="workload"))

    def tries() -> int:
        progress = xapps.status(NAME).get("progress") or {}
        return progress.get("attempt") or 0

    xapps.wait_until(lambda: tries() >= 4, what="the fourth try", xapp=NAME)
    assert tries() == 4, "a write of the status was another try"
    assert time.monotonic() - started >= 0.8 * (1 + 2 + 4), "the pauses before the fourth try"


def step_and_reason(xapps: XAppClient) -> tuple[str, str]:
    ready = xapps.current_condition(NAME, "Ready")
    return xapps.status(NAME)["progress"]["step"], "" if ready is None else ready["reason"]
