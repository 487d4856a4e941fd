"""Lines of Markdown for the pages that are generated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def head(title: str, *, source: str, text: str) -> list[str]:
    return [
        f"# {title}",
        "",
        f"<!-- Generated from {source}: run `make reference` after a change there. -->",
        "",
        text,
        "",
    ]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["|" + "|".join(f" {cell(each)} " if each else " " for each in row) + "|" for row in rows] + [""]


def cell(text: str) -> str:
    joined = " ".join(text.split()).replace("|", "\\|")
    parts = joined.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


def one_line(text: str) -> str:
    return " ".join(text.split())
