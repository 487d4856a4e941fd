"""The pages of docs/reference/ say what the sources have."""

import subprocess
import sys
from pathlib import Path

import pytest

from xapp_operator.api.conditions import Reason
from xapp_operator.config import Settings

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    subprocess.run([sys.executable, ROOT / "hack" / "reference.py", folder], check=True, timeout=200)
    return folder


@pytest.mark.parametrize("name", ["conditions.md", "metrics.md", "resources.md", "rest.md", "settings.md"])
def test_the_page_is_generated_from_the_sources(fresh: Path, name: str) -> None:
    assert (fresh / name).read_text() == (REFERENCE / name).read_text(), "run `make reference`"


def test_every_page_of_the_reference_is_generated(fresh: Path) -> None:
    assert {path.name for path in fresh.iterdir()} == {path.name for path in REFERENCE.iterdir()}


def test_every_reason_says_what_to_do() -> None:
    rows = table_rows("conditions.md")
    assert [reason for reason in Reason if not rows.get(reason)] == []


def test_every_setting_has_a_meaning() -> None:
    rows = table_rows("settings.md")
    variables = ["KUBECONFIG" if name == "kubeconfig" else f"XAPP_{name.upper()}" for name in Settings.model_fields]
    assert [variable for variable in variables if not rows.get(variable)] == []


def table_rows(name: str) -> dict[str, str]:
    """Return the last cell of each row of the tables of a page, by the first cell."""
    rows = [
        line.strip("| ").split(" | ") for line in (REFERENCE / name).read_text().splitlines() if line.startswith("| `")
    ]
    return {cells[0].strip("`"): cells[-1].strip() for cells in rows}
