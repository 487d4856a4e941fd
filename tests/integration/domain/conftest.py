"""The real helm, and how its templates see values."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.localcluster import Binaries

TEMPLATE = "json: {{ toJson .Values | b64enc }}\ntext: {{ printf `%v` .Values | b64enc }}\n"


@dataclass(frozen=True, slots=True)
class RenderedValues:
    """What a template sees: the values as JSON, every number a float, and how Go prints them."""

    values: dict[str, Any]
    text: str


class HelmTemplateError(Exception):
    """Helm did not render; the argument is its error."""


class Helm:
    """`helm template` of a chart that prints its values."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def render(self, *files: bytes, defaults: bytes = b"") -> RenderedValues:
        """Return what a chart with `defaults` sees when given these values files, the last one over stdin."""
        chart = self._chart(defaults)
        arguments = ["template", "r", str(chart)]
        for index, data in enumerate(files[:-1]):
            path = self._folder / f"values-{index}.yaml"
            path.write_bytes(data)
            arguments += ["-f", str(path)]
        rendered = self._run([*arguments, "-f", "-"], files[-1])
        printed = {line[:4]: base64.b64decode(line[6:]) for line in rendered.splitlines() if line[4:6] == ": "}
        return RenderedValues(values=json.loads(printed["json"], parse_int=float), text=printed["text"].decode())

    def _chart(self, defaults: bytes) -> Path:
        chart = self._folder / "chart"
        (chart / "templates").mkdir(parents=True, exist_ok=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\n")
        (chart / "values.yaml").write_bytes(defaults)
        (chart / "templates" / "printed.yaml").write_text(TEMPLATE)
        return chart

    def _run(self, arguments: Sequence[str], stdin: bytes) -> str:
        names = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HOME")
        environment = dict.fromkeys(names, str(self._folder)) | {"KUBECONFIG": "/dev/null"}
        done = subprocess.run(
            [self._program, *arguments], input=stdin, capture_output=True, env=environment, check=False, timeout=60
        )
        if done.returncode:
            raise HelmTemplateError(done.stderr.decode(errors="replace"))
        return done.stdout.decode()


@pytest.fixture(scope="module")
def helm(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(binaries.resolve(["helm"])["helm"], tmp_path_factory.mktemp("helm"))
