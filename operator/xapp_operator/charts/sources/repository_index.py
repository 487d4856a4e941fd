"""Reads the index.yaml of a chart repository, event by event, into small records.

An index of several MB has hundreds of thousands of YAML nodes. Loading it whole takes four times as long, and over 20
times its size in memory. This reader looks at each event of libyaml once, and keeps one small record per version. The
file is read as a stream and may be compressed.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import IO, Final

import yaml
from yaml.events import AliasEvent, Event, MappingStartEvent, ScalarEvent, SequenceStartEvent, StreamEndEvent

from xapp_operator.charts.chart_request import sha256_digits
from xapp_operator.charts.versions import SemanticVersion, parse_version
from xapp_operator.common.bounded_stream import BoundedStream
from xapp_operator.common.text import format_bytes
from xapp_operator.domain.yaml_events import YamlReader
from xapp_operator.errors import ChartSourceError

MAX_NAME_LENGTH: Final = 253  # of spec.chartName

_GZIP_MAGIC: Final = b"\x1f\x8b"
_FIELD_BY_KEY: Final = {"appVersion": "app_version"} | {
    key: key for key in ("version", "description", "icon", "created", "digest")
}
_NULL_SCALARS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_CHUNK_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartVersion:
    """One version of a chart in an index; `digest` is as written there, `url` may be relative."""

    version: str
    url: str
    digest: str = ""
    app_version: str = ""
    description: str = ""
    icon: str = ""
    created: str = ""


@dataclass(frozen=True, slots=True)
class ChartIndex:
    """The charts of a repository; `digest` identifies the state, `fetched_at` is when it was last confirmed."""

    digest: str
    fetched_at: datetime
    charts: dict[str, tuple[ChartVersion, ...]] = field(repr=False)
    """By name; each newest first."""
    names: tuple[str, ...] = field(default=(), repr=False)
    """Of the charts that have versions, sorted; names that are too long for `chartName` are left out."""

    def versions(self, chart: str) -> tuple[ChartVersion, ...]:
        """Return the versions of a chart, newest first; none for an unknown chart."""
        return self.charts.get(chart, ())

    def latest(self, chart: str) -> ChartVersion:
        """Return the newest release of one of `names`, like `helm search repo`, or else its newest pre-release."""
        versions = self.charts[chart]
        return next((entry for entry in versions if "-" not in entry.version.partition("+")[0]), versions[0])

    def search(self, text: str) -> list[str]:
        """Return the `names` that have `search` in name or description, ignoring case; takes some µs for each chart."""
        needle = text.casefold()
        return [
            name
            for name in self.names
            if needle in name.casefold() or needle in self.latest(name).description.casefold()
        ]


def read_index(stream: IO[bytes], *, max_bytes: int, cached: ChartIndex | None = None) -> ChartIndex:
    """Return the index in a seekable stream of at most `max_bytes` unpacked bytes. Call it in a thread.

    When the bytes equal the `cached` index, it is returned as current, and nothing is parsed.
    Raises ChartSourceError (permanent) when the stream is not an index.
    """
    digest = hashlib.sha256()
    stream.seek(0)
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    if cached and cached.digest == digest.hexdigest():
        return replace(cached, fetched_at=datetime.now(UTC))
    stream.seek(0)
    magic = stream.read(len(_GZIP_MAGIC))
    stream.seek(0)
    text = gzip.GzipFile(fileobj=stream, mode="rb") if magic == _GZIP_MAGIC else stream
    bounded = BoundedStream(text, max_bytes=max_bytes, error=lambda: index_too_large(max_bytes))
    try:
        charts = _IndexParser(bounded).charts()
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else "the end"
        raise _invalid_index(f"it is not YAML ({line})") from None
    except yaml.YAMLError:
        raise _invalid_index("it is not YAML") from None
    except (OSError, EOFError, zlib.error):
        raise _invalid_index("its gzip compression is damaged") from None
    names = sorted(name for name, versions in charts.items() if versions and len(name) <= MAX_NAME_LENGTH)
    return ChartIndex(digest.hexdigest(), datetime.now(UTC), charts, tuple(names))


def archive_digest(entry: ChartVersion) -> str | None:
    """Return the 64 hex digits of the archive's digest, or None when the index has none.

    Raises ChartSourceError (permanent) for another kind of digest, like Helm 4.
    """
    if not entry.digest:
        return None
    digits = sha256_digits(entry.digest)
    if digits is None:
        raise _invalid_index(f"the digest of version {entry.version} is not a sha256")
    return digits


class _IndexParser(YamlReader):
    """Walks through the events and keeps the values at entries.<chart>[].<key>."""

    def __init__(self, stream: BoundedStream) -> None:
        super().__init__(stream)
        self._texts: dict[str, str] = {}

    def charts(self) -> dict[str, tuple[ChartVersion, ...]]:
        found: dict[str, tuple[ChartVersion, ...]] = {}
        known = False
        if next(self.documents(), None) is None:
            raise _invalid_index("it is empty")
        if not isinstance(self.next_event(), MappingStartEvent):
            raise _invalid_index("it is not an object")
        for key, value in self._mapping_items():
            if key == "entries" and isinstance(value, MappingStartEvent):
                known = True
                found = {name: self._versions(entry) for name, entry in self._mapping_items()}
            else:
                known = known or key == "apiVersion"
                self.skip(value)
        if not known:
            raise _invalid_index("it has neither entries nor an apiVersion")
        return found

    def _versions(self, start: Event) -> tuple[ChartVersion, ...]:
        if not isinstance(start, SequenceStartEvent):
            self.skip(start)
            return ()
        found: list[tuple[SemanticVersion, ChartVersion]] = []
        for event in self.members():
            if not isinstance(event, MappingStartEvent):
                self.skip(event)
                continue
            entry = self._version()
            version = parse_version(entry.version)
            if version is not None and entry.url:
                found.append((version, entry))
        found.sort(key=lambda pair: pair[0], reverse=True)
        return tuple(entry for _, entry in found)

    def _version(self) -> ChartVersion:
        fields = {"version": "", "url": ""}
        for key, value in self._mapping_items():
            if key == "urls" and isinstance(value, SequenceStartEvent):
                fields["url"] = self._first_text()
            elif key in _FIELD_BY_KEY and isinstance(value, ScalarEvent):
                fields[_FIELD_BY_KEY[key]] = self._text(value)
            else:
                self.skip(value)
        return ChartVersion(**fields)

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

    def _text(self, event: ScalarEvent) -> str:
        """Return the text, interned within the index, because versions repeat their descriptions."""
        text = "" if event.implicit[0] and event.value in _NULL_SCALARS else event.value
        return self._texts.setdefault(text, text)

    def next_event(self) -> Event:
        event = self.parse_event() or StreamEndEvent()
        if isinstance(event, AliasEvent):
            raise _invalid_index("it uses YAML aliases")
        return event


def index_too_large(max_bytes: int) -> ChartSourceError:
    return ChartSourceError(
        f"the index.yaml of the repository has more than {format_bytes(max_bytes)}. "
        "Raise XAPP_INDEX_MAX_BYTES or use a smaller repository.",
        permanent=True,
    )


def _invalid_index(reason: str) -> ChartSourceError:
    return ChartSourceError(
        f"the index.yaml of the repository is refused: {reason}. Check the URL, and generate the index with "
        "'helm repo index'.",
        permanent=True,
    )
