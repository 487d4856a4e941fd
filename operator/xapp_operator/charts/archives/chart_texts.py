"""The texts of a chart that people read: its README, and values.yaml with its comments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.charts.archives.archive_reader import VALUES_YAML, ArchiveBudget, ArchiveLimits, read_chart_files
from xapp_operator.common.text import shorten

README_FILES: Final = ("README.md", "readme.md", "README.txt", "README")
"""As `helm show readme` looks for them."""
TEXT_MAX: Final = 256 * 1024
"""Characters of one text; the rest is cut off."""


@dataclass(frozen=True, slots=True)
class ChartTexts:
    """The texts of one chart, each at most TEXT_MAX characters; None without such a file."""

    values: str | None
    readme: str | None


def read_chart_texts(archive: bytes, *, limits: ArchiveLimits) -> ChartTexts:
    """Return the texts of a packed chart. Uses CPU time: call it in a thread.

    Raises ChartInvalid.
    """
    wanted = frozenset((VALUES_YAML, *README_FILES))
    files = read_chart_files(archive, budget=ArchiveBudget(limits), read_values=True, also=wanted)
    readme = next((content for name in README_FILES if (content := files.get(name)) is not None), None)
    return ChartTexts(values=_text(files.get(VALUES_YAML)), readme=_text(readme))


def _text(content: bytes | None) -> str | None:
    return None if content is None else shorten(content[: 4 * TEXT_MAX].decode("utf-8", "replace"), TEXT_MAX)
