"""The sample xApp starts, stops, and fails on request."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.integration.samples.conftest import Start
from tests.integration.samples.monitor_process import FAST_CONFIG, MonitorProcess, command
from tests.localcluster.waiting import wait_until
from tests.support.memory import resident_bytes

pytestmark = pytest.mark.integration

SECONDS = 60.0


def test_the_program_is_ready_after_the_first_sample(start_monitor: Start) -> None:
    one = start_monitor()
    with one.http() as http:
        one.wait_ready(http)
    first = [line["msg"] for line in one.lines]
    assert first.index("listening") < first.index("sample")


def test_the_program_logs_json_with_level_time_and_message(start_monitor: Start) -> None:
    one = start_monitor(config={**FAST_CONFIG, "thresholdPercent": 0})
    sample = wait_until(lambda: one.log_entries("sample"), timeout=SECONDS, what="a sample")[0]
    assert sample["level"] == "WARN"
    assert sample["loaded"]
    assert {"time", "cell", "prbUsedPercent", "id"} <= sample.keys()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"config": {**FAST_CONFIG, "periodMilliseconds": 1}}, "periodMilliseconds"),
        ({"colour": "red"}, "colour"),
        ({"faults": {"crash": {"exitCode": 256}}}, "exitCode"),
        ({"faults": {"crash": {"code": 1}}}, "code"),
        ({"storage": {"path": "", "keep": 1}}, "storage"),
        ({"drainMilliseconds": -1}, "drainMilliseconds"),
    ],
)
def test_invalid_settings_end_the_program_with_the_reason(
    start_monitor: Start, settings: dict[str, object], word: str
) -> None:
    one = start_monitor(**settings)
    assert one.wait_exit() == 1
    assert word in one.log_entries("ended")[0]["error"]


def test_a_draining_program_is_unready_and_still_serves(start_monitor: Start) -> None:
    one = start_monitor(drainMilliseconds=60_000)
    with one.http() as http:
        one.wait_ready(http)
        one.process.send_signal(signal.SIGTERM)
        wait_until(lambda: one.log_entries("asked to stop"), timeout=SECONDS, what="it to notice")
        answer = http.get("/health/ready")
        assert (answer.status_code, answer.json()["detail"]) == (503, "the xApp is stopping")
        assert http.get("/health/alive").is_success


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_completes_streams_and_exits_with_zero(start_monitor: Start, number: signal.Signals) -> None:
    one = start_monitor()
    with one.http() as http, http.stream("GET", "/events") as events:
        one.process.send_signal(number)
        events.read()
    assert one.wait_exit() == 0
    assert one.log_entries("stopped")


def test_a_websocket_is_closed_with_going_away(start_monitor: Start) -> None:
    one = start_monitor()
    with connect(f"ws://{one.address()}/ws", proxy=None) as socket:
        socket.send("hello")
        socket.recv(SECONDS)
        one.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(SECONDS)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001
    assert one.wait_exit() == 0


def test_the_crash_fault_logs_the_reason_and_exits_with_the_code(start_monitor: Start) -> None:
    one = start_monitor()
    with one.http() as http:
        assert http.post("/faults/crash", json={"exitCode": 42, "reason": "lost the E2 node"}).status_code == 202
    assert one.wait_exit() == 42
    last = one.lines[-1]
    assert (last["level"], last["msg"], last["exitCode"], last["reason"]) == (
        "ERROR",
        "crashed",
        42,
        "lost the E2 node",
    )


def test_the_unready_fault_can_be_set_and_cleared(start_monitor: Start) -> None:
    one = start_monitor()
    with one.http() as http:
        one.wait_ready(http)
        assert http.post("/faults/unready").status_code == 202
        assert http.get("/health/ready").json()["detail"] == "the fault unready is active"
        assert http.get("/health/alive").is_success
        assert http.post("/faults/ready").status_code == 202
        assert http.get("/health/ready").is_success


def test_the_slow_fault_delays_every_response_until_it_is_cleared(start_monitor: Start) -> None:
    one = start_monitor()
    with one.http() as http:
        assert http.post("/faults/slow", json={"milliseconds": 3_600_000}).status_code == 202
        with pytest.raises(httpx.ReadTimeout):
            http.get("/health/alive", timeout=0.5)
        assert http.post("/faults/slow", json={"milliseconds": 0}).status_code == 202
        assert http.get("/health/alive").is_success


def test_a_leak_takes_memory_up_to_its_bound(start_monitor: Start) -> None:
    one = start_monitor()
    with one.http() as http:
        before = resident_bytes(one.process.pid)
        assert http.post("/faults/leak", json={"megabytesPerSecond": 200, "upToMegabytes": 40}).status_code == 202
        wait_until(lambda: one.log_entries("leak limit reached"), timeout=SECONDS, what="the leak")
        assert resident_bytes(one.process.pid) - before > 35_000 * 1024


@pytest.mark.parametrize(
    ("fault", "body", "status"),
    [
        ("crash", {"exitCode": 256}, 422),
        ("crash", {"why": "x"}, 422),
        ("slow", {"milliseconds": -1}, 422),
        ("leak", {"upToMegabytes": 0}, 422),
        ("leak", [], 422),
        ("crash", {"exitCode": "x"}, 422),
        ("slow", "{", 400),
    ],
)
def test_a_wrong_fault_is_refused(http: httpx.Client, fault: str, body: object, status: int) -> None:
    content = body if isinstance(body, str) else json.dumps(body)
    answer = http.post(f"/faults/{fault}", content=content)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert "Go " not in answer.json()["detail"]


@pytest.mark.parametrize(
    ("faults", "shown"),
    [
        ({"crash": {"exitCode": 7}}, lambda one: one.wait_exit() == 7),
        ({"unready": True}, lambda one: readiness_detail(one) == "the fault unready is active"),
        ({"leak": {"megabytesPerSecond": 100, "upToMegabytes": 2}}, lambda one: one.log_entries("leak limit reached")),
    ],
)
def test_settings_can_enable_a_fault(
    start_monitor: Start, faults: object, shown: Callable[[MonitorProcess], object]
) -> None:
    one = start_monitor(faults=faults)
    wait_until(lambda: shown(one), timeout=SECONDS, what="the fault")


def test_stored_samples_survive_a_restart_and_the_oldest_are_dropped(start_monitor: Start, tmp_path: Path) -> None:
    kept = tmp_path / "samples.csv"
    kept.write_text("".join(f"{number},old,1.0,1\n" for number in range(9)))
    one = start_monitor(storage={"path": str(kept), "keep": 5}, config={**FAST_CONFIG, "periodMilliseconds": 3_600_000})
    wait_until(lambda: one.log_entries("dropped old samples"), timeout=SECONDS, what="the tenth line")
    with one.http() as http:
        answer = http.get("/samples.csv")
    *old, new = answer.text.splitlines()
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert old == ["5,old,1.0,1", "6,old,1.0,1", "7,old,1.0,1", "8,old,1.0,1"]
    assert new.split(",")[1] in {"a", "b"}


def test_the_check_command_verifies_the_storage_size() -> None:
    fits = subprocess.run(command("check", "--keep=17280", "--megabytes=3"), capture_output=True, check=False)
    too_many = subprocess.run(command("check", "--keep=17280", "--megabytes=2"), capture_output=True, check=False)
    assert (fits.returncode, too_many.returncode) == (0, 1)
    assert "storage.megabytes" in json.loads(too_many.stdout)["error"]


def test_the_get_command_requests_a_url(http: httpx.Client) -> None:
    good = subprocess.run(command("get", str(http.base_url.join("/health/alive"))), capture_output=True, check=False)
    bad = subprocess.run(command("get", str(http.base_url.join("/nothing"))), capture_output=True, check=False)
    assert (good.returncode, json.loads(good.stdout)) == (0, {"status": "alive"})
    assert bad.returncode == 1


def test_an_unknown_command_lists_the_known_ones() -> None:
    answer = subprocess.run(command("fly"), capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "serve" in answer.stderr


def readiness_detail(one: MonitorProcess) -> str:
    with one.http() as http:
        return str(http.get("/health/ready").json()["detail"])
