"""Checks alerting rules and PromQL with Prometheus' own parser and engine (tests/localcluster/gotools/alertcheck)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT

MONITORING = ROOT / "manifests" / "components" / "monitoring"
INTERVAL_SECONDS = 60

Series = Mapping[str, str]
"""Values by series, in the notation of promtool: one for each minute, such as `0+1x10 _x5 3x20`."""


@dataclass(frozen=True)
class Selector:
    """A selector of a query: the metric, and the labels that it compares."""

    metric: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Alert:
    """An alert that fires."""

    name: str
    labels: Mapping[str, str] = field(hash=False)
    annotations: Mapping[str, str] = field(hash=False)


def alert_rules() -> list[dict[str, Any]]:
    """Return the alerts of manifests/components/monitoring."""
    return [rule for group in _groups()["groups"] for rule in group["rules"]]


def alert_selectors(binaries: Binaries) -> dict[str, list[Selector]]:
    """Return the selectors of each alert. Raises AssertionError where a rule is wrong."""
    answer = _run(binaries, rules=yaml.safe_dump(_groups()))
    return {name: [_selector(each) for each in found] for name, found in answer["alerts"].items()}


def query_selectors(binaries: Binaries, queries: Sequence[str]) -> list[list[Selector]]:
    """Return the selectors of each query. Raises AssertionError where one cannot be parsed."""
    return [[_selector(each) for each in found] for found in _run(binaries, queries=list(queries))["queries"]]


def firing(binaries: Binaries, series: Series, *, minutes: Iterable[int]) -> list[list[Alert]]:
    """Return which alerts fire at each of the minutes."""
    test = {
        "interval_seconds": INTERVAL_SECONDS,
        "series": [{"series": name, "values": values} for name, values in series.items()],
        "at_seconds": [minute * INTERVAL_SECONDS for minute in minutes],
    }
    (answer,) = _run(binaries, rules=yaml.safe_dump(_groups()), tests=[test])["tests"]
    return [[Alert(**each) for each in alerts] for alerts in answer]


def _groups() -> dict[str, Any]:
    rule = yaml.safe_load((MONITORING / "prometheus-rule.yaml").read_text())
    return {"groups": rule["spec"]["groups"]}


def _selector(each: Mapping[str, Any]) -> Selector:
    return Selector(each["metric"], tuple(each["labels"]))


def _run(binaries: Binaries, **request: Any) -> dict[str, Any]:
    program = binaries.resolve(["alertcheck"])["alertcheck"]
    result = subprocess.run(
        [program], input=json.dumps(request), capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer
