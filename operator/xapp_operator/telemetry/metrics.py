"""Metrics of both processes in Prometheus' text format, with base units and bounded labels.

`METRICS` are those of this process. A label takes at most MAX_LABEL_VALUES different values; later ones are counted as
`other`, so that no caller can make the registry grow. Names follow Prometheus' conventions (seconds, `_total`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics import MetricWrapperBase

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
MAX_LABEL_VALUES: Final = 64
OTHER_LABEL: Final = "other"
NOT_READY_SECONDS: Final = (0, 300, 900, 3600, 86400)
"""The ages by which `xapp_operator_xapps_not_ready` counts."""

_OPERATION_BUCKETS: Final = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)
_REQUEST_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)

_Metric = TypeVar("_Metric", bound=MetricWrapperBase)


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._seen: defaultdict[str, set[str]] = defaultdict(set)
        ProcessCollector(registry=self.registry)
        registry = self.registry
        self._reconciles = Histogram(
            "xapp_operator_reconcile_seconds",
            "Seconds that an action of the operator took, by action and outcome (`none`: a reconcile without one).",
            ("action", "outcome"),
            buckets=_OPERATION_BUCKETS,
            registry=registry,
        )
        self._queue = Gauge("xapp_operator_queue_depth", "XApps that wait for a worker.", registry=registry)
        self._queue_oldest = Gauge(
            "xapp_operator_queue_oldest_seconds",
            "For how long the XApp that has waited longest has waited for a worker; 0 if none waits.",
            registry=registry,
        )
        self._leader = Gauge("xapp_operator_leader", "1 while this replica of the operator leads.", registry=registry)
        self._phases = Gauge(
            "xapp_operator_xapps", "xApps that the gateway knows, by phase.", ("phase",), registry=registry
        )
        self._drifted = Gauge(
            "xapp_operator_drifted_xapps",
            "XApps with objects that differ from their release (condition Drifted).",
            registry=registry,
        )
        self._helm = Histogram(
            "xapp_operator_helm_seconds",
            "Seconds that a helm process ran, by command and outcome.",
            ("command", "outcome"),
            buckets=_OPERATION_BUCKETS,
            registry=registry,
        )
        self._helm_slots = Gauge(
            "xapp_operator_helm_slots",
            "Slots of helm processes, by kind: `running` (XAPP_HELM_CONCURRENCY) and `waiting` for a hook "
            "(XAPP_HELM_WAITING).",
            ("kind",),
            registry=registry,
        )
        self._helm_slots_used = Gauge(
            "xapp_operator_helm_slots_used",
            "Slots of helm processes that are in use, by kind.",
            ("kind",),
            registry=registry,
        )
        self._helm_slots_awaited = Gauge(
            "xapp_operator_helm_slots_awaited",
            "Steps that wait for a slot of a helm process.",
            registry=registry,
        )
        self._repositories = Gauge(
            "xapp_operator_chart_repositories",
            "ChartRepositories, by whether they are Ready (true, false).",
            ("ready",),
            registry=registry,
        )
        self._not_ready = Gauge(
            "xapp_operator_xapps_not_ready",
            "XApps that have not been Ready for at least so many seconds. Suspended ones do not count.",
            ("min_seconds",),
            registry=registry,
        )
        self._by_reason = Gauge(
            "xapp_operator_xapps_by_reason",
            "XApps by the reason of their condition Ready, such as DependencyNotReady (`other`: an unknown one).",
            ("reason",),
            registry=registry,
        )
        self._certificate_expiry = Gauge(
            "xapp_operator_tls_certificate_expiry_timestamp_seconds",
            "When the certificate of the gateway expires, in seconds since 1970; 0 without XAPP_TLS_CERT (gateway).",
            registry=registry,
        )
        self._fetches = Counter(
            "xapp_operator_chart_fetches_total",
            "Requests for charts and indexes, by kind of source and outcome (downloaded, cached, failed).",
            ("source", "outcome"),
            registry=registry,
        )
        self._watch_restarts = Counter(
            "xapp_operator_watch_restarts_total",
            "Watches restarted after an error or an expired resource version, by resource.",
            ("resource",),
            registry=registry,
        )
        self._requests = Histogram(
            "xapp_operator_http_request_seconds",
            "Seconds from an HTTP request to the end of its response, by method, route and status (gateway).",
            ("method", "route", "status"),
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        self._closed_connections = Counter(
            "xapp_operator_http_connections_closed_total",
            "Connections of clients that were closed or refused because of a limit, by limit (gateway).",
            ("reason",),
            registry=registry,
        )

    def record_connection_closed(self, *, reason: str) -> None:
        """Count a connection that was closed or refused because of a limit."""
        self._with_labels(self._closed_connections, reason=reason).inc()

    def record_reconcile(self, *, action: str, outcome: str, seconds: float) -> None:
        """Record one action on an XApp, such as `install` or `repair_labels`, or `none`."""
        self._with_labels(self._reconciles, action=action, outcome=outcome).observe(seconds)

    def set_queue(self, *, depth: int, oldest_seconds: float) -> None:
        self._queue.set(depth)
        self._queue_oldest.set(oldest_seconds)

    def set_leading(self, *, leading: bool) -> None:
        self._leader.set(leading)

    def set_xapps_by_phase(self, by_phase: Mapping[str, int]) -> None:
        """Set how many XApps are in each phase; a phase left out has none."""
        self._phases.clear()
        for phase, count in by_phase.items():
            self._with_labels(self._phases, phase=phase).inc(count)

    def set_drifted_xapps(self, *, count: int) -> None:
        self._drifted.set(count)

    def record_helm(self, *, command: str, outcome: str, seconds: float) -> None:
        self._with_labels(self._helm, command=command, outcome=outcome).observe(seconds)

    def set_helm_slots(self, *, total: Mapping[str, int], used: Mapping[str, int], awaited: int) -> None:
        """Set the slots of helm processes by kind, and how many steps wait for one."""
        for kind in total:
            self._with_labels(self._helm_slots, kind=kind).set(total[kind])
            self._with_labels(self._helm_slots_used, kind=kind).set(used[kind])
        self._helm_slots_awaited.set(awaited)

    def set_chart_repositories(self, *, ready: int, not_ready: int) -> None:
        self._repositories.labels(ready="true").set(ready)
        self._repositories.labels(ready="false").set(not_ready)

    def set_xapps_not_ready(self, seconds: Iterable[float]) -> None:
        """Set how many XApps are not Ready from the seconds for which each of them has not been."""
        ages = sorted(seconds)
        for minimum in NOT_READY_SECONDS:
            self._not_ready.labels(min_seconds=str(minimum)).set(len(ages) - bisect_left(ages, minimum))

    def set_xapps_by_reason(self, by_reason: Mapping[str, int]) -> None:
        """Set how many XApps have each reason in their condition Ready; a reason left out has none."""
        self._by_reason.clear()
        for reason, count in by_reason.items():
            self._with_labels(self._by_reason, reason=reason).inc(count)

    def set_certificate_expiry(self, *, timestamp: float) -> None:
        """Set when the certificate of the gateway expires, in seconds since the epoch."""
        self._certificate_expiry.set(timestamp)

    def record_chart_fetch(self, *, source: str, outcome: str) -> None:
        """Count one request for a chart or an index."""
        self._with_labels(self._fetches, source=source, outcome=outcome).inc()

    def record_watch_restart(self, *, resource: str) -> None:
        self._with_labels(self._watch_restarts, resource=resource).inc()

    def record_request(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Record one HTTP request; `route` is the template of the path, never the path."""
        self._with_labels(self._requests, method=method, route=route, status=str(status)).observe(seconds)

    def render(self) -> bytes:
        return generate_latest(self.registry)

    def _with_labels(self, metric: _Metric, **labels: str) -> _Metric:
        for name, value in labels.items():
            seen = self._seen[name]
            if value not in seen and len(seen) >= MAX_LABEL_VALUES:
                labels[name] = OTHER_LABEL
            else:
                seen.add(value)
        return metric.labels(**labels)


METRICS: Final = Metrics()
