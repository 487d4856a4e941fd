"""Metrics of both processes in Prometheus' text format, with base units and bounded labels.

`METRICS` are those of this process. A label takes at most MAX_LABEL_VALUES different values; later ones are counted as
`other`, so that no caller can make the registry grow. Names follow Prometheus' conventions (seconds, `_total`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics import MetricWrapperBase

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
MAX_LABEL_VALUES: Final = 64
OTHER_LABEL: Final = "other"

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

    def set_queue_depth(self, *, depth: int) -> None:
        self._queue.set(depth)

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
