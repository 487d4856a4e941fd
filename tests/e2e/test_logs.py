"""Logs of real containers: read, followed across a broken connection, and after a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import wait_until
from tests.localrun.charts import pack_chart
from tests.localrun.samples import REAL_NODE_VALUES
from tests.support.gateway import GatewayServer
from tests.support.xapps import XAppClient
from xapp_operator.gateway.xapps.logs import log_responses

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

XAPP: Final = "acme-ran-logs"
SECONDS: Final = 90.0
CHART: Final = pack_chart(ROOT / "manifests" / "samples" / "charts" / "hello-world")
BUSY_CONFIG: Final = {"periodMilliseconds": 100, "thresholdPercent": 80, "cells": ["cell-1"]}
QUIET_CONFIG: Final = {**BUSY_CONFIG, "periodMilliseconds": 3_600_000}

Json = dict[str, Any]


@pytest.fixture
def http(e2e_gateway: GatewayServer) -> Iterator[httpx.Client]:
    with e2e_gateway.client() as client:
        yield client


@pytest.fixture
def xapps(e2e_xapps: XAppClient, sample_image: str) -> XAppClient:
    assert sample_image
    return e2e_xapps


def install_sample(http: httpx.Client, xapps: XAppClient, **values: object) -> None:
    """Install the sample, and wait until the gateway serves its log."""
    xapps.apply(xapps.uploaded_manifest(XAPP, CHART.data, version=CHART.version, values={**REAL_NODE_VALUES, **values}))
    xapps.wait_ready(XAPP, seconds=SECONDS)
    wait_until(lambda: http.get(xapp_url(xapps)).is_success, timeout=SECONDS, what="its log", interval=0.2)


def xapp_url(xapps: XAppClient, what: str = "logs") -> str:
    return f"/api/xapps/{xapps.namespace}/{XAPP}/{what}"


def read_log(http: httpx.Client, xapps: XAppClient, **query: object) -> httpx.Response:
    answer = http.get(xapp_url(xapps), params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    return answer


@contextmanager
def follow_log(
    http: httpx.Client, xapps: XAppClient, *, last: str | None = None, **query: str
) -> Iterator[Iterator[Json]]:
    """Follow a log and yield its events, including comments."""
    headers = {} if last is None else {"Last-Event-ID": last}
    with http.stream("GET", xapp_url(xapps), params={"follow": "true", **query}, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield _events(answer)


def _events(answer: httpx.Response) -> Iterator[Json]:
    event: Json = {}
    for line in answer.iter_lines():
        if not line:
            if event.keys() - {"retry"}:
                yield event
            event = {}
        else:
            name, _, value = line.partition(":")
            event[name or "comment"] = value.removeprefix(" ")


def samples(lines: list[str]) -> list[int]:
    """Return the ids of the samples in a log."""
    entries = [json.loads(line) for line in lines]
    return [each["id"] for each in entries if each["msg"] == "sample"]


def pods(xapps: XAppClient) -> list[Json]:
    found: list[Json] = json.loads(xapps.kubectl("get", "pods", "-o", "json"))["items"]
    return found


def inject_fault(xapps: XAppClient, fault: str, **how: object) -> None:
    (pod,) = pods(xapps)
    where = f"/api/v1/namespaces/{xapps.namespace}/pods/{pod['metadata']['name']}:8080/proxy/faults/{fault}"
    xapps.cluster.kubectl("create", "--raw", where, "-f", "-", input=json.dumps(how))


def test_a_log_is_read_in_bounds_and_followed_without_gaps(http: httpx.Client, xapps: XAppClient) -> None:
    install_sample(http, xapps, config=BUSY_CONFIG)
    (pod,) = pods(xapps)
    wait_until(
        lambda: len(read_log(http, xapps).text.splitlines()) > 10, timeout=SECONDS, what="some lines", interval=0.2
    )

    answer = read_log(http, xapps, tail=3)
    assert len(answer.text.splitlines()) == 3
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert (answer.headers["X-Pod"], answer.headers["X-Container"]) == (pod["metadata"]["name"], "xapp")
    named = read_log(http, xapps, pod=pod["metadata"]["name"], container="xapp", since="1h", tail=10_000)
    assert json.loads(named.text.splitlines()[0])["msg"] in {"listening", "started"}
    assert read_log(http, xapps, since="2999-01-01T00:00:00Z").text == ""

    seen: list[Json] = []
    for last in (None, "again", "again"):
        with follow_log(http, xapps, last=last and seen[-1]["id"], tail="1") as events:
            seen += [next(events) for _ in range(15)]
    numbers = samples([each["data"] for each in seen])
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert len(numbers) >= 40


def test_a_crash_ends_the_stream_and_its_log_is_the_previous_one(http: httpx.Client, xapps: XAppClient) -> None:
    install_sample(http, xapps, config=QUIET_CONFIG)
    none_yet = http.get(xapp_url(xapps), params={"previous": "true"})
    assert (none_yet.status_code, "previous terminated container" in none_yet.json()["detail"]) == (404, True)

    with follow_log(http, xapps) as events:
        assert json.loads(next(events)["data"])["msg"]
        inject_fault(xapps, "crash", afterMilliseconds=0, exitCode=3, reason="lost the E2 node")
        rest = list(events)
    assert rest[-1]["event"] == "end"
    assert "lost the E2 node" in rest[-2]["data"]

    def restarted() -> bool:
        (status,) = pods(xapps)[0]["status"]["containerStatuses"]
        return bool(status["restartCount"]) and status["ready"]

    wait_until(restarted, timeout=SECONDS, what="the container to be started again", interval=0.2)
    assert json.loads(read_log(http, xapps, previous="true").text.splitlines()[-1])["msg"] == "crashed"
    assert "crashed" not in read_log(http, xapps).text
    reasons = {
        each["reason"] for each in http.get(xapp_url(xapps, "events"), params={"per_page": 100}).json()["content"]
    }
    assert {"ScalingReplicaSet", "Started", "Killing"} & reasons


def test_a_quiet_log_stream_sends_heartbeats(
    http: httpx.Client, xapps: XAppClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_responses, "HEARTBEAT_SECONDS", 0.5)
    monkeypatch.setattr(log_responses, "POLL_SECONDS", 0.1)
    install_sample(http, xapps, config=QUIET_CONFIG)
    with follow_log(http, xapps, tail="0") as events:
        assert next(events).keys() == {"comment"}


def test_the_log_of_a_pod_that_cannot_start_is_404_with_the_reason(http: httpx.Client, xapps: XAppClient) -> None:
    image = {"repository": "localhost/missing", "tag": "1", "pullPolicy": "Never"}
    values = {**REAL_NODE_VALUES, "image": image}
    xapps.apply(xapps.uploaded_manifest(XAPP, CHART.data, version=CHART.version, values=values))

    def refused() -> httpx.Response | None:
        answer = http.get(xapp_url(xapps))
        return answer if "waiting to start" in answer.text else None

    answer = wait_until(refused, timeout=SECONDS, what="the pod to be refused its image", interval=0.2)
    assert answer.status_code == 404


def test_values_can_be_changed_and_rolled_back(http: httpx.Client, xapps: XAppClient) -> None:
    install_sample(http, xapps, greeting="first", service={"type": "NodePort"})

    def metadata() -> Json | None:
        found: Json | None = http.get(xapp_url(xapps, "config")).json()["metadata"]
        return found

    assert wait_until(metadata, timeout=SECONDS, what="the xApp to answer")["name"]
    found = http.get(xapp_url(xapps, "config")).json()
    (reached, *_) = (each["url"] for each in found["services"][0]["addresses"] if each["via"] == "nodePort")
    assert reached.startswith(f"http://{xapps.cluster.node_address}:")

    dry = http.patch(xapp_url(xapps, "config"), json={"greeting": "second"}, params={"dryRun": "true"}).json()
    assert "first" in dry["diff"]
    assert dry["diff"].count("+++ ") == 2, dry["diff"]
    answer = http.patch(xapp_url(xapps, "config"), json={"greeting": "second"}, params={"wait": SECONDS})
    assert (answer.status_code, answer.json()["release"]["revision"]) == (200, 2)
    assert "second" in http.get(xapp_url(xapps, "manifest")).json()["manifest"]
    assert http.get(xapp_url(xapps, "notes")).json()["notes"]

    assert http.post(xapp_url(xapps, "rollback"), json={"revision": 1}).status_code == 202
    wait_until(
        lambda: http.get(xapp_url(xapps, "history")).json()["content"][0]["action"] == "Rollback",
        timeout=SECONDS,
        what="the rollback",
        interval=0.2,
    )
    wait_until(
        lambda: "first" in http.get(xapp_url(xapps, "manifest")).json()["manifest"],
        timeout=SECONDS,
        what="the old manifest to be in force",
        interval=0.2,
    )
