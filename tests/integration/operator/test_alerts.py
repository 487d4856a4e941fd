"""Alerts on the metrics of a real operator: what Prometheus would read before and after faults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.localcluster import Binaries
from tests.support.charts import chart_archive
from tests.support.operator import OperatorProcess
from tests.support.promtool import Alert, assert_alerts
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

TARGET = {"job": "system/xapp-operator", "namespace": "system", "container": "operator", "pod": "operator-1"}
GATEWAY_UP = 'up{job="system/xapp-operator",container="gateway"}'
MINUTES = 60
"""For how long each state lasts. The alerts on what lasts wait for less."""
FAILING_XAPPS = 7
LONG_AGO = "2026-01-01T00:00:00Z"
REFUSED_BY_THE_API_SERVER = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NOT_A_NAME\n"


def scrape(operator: OperatorProcess) -> dict[str, float]:
    """Return the value of each series of the operator, with the labels that Prometheus adds."""
    port = re.findall(r'"metrics_port": ?(\d+)|metrics_port=(\d+)', operator.log_text())[-1]
    text = httpx.get(f"http://127.0.0.1:{''.join(port)}/metrics").raise_for_status().text
    found = {series("up", TARGET): 1.0}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[series(sample.name, {**sample.labels, **TARGET})] = sample.value
    return found


def series(name: str, labels: Mapping[str, str]) -> str:
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in labels.items())}}}"


def first_and_then(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, str]:
    """Return the values of series that have the first values for an hour, and then the second ones."""
    values = {
        name: f"{before.get(name, 0.0):g}x{MINUTES} {after.get(name, 0.0):g}x{MINUTES}" for name in {**before, **after}
    }
    return {**values, GATEWAY_UP: f"1x{2 * MINUTES}"}


def test_faults_of_a_real_operator_fire_their_alerts(
    operator: OperatorProcess, xapps: XAppClient, binaries: Binaries, tmp_path: Path
) -> None:
    xapps.apply(xapps.uploaded_manifest("fine", chart_archive()))
    xapps.wait_ready("fine")
    before = scrape(operator)

    refused = chart_archive({"templates/refused.yaml": REFUSED_BY_THE_API_SERVER})
    names = [f"refused-{number}" for number in range(FAILING_XAPPS)]
    for name in names:
        xapps.apply(xapps.uploaded_manifest(name, refused))
    repository = {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {"name": "away", "namespace": xapps.namespace},
        "spec": {"url": "http://127.0.0.1:1"},
    }
    xapps.apply(repository)
    for name in names:
        xapps.wait_stalled(name)
    # An xApp that failed long ago, as the operator finds it.
    conditions = xapps.status(names[0])["conditions"]
    for condition in conditions:
        condition["lastTransitionTime"] = LONG_AGO
    patch = json.dumps({"status": {"conditions": conditions}})
    xapps.kubectl("patch", "xapp", names[0], "--subresource=status", "--type=merge", "--patch", patch)

    def is_counted() -> bool:
        found = scrape(operator)
        not_ready = found[series("xapp_operator_xapps_not_ready", {"min_seconds": "86400", **TARGET})]
        repositories = found[series("xapp_operator_chart_repositories", {"ready": "false", **TARGET})]
        return not_ready == 1 and repositories >= 1

    xapps.wait_until(is_counted, what="the faults in the metrics")
    loud = [Alert(name=name) for name in ("XAppOperatorHelmFailing", "XAppChartRepositoryNotReady", "XAppNotReady")]
    hours = first_and_then(before, scrape(operator))
    assert_alerts(binaries, hours, {MINUTES: [], MINUTES + 40: loud}, folder=tmp_path)


def test_no_alert_is_about_a_metric_that_the_operator_lacks(operator: OperatorProcess, xapps: XAppClient) -> None:
    assert xapps
    names = {name.partition("{")[0] for name in scrape(operator)}
    assert names >= {
        "xapp_operator_leader",
        "xapp_operator_queue_oldest_seconds",
        "xapp_operator_helm_slots_used",
        "xapp_operator_helm_slots_awaited",
        "xapp_operator_chart_repositories",
        "xapp_operator_xapps_not_ready",
        "xapp_operator_drifted_xapps",
    }
