"""Where each value stands in a values file: for errors and warnings that name a line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, TypeAlias

from yaml import YAMLError
from yaml.events import Event, MappingStartEvent, ScalarEvent, SequenceStartEvent

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.common.text import shorten
from xapp_operator.domain.chart_values import yaml_scalars
from xapp_operator.domain.chart_values.values import helm_number
from xapp_operator.domain.chart_values.yaml_events import YamlReader
from xapp_operator.domain.chart_values.yaml_scalars import ScalarRefused
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, MAX_NODES
from xapp_operator.errors import FieldError, XAppError

Place: TypeAlias = tuple[int, int]
"""Line and column, from 1."""

_ROOT: Final = "values"
_STEP_STARTS: Final = ("", ".", "[")

PATH_MAX: Final = 500
"""Characters of a path in a warning."""
ROUNDED_MAX: Final = 20
"""Warnings about rounded numbers; the others are counted."""


@dataclass(slots=True)
class _Node:
    """A value: the place of its key or of the item, and the values in it by what a path says of them."""

    place: Place | None = None
    below: dict[str, _Node] = field(default_factory=dict)


class ValuesPlaces:
    """The places of the values in a text, by paths such as `values.list[0].name`."""

    def __init__(self, text: str) -> None:
        """Read a values file; of one that cannot be read, the places before the error are known."""
        self._root = _Node()
        self._nodes = 0
        self._reader = YamlReader(text)
        try:
            for _ in self._reader.documents():
                self._read(self._reader.next_event(), self._root, depth=1)
        except (YAMLError, _Unreadable):
            pass

    def find(self, path: str) -> Place | None:
        """Return where a value is, or else the nearest object or list around it that is in the text."""
        if not path.startswith(_ROOT):
            return None
        node, rest = self._root, path.removeprefix(_ROOT)
        while rest:
            # A key may have dots, so the longest one that fits is the one.
            length, step = max((_fitting_length(rest, each), each) for each in ("", *node.below))
            if not length:
                break
            node, rest = node.below[step], rest[length:]
        return node.place

    def locate(self, error: XAppError) -> XAppError:
        """Return an error about values with the places of its fields."""
        located = tuple(self._located(each) for each in error.errors)
        return error if located == error.errors else type(error)(error.message, errors=located)

    def _located(self, error: FieldError) -> FieldError:
        place = self.find(error.field) if error.line is None else None
        return error if place is None else replace(error, line=place[0], column=place[1])

    def _read(self, event: Event, node: _Node, *, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise _Unreadable
        if isinstance(event, SequenceStartEvent):
            for index, item in enumerate(self._reader.members()):
                self._read(item, self._add(node, f"[{index}]", item), depth=depth + 1)
        elif isinstance(event, MappingStartEvent):
            for key in self._reader.members():
                if not isinstance(key, ScalarEvent):
                    raise _Unreadable
                below = node if key.value == "<<" else self._add(node, f".{_key_text(key)}", key)
                self._read(self._reader.next_event(), below, depth=depth + 1)

    def _add(self, node: _Node, step: str, event: Event) -> _Node:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _Unreadable
        mark = event.start_mark
        added = _Node(None if mark is None else (mark.line + 1, mark.column + 1))
        return node.below.setdefault(step, added)


class _Unreadable(Exception):
    pass


def _fitting_length(path: str, step: str) -> int:
    """Return the length of the beginning of `path` that is `step`, or 0."""
    for spelling in (step, f"[{step[1:]}]"):  # helm calls the key 8080 of an object [8080]
        if path.startswith(spelling) and path[len(spelling) : len(spelling) + 1] in _STEP_STARTS:
            return len(spelling)
    return 0


def _key_text(key: ScalarEvent) -> str:
    try:
        return yaml_scalars.parse_key(tag=key.tag, text=key.value, plain=key.implicit[0])
    except ScalarRefused:
        return key.value


def rounding_warnings(values: JsonObject, *, text: str | None = None, file: str = "") -> list[str]:
    """Return a warning for each whole number that helm rounds: it holds numbers as 64-bit floats.

    Args:
        values: the values of one file.
        text: the file, for the lines.
        file: what it is called, if it is not the values of the user.
    """
    found = _rounded_numbers(values, [_ROOT])
    rounded = list(islice(found, ROUNDED_MAX))
    places = ValuesPlaces(text) if rounded and text is not None else None
    warnings: list[str] = []
    for path in rounded:
        place = places.find(path) if places is not None else None
        where = ", ".join([*([file] if file else ()), *([f"line {place[0]}"] if place else ())])
        warnings.append(
            f"{where}{': ' if where else ''}{shorten(path, PATH_MAX)} is a number that helm rounds to a 64-bit float, "
            "so the chart gets another one: write it in quotes if the chart takes a text"
        )
    more = sum(1 for _ in found)
    return [*warnings, f"helm rounds {more:,} more numbers of {file or 'the values'}"] if more else warnings


def _rounded_numbers(value: Json, steps: list[str]) -> Iterator[str]:
    members: Iterable[tuple[str, Json]] = ()
    if isinstance(value, dict):
        members = ((f".{key}", member) for key, member in value.items())
    elif isinstance(value, list):
        members = ((f"[{index}]", item) for index, item in enumerate(value))
    elif isinstance(value, int) and not isinstance(value, bool) and helm_number(value) != value:
        yield "".join(steps)
    for step, member in members:
        steps.append(step)
        yield from _rounded_numbers(member, steps)
        steps.pop()
