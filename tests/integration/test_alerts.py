"""The alerts and the dashboard: valid for Prometheus, about metrics that exist, and firing when they should."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.metrics import MetricWrapperBase

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.support.promtool import (
    MONITORING,
    Alert,
    Selector,
    alert_rules,
    assert_alerts,
    check_rules,
    rule_groups,
    selectors,
)
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


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is different when an alert fires, the first minute at which it does, and the alert."""

    series: Mapping[str, str]
    minute: int
    description: str
    labels: Mapping[str, str] = field(default_factory=lambda: {"namespace": "system"})


FAULTS: dict[str, Fault] = {
    "XAppOperatorDown": Fault(
        series={f"up{{{OPERATOR}}}": "1x9 0x190"},
        minute=15,
        description="Prometheus has read metrics of no pod of the operator for 5 minutes. XApps are not deployed, "
        "changed or watched.",
        labels={},
    ),
    "XAppGatewayDown": Fault(
        series={f"up{{{GATEWAY}}}": "1x9 _x190"},
        minute=19,
        description="Prometheus has read metrics of no pod of the gateway for 5 minutes. The REST API and the "
        "dashboard are away. xApps and the operator go on.",
        labels={},
    ),
    "XAppOperatorNoLeader": Fault(
        series={f"xapp_operator_leader{{{OPERATOR}}}": "1x9 0x190"},
        minute=13,
        description="The operator in system runs, but no replica has had the Lease for 3 minutes. XApps are not "
        "deployed, changed or watched.",
    ),
    "XAppOperatorQueueOld": Fault(
        series={f"xapp_operator_queue_oldest_seconds{{{OPERATOR}}}": "0+60x200"},
        minute=21,
        description="An XApp has waited for a worker of the operator in system for 21m 0s.",
    ),
    "XAppOperatorHelmSlotsFull": Fault(
        series={f"xapp_operator_helm_slots_awaited{{{OPERATOR}}}": "0x9 1x190"},
        minute=25,
        description="All 6 processes of helm that the operator in system may run have been in use for 15 minutes, and "
        "others wait.",
    ),
    "XAppOperatorHelmFailing": Fault(
        series={
            f'xapp_operator_helm_seconds_count{{{OPERATOR},command="install",outcome="failed"}}': "0x99 2+2x100",
        },
        minute=140,
        description="82 installs, upgrades, rollbacks and uninstalls of the operator in system failed within an hour, "
        "more than half of all.",
    ),
    "XAppChartRepositoryNotReady": Fault(
        series={f'xapp_operator_chart_repositories{{{OPERATOR},ready="false"}}': "0x9 2x190"},
        minute=40,
        description="2 ChartRepositories of the operator in system are not Ready. Charts in them cannot be deployed.",
    ),
    "XAppNotReady": Fault(
        series={f'xapp_operator_xapps_not_ready{{{OPERATOR},min_seconds="3600"}}': "0x9 4x190"},
        minute=15,
        description="4 XApps of the operator in system have not been Ready for more than an hour.",
    ),
    "XAppDrifted": Fault(
        series={f"xapp_operator_drifted_xapps{{{OPERATOR}}}": "0x9 1x190"},
        minute=70,
        description="Somebody changed objects of 1 XApps of the operator in system, and for an hour nobody has changed "
        "them back.",
    ),
    "XAppGatewayErrors": Fault(
        series={
            f'xapp_operator_http_request_seconds_count{{{GATEWAY},route="/api/xapps",status="500"}}': "0+25x200",
        },
        minute=11,
        description="The gateway in system answers 20% of the requests with a status of 500 or more. Requests to the "
        "APIs of xApps do not count.",
    ),
    "XAppGatewayCertificateExpires": Fault(
        series={
            f"xapp_operator_tls_certificate_expiry_timestamp_seconds{{{GATEWAY}}}": f"{7 * 86400 + 3660}x200",
        },
        minute=60,
        description="The certificate of the gateway in system expires in 7d 0h 1m 0s.",
    ),
}


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


def unknown(found: list[Selector]) -> list[str]:
    """Return what selectors name that no process serves."""
    known = exported_metrics()
    return [
        f"{each.metric}{{{label}}}"
        for each in found
        for label in ("", *each.labels)
        if each.metric not in known or (label and label not in known[each.metric] | TARGET_LABELS)
    ]


def dashboard_queries() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$namespace", "system")


def test_promtool_accepts_the_rules(binaries: Binaries, tmp_path: Path) -> None:
    check_rules(binaries, rule_groups(), folder=tmp_path)


def test_every_alert_names_only_metrics_and_labels_that_exist(binaries: Binaries) -> None:
    found = {rule["alert"]: selectors(binaries, rule["expr"]) for rule in alert_rules()}
    assert [name for name, each in found.items() if not each] == []
    assert {name: unknown(each) for name, each in found.items()} == {name: [] for name in found}


def test_every_query_of_the_dashboard_names_only_metrics_and_labels_that_exist(binaries: Binaries) -> None:
    found = {query: selectors(binaries, query) for query in dashboard_queries()}
    assert [query for query, each in found.items() if not each] == []
    assert {query: unknown(each) for query, each in found.items()} == {query: [] for query in found}


def test_selectors_are_found_wherever_they_are_in_a_query(binaries: Binaries) -> None:
    query = (
        """label_replace(sum by (job) (rate(one{b="{x=\\"1\\"}", a!~'c|d'}[5m])), "two", "$1", "job", "(.*)") / up"""
    )
    assert selectors(binaries, query) == [Selector("one", ("a", "b")), Selector("up", ())]
    with pytest.raises(AssertionError, match="parse error"):
        selectors(binaries, "sum(up")


def test_the_dashboard_shows_every_metric(binaries: Binaries) -> None:
    shown = {each.metric for query in dashboard_queries() for each in selectors(binaries, query)}
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


def test_nothing_fires_while_nothing_is_wrong(binaries: Binaries, tmp_path: Path) -> None:
    assert_alerts(binaries, HEALTHY, {1: [], 30: [], 199: []}, folder=tmp_path)


def test_an_unexpected_alert_is_noticed(binaries: Binaries, tmp_path: Path) -> None:
    fault = FAULTS["XAppNotReady"]
    with pytest.raises(AssertionError, match="XAppNotReady"):
        assert_alerts(binaries, {**HEALTHY, **fault.series}, {fault.minute: []}, folder=tmp_path)


@pytest.mark.parametrize("name", FAULTS)
def test_an_alert_fires_at_its_fault_and_no_other_does(binaries: Binaries, name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    alert = Alert(name=name, labels=fault.labels, description=fault.description)
    expected = {fault.minute - 1: [], fault.minute: [alert]}
    assert_alerts(binaries, {**HEALTHY, **fault.series}, expected, folder=tmp_path)


def test_two_installations_are_watched_apart(binaries: Binaries, tmp_path: Path) -> None:
    other = {series.replace("system", "lab"): values for series, values in HEALTHY.items()}
    other[f"xapp_operator_leader{{{OPERATOR}}}".replace("system", "lab")] = "0x200"
    description = FAULTS["XAppOperatorNoLeader"].description.replace("system", "lab")
    alert = Alert(name="XAppOperatorNoLeader", labels={"namespace": "lab"}, description=description)
    assert_alerts(binaries, {**HEALTHY, **other}, {10: [alert]}, folder=tmp_path)


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: str(rule["alert"]))
def test_every_alert_has_a_severity(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
