"""The HTTP API of the sample xApp."""

import json
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
from jsonschema import Draft202012Validator
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.integration.samples.conftest import Start
from tests.integration.samples.monitor_process import FAST_CONFIG, Json, MonitorProcess
from tests.localcluster.cluster import ROOT
from tests.localcluster.waiting import wait_until
from tests.localrun.image import IMAGE

pytestmark = pytest.mark.integration

SECONDS = 60.0
OTHER_CONFIG = {"periodMilliseconds": 30, "thresholdPercent": 12.5, "cells": ["c"]}


def test_the_greeting_comes_from_the_settings(http: httpx.Client) -> None:
    answer = http.get("/").json()
    assert answer.items() >= {"greeting": "Hello", "name": "demo", "cluster": "192.0.2.1"}.items()


def test_the_tag_of_the_image_is_the_version_of_the_program(http: httpx.Client) -> None:
    assert http.get("/metadata").json()["version"] == IMAGE.rpartition(":")[2]


def test_the_program_is_alive_and_ready(http: httpx.Client) -> None:
    assert http.get("/health/alive").json() == {"status": "alive"}
    assert http.get("/health/ready").json() == {"status": "ready"}


def test_a_new_configuration_applies_immediately(http: httpx.Client) -> None:
    assert http.get("/config").json() == FAST_CONFIG
    try:
        assert http.put("/config", json=OTHER_CONFIG).json() == OTHER_CONFIG
        assert http.get("/config").json() == OTHER_CONFIG
        assert next(samples(http))["cell"] == "c"
    finally:
        assert http.put("/config", json=FAST_CONFIG).is_success


def test_a_shorter_period_applies_immediately(start_monitor: Start) -> None:
    one = start_monitor(config={**FAST_CONFIG, "periodMilliseconds": 3_600_000})
    with one.http() as http:
        one.wait_ready(http)
        http.put("/config", json=FAST_CONFIG).raise_for_status()
        wait_until(lambda: len(one.log_entries("sample")) > 1, timeout=SECONDS, what="a second sample")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({**FAST_CONFIG, "periodMilliseconds": 9}, "periodMilliseconds"),
        ({**FAST_CONFIG, "periodMilliseconds": "20"}, "periodMilliseconds"),
        ({**FAST_CONFIG, "thresholdPercent": 101}, "thresholdPercent"),
        ({**FAST_CONFIG, "cells": ["a", "no space"]}, "cells.1"),
        ({**FAST_CONFIG, "colour": "red"}, ""),
        ({"cells": ["a"]}, ""),
        ([], ""),
    ],
)
def test_a_wrong_configuration_is_refused_and_changes_nothing(http: httpx.Client, wrong: object, field: str) -> None:
    answer = http.put("/config", json=wrong)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert all(each["message"] for each in answer.json()["errors"])
    assert not answer.json()["detail"].startswith(":")
    assert http.get("/config").json() == FAST_CONFIG


@pytest.mark.parametrize(("content", "status"), [("{", 400), ("", 400), ("{} {}", 400), (" " * 70_000, 413)])
def test_a_body_that_is_no_configuration_is_refused(http: httpx.Client, content: str, status: int) -> None:
    assert http.put("/config", content=content).status_code == status


def test_the_configuration_schema_is_valid_and_equals_the_charts(http: httpx.Client) -> None:
    schema = http.get("/config/schema").json()
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(FAST_CONFIG)
    values = ROOT / "manifests" / "samples" / "charts" / "hello-world" / "values.schema.json"
    in_chart = json.loads(values.read_text())["properties"]["config"]
    assert without_descriptions(in_chart) == without_descriptions({**schema, "$schema": None, "title": None})


def test_metadata_lists_every_endpoint(http: httpx.Client) -> None:
    metadata = http.get("/metadata").json()
    assert {port["name"] for port in metadata["messaging"]["ports"]} == {"http", "metrics"}
    plain = [each["path"] for each in metadata["endpoints"] if each["method"] == "GET"]
    assert {"/", "/config", "/health/ready", "/metrics", "/events", "/ws"} <= set(plain)
    for path in set(plain) - {"/events", "/ws", "/bytes", "/redirect", "/samples.csv"}:
        assert http.get(path).status_code == 200, path


def test_metrics_count_samples_and_requests(monitor: MonitorProcess, http: httpx.Client) -> None:
    http.get("/health/alive")
    alone = httpx.get(f"http://{monitor.address('metrics')}/", timeout=SECONDS, trust_env=False)
    for text in (http.get("/metrics").text, alone.text):
        names = {line.partition("{")[0].partition(" ")[0] for line in text.splitlines()}
        assert {"kpi_samples_total", "kpi_prb_used_percent", "kpi_monitor_info", "http_requests_total"} <= names
        (taken,) = (line.split()[1] for line in text.splitlines() if line.startswith("kpi_samples_total "))
        assert int(taken) > 0


