"""The pages of docs/reference/ say what the sources have."""

import subprocess
import sys
from enum import StrEnum
from pathlib import Path

import pytest

from xapp_operator.api.conditions import Reason, RepositoryReason
from xapp_operator.config.settings import Settings

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


@pytest.mark.parametrize(
    ("reasons", "heading"), [(Reason, "## Reasons"), (RepositoryReason, "## Reasons of a ChartRepository")]
)
def test_every_reason_says_what_to_do(reasons: type[StrEnum], heading: str) -> None:
    rows = table_rows("conditions.md", heading=heading)
    assert rows.keys() == {*reasons}
    assert [reason for reason in reasons if not rows[reason]] == []


def test_every_setting_has_a_meaning() -> None:
    rows = table_rows("settings.md")
    variables = ["KUBECONFIG" if name == "kubeconfig" else f"XAPP_{name.upper()}" for name in Settings.model_fields]
    assert [variable for variable in variables if not rows.get(variable)] == []


def table_rows(name: str, *, heading: str = "") -> dict[str, str]:
    """Return the last cell of each row of the tables of a page, or of those below a heading, by the first cell."""
    page = (REFERENCE / name).read_text()
    if heading:
        page = page.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    rows = [
        line.removeprefix("|").removesuffix("|").split(" | ") for line in page.splitlines() if line.startswith("| `")
    ]
    return {cells[0].strip("` "): cells[-1].strip() for cells in rows}
