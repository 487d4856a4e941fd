"""The CRDs come from the models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xapp_operator.api.crds import chart_archive_crd, chart_repository_crd, xapp_crd

ROOT = Path(__file__).parents[3]


def test_the_crds_folder_holds_what_make_crds_writes_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "hack" / "crds.py", tmp_path], check=True, timeout=60)
    written, checked_in = (
        {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        for folder in (tmp_path, ROOT / "crds")
    )
    assert written == checked_in, "run `make crds`"


def _undescribed(schema: dict[str, Any], path: str) -> list[str]:
    found = [] if path.count(".") < 1 or "description" in schema else [path]
    for name, inner in schema.get("properties", {}).items():
        if (path, name) != ("", "metadata"):
            found += _undescribed(inner, f"{path}.{name}")
    return found + (_undescribed({**schema["items"], "description": ""}, f"{path}[]") if "items" in schema else [])


@pytest.mark.parametrize("crd", [xapp_crd(), chart_repository_crd(), chart_archive_crd()])
def test_every_field_is_described(crd: dict[str, Any]) -> None:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert _undescribed(schema, "") == []