def test_events_contain_samples_in_order(http: httpx.Client) -> None:
    stream = samples(http)
    first, second, third = (next(stream) for _ in range(3))
    assert [second["id"], third["id"]] == [first["id"] + 1, first["id"] + 2]
    assert {first["cell"], second["cell"]} == {"a", "b"}
    assert all(0 <= each["prbUsedPercent"] <= 100 for each in (first, second, third))
    assert all(each["loaded"] == (each["prbUsedPercent"] > 50) for each in (first, second, third))


def test_events_resume_after_the_last_event_id(http: httpx.Client) -> None:
    seen = next(samples(http))["id"]
    newest = next(each["id"] for each in samples(http) if each["id"] > seen + 2)
    resumed = samples(http, after=seen)
    assert [next(resumed)["id"] for _ in range(newest - seen)] == list(range(seen + 1, newest + 1))


def test_a_web_socket_echoes_frames_of_both_kinds(monitor: MonitorProcess) -> None:
    with connect(f"ws://{monitor.address()}/ws", proxy=None, subprotocols=[Subprotocol("kpi.v1")]) as channel:
        assert channel.subprotocol == "kpi.v1"
        for frame in ("text", b"\0binary", "", "x" * 100_000):
            channel.send(frame)
            assert channel.recv(SECONDS) == frame


def test_a_web_socket_sends_samples_on_request(monitor: MonitorProcess) -> None:
    with connect(f"ws://{monitor.address()}/ws?samples=true", proxy=None) as channel:
        first, second = (json.loads(channel.recv(SECONDS)) for _ in range(2))
    assert second["id"] == first["id"] + 1


def test_an_echo_begins_before_the_body_ends(monitor: MonitorProcess, http: httpx.Client) -> None:
    first_received = threading.Event()

    def body() -> Iterator[bytes]:
        yield b"first"
        first_received.wait(SECONDS)
        yield b"last"

    # httpx sends the whole body before it reads the response, so this test uses a socket
    assert raw_echo(monitor.address(), body(), first_received) == b"firstlast"
    assert http.post("/echo", content=b"x" * 1_000_000).content == b"x" * 1_000_000


def test_the_bytes_route_returns_the_requested_size(http: httpx.Client) -> None:
    answer = http.get("/bytes", params={"size": 3_000_000})
    assert (len(answer.content), answer.headers["content-length"]) == (3_000_000, "3000000")
    assert http.get("/bytes", params={"size": 0}).content == b""
    for wrong in ("-1", "many", "", str(2**40)):
        assert http.get("/bytes", params={"size": wrong}).status_code == 422


def test_a_redirect_goes_to_the_requested_location(http: httpx.Client) -> None:
    answer = http.get("/redirect", params={"to": "/config"})
    assert (answer.status_code, answer.headers["location"]) == (302, "/config")
    assert http.get("/redirect", params={"to": "x", "status": 308}).status_code == 308
    assert http.get("/redirect", params={"to": "x", "status": 200}).status_code == 422


def test_the_request_route_returns_the_request(http: httpx.Client) -> None:
    answer = http.get("/request?a=%20b", headers={"X-Seen": "yes"}).json()
    assert (answer["method"], answer["path"], answer["query"]) == ("GET", "/request", "a=%20b")
    assert answer["headers"]["X-Seen"] == ["yes"]


def test_unknown_paths_and_methods_are_refused(http: httpx.Client) -> None:
    assert http.get("/nothing").status_code == 404
    assert http.delete("/config").status_code == 405
    assert "no storage" in http.get("/samples.csv").json()["detail"]


def samples(http: httpx.Client, *, after: int | None = None) -> Iterator[Json]:
    """Yield the samples of the event stream."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with http.stream("GET", "/events", headers=headers) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        number = None
        for line in answer.iter_lines():
            if line.startswith("id: "):
                number = int(line.removeprefix("id: "))
            if line.startswith("data: "):
                sample: Json = json.loads(line.removeprefix("data: "))
                assert sample["id"] == number
                yield sample


def raw_echo(address: str, body: Iterator[bytes], first_chunk_received: threading.Event) -> bytes:
    """Send a chunked body, and set `first_chunk_received` when its first bytes came back."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), SECONDS) as connection:
        head = f"POST /echo HTTP/1.1\r\nHost: {address}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        answer = b""
        received = connection.makefile("rb")

        def read() -> None:
            nonlocal answer
            while line := received.readline():
                answer += line
                if b"first" in answer:
                    first_chunk_received.set()

        reader = threading.Thread(target=read)
        reader.start()
        for piece in body:
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        assert first_chunk_received.is_set()
        connection.sendall(b"0\r\n\r\n")
        reader.join(SECONDS)
    chunks = answer.partition(b"\r\n\r\n")[2].split(b"\r\n")
    return b"".join(chunks[1::2])


def without_descriptions(schema: Json) -> Json:
    """Return a schema without its descriptions."""
    return {
        key: without_descriptions(value) if isinstance(value, dict) else value
        for key, value in schema.items()
        if key != "description" and value is not None
    }
