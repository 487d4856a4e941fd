"""The files under `crds/` are what the models say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xapp_operator.api.crds import chart_repository_crd, crd_files, xapp_crd
from xapp_operator.api.models import parse_duration

CRDS = Path(__file__).parents[3] / "crds"


@pytest.mark.parametrize("name", sorted(crd_files()))
def test_generated_file_is_not_stale(name: str) -> None:
    assert (CRDS / name).read_text(encoding="utf-8") == crd_files()[name], "run `make crds`"


def test_crds_folder_holds_nothing_else() -> None:
    assert {path.name for path in CRDS.iterdir()} == set(crd_files())


@pytest.mark.parametrize(("text", "seconds"), [("5m", 300), ("1h30m", 5400), ("1.5s", 1.5), ("250ms", 0.25)])
def test_durations_are_those_of_go(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "5m ", "-5m", "5d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


def _undescribed(schema: dict[str, Any], path: str) -> list[str]:
    found = [] if path.count(".") < 1 or "description" in schema else [path]
    for name, inner in schema.get("properties", {}).items():
        if (path, name) != ("", "metadata"):
            found += _undescribed(inner, f"{path}.{name}")
    return found + (_undescribed({**schema["items"], "description": ""}, f"{path}[]") if "items" in schema else [])


@pytest.mark.parametrize("crd", [xapp_crd(), chart_repository_crd()])
def test_every_field_is_described(crd: dict[str, Any]) -> None:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert _undescribed(schema, "") == []
