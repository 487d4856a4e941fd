"""Reading of rendered manifests as far as names go: document by document, every scalar as text, in bounded depth. Pure.

The YAML is what a chart rendered, which anybody may have written. PyYAML's loaders recurse: a document of some tens of
thousands of brackets overflows the C stack and ends the process. Its parser does not, so events are read here, and a
document is given up at the first one that lies too deep. Only what can name an object is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import yaml

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.errors import HelmError

DEPTH_MAX: Final = 1000  # Kubernetes itself refuses what is nested ten times as deep
EVENTS_MAX: Final = 1_000_000  # a mapping has two more than scalars; 3 s of work
LOADED_DEPTH_MAX: Final = 16  # annotations of an object in a list in a list lie at 8

_SEPARATOR: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_LOADER: Final[type[yaml.CBaseLoader] | type[yaml.BaseLoader]] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

_Container: TypeAlias = "dict[str, Json] | list[Json]"


def split_documents(manifest: str) -> list[str]:
    """Return the YAML documents of `manifest` as texts, without empty ones."""
    return [document for document in _SEPARATOR.split(manifest) if document.strip()]


def load_documents(manifest: str) -> Iterator[JsonObject]:
    """Yield the documents of `manifest` that are objects, down to 16 levels.

    Raises:
        HelmError: when a document is not YAML, or nested more than 1,000 levels deep, or the manifest has more than
            EVENTS_MAX events in all.
    """
    left = EVENTS_MAX
    for number, source in enumerate(split_documents(manifest), start=1):
        reader = _Reader()
        try:
            for event in yaml.parse(source, Loader=_LOADER):
                reader.take(event)
                left -= 1
                if left < 0:
                    raise HelmError(
                        f"the release's manifest has more than {EVENTS_MAX:,} parts: make the chart smaller"
                    )
        except yaml.YAMLError as error:
            raise HelmError(f"document {number} of the release's manifest cannot be read: it is not YAML") from error
        except _TooDeep as error:
            raise HelmError(
                f"document {number} of the release's manifest cannot be read: it is nested more than {DEPTH_MAX} levels"
            ) from error
        if isinstance(reader.root, dict):
            yield reader.root


class _TooDeep(Exception):
    pass


class _Reader:
    """Builds one document from events. Aliases stand for nodes that are complete, so that nothing holds itself."""

    def __init__(self) -> None:
        self.root: Json = None
        self._open: list[tuple[_Container, str | None]] = []  # with the anchor
        self._keys: list[str | None] = []  # of each open mapping the key that waits for its value
        self._anchors: dict[str, Json] = {}

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._add(event.value, anchor=event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._anchors.get(event.anchor or ""))
        elif isinstance(event, yaml.MappingStartEvent):
            self._begin({}, event.anchor)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._begin([], event.anchor)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._keys.pop()
            container, anchor = self._open.pop()
            self._add(container, anchor=anchor)

    def _begin(self, container: _Container, anchor: str | None) -> None:
        if len(self._open) >= DEPTH_MAX:
            raise _TooDeep
        self._open.append((container, anchor))
        self._keys.append(None)

    def _add(self, value: Json, *, anchor: str | None = None) -> None:
        if anchor is not None:
            self._anchors[anchor] = value
        if not self._open:
            self.root = value
            return
        container, _ = self._open[-1]
        if isinstance(container, dict):
            self._add_to_mapping(container, value)
        elif len(self._open) <= LOADED_DEPTH_MAX:
            container.append(value)

    def _add_to_mapping(self, container: dict[str, Json], value: Json) -> None:
        key = self._keys[-1]
        if key is None:
            self._keys[-1] = value if isinstance(value, str) else ""
            return
        self._keys[-1] = None
        if len(self._open) <= LOADED_DEPTH_MAX:
            container[key] = value
