"""Another tenant of the cluster, whose XApps become Ready in time whatever a first tenant does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.support.memory import resident_bytes
from tests.support.operator import SYSTEM_NAMESPACE, OperatorProcess
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

READY_SECONDS = 10.0
MIB = 1024 * 1024


@dataclass
class Neighbour:
    """Deploys XApps in a namespace of its own; `measured` are the figures of the test."""

    xapps: XAppClient
    operator: OperatorProcess
    measured: dict[str, float] = field(default_factory=dict)
    _leases: list[tuple[str, int]] = field(default_factory=list)

    def measure_alone(self) -> None:
        """Deploy one XApp before the attack: what this takes is what the machine takes."""
        self._deploy("alone", seconds=60)
        self._leases.append(self._lease())

    def check_ready_in_time(self, name: str = "during", *, repository: str | None = None) -> None:
        """Deploy one XApp, which must become Ready in time, while the same process stays the leader.

        Its chart comes from the repository at that address, or else from an upload.
        """
        with self._measure_stall():
            self._deploy(name, seconds=READY_SECONDS + self.measured["alone"], repository=repository)
        assert self._lease() == self._leases[0], "the operator lost its Lease"
        self.measured["operator MiB"] = self.operator_memory() / MIB

    def operator_memory(self) -> int:
        """Return the resident memory of the operator, without its helm processes, in bytes."""
        return resident_bytes(self.operator.pid)

    def _deploy(self, name: str, *, seconds: float, repository: str | None = None) -> None:
        began = time.monotonic()
        manifest = (
            self.xapps.uploaded_manifest(name, workload_chart())
            if repository is None
            else self.xapps.remote_manifest(name, url=repository, chart="workload")
        )
        self.xapps.apply(manifest)
        self.xapps.wait_ready(name, seconds=seconds)
        self.measured[name] = round(time.monotonic() - began, 2)

    @contextmanager
    def _measure_stall(self) -> Iterator[None]:
        """Record the longest time that the operator takes to answer a probe, which is about the stall of its loop."""
        stop = threading.Event()

        def probe() -> None:
            with httpx.Client(base_url=f"http://127.0.0.1:{self.operator.settings['XAPP_PROBE_PORT']}") as http:
                while not stop.wait(0.02):
                    began = time.monotonic()
                    http.get("/healthz", timeout=60)
                    longest = max(self.measured.get("stall", 0.0), time.monotonic() - began)
                    self.measured["stall"] = round(longest, 3)

        thread = threading.Thread(target=probe)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _lease(self) -> tuple[str, int]:
        found = self.xapps.cluster.kubectl("-n", SYSTEM_NAMESPACE, "get", "lease", "xapp-operator", "-o", "json")
        spec = json.loads(found)["spec"]
        return spec["holderIdentity"], spec.get("leaseTransitions", 0)
