"""Tables of aligned columns. On a terminal, long columns are cut, so that each row fits on one line.

Names, which commands take, are cut last: before that, columns of text are left out, and then all others, the last one
first. Fields of one record are not cut: a long value goes on in the next line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.text import Text

from xapp_operator.cli.output.visible_text import on_one_line

SEPARATOR: Final = "  "
FLEXIBLE_MIN: Final = 12
"""Columns of text that are left of a flexible column, at the least."""
COLUMN_MIN: Final = 4


@dataclass(frozen=True, slots=True)
class Column:
    """One column; a flexible one is cut first, and one with names is cut last."""

    title: str
    flexible: bool = False
    names: bool = False
    """Whether its cells tell the rows apart. Without such a column, none but flexible ones is left out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Text from anywhere, and how it looks."""

    text: str
    style: str = ""


Row = Sequence[Cell | str]
Field = tuple[str, Cell | str]


def layout_table(columns: Sequence[Column], rows: Iterable[Row], *, width: int | None) -> list[Text]:
    """Return the lines of a table with a heading. With `width`, no line is longer than that."""
    rows = list(rows)
    if width is not None:
        kept = _columns_that_fit(columns, rows, width)
        columns, rows = [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]
    heading = [Text(column.title, style="bold") for column in columns]
    lines = [heading, *([_text(cell) for cell in row] for row in rows)]
    widths = _natural_widths(lines)
    if width is not None:
        widths = _fit(widths, [column.flexible for column in columns], width)
    return [_join(line, widths) for line in lines]


def layout_fields(rows: Iterable[Field], *, console: Console, width: int | None) -> list[Text]:
    """Return the lines of the fields of one record. With `width`, long values are wrapped."""
    fields = [(Text("FIELD", style="bold"), Text("VALUE", style="bold"))]
    fields += [(Text(on_one_line(name)), _text(value)) for name, value in rows]
    indent = max(name.cell_len for name, _ in fields) + len(SEPARATOR)
    lines = []
    for name, value in fields:
        parts = [value] if width is None else value.wrap(console, max(width - indent, FLEXIBLE_MIN), overflow="fold")
        for index, part in enumerate(parts or [Text()]):
            start = name.copy() if index == 0 else Text()
            start.pad_right(indent - start.cell_len)
            lines.append(start.append_text(part))
    return lines


def _text(cell: Cell | str) -> Text:
    if isinstance(cell, str):
        return Text(on_one_line(cell))
    return Text(on_one_line(cell.text), style=cell.style)


def _join(cells: Sequence[Text], widths: Sequence[int]) -> Text:
    line = Text()
    last = len(cells) - 1
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        shown = cell.copy()
        shown.truncate(width, overflow="ellipsis", pad=index != last)
        line.append_text(shown)
        if index != last:
            line.append(SEPARATOR)
    return line


def _natural_widths(lines: Sequence[Sequence[Text]]) -> list[int]:
    return [max(cell.cell_len for cell in cells) for cells in zip(*lines, strict=True)]


def _columns_that_fit(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[int]:
    """Return the indexes of the columns that are shown."""
    lines = [[Text(column.title) for column in columns], *([_text(cell) for cell in row] for row in rows)]
    smallest = [
        min(natural, FLEXIBLE_MIN) if column.flexible else natural
        for column, natural in zip(columns, _natural_widths(lines), strict=True)
    ]
    kept = list(range(len(columns)))
    flexible = [index for index in kept if columns[index].flexible and not columns[index].names]
    others = [index for index in kept if not columns[index].flexible and not columns[index].names]
    has_names = any(column.names for column in columns)
    for index in [*reversed(flexible), *(reversed(others) if has_names else ())]:
        if sum(smallest[each] for each in kept) + len(SEPARATOR) * (len(kept) - 1) <= width:
            break
        kept.remove(index)
    return kept


def _fit(widths: list[int], flexible: Sequence[bool], available: int) -> list[int]:
    """Return widths that fit: flexible columns are cut first, the widest of them most, then all others."""
    fitting = list(widths)
    excess = sum(fitting) + len(SEPARATOR) * (len(fitting) - 1) - available
    for may_shrink, smallest in ((flexible, FLEXIBLE_MIN), ([True] * len(fitting), COLUMN_MIN)):
        while excess > 0:
            candidates = [index for index, may in enumerate(may_shrink) if may and fitting[index] > smallest]
            if not candidates:
                break
            fitting[max(candidates, key=fitting.__getitem__)] -= 1
            excess -= 1
    return fitting
