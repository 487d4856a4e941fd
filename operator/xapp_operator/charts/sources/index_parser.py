"""Parses the index.yaml of a chart repository, event by event, into batches of plain texts.

An index is untrusted: 163 KB of gzip can hold two million entries. So a large index is parsed in a process of its own
(`index_process.py`), and this module imports only what is quick to load. Everything that it yields is bounded: the
number of entries, the length of each text, and the size of a batch.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import IO, Final, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from xapp_operator.charts.versions import SemanticVersion, parse_version
from xapp_operator.common.bounded_stream import BoundedStream
from xapp_operator.domain.chart_values.yaml_events import YamlReader

MAX_ENTRIES: Final = 100_000
"""Charts and versions in one index; the largest public repositories have a third of it."""
MAX_DEPTH: Final = 100
"""Levels inside a value that is not read."""
MAX_NAME_LENGTH: Final = 253  # of spec.chartName
BATCH_VERSIONS: Final = 128
"""Versions that one batch holds at most, so that whoever decodes it is never busy for long."""
VERSION_FIELDS: Final = ("version", "url", "digest", "app_version", "description", "icon", "created")
"""What a batch tells of a version, in this order."""

Batch: TypeAlias = tuple[str, bool, list[list[str]]]
"""The name of a chart, whether the batch before had that chart too, and some of its versions, newest first."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_FIELD_BY_KEY: Final = {"appVersion": "app_version"} | {
    key: key for key in ("version", "description", "icon", "created", "digest")
}
_TEXT_MAX: Final = {"digest": 128, "app_version": 1024, "description": 1024, "created": 64}
"""Characters that are kept of a text; the rest is cut."""
_URL_MAX: Final = 8192
"""Characters of a URL; a longer one counts as none, because a part of a URL is another URL."""
_NULL_SCALARS: Final = frozenset(("", "~", "null", "Null", "NULL"))


class IndexRefused(Exception):
    """The text is not an index; the message is a clause without its content."""


class TooManyBytes(Exception):
    """The index has more unpacked bytes than allowed."""


class IndexTooLarge(Exception):
    """The index exceeds another bound, which the message names (`more than 100 charts`)."""


def parse_index(stream: IO[bytes], *, max_bytes: int) -> Iterator[Batch]:
    """Yield the charts in a seekable stream of at most `max_bytes` unpacked bytes.

    Raises:
        IndexRefused: when it is not an index.
        TooManyBytes: when it has more bytes than allowed.
        IndexTooLarge: when it has more entries than allowed.
    """
    stream.seek(0)
    magic = stream.read(len(_GZIP_MAGIC))
    stream.seek(0)
    text = gzip.GzipFile(fileobj=stream, mode="rb") if magic == _GZIP_MAGIC else stream
    bounded = BoundedStream(text, max_bytes=max_bytes, error=TooManyBytes)
    try:
        yield from _IndexParser(bounded).batches()
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else "the end"
        raise IndexRefused(f"it is not YAML ({line})") from None
    except yaml.YAMLError:
        raise IndexRefused("it is not YAML") from None
    except (OSError, EOFError, zlib.error):
        raise IndexRefused("its gzip compression is damaged") from None


class _IndexParser(YamlReader):
    """Walks through the events and yields the values at entries.<chart>[].<key>."""

    def __init__(self, stream: BoundedStream) -> None:
        super().__init__(stream)
        self._entries = 0

    def batches(self) -> Iterator[Batch]:
        known = False
        if next(self.documents(), None) is None:
            raise IndexRefused("it is empty")
        if not isinstance(self.next_event(), MappingStartEvent):
            raise IndexRefused("it is not an object")
        for key, value in self._mapping_items():
            if key == "entries" and isinstance(value, MappingStartEvent):
                known = True
                for name, entry in self._mapping_items():
                    self._count_entry()
                    yield from self._chart(name, entry)
            else:
                known = known or key == "apiVersion"
                self.skip(value)
        if not known:
            raise IndexRefused("it has neither entries nor an apiVersion")

    def _chart(self, name: str, start: Event) -> Iterator[Batch]:
        versions = self._versions(start)
        if len(name) > MAX_NAME_LENGTH:
            return
        for first in range(0, len(versions), BATCH_VERSIONS) or (0,):
            yield name, first > 0, versions[first : first + BATCH_VERSIONS]

    def _versions(self, start: Event) -> list[list[str]]:
        if not isinstance(start, SequenceStartEvent):
            self.skip(start)
            return []
        found: list[tuple[SemanticVersion, list[str]]] = []
        for event in self.members():
            self._count_entry()
            if not isinstance(event, MappingStartEvent):
                self.skip(event)
                continue
            fields = self._version()
            version = parse_version(fields["version"])
            if version is not None and fields["url"]:
                found.append((version, [fields.get(field, "") for field in VERSION_FIELDS]))
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [fields for _, fields in found]

    def _version(self) -> dict[str, str]:
        fields = {"version": "", "url": ""}
        for key, value in self._mapping_items():
            if key == "urls" and isinstance(value, SequenceStartEvent):
                fields["url"] = _url(self._first_text())
            elif key in _FIELD_BY_KEY and isinstance(value, ScalarEvent):
                field = _FIELD_BY_KEY[key]
                text = "" if value.implicit[0] and value.value in _NULL_SCALARS else value.value
                fields[field] = _url(text) if field == "icon" else text[: _TEXT_MAX.get(field)]
            else:
                self.skip(value)
        return fields

    def _mapping_items(self) -> Iterator[tuple[str, Event]]:
        for key in self.members():
            if isinstance(key, ScalarEvent):
                yield key.value, self.next_event()
            else:
                self.skip(key)
                self.skip(self.next_event())

    def _first_text(self) -> str:
        first = ""
        for event in self.members():
            if isinstance(event, ScalarEvent):
                first = first or event.value
            else:
                self.skip(event)
        return first

    def skip(self, event: Event) -> None:
        """Read on to the end of the value that `event` begins; libyaml takes quadratic time in the depth."""
        depth = int(isinstance(event, CollectionStartEvent))
        while depth:
            inner = self.next_event()
            depth += isinstance(inner, CollectionStartEvent) - isinstance(inner, CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise IndexRefused(f"it is nested more than {MAX_DEPTH} levels deep")

    def _count_entry(self) -> None:
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise IndexTooLarge(f"more than {MAX_ENTRIES:,} charts and versions")

    def next_event(self) -> Event:
        event = self.parse_event() or StreamEndEvent()
        if isinstance(event, AliasEvent):
            raise IndexRefused("it uses YAML aliases")
        return event


def _url(text: str) -> str:
    return text if len(text) <= _URL_MAX else ""
