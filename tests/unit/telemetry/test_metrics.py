"""Metrics: their names, and labels with a bounded number of values."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from xapp_operator.telemetry.metrics import MAX_LABEL_VALUES, OTHER_LABEL, Metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_operations_are_counted_with_their_labels() -> None:
    metrics = Metrics()
    metrics.record_reconcile(action="install", outcome="succeeded", seconds=0.3)
    metrics.record_helm(command="install", outcome="succeeded", seconds=0.2)
    metrics.record_chart_fetch(source="http", outcome="cached")
    metrics.record_watch_restart(resource="xapps")
    metrics.record_request(method="GET", route="/api/xapps", status=200, seconds=0.002)
    metrics.set_queue(depth=3, oldest_seconds=4.5)
    metrics.set_helm_slots(total={"running": 6}, used={"running": 2}, awaited=1)
    metrics.set_chart_repositories(ready=2, not_ready=1)
    metrics.set_leading(leading=True)
    found = samples(metrics)
    assert found["xapp_operator_reconcile_seconds_count", (("action", "install"), ("outcome", "succeeded"))] == 1
    assert found["xapp_operator_helm_seconds_sum", (("command", "install"), ("outcome", "succeeded"))] == 0.2
    assert found["xapp_operator_chart_fetches_total", (("outcome", "cached"), ("source", "http"))] == 1
    assert found["xapp_operator_watch_restarts_total", (("resource", "xapps"),)] == 1
    labels = (("method", "GET"), ("route", "/api/xapps"), ("status", "200"))
    assert found["xapp_operator_http_request_seconds_count", labels] == 1
    assert found["xapp_operator_queue_depth", ()] == 3
    assert found["xapp_operator_queue_oldest_seconds", ()] == 4.5
    assert found["xapp_operator_helm_slots", (("kind", "running"),)] == 6
    assert found["xapp_operator_helm_slots_used", (("kind", "running"),)] == 2
    assert found["xapp_operator_helm_slots_awaited", ()] == 1
    assert found["xapp_operator_chart_repositories", (("ready", "true"),)] == 2
    assert found["xapp_operator_chart_repositories", (("ready", "false"),)] == 1
    assert found["xapp_operator_leader", ()] == 1


def test_xapps_are_counted_by_how_long_they_are_not_ready() -> None:
    metrics = Metrics()
    metrics.set_xapps_not_ready([-5.0, 0.0, 299.9, 300.0, 4000.0, 90000.0])
    found = {
        int(dict(labels)["min_seconds"]): value
        for (name, labels), value in samples(metrics).items()
        if name == "xapp_operator_xapps_not_ready"
    }
    assert found == {0: 5, 300: 3, 900: 2, 3600: 2, 86400: 1}


def test_a_phase_without_xapps_is_removed() -> None:
    metrics = Metrics()
    metrics.set_xapps_by_phase({"Pending": 2, "Deployed": 1})
    metrics.set_xapps_by_phase({"Deployed": 3})
    found = {key: value for key, value in samples(metrics).items() if key[0] == "xapp_operator_xapps"}
    assert found == {("xapp_operator_xapps", (("phase", "Deployed"),)): 3}


def test_a_reason_without_xapps_is_removed() -> None:
    metrics = Metrics()
    metrics.set_xapps_by_reason({"DependencyNotReady": 2, "InstallSucceeded": 1})
    metrics.set_xapps_by_reason({"InstallSucceeded": 3})
    found = {key: value for key, value in samples(metrics).items() if key[0] == "xapp_operator_xapps_by_reason"}
    assert found == {("xapp_operator_xapps_by_reason", (("reason", "InstallSucceeded"),)): 3}


def test_a_label_never_takes_more_values_than_its_bound() -> None:
    metrics = Metrics()
    for number in range(10 * MAX_LABEL_VALUES):
        metrics.record_request(method="GET", route=f"/{number}", status=404, seconds=0.001)
    counts = {
        dict(labels)["route"]: value
        for (name, labels), value in samples(metrics).items()
        if name == "xapp_operator_http_request_seconds_count"
    }
    assert len(counts) == MAX_LABEL_VALUES + 1
    assert counts[OTHER_LABEL] == 9 * MAX_LABEL_VALUES
    assert counts["/0"] == 1


def test_two_registries_do_not_share_metrics() -> None:
    first, second = Metrics(), Metrics()
    first.set_queue(depth=5, oldest_seconds=0)
    assert samples(second)["xapp_operator_queue_depth", ()] == 0
