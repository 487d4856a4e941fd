"""The shell blocks of the documents, and whether a test runs them.

A comment directly above a block, or one for the whole page, says what the block is:

    <!-- Run: simulated_run -->                        a test runs it, with this fixture
    <!-- Illustration: it needs a registry. -->        nobody runs it, and why
    <!-- Shell blocks of this page are illustrations: they need a cluster of yours. -->

In a page with blocks that run, a YAML block with a title is a file, and a `text` block below a block that runs shows
lines of its output, in which `…` stands for any text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SHELL_LANGUAGES = frozenset({"sh", "bash", "shell", "console"})

_FENCE = re.compile(
    r"(?:^ *<!-- (?P<comment>[^\n]*?) -->\n\n?)?^(?P<indent> *)```(?P<info>[^\n`]+)\n(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_PAGE_OF_ILLUSTRATIONS = re.compile(r"^<!-- Shell blocks of this page are illustrations: (\S.*) -->$", re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page that is a step of a test: a script, a file, or expected output."""

    kind: Literal["script", "file", "output"]
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fence:
    comment: str
    language: str
    title: str
    body: str
    line: int


def unmarked_shell_blocks(page: str) -> list[int]:
    """Return the lines of the shell blocks that neither run nor are marked as illustrations."""
    if _PAGE_OF_ILLUSTRATIONS.search(page):
        return []
    return [
        fence.line
        for fence in _fences(page)
        if fence.language in SHELL_LANGUAGES and not re.match(r"Run: \w+$|Illustration: \S", fence.comment)
    ]


def fixtures(page: str) -> set[str]:
    """Return the names of the fixtures that the blocks of a page run with."""
    return {fence.comment.removeprefix("Run: ") for fence in _fences(page) if fence.comment.startswith("Run: ")}


def steps(path: Path) -> list[Block]:
    """Return the blocks of a page that its test needs, in order."""
    found: list[Block] = []
    after_script = False
    for fence in _fences(path.read_text()):
        runs = fence.comment.startswith("Run: ")
        if fence.language in SHELL_LANGUAGES and runs:
            found.append(Block(kind="script", text=fence.body))
        elif fence.title:
            found.append(Block(kind="file", text=fence.body, title=fence.title))
        elif fence.language == "text" and after_script:
            found.append(Block(kind="output", text=fence.body))
        after_script = fence.language in SHELL_LANGUAGES and runs
    return found


def _fences(page: str) -> Iterator[_Fence]:
    for match in _FENCE.finditer(page):
        info, indent = match["info"].strip(), match["indent"]
        title = _TITLE.search(info)
        yield _Fence(
            comment=match["comment"] or "",
            language=info.split()[0],
            title=title[1] if title else "",
            body="".join(line.removeprefix(indent) for line in match["body"].splitlines(keepends=True)),
            line=page.count("\n", 0, match.start("info")) + 1,
        )
