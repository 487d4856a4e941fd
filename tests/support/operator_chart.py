"""Renders the Helm chart of the operator (manifests/chart)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.localrun.cluster_setup import SYSTEM_NAMESPACE

CHART = ROOT / "manifests" / "chart"
EXAMPLES = {path.name.removesuffix("-values.yaml"): path for path in sorted(CHART.glob("ci/*-values.yaml"))}

Json = dict[str, Any]
Objects = dict[tuple[str, str], Json]


def run_helm(
    binaries: Binaries, *arguments: str, values: Mapping[str, Any] | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Run helm with values on its standard input; return its standard output. Raises CalledProcessError."""
    program = binaries.resolve(["helm"])["helm"]
    given = ["--values=-"] if values is not None else []
    return subprocess.run(
        [program, *arguments, *given],
        input=json.dumps(values) if values is not None else None,
        capture_output=True,
        text=True,
        check=True,
        env=env,
    ).stdout


def rendered(
    binaries: Binaries, *files: Path, values: Mapping[str, Any] | None = None, namespace: str = SYSTEM_NAMESPACE
) -> str:
    """Return what `helm template` prints for values files and further values."""
    options = [f"--values={path}" for path in files]
    command = ("template", "xapp-operator", str(CHART), "--namespace", namespace)
    return run_helm(binaries, *command, *options, values=values)


def refusal(binaries: Binaries, values: Mapping[str, Any]) -> str:
    """Return the error with which helm refuses values."""
    try:
        rendered(binaries, values=values)
    except subprocess.CalledProcessError as error:
        return str(error.stderr)
    raise AssertionError(f"helm accepts {values}")


def by_name(documents: Iterable[Json]) -> Objects:
    """Return objects by kind and name. No two of the system have both in common."""
    found: Objects = {}
    for each in documents:
        key = (each["kind"], each["metadata"]["name"])
        assert key not in found, key
        found[key] = each
    return found


def chart_objects(
    binaries: Binaries, *files: Path, values: Mapping[str, Any] | None = None, namespace: str = SYSTEM_NAMESPACE
) -> Objects:
    """Return the objects of the chart."""
    text = rendered(binaries, *files, values=values, namespace=namespace)
    return by_name(each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each)


def container(objects: Objects, component: str) -> Json:
    """Return the container of the pods of `operator` or `gateway`."""
    (found,) = pod_spec(objects, component)["containers"]
    return dict(found)


def pod_spec(objects: Objects, component: str) -> Json:
    return dict(objects["Deployment", f"xapp-{component}"]["spec"]["template"]["spec"])
