"""Counts what releases cost the cluster: requests by client, verb and resource, and processor time by process.

The API server's own counter (`apiserver_request_total`) gives the totals. Its audit log tells which client sent a
request; it leaves out the reads of controllers, so what no other client sent is theirs.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.localcluster import Cluster, LocalCluster
from tests.support.audit import read_audit_events

HELM, OPERATOR, USER, CONTROLLERS = "helm", "operator", "user", "controllers"
CLIENTS: Final = (HELM, OPERATOR, CONTROLLERS, USER)
ENGINE_PROCESSES: Final = ("helm", "operator", "kube-apiserver", "etcd", "kube-controller-manager")
"""The processes of the budget. The scheduler and the simulated nodes do the same for everybody."""
KUBECTL: Final = "kubectl"
"""The user's own process. It is not of the budget, but it takes its time from the same processors here."""

_AGENTS: Final = {"Helm": HELM, "Python": OPERATOR, "kopf": OPERATOR, "kubectl": USER}
_METRIC_VERBS: Final = {"APPLY": "PATCH"}  # a server-side apply is a PATCH that the API server counts apart
_AUDIT_VERBS: Final = {"create": "POST", "update": "PUT", "deletecollection": "DELETECOLLECTION"}
_SAMPLE: Final = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_TICKS: Final = os.sysconf("SC_CLK_TCK")

RequestKind: TypeAlias = tuple[str, str]
"""HTTP verb (LIST for a list), and resource with subresource."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What happened between two snapshots."""

    requests: Mapping[str, Counter[RequestKind]]
    """By client."""
    conflicts: int
    processor: Mapping[str, float]
    """Seconds by process."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            {client: self.requests[client] + other.requests[client] for client in CLIENTS},
            self.conflicts + other.conflicts,
            Counter(self.processor) + Counter(other.processor),
        )

    def writes(self, client: str) -> int:
        return sum(number for (verb, _), number in self.requests[client].items() if verb not in ("GET", "LIST"))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The counters at one moment."""

    totals: Counter[RequestKind]
    conflicts: int
    audited: int
    processor: Mapping[str, float]


class CostMeter:
    """Takes snapshots of a local cluster and of an operator on it."""

    def __init__(self, local: LocalCluster, cluster: Cluster) -> None:
        self._local = local
        self._cluster = cluster

    def snapshot(self, *, operator: int | None = None) -> Snapshot:
        """Return the counters now; `operator` is the pid of the operator, whose ended children are helm."""
        metrics = self._cluster.kubectl("get", "--raw", "/metrics")
        totals: Counter[RequestKind] = Counter()
        conflicts = 0
        for labels, number in _SAMPLE.findall(metrics):
            sample = dict(_LABEL.findall(labels))
            verb = _METRIC_VERBS.get(str(sample["verb"]), str(sample["verb"]))
            kind = _kind(verb, str(sample["resource"]), str(sample["subresource"]))
            if kind is not None:
                totals[kind] += int(float(number))
                conflicts += int(float(number)) if sample["code"] == "409" else 0
        processes = self._local.state().processes
        processor = {name: sum(_processor_seconds(identity.pid)[:1]) for name, identity in processes.items()}
        if operator is not None:
            processor["operator"], processor["helm"] = _processor_seconds(operator)
        return Snapshot(totals, conflicts, len(self._audit_events()), processor)

    def cost(self, before: Snapshot, after: Snapshot) -> Cost:
        """Return what happened between two snapshots."""
        requests = _count_by_client(self._audit_events()[before.audited : after.audited])
        known = sum(requests.values(), Counter())
        for kind, number in (after.totals - before.totals).items():
            if number > known[kind]:
                requests[CONTROLLERS][kind] += number - known[kind]
        spent = {name: after.processor[name] - before.processor.get(name, 0.0) for name in after.processor}
        return Cost(requests, after.conflicts - before.conflicts, spent)

    def _audit_events(self) -> list[dict[str, Any]]:
        assert self._cluster.audit_log is not None
        return read_audit_events(self._cluster.audit_log)


def _count_by_client(events: Iterable[Mapping[str, Any]]) -> dict[str, Counter[RequestKind]]:
    requests: dict[str, Counter[RequestKind]] = {client: Counter() for client in CLIENTS}
    for event in events:
        target = event.get("objectRef", {})
        verb = _AUDIT_VERBS.get(event["verb"], event["verb"].upper())
        kind = _kind(verb, str(target.get("resource", "")), str(target.get("subresource", "")))
        if kind is None and target.get("resource") is None and not event["requestURI"].startswith("/metrics"):
            kind = (verb, "discovery")
        client = _AGENTS.get(event.get("userAgent", "").partition("/")[0], CONTROLLERS)
        if kind is not None:
            requests[client][kind] += 1
    return requests


def _kind(verb: str, resource: str, subresource: str) -> RequestKind | None:
    """Return the kind of a request, or None for what does not belong to releases: heartbeats, streams, probes."""
    if not resource or resource == "leases" or verb in ("WATCH", "CONNECT"):
        return None
    return verb, f"{resource}/{subresource}" if subresource else resource


def _processor_seconds(pid: int) -> tuple[float, float]:
    """Return the processor time of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
    return own / _TICKS, children / _TICKS


def print_requests(costs: Mapping[str, Cost], count: int) -> None:
    """Print the requests of each of `costs`, by their titles, divided by `count` releases."""
    for title, cost in costs.items():
        total = sum(sum(requests.values()) for requests in cost.requests.values())
        print(f"\n{title}: {total / count:.1f} requests per release, {cost.conflicts / count:.2f} of them conflicts")
        for client in CLIENTS:
            requests = cost.requests[client]
            if requests:
                print(f"  {client}: {sum(requests.values()) / count:.1f}")
            for (verb, resource), number in requests.most_common():
                if number * 50 >= count:  # less than 2 % of the releases: the start of a process, a resync
                    print(f"    {number / count:6.2f} {verb:6} {resource}")


def print_processor_time(costs: Mapping[str, Cost], count: int) -> None:
    """Print the processor seconds of each process for one release."""
    print(f"\nprocessor seconds per release{'':6}" + "".join(f"{title:>12}" for title in costs))
    for name in ENGINE_PROCESSES:
        print(f"  {name:33}" + "".join(f"{cost.processor.get(name, 0.0) / count:12.3f}" for cost in costs.values()))
    totals = (sum(cost.processor.get(name, 0.0) for name in ENGINE_PROCESSES) / count for cost in costs.values())
    print(f"  {'in all':33}" + "".join(f"{total:12.3f}" for total in totals))
    print(f"  {KUBECTL:33}" + "".join(f"{cost.processor.get(KUBECTL, 0.0) / count:12.3f}" for cost in costs.values()))
