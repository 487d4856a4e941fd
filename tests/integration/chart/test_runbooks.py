"""The addresses that alerts give for what to do, with the chart and with kustomize."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.support.operator_chart import chart_objects
from tests.support.promtool import alert_rules

pytestmark = pytest.mark.integration

URL = "https://docs.example.com/troubleshooting/"
SECTIONS = {rule["alert"]: f"{URL}#{rule['alert'].lower()}" for rule in alert_rules()}


def alert_texts(rule: dict[str, Any], key: str) -> dict[str, str | None]:
    """Return an annotation of each alert."""
    return {each["alert"]: each["annotations"].get(key) for group in rule["spec"]["groups"] for each in group["rules"]}


def test_the_chart_gives_each_alert_its_address(binaries: Binaries) -> None:
    def rule(**values: str) -> dict[str, Any]:
        monitoring = {"prometheusRule": {"enabled": True, **values}}
        return chart_objects(binaries, values={"monitoring": monitoring})["PrometheusRule", "xapp-operator"]

    assert set(alert_texts(rule(), "runbook_url").values()) == {None}
    assert alert_texts(rule(runbookURL=URL), "runbook_url") == SECTIONS
    assert alert_texts(rule(runbookURL=URL), "runbook") == alert_texts(rule(), "runbook")


def test_the_example_for_kustomize_gives_each_alert_its_address(binaries: Binaries, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    (example,) = (block for block in page.split("```yaml\n")[1:] if "annotations.runbook]" in block)
    (tmp_path / "rule.yaml").write_bytes((ROOT / "manifests/components/monitoring/prometheus-rule.yaml").read_bytes())
    overlay = f"resources: [rule.yaml]\n{textwrap.dedent(example.partition('```')[0])}"
    (tmp_path / "kustomization.yaml").write_text(overlay)
    kubectl = binaries.resolve(["kubectl"])["kubectl"]
    built = subprocess.run(
        [kubectl, "kustomize", str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert alert_texts(yaml.safe_load(built.stdout), "runbook") == SECTIONS
