"""The website of the documentation: it builds without a warning, and needs nothing from other hosts."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASSETS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "srcset"), ("use", "href")}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert pages
    assert [f"{page.name}: {asset}" for page in pages for asset in assets(page) if is_external(asset)] == []


def test_styles_load_nothing_from_other_hosts(site: Path) -> None:
    styles = sorted(site.rglob("*.css"))
    assert styles
    urls = [
        (path.name, url) for path in styles for url in re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", text(path))
    ]
    assert [found for found in urls if is_external(found[1])] == []


def test_no_page_has_what_the_theme_would_load_a_script_for(site: Path) -> None:
    assert [page.name for page in site.rglob("*.html") if re.search(r'class="[^"]*\bmermaid\b', text(page))] == []
    assert "images/flow.svg" in text(site / "architecture.html")


def test_links_to_files_of_the_repository_lead_to_their_text(site: Path) -> None:
    source = Path("manifests/argocd/argocd-cm.yaml")
    assert f'href="sources/{source}.txt"' in text(site / "operations.html")
    assert text(site / "sources" / f"{source}.txt") == text(ROOT / source)


class Assets(HTMLParser):
    """The addresses that a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        rel = dict(attrs).get("rel")
        if rel != "canonical":
            self.found += [value for name, value in attrs if (tag, name) in ASSETS and value]


def assets(page: Path) -> list[str]:
    parser = Assets()
    parser.feed(text(page))
    return parser.found


def is_external(address: str) -> bool:
    return "//" in address and not address.startswith("data:")


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
