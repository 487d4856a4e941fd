"""The commands of the pages of docs/ work, in order, and print what the pages show."""

from pathlib import Path

import pytest

from tests.integration.localrun.page_commands import run_page
from tests.localcluster.cluster import ROOT
from tests.support.shell_blocks import fixtures, steps

pytestmark = pytest.mark.integration

PAGES = {path.relative_to(ROOT / "docs").as_posix(): fixtures(path.read_text()) for path in ROOT.glob("docs/**/*.md")}


@pytest.mark.parametrize("page", sorted(page for page, names in PAGES.items() if names))
def test_the_commands_of_the_page_work_in_order(page: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (fixture,) = PAGES[page]
    run_page(steps(ROOT / "docs" / page), request.getfixturevalue(fixture), tmp_path)
