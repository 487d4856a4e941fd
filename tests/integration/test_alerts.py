"""The alerts and the dashboard: valid for Prometheus, about metrics that exist, and firing when they should."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.metrics import MetricWrapperBase

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.support.alertcheck import MONITORING, Selector, alert_rules, alert_selectors, firing, query_selectors
from xapp_operator.telemetry.metrics import Metrics

pytestmark = pytest.mark.integration

DASHBOARD = json.loads((MONITORING / "grafana-dashboard.json").read_text())
SUFFIXES = {"counter": ("_total",), "histogram": ("_count", "_sum", "_bucket")}
TARGET_LABELS = {"job", "namespace", "pod", "container"}
"""The labels that Prometheus gives to each series because of the PodMonitor."""
METRICS_OF_EVERY_TARGET = {"up": set[str](), "process_resident_memory_bytes": set[str]()}

OPERATOR = 'job="system/xapp-operator",namespace="system",container="operator",pod="operator-1"'
GATEWAY = 'job="system/xapp-operator",namespace="system",container="gateway",pod="gateway-1"'
HEALTHY = {
    f"up{{{OPERATOR}}}": "1x200",
    f"up{{{GATEWAY}}}": "1x200",
    f"xapp_operator_leader{{{OPERATOR}}}": "1x200",
    f"xapp_operator_leader{{{OPERATOR.replace('-1', '-2')}}}": "0x200",
    f"xapp_operator_leader{{{GATEWAY}}}": "0x200",
    f"xapp_operator_queue_oldest_seconds{{{OPERATOR}}}": "30x200",
    f'xapp_operator_helm_slots{{{OPERATOR},kind="running"}}': "6x200",
    f'xapp_operator_helm_slots_used{{{OPERATOR},kind="running"}}': "6x200",
    f'xapp_operator_helm_slots{{{OPERATOR},kind="waiting"}}': "0x200",
    f'xapp_operator_helm_slots_used{{{OPERATOR},kind="waiting"}}': "0x200",
    f"xapp_operator_helm_slots_awaited{{{OPERATOR}}}": "0x200",
    f'xapp_operator_helm_seconds_count{{{OPERATOR},command="install",outcome="ok"}}': "0+1x200",
    f'xapp_operator_helm_seconds_count{{{OPERATOR},command="install",outcome="failed"}}': "0+0.5x200",
    f'xapp_operator_helm_seconds_count{{{OPERATOR},command="template",outcome="failed"}}': "0+9x200",
    f'xapp_operator_chart_repositories{{{OPERATOR},ready="true"}}': "2x200",
    f'xapp_operator_chart_repositories{{{OPERATOR},ready="false"}}': "0x200",
    f'xapp_operator_xapps_not_ready{{{OPERATOR},min_seconds="900"}}': "3x200",
    f'xapp_operator_xapps_not_ready{{{OPERATOR},min_seconds="3600"}}': "0x200",
    f"xapp_operator_drifted_xapps{{{OPERATOR}}}": "0x200",
    f'xapp_operator_http_request_seconds_count{{{GATEWAY},route="/api/xapps",status="200"}}': "0+100x200",
    f'xapp_operator_http_request_seconds_count{{{GATEWAY},route="/api/xapps",status="500"}}': "0+4x200",
    **{
        f"xapp_operator_http_request_seconds_count{{{GATEWAY},"
        f'route="/api/xapps/{{namespace}}/{{name}}/{route}",status="502"}}': "0+900x200"
        for route in ("api", "api/{path:path}", "proxy/{service}/{port}", "proxy/{service}/{port}/{path:path}")
    },
    f"xapp_operator_tls_certificate_expiry_timestamp_seconds{{{GATEWAY}}}": f"{30 * 86400}x200",
    f"xapp_operator_tls_certificate_expiry_timestamp_seconds{{{OPERATOR}}}": "0x200",
}
"""A busy system in which nothing is wrong, for 200 minutes."""

FAULTS: dict[str, tuple[dict[str, str], int, str]] = {
    "XAppOperatorDown": ({f"up{{{OPERATOR}}}": "1x9 0x190"}, 15, "no pod of the operator"),
    "XAppGatewayDown": ({f"up{{{GATEWAY}}}": "1x9 _x190"}, 19, "no pod of the gateway"),
    "XAppOperatorNoLeader": ({f"xapp_operator_leader{{{OPERATOR}}}": "1x9 0x190"}, 13, "operator in system runs"),
    "XAppOperatorQueueOld": ({f"xapp_operator_queue_oldest_seconds{{{OPERATOR}}}": "0+60x200"}, 21, "for 21m 0s"),
    "XAppOperatorHelmSlotsFull": (
        {f"xapp_operator_helm_slots_awaited{{{OPERATOR}}}": "0x9 1x190"},
        25,
        "All 6 processes",
    ),
    "XAppOperatorHelmFailing": (
        {f'xapp_operator_helm_seconds_count{{{OPERATOR},command="install",outcome="failed"}}': "0x99 2+2x100"},
        140,
        "82 installs, upgrades",
    ),
    "XAppChartRepositoryNotReady": (
        {f'xapp_operator_chart_repositories{{{OPERATOR},ready="false"}}': "0x9 2x190"},
        40,
        "2 ChartRepositories",
    ),
    "XAppNotReady": ({f'xapp_operator_xapps_not_ready{{{OPERATOR},min_seconds="3600"}}': "0x9 4x190"}, 15, "4 XApps"),
    "XAppDrifted": ({f"xapp_operator_drifted_xapps{{{OPERATOR}}}": "0x9 1x190"}, 70, "1 XApps"),
    "XAppGatewayErrors": (
        {
            f'xapp_operator_http_request_seconds_count{{{GATEWAY},route="/api/xapps",status="500"}}': "0+25x200",
        },
        11,
        "answers 20% of the requests",
    ),
    "XAppGatewayCertificateExpires": (
        {f"xapp_operator_tls_certificate_expiry_timestamp_seconds{{{GATEWAY}}}": f"{7 * 86400 + 3660}x200"},
        60,
        "expires in 7d",
    ),
}
"""What is different when an alert fires, the first minute at which it does, and words of its description."""


def exported_metrics() -> dict[str, set[str]]:
    """Return the names of the series that the processes serve, with the labels of each."""
    found: dict[str, set[str]] = dict(METRICS_OF_EVERY_TARGET)
    for metric in vars(Metrics()).values():
        if isinstance(metric, MetricWrapperBase):
            suffixes = SUFFIXES.get(str(metric._type), ("",))
            for suffix in suffixes:
                bucket = {"le"} if suffix == "_bucket" else set()
                found[f"{metric._name}{suffix}"] = set(metric._labelnames) | bucket
    return found


def unknown(selectors: list[Selector]) -> list[str]:
    """Return what selectors name that no process serves."""
    known = exported_metrics()
    return [
        f"{each.metric}{{{label}}}"
        for each in selectors
        for label in ("", *each.labels)
        if each.metric not in known or (label and label not in known[each.metric] | TARGET_LABELS)
    ]


def dashboard_queries() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$namespace", "system")


def test_every_alert_names_only_metrics_and_labels_that_exist(binaries: Binaries) -> None:
    selectors = alert_selectors(binaries)
    assert {name: unknown(found) for name, found in selectors.items()} == {name: [] for name in selectors}


def test_every_query_of_the_dashboard_names_only_metrics_and_labels_that_exist(binaries: Binaries) -> None:
    queries = list(dashboard_queries())
    found = dict(zip(queries, query_selectors(binaries, queries), strict=True))
    assert {query: unknown(selectors) for query, selectors in found.items()} == {query: [] for query in queries}


def test_the_dashboard_shows_every_metric(binaries: Binaries) -> None:
    shown = {each.metric for found in query_selectors(binaries, list(dashboard_queries())) for each in found}
    families = {re.sub(r"_(total|count|sum|bucket)$", "", name) for name in exported_metrics()} - {"up"}
    assert families - {re.sub(r"_(total|count|sum|bucket)$", "", name) for name in shown} == set()


def test_the_parts_of_the_dashboard_do_not_overlap() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
                assert x < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: str(rule["alert"]))
def test_the_documentation_says_what_to_do(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor == rule["alert"].lower()
    _, heading, text = (ROOT / page).read_text().partition(f"\n### {rule['alert']}\n\n")
    assert heading
    assert len(text.partition("\n#")[0]) > 80


def test_every_alert_has_a_fault() -> None:
    assert [rule["alert"] for rule in alert_rules()] == list(FAULTS)


def test_nothing_fires_while_nothing_is_wrong(binaries: Binaries) -> None:
    assert firing(binaries, HEALTHY, minutes=[1, 30, 199]) == [[], [], []]


@pytest.mark.parametrize("name", FAULTS)
def test_an_alert_fires_at_its_fault_and_no_other_does(binaries: Binaries, name: str) -> None:
    changed, minute, words = FAULTS[name]
    before, at = firing(binaries, {**HEALTHY, **changed}, minutes=[minute - 1, minute])
    assert before == []
    (alert,) = at
    assert alert.name == name
    assert words in alert.annotations["description"]
    assert alert.labels["severity"] in {"critical", "warning", "info"}


def test_two_installations_are_watched_apart(binaries: Binaries) -> None:
    other = {series.replace("system", "lab"): values for series, values in HEALTHY.items()}
    other[f"xapp_operator_leader{{{OPERATOR}}}".replace("system", "lab")] = "0x200"
    (alerts,) = firing(binaries, {**HEALTHY, **other}, minutes=[10])
    assert [(alert.name, alert.labels["namespace"]) for alert in alerts] == [("XAppOperatorNoLeader", "lab")]
