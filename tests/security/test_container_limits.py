"""A tenant who makes the operator or the gateway use all its memory and disk: the pods' limits have room for it.

Otherwise Kubernetes would end the whole pod.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from xapp_operator.charts.sources.index_reader import PROCESSES_MEMORY_BYTES
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.gateway.state import ARCHIVE_CHECKS_MAX
from xapp_operator.helm.processes.limits import HelmLimits

BASE = Path(__file__).parents[2] / "manifests" / "base"
UNITS = {"Mi": MIB, "Gi": 1024 * MIB}
HELM_FOLDER_BYTES = MIB
"""What one helm process may leave in its folder: it is offline for charts, and gets values by its standard input."""


def deployment(name: str) -> dict[str, Any]:
    (found,) = (
        each
        for each in yaml.safe_load_all((BASE / f"{name}-deployment.yaml").read_text())
        if each["kind"] == "Deployment"
    )
    pod: dict[str, Any] = found["spec"]["template"]["spec"]
    return pod


def settings_of(pod: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Settings:
    for variable in pod["containers"][0]["env"]:
        if "value" in variable:
            monkeypatch.setenv(variable["name"], variable["value"])
    return Settings()


def quantity(text: str) -> int:
    return int(text[:-2]) * UNITS[text[-2:]]


def volume_size(pod: dict[str, Any], path: str) -> int:
    (mount,) = (each for each in pod["containers"][0]["volumeMounts"] if each["mountPath"] == path)
    (volume,) = (each for each in pod["volumes"] if each["name"] == mount["name"])
    return quantity(volume["emptyDir"]["sizeLimit"])


@pytest.mark.parametrize("name", ["operator", "gateway"])
def test_helm_processes_fit_the_memory_limit_as_configured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = deployment(name)
    settings = settings_of(pod, monkeypatch)
    limits = HelmLimits.for_operator(settings) if name == "operator" else HelmLimits.for_gateway(settings)
    memory = quantity(pod["containers"][0]["resources"]["limits"]["memory"])
    assert limits.fit(memory, others_bytes=PROCESSES_MEMORY_BYTES) == limits
    assert limits.concurrency > 2, "one namespace never gets the last two places"


@pytest.mark.parametrize("name", ["operator", "gateway"])
def test_folders_have_room_for_what_may_be_in_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = deployment(name)
    settings = settings_of(pod, monkeypatch)
    limits = HelmLimits.for_operator(settings) if name == "operator" else HelmLimits.for_gateway(settings)
    # The cache is cleaned after a chart was added, and each chart has a description beside it.
    charts = settings.chart_cache_max_bytes + 2 * settings.download_concurrency * settings.chart_max_bytes
    helm = (limits.concurrency + limits.waiting) * HELM_FOLDER_BYTES
    uploads = 200 * settings.chart_max_bytes if name == "gateway" else 0
    assert ARCHIVE_CHECKS_MAX < 200
    assert volume_size(pod, str(settings.cache_dir)) >= charts + helm + uploads
    arriving = settings.download_concurrency * settings.index_max_bytes
    assert volume_size(pod, "/tmp") >= arriving
