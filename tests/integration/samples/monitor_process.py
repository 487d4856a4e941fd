"""Runs the program of the sample xApps as a process, and reads its log."""

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.localcluster import Binaries
from tests.localcluster.tools import KPI_MONITOR
from tests.localcluster.waiting import wait_until

SECONDS = 60.0
FAST_CONFIG: Mapping[str, object] = {"periodMilliseconds": 20, "thresholdPercent": 50, "cells": ["a", "b"]}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorProcess:
    """One process."""

    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def lines(self) -> list[Json]:
        """The complete lines of its log so far."""
        whole = self.log.read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def log_entries(self, message: str) -> list[Json]:
        return [line for line in self.lines if line["msg"] == message]

    def address(self, port: str = "http") -> str:
        """Return the address of a port, once the process listens on it."""
        (found,) = wait_until(
            lambda: [line["address"] for line in self.log_entries("listening") if line["port"] == port],
            timeout=SECONDS,
            what=f"the port {port}; its log: {self.log.read_text()}",
        )
        return str(found)

    def http(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://{self.address()}", timeout=SECONDS, trust_env=False)

    def wait_ready(self, http: httpx.Client) -> None:
        wait_until(lambda: http.get("/health/ready").is_success, timeout=SECONDS, what="it to be ready")

    def wait_exit(self) -> int:
        """Wait for its end and return the exit status."""
        return self.process.wait(SECONDS)


@contextmanager
def run_monitor(folder: Path, **settings: object) -> Iterator[MonitorProcess]:
    """Run `kpi-monitor serve` with these settings until the block ends, with FAST_CONFIG by default."""
    file = folder / "settings.json"
    file.write_text(json.dumps({"config": FAST_CONFIG, "drainMilliseconds": 0, **settings}))
    log = folder / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command("serve", "--settings", str(file), "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0"),
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield MonitorProcess(process=process, log=log)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)


def command(*arguments: str) -> list[str]:
    """Return the command line of the program."""
    return [str(Binaries().resolve([KPI_MONITOR.name])[KPI_MONITOR.name]), *arguments]
