"""The program reads the settings that the sample charts render from their values."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.samples.conftest import Start
from tests.integration.samples.monitor_process import command
from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.localrun.image import IMAGE

pytestmark = pytest.mark.integration

CHARTS = ROOT / "manifests" / "samples" / "charts"

Json = dict[str, Any]


@pytest.mark.parametrize("chart", ["hello-world", "kpi-store"])
def test_the_program_runs_with_the_settings_of_a_chart(
    binaries: Binaries, start_monitor: Start, tmp_path: Path, chart: str
) -> None:
    found = settings(render(binaries, chart, {"global": {"kubeIp": "192.0.2.1"}}))
    if "storage" in found:
        found["storage"]["path"] = str(tmp_path / "samples.csv")

    one = start_monitor(**found)

    with one.http() as http:
        one.wait_ready(http)
        greeting = http.get("/").json()
        assert (greeting["name"], greeting["cluster"]) == ("demo", "192.0.2.1")
        assert http.get("/config").json() == found["config"]


@pytest.mark.parametrize("chart", ["hello-world", "kpi-store"])
def test_faults_of_the_values_reach_the_program(
    binaries: Binaries, start_monitor: Start, tmp_path: Path, chart: str
) -> None:
    crash = {"exitCode": 9, "reason": "a value said so"}
    found = settings(render(binaries, chart, {"faults": {"crash": crash, "unready": True}}))
    if "storage" in found:
        found["storage"]["path"] = str(tmp_path / "samples.csv")

    one = start_monitor(**found)

    assert one.wait_exit() == 9
    assert one.log_entries("crashed")[0]["reason"] == "a value said so"


def test_changed_configuration_and_greeting_reach_the_program(binaries: Binaries) -> None:
    config = {"periodMilliseconds": 3_600_000, "thresholdPercent": 99.5, "cells": ["a", "b"]}
    found = settings(render(binaries, "hello-world", {"config": config, "greeting": 'Grüße, "you"'}))
    assert (found["config"], found["greeting"]) == (config, 'Grüße, "you"')


def test_the_kpi_store_hook_refuses_too_small_a_volume(binaries: Binaries) -> None:
    assert run_hook(render(binaries, "kpi-store", {})).returncode == 0
    refused = run_hook(render(binaries, "kpi-store", {"sampling": {"everySeconds": 1, "keepHours": 8760}}))
    assert refused.returncode == 1
    assert "storage.megabytes" in refused.stdout


@pytest.mark.parametrize("chart", ["hello-world", "kpi-store"])
def test_pods_use_the_scheduling_values_and_the_sample_image(binaries: Binaries, chart: str) -> None:
    where = {"nodeSelector": {"kind": "real"}, "tolerations": [{"key": "real", "operator": "Exists"}]}
    specs = [each["spec"]["template"]["spec"] for each in render(binaries, chart, where) if "template" in each["spec"]]
    assert len(specs) == 2
    for spec in specs:
        assert where.items() <= spec.items()
        assert [container["image"] for container in spec["containers"]] == [IMAGE]


def test_a_node_port_is_chosen_by_number(binaries: Binaries) -> None:
    values = {"service": {"type": "NodePort", "nodePort": 30123}}
    (service,) = (each for each in render(binaries, "hello-world", values) if each["kind"] == "Service")
    assert service["spec"]["type"] == "NodePort"
    assert {port["name"]: port.get("nodePort") for port in service["spec"]["ports"]} == {"http": 30123, "metrics": None}


def render(binaries: Binaries, chart: str, values: Json) -> list[Json]:
    helm = binaries.resolve(["helm"])["helm"]
    answer = subprocess.run(
        [helm, "template", "demo", CHARTS / chart, "--values", "-"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return [{"spec": {}, **each} for each in yaml.safe_load_all(answer.stdout) if each]


def settings(objects: list[Json]) -> Json:
    (config_map,) = (each for each in objects if each["kind"] == "ConfigMap")
    found: Json = json.loads(config_map["data"]["settings.json"])
    return found


def run_hook(objects: list[Json]) -> "subprocess.CompletedProcess[str]":
    (job,) = (each for each in objects if each["kind"] == "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return subprocess.run(command(*container["args"]), capture_output=True, text=True, check=False)
