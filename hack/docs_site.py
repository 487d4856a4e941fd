"""Hooks of mkdocs: put the documents of the root folder into the site, and make links to files of the repository work.

Documents refer to each other, and to sources, by their paths in the repository, so that they also work there. The site
has no copy of the repository. It contains the few files that documents link to.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
ROOT_DOCUMENTS = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Documents of the root folder, and their addresses in the site."""
START_PAGE = "index.md"
SOURCES = "sources"
"""Folder of the site with the files that documents link to."""

FLOW_IMAGE = "images/flow.svg"
"""What the site shows in place of a diagram that only code hosts draw: its program would come from another host."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the documents of the root folder, and the files that documents link to."""
    for source, target in ROOT_DOCUMENTS.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text(encoding="utf-8")))
    for document in [*DOCS.rglob("*.md"), *(ROOT / name for name in ROOT_DOCUMENTS)]:
        for path in _linked_sources(document):
            address = f"{SOURCES}/{path.relative_to(ROOT).as_posix()}.txt"
            if files.get_file_from_path(address) is None:
                files.append(File.generated(config, address, content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files outside `docs/` by links to their copies in the site, and diagrams by an image."""
    address = page.file.src_uri
    document = _document(address)
    image = Path(os.path.relpath(FLOW_IMAGE, Path(address).parent)).as_posix()
    parts = []
    for part in _FENCE.split(markdown):
        if part.startswith("```mermaid"):
            parts.append(f"![How a change flows]({image})")
        elif part.startswith("```"):
            parts.append(part)
        else:
            parts.append(_LINK.sub(lambda match: _site_link(match, document=document, address=address), part))
    return "".join(parts)


def _document(address: str) -> Path:
    by_address = {target: source for source, target in ROOT_DOCUMENTS.items()}
    return ROOT / by_address[address] if address in by_address else DOCS / address


def _linked_sources(document: Path) -> list[Path]:
    text = _FENCE.sub("", document.read_text(encoding="utf-8"))
    targets = [_target(document, match[3]) for match in _LINK.finditer(text)]
    return [path for path in targets if path is not None and path.is_file() and _page_address(path) is None]


def _target(document: Path, link: str) -> Path | None:
    return None if "://" in link else Path(os.path.normpath(document.parent / link))


def _page_address(path: Path) -> str | None:
    """Return the address in the site of a file of `docs/` or of a document of the root folder."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    if path == ROOT / "README.md":
        return START_PAGE
    return ROOT_DOCUMENTS.get(path.relative_to(ROOT).as_posix())


def _site_link(match: re.Match[str], *, document: Path, address: str) -> str:
    image, text, link, anchor = match[1], match[2], match[3], match[4] or ""
    target = _target(document, link)
    if target is None:
        return match[0]
    if target.is_dir():
        return text if "`" in text else f"`{text}`"
    found = _page_address(target) or f"{SOURCES}/{target.relative_to(ROOT).as_posix()}.txt"
    relative = Path(os.path.relpath(found, Path(address).parent)).as_posix()
    return f"{image}[{text}]({relative}{anchor})"
