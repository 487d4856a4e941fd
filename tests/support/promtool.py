"""Runs promtool: it checks the alerts and queries of manifests/components/monitoring, and tests when alerts fire."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT

MONITORING = ROOT / "manifests" / "components" / "monitoring"
INTERVAL = "1m"
"""The interval of the samples and of the evaluation of rules."""

_SECONDS = 120
_PROBE = "xapp_probe"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_SELECTOR = re.compile(rf'([A-Za-z_:][\w:]*)?\{{((?:[^{{}}"]|{_QUOTED})*)\}}')
_MATCHER = re.compile(rf"(\w+)(?:=~|!~|!=|=){_QUOTED}")

Series = Mapping[str, str]
"""Values by series: one for each minute, such as `0+1x10 _x5 3x20`."""


@dataclass(frozen=True)
class Selector:
    """A selector of a query: the metric, and the labels that it compares."""

    metric: str
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Alert:
    """An alert that fires. Labels of the rule itself need not be given; without a description, only the name counts."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    description: str | None = None


def rule_groups() -> dict[str, Any]:
    """Return manifests/components/monitoring/prometheus-rule.yaml as a file of rules."""
    rule = yaml.safe_load((MONITORING / "prometheus-rule.yaml").read_text())
    return {"groups": rule["spec"]["groups"]}


def alert_rules() -> list[dict[str, Any]]:
    """Return the alerts of manifests/components/monitoring."""
    return [rule for group in rule_groups()["groups"] for rule in group["rules"]]


def check_rules(binaries: Binaries, groups: Mapping[str, Any], *, folder: Path) -> None:
    """Run `promtool check rules`. Raises AssertionError where a rule is wrong."""
    (folder / "rules.yaml").write_text(yaml.safe_dump(groups))
    _run(binaries, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml", folder=folder)


def selectors(binaries: Binaries, query: str) -> list[Selector]:
    """Return the selectors of a query. Raises AssertionError if it cannot be parsed.

    promtool adds a matcher to each selector, which tells selectors from everything else in the query.
    """
    printed = _run(binaries, "--experimental", "promql", "label-matchers", "set", query, _PROBE, "x")
    found = []
    for metric, matchers in _SELECTOR.findall(printed):
        labels = set(_MATCHER.findall(matchers))
        if _PROBE in labels:
            found.append(Selector(metric, tuple(sorted(labels - {_PROBE}))))
    return found


def assert_alerts(binaries: Binaries, series: Series, expected: Mapping[int, Sequence[Alert]], *, folder: Path) -> None:
    """Run `promtool test rules`: at each of the minutes, the expected alerts fire, and no others."""
    rules = {rule["alert"]: rule for rule in alert_rules()}
    described: list[dict[str, Any]] = []
    firing: list[dict[str, Any]] = []
    for minute, alerts in expected.items():
        at = f"{minute}m"
        firing.append(
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": at,
                "exp_samples": [
                    {"labels": f"{{alertname={json.dumps(name)}}}", "value": count}
                    for name, count in Counter(alert.name for alert in alerts).items()
                ],
            }
        )
        described += [
            {"eval_time": at, "alertname": alert.name, "exp_alerts": _expected(alert, rules[alert.name])}
            for alert in alerts
            if alert.description is not None
        ]
    test = {
        "interval": INTERVAL,
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": described,
        "promql_expr_test": firing,
    }
    (folder / "rules.yaml").write_text(yaml.safe_dump(rule_groups()))
    tests = {"rule_files": ["rules.yaml"], "evaluation_interval": INTERVAL, "tests": [test]}
    (folder / "tests.yaml").write_text(yaml.safe_dump(tests))
    _run(binaries, "test", "rules", "--diff", "tests.yaml", folder=folder)


def _expected(alert: Alert, rule: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    annotations = {**rule["annotations"], "description": alert.description}
    return [{"exp_labels": {**rule["labels"], **alert.labels}, "exp_annotations": annotations}]


def _run(binaries: Binaries, *arguments: str, folder: Path | None = None) -> str:
    program = binaries.resolve(["promtool"])["promtool"]
    result = subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
