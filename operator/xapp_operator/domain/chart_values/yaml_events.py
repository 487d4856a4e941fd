"""YAML read event by event within bounds: the base of every reader of YAML in this package.

PyYAML's loaders recurse without a bound and do not count what aliases repeat, so a small file can overflow the stack or
fill the memory. Only its scanner and parser (libyaml, in C) are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from xapp_operator.domain.chart_values.yaml_scalars import TAG_MERGE

if TYPE_CHECKING:
    from _typeshed import SupportsRead
    from yaml.error import Mark

ScalarT = TypeVar("ScalarT")
Tree: TypeAlias = "ScalarT | list[Tree[ScalarT]] | dict[str, Tree[ScalarT]]"


class YamlRefused(Exception):
    """The YAML is valid, but breaks a rule or a bound. The message never quotes the document."""

    def __init__(self, event: Event, message: str) -> None:
        super().__init__(message)
        self.mark = event.start_mark


class YamlReader:
    """The events of one text or stream."""

    def __init__(self, source: str | SupportsRead[bytes]) -> None:
        # Encoded here, a lone surrogate is a YAMLError; PyYAML would raise UnicodeEncodeError.
        encoded = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        self.parse_event = yaml.CSafeLoader(encoded).get_event

    def next_event(self) -> Event:
        """Return the next event; StreamEndEvent at the end and after it."""
        return self.parse_event() or StreamEndEvent()

    def documents(self) -> Iterator[DocumentStartEvent]:
        """Yield the start of each document; the caller reads its root before it takes the next one."""
        self.next_event()  # the start of the stream
        while isinstance(event := self.next_event(), DocumentStartEvent):
            yield event
            self.next_event()  # the end of the document

    def members(self) -> Iterator[Event]:
        """Yield the first event of each item, or key, of the collection that has just begun.

        The caller reads the rest of the item, or the rest of the key and its value, before it takes the next one.
        """
        next_event = self.next_event
        while not isinstance(event := next_event(), CollectionEndEvent):
            yield event

    def skip(self, event: Event) -> None:
        """Read on to the end of the value that `event` begins."""
        depth = int(isinstance(event, CollectionStartEvent))
        next_event = self.next_event
        while depth:
            inner = next_event()
            depth += isinstance(inner, CollectionStartEvent) - isinstance(inner, CollectionEndEvent)


@dataclass(frozen=True, slots=True)
class Anchored(Generic[ScalarT]):
    """A value that an alias may repeat, with what repeating it costs."""

    value: Tree[ScalarT]
    characters: int
    nodes: int = 0
    depth: int = 0  # levels below its own


class TreeBuilder(YamlReader, ABC, Generic[ScalarT]):
    """Builds the lists and objects of a document; a subclass reads the scalars.

    Merge keys (`<<`) work as in go-yaml: where they stand, so that they override the keys before them.
    """

    def __init__(
        self,
        text: str,
        *,
        depth_max: int,
        nodes_max: int,
        characters_max: int | None = None,
        repeated_keys: bool = False,
    ) -> None:
        """Set the bounds.

        Args:
            text: one or more documents.
            depth_max: how deep lists and objects may be nested.
            nodes_max: scalars, lists and objects in all documents; what an alias repeats counts again.
            characters_max: characters of scalars and keys, aliases expanded; None for no bound beyond the text's.
            repeated_keys: the last of equal keys counts; otherwise they are refused.
        """
        super().__init__(text)
        self.nodes = 0
        self._depth_max = depth_max
        self._nodes_max = nodes_max
        self._characters_max = characters_max
        self._repeated_keys = repeated_keys
        self.characters = 0
        self.counted_with = ""  # what was counted before, in words for messages
        self._deepest = 0
        self.anchors: dict[str, Anchored[ScalarT] | None] = {}

    @abstractmethod
    def scalar(self, event: ScalarEvent) -> ScalarT:
        """Return the value of a scalar; raises YamlRefused."""

    def roots(self) -> Iterator[tuple[Event, Tree[ScalarT]]]:
        """Yield the start and the root of each document.

        Raises YamlRefused, and YAMLError for what is not YAML.
        """
        for start in self.documents():
            self.anchors.clear()
            yield start, self.value(self.next_event(), 1)

    def value(self, event: Event, depth: int) -> Tree[ScalarT]:
        """Return the value that `event` begins at `depth`, 1 for the root."""
        self.nodes += 1
        if self.nodes > self._nodes_max:
            self.count(event, 0)
        if isinstance(event, ScalarEvent):
            self.characters += len(event.value)
            scalar = self.scalar(event)
            if event.anchor:
                self.anchors[event.anchor] = Anchored(scalar, characters=len(event.value))
            return scalar
        if isinstance(event, AliasEvent):
            return self.alias(event, depth)
        if not isinstance(event, CollectionStartEvent):
            raise YamlRefused(event, "a value is missing.")
        self.check_depth(event, depth)
        outer, self._deepest = self._deepest, depth
        nodes, characters = self.nodes, self.characters
        if event.anchor:
            self.anchors[event.anchor] = None
        value: Tree[ScalarT]
        if isinstance(event, MappingStartEvent):
            value = self._mapping(depth)
        else:
            value = [self.value(item, depth + 1) for item in self.members()]
        if event.anchor:
            self.anchors[event.anchor] = Anchored(
                value, self.characters - characters, self.nodes - nodes, self._deepest - depth
            )
        self._deepest = max(outer, self._deepest)
        return value

    def key(self, event: Event) -> str:
        """Return the key that `event` begins: its text."""
        self.count(event)
        if not isinstance(event, ScalarEvent):
            raise YamlRefused(event, "a key that is a list, an object or an alias. Use a string.")
        self.anchor_key(event)
        return event.value

    def anchor_key(self, event: ScalarEvent) -> None:
        """Note the text of a key and, where it has one, its anchor."""
        self.characters += len(event.value)
        if event.anchor:
            self.anchors[event.anchor] = Anchored(self.scalar(event), characters=len(event.value))

    def alias(self, event: AliasEvent, depth: int) -> Tree[ScalarT]:
        """Return what an alias repeats; the value is shared."""
        anchored = self.anchors.get(event.anchor or "")
        if anchored is None:
            inside = (
                "inside the value that it repeats" if event.anchor in self.anchors else "without its anchor before it"
            )
            raise YamlRefused(event, f"an alias {inside}. Write the value out.")
        self.count(event, anchored.nodes)
        self.characters += anchored.characters
        if self._characters_max is not None and self.characters > self._characters_max:
            raise YamlRefused(
                event,
                f"more than {self._characters_max:,} characters{self.counted_with}, aliases expanded. Use shorter "
                "texts or fewer aliases.",
            )
        if isinstance(anchored.value, list | dict):
            self.check_depth(event, depth + anchored.depth)
        return anchored.value

    def count(self, event: Event, nodes: int = 1) -> None:
        """Count `nodes` more; raises YamlRefused beyond the bound."""
        self.nodes += nodes
        if self.nodes > self._nodes_max:
            raise YamlRefused(
                event,
                f"more than {self._nodes_max:,} values{self.counted_with}, aliases expanded. Use fewer, or fewer "
                "aliases.",
            )

    def check_depth(self, event: Event, depth: int) -> None:
        """Raise YamlRefused when `depth` is beyond the bound."""
        self._deepest = max(self._deepest, depth)
        if depth > self._depth_max:
            raise YamlRefused(event, f"nested more than {self._depth_max} levels deep. Flatten it.")

    def _mapping(self, depth: int) -> dict[str, Tree[ScalarT]]:
        result: dict[str, Tree[ScalarT]] = {}
        lines: dict[str, int] = {}
        for event in self.members():
            if isinstance(event, ScalarEvent) and _is_merge_key(event):
                result.update(self._merged(depth))
                continue
            key = self.key(event)
            if key in lines and not self._repeated_keys:
                raise YamlRefused(event, f"a key that line {lines[key]} has given already. Give it once.")
            lines[key] = cast("Mark", event.start_mark).line + 1
            result[key] = self.value(self.next_event(), depth + 1)
        return result

    def _merged(self, depth: int) -> dict[str, Tree[ScalarT]]:
        event = self.next_event()
        value = self.value(event, depth)
        result: dict[str, Tree[ScalarT]] = {}
        sources = value if isinstance(event, SequenceStartEvent) and isinstance(value, list) else [value]
        for source in reversed(sources):
            if not isinstance(source, dict):
                raise YamlRefused(event, "the merge key `<<` takes an object or a list of objects. Give it one.")
            result.update(source)
        return result


def _is_merge_key(event: ScalarEvent) -> bool:
    return event.value == "<<" and (event.implicit[0] or event.tag == TAG_MERGE)
