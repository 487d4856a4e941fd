"""The Helm chart of the operator: generated parts, version, and the schema of its values."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "manifests" / "chart"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
EXAMPLES = sorted(CHART.glob("ci/*-values.yaml"))


def test_make_chart_would_change_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "hack" / "chart.py", tmp_path], check=True, timeout=60)

    def contents(folder: Path) -> dict[str, str]:
        generated = (folder / "templates" / "generated").iterdir()
        files = [folder / "Chart.yaml", *generated, *(folder / "files").iterdir()]
        return {str(path.relative_to(folder)): path.read_text() for path in files}

    assert contents(CHART) == contents(tmp_path), "run `make chart`"


def test_every_file_of_the_base_is_copied_or_written_by_hand() -> None:
    names = yaml.safe_load((ROOT / "manifests" / "base" / "kustomization.yaml").read_text())["resources"]
    names += yaml.safe_load((ROOT / "crds" / "kustomization.yaml").read_text())["resources"]
    there = {path.name for path in CHART.glob("templates/**/*.yaml")}
    assert set(names) - there == {"../../crds", "namespace.yaml"}


def test_the_version_of_the_package_is_that_of_chart_and_image() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (image,) = yaml.safe_load((ROOT / "manifests" / "base" / "kustomization.yaml").read_text())["images"]
    assert {chart["version"], chart["appVersion"], image["newTag"]} == {version}


def test_make_chart_writes_the_version_everywhere(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for folder in ("crds", "manifests", "hack"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("samples", "node_modules"))
    old = (ROOT / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(re.sub(r'(?m)^version = ".*"$', 'version = "9.8.7"', old))
    chart = root / "manifests" / "chart"
    subprocess.run([sys.executable, root / "hack" / "chart.py", chart], check=True, timeout=60)
    metadata = yaml.safe_load((chart / "Chart.yaml").read_text())
    (image,) = yaml.safe_load((root / "manifests" / "base" / "kustomization.yaml").read_text())["images"]
    assert {metadata["version"], metadata["appVersion"], image["newTag"]} == {"9.8.7"}


def test_the_schema_is_valid_and_closed() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    with_properties = {path: each for path, each in _schemas(SCHEMA) if "properties" in each}
    assert [path for path, each in with_properties.items() if each.get("additionalProperties") is not False] == []


def _schemas(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        yield path, schema
        for key, each in schema.items():
            yield from _schemas(each, f"{path}/{key}")


@pytest.mark.parametrize("path", [CHART / "values.yaml", *EXAMPLES], ids=lambda path: path.name)
def test_values_keep_to_the_schema(path: Path) -> None:
    values = yaml.safe_load(path.read_text())
    jsonschema.Draft7Validator(SCHEMA).validate(_merged(VALUES, values or {}))


def _merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the values that helm checks."""
    both = {
        name: _merged(values[name], each) if isinstance(each, dict) and isinstance(values.get(name), dict) else each
        for name, each in changes.items()
    }
    return {**values, **both}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_variables_of_examples_are_settings(path: Path) -> None:
    """Others would have no effect: repositories are reached without the proxy of the environment."""
    values = yaml.safe_load(path.read_text())
    variables = [each["name"] for part in ("operator", "gateway") for each in values.get(part, {}).get("extraEnv", [])]
    settings = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert [each for each in variables if f"| `{each}` |" not in settings] == []


def test_values_yaml_has_every_value_of_the_schema_in_its_place() -> None:
    def missing(schema: dict[str, Any], values: Any, path: str) -> Iterator[str]:
        for name, each in schema.get("properties", {}).items():
            if not isinstance(values, dict) or name not in values:
                yield f"{path}{name}"
            else:
                yield from missing(each, values[name], f"{path}{name}.")

    assert list(missing(SCHEMA, VALUES, "")) == ["global"]
