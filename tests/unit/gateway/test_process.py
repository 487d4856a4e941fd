"""The gateway as a process: how it starts, refuses to start, and ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.gateway import UNREACHABLE_KUBECONFIG
from xapp_operator.config.settings import CLUSTER_NETWORKS

PROGRAM = Path(sys.executable).parent / "xapp-operator"
SECONDS = 60.0


def environment(folder: Path, **changes: str) -> dict[str, str]:
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(UNREACHABLE_KUBECONFIG)
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "KUBECONFIG": str(kubeconfig),
        "XAPP_AUTH": "none",
        "XAPP_PORT": "0",
        "XAPP_METRICS_PORT": "0",
        "XAPP_HELM": "true",
        "XAPP_CACHE_DIR": str(folder / "cache"),
        "XAPP_REPOSITORY_DENIED_NETWORKS": "apiserver",  # The others are read from it, with retries that take a second.
        **changes,
    }


@contextmanager
def process(folder: Path, **changes: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A gateway that serves, and a client of it."""
    log = folder / "log"
    with log.open("w") as output:
        running = subprocess.Popen(
            [PROGRAM, "gateway"], env=environment(folder, **changes), stdout=output, stderr=output, text=True
        )
    try:
        deadline = time.monotonic() + SECONDS
        while not (found := re.search(r'"port": ?(\d+)', log.read_text())):
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}", trust_env=False, timeout=SECONDS) as http:
            yield running, http
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_gateway_serves_without_an_api_server_and_ends_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with process(tmp_path, XAPP_REPOSITORY_DENIED_NETWORKS=",".join(CLUSTER_NETWORKS)) as (running, http):
        assert http.get("/healthz").status_code == 200
        assert http.get("/readyz").status_code == 503
        assert http.get("/api/xapps").status_code == 503
        assert len(list((tmp_path / "cache").glob("uploads-*"))) == 1

        running.send_signal(number)

        assert running.wait(SECONDS) == 0
    assert not list((tmp_path / "cache").glob("uploads-*"))
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_an_audit_log_that_cannot_be_opened_ends_the_start_with_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "none" / "audit.log"
    ended = subprocess.run(
        [PROGRAM, "gateway"],
        env=environment(tmp_path, XAPP_AUDIT_LOG=str(path)),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 1
    (line,) = (each for each in ended.stderr.splitlines() if str(path) in each)
    assert "No such file or directory" in line
    assert "set XAPP_AUDIT_LOG to a file" in line
    assert "Traceback" not in ended.stderr + ended.stdout


def test_metrics_are_served_on_a_port_of_their_own(tmp_path: Path) -> None:
    with process(tmp_path) as (_, http):
        http.get("/healthz")
        log = (tmp_path / "log").read_text()
        found = re.search(r'"metrics_port": ?(\d+)', log)
        assert found is not None, log
        metrics = httpx.get(f"http://127.0.0.1:{found[1]}/metrics", trust_env=False)
        on_the_api = http.get("/metrics").status_code

    assert 'route="/healthz"' in metrics.text
    assert "xapp_operator_xapps" in metrics.text
    assert on_the_api == 404


def test_probes_are_served_on_a_port_of_their_own(tmp_path: Path) -> None:
    with process(tmp_path, XAPP_GATEWAY_PROBE_PORT="0", XAPP_PROBE_HOST="127.0.0.1"):
        found = re.search(r'"probe_port": ?(\d+)', (tmp_path / "log").read_text())
        assert found is not None
        probes = f"http://127.0.0.1:{found[1]}"
        assert httpx.get(f"{probes}/healthz", trust_env=False).status_code == 200
        assert httpx.get(f"{probes}/readyz", trust_env=False).status_code == 503


def refusal(folder: Path, **changes: str) -> str:
    """Return the output of a gateway that refuses to start."""
    ended = subprocess.run(
        [PROGRAM, "gateway"],
        env=environment(folder, **changes),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_the_gateway_does_not_serve_other_machines_without_authentication(tmp_path: Path) -> None:
    message = refusal(tmp_path, XAPP_HOST="0.0.0.0")

    assert "XAPP_AUTH=none" in message
    assert "127.0.0.1" in message


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({"XAPP_HOST": "0.0.0.0"}, ["speaks plain HTTP"]),
        ({"XAPP_HOST": "127.0.0.1", "XAPP_INSECURE_SESSIONS": "true"}, ["XAPP_INSECURE_SESSIONS allows"]),
    ],
    ids=str,
)
def test_the_gateway_warns_about_plain_http(tmp_path: Path, changes: dict[str, str], warned: list[str]) -> None:
    with process(tmp_path, XAPP_AUTH="kubernetes", **changes) as (_, http):
        about = http.get("/api/about").json()
        log = (tmp_path / "log").read_text()

    assert about["auth"] == "kubernetes"
    for text in ("speaks plain HTTP", "XAPP_INSECURE_SESSIONS allows"):
        assert (text in log) is (text in about.get("insecure", "")) is (text in warned)


def test_the_gateway_reports_an_unusable_certificate(tmp_path: Path) -> None:
    missing = {"XAPP_TLS_CERT": str(tmp_path / "no.crt"), "XAPP_TLS_KEY": str(tmp_path / "no.key")}

    assert "XAPP_TLS_KEY" in refusal(tmp_path, **missing)


def test_the_gateway_reports_an_address_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        message = refusal(tmp_path, XAPP_PORT=str(taken.getsockname()[1]))

    assert "XAPP_PORT" in message


def test_the_gateway_reports_a_missing_cluster(tmp_path: Path) -> None:
    assert "kubeconfig" in refusal(tmp_path, KUBECONFIG=str(tmp_path / "none")).lower()


def test_the_gateway_reports_missing_helm(tmp_path: Path) -> None:
    assert "XAPP_HELM" in refusal(tmp_path, XAPP_HELM=str(tmp_path / "none"))
