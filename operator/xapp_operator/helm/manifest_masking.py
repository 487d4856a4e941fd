"""Rendered manifests as a person may read them: data of Secrets masked, and what looks like a secret elsewhere. Pure.

The text stays as the chart rendered it, comments and all: only the scalars that are masked are replaced in their place.
A document that cannot be read for certain is left out whole. Lives in `helm` because Helm's records are what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.api.names import HELM_HOOK
from xapp_operator.domain.redaction import MASK, redact, scrub
from xapp_operator.helm.manifest import split_documents

DEPTH_MAX: Final = 100
NODES_MAX: Final = 200_000
SCRUBBED_SECRETS_MAX: Final = 256
SCRUBBED_CHARACTERS_MIN: Final = 6
"""Shorter secrets are common words too often to be looked for in a whole text."""

WITHHELD: Final = "\n# withheld: this document cannot be read as YAML, so that nobody can tell what in it is secret\n"

MaskFactory: TypeAlias = Callable[[str], str]
"""Returns what is shown in place of a secret."""

_LOADER: Final[type[yaml.CBaseLoader] | type[yaml.BaseLoader]] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_PLAIN_SCALARS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_SECRET_PARTS: Final = (
    ("data",),
    ("stringData",),
    ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"),
)

_Span: TypeAlias = tuple[int, int, bool]  # from, to, whether it is a block scalar
_ScalarSpans: TypeAlias = "_Span | list[_ScalarSpans] | dict[str, _ScalarSpans]"


@dataclass(frozen=True, slots=True)
class MaskedDocument:
    """One masked document; `name` tells it from the others, as in `apps/v1 Deployment default/web`."""

    name: str
    text: str
    is_hook: bool


def mask_manifest(manifest: str, *, secrets: Iterable[str] = ()) -> str:
    """Return `manifest` to be shown; `secrets` are texts that must not stand anywhere in it."""
    return mask_text("".join(f"---{each.text}" for each in mask_documents(manifest)), secrets=secrets)


def mask_text(shown: str, *, secrets: Iterable[str], make_mask: MaskFactory = lambda _: MASK) -> str:
    """Return a text without the longest of `secrets`, such as NOTES that repeat a password."""
    longest = sorted((each for each in secrets if len(each) >= SCRUBBED_CHARACTERS_MIN), key=len, reverse=True)
    return scrub(shown, longest[:SCRUBBED_SECRETS_MAX], make_mask=make_mask)


def mask_documents(manifest: str, *, make_mask: MaskFactory = lambda _: MASK) -> Iterator[MaskedDocument]:
    """Yield the documents of `manifest`, each ending in a line break, secrets replaced by what `masking` says."""
    for source in split_documents(manifest):
        ended = source if source.endswith("\n") else f"{source}\n"
        try:
            yield _mask_document(ended, make_mask)
        except (yaml.YAMLError, _Unreadable):
            yield MaskedDocument(name="", text=WITHHELD, is_hook=False)


def _mask_document(source: str, make_mask: MaskFactory) -> MaskedDocument:
    reader = _Reader()
    for event in yaml.parse(source, Loader=_LOADER):
        reader.take(event)
    root, places = reader.value, reader.places
    if not isinstance(root, dict):
        # A document of comments only, or what Helm itself would not apply.
        return MaskedDocument(name="", text=source if root is None else WITHHELD, is_hook=False)
    metadata = obj(root, "metadata")
    place = "/".join(filter(None, (text(metadata, "namespace"), text(metadata, "name"))))
    return MaskedDocument(
        name=" ".join(filter(None, (text(root, "apiVersion"), text(root, "kind"), place))),
        text=_replace_spans(source, set(_secret_spans(root, places)), make_mask),
        is_hook=HELM_HOOK in obj(metadata, "annotations"),
    )


def _secret_spans(root: JsonObject, places: _ScalarSpans) -> Iterator[_Span]:
    if text(root, "kind") != "CustomResourceDefinition":  # its properties have names, and no values
        yield from _redacted_spans(root, redact(root), places)
    yield from _secret_data_spans(root, places)


def _redacted_spans(value: Json, shown: Json, places: _ScalarSpans) -> Iterator[_Span]:
    if isinstance(value, dict) and isinstance(shown, dict) and isinstance(places, dict):
        for key, member in value.items():
            yield from _redacted_spans(member, shown[key], places[key])
    elif isinstance(value, list) and isinstance(shown, list) and isinstance(places, list):
        for member, seen, place in zip(value, shown, places, strict=True):
            yield from _redacted_spans(member, seen, place)
    elif shown == MASK and isinstance(places, tuple):
        yield places


def _secret_data_spans(value: Json, places: _ScalarSpans) -> Iterator[_Span]:
    if isinstance(value, dict) and isinstance(places, dict):
        if text(value, "kind") == "Secret":
            for path in _SECRET_PARTS:
                yield from _flatten_spans(_spans_at(places, path))
        for key, member in value.items():
            yield from _secret_data_spans(member, places[key])
    elif isinstance(value, list) and isinstance(places, list):
        for member, place in zip(value, places, strict=True):
            yield from _secret_data_spans(member, place)


def _spans_at(places: _ScalarSpans, path: tuple[str, ...]) -> _ScalarSpans:
    for key in path:
        places = places.get(key, []) if isinstance(places, dict) else []
    return places


def _flatten_spans(places: _ScalarSpans) -> Iterator[_Span]:
    if isinstance(places, tuple):
        yield places
        return
    for each in places.values() if isinstance(places, dict) else places:
        yield from _flatten_spans(each)


def _replace_spans(source: str, spans: set[_Span], make_mask: MaskFactory) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, is_block in sorted(spans):
        written = source[start:end]
        if not written:
            continue
        # A block scalar owns the line breaks after it.
        after = written[len(written.rstrip()) :] if is_block else ""
        pieces += [source[at:start], f'"{make_mask(written)}"', after]
        at = end
    return "".join((*pieces, source[at:]))


class _Unreadable(Exception):
    """The document is too deep or too large, has a key twice, or is not one document."""


class _Reader:
    """Builds one document from events: its value, and beside it where each scalar stands."""

    def __init__(self) -> None:
        self.value: Json = None
        self.places: _ScalarSpans = []
        self._open: list[tuple[Json, _ScalarSpans, str | None]] = []  # with the anchor
        self._keys: list[str | None] = []  # of each open mapping the key that waits for its value
        self._anchors: dict[str, tuple[Json, _ScalarSpans, int]] = {}  # with the number of nodes
        self._nodes = 0
        self._begun = False

    def take(self, event: yaml.Event) -> None:
        """Take in the next event of the parser."""
        if isinstance(event, yaml.DocumentStartEvent):
            if self._begun:
                raise _Unreadable
            self._begun = True
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            value, places, nodes = self._anchors.get(event.anchor or "", ("", [], 1))
            self._add(value, places, nodes=nodes)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            if len(self._open) >= DEPTH_MAX:
                raise _Unreadable
            self._open.append(({}, {}, event.anchor) if is_mapping else ([], [], event.anchor))
            self._keys.append(None)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._keys.pop()
            value, places, anchor = self._open.pop()
            self._add(value, places, anchor=anchor)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        value: Json = event.value
        if event.implicit[0]:
            value = _PLAIN_SCALARS.get(event.value, event.value)
        start, end = event.start_mark, event.end_mark
        place = (start.index if start else 0, end.index if end else 0, event.style in {"|", ">"})
        self._add(value, place, anchor=event.anchor, key=event.value)

    def _add(
        self, value: Json, places: _ScalarSpans, *, anchor: str | None = None, nodes: int = 1, key: str | None = None
    ) -> None:
        self._nodes += nodes
        if self._nodes > NODES_MAX:
            raise _Unreadable
        if anchor is not None:
            # An alias counts as what it repeats, so that aliases of aliases cannot grow without end.
            self._anchors[anchor] = (value, places, _size(value))
        if not self._open:
            self.value, self.places = value, places
            return
        container, inside, _ = self._open[-1]
        if isinstance(container, list) and isinstance(inside, list):
            container.append(value)
            inside.append(places)
        elif isinstance(container, dict) and isinstance(inside, dict):
            waiting = self._keys[-1]
            if waiting is not None:
                container[waiting], inside[waiting] = value, places
                self._keys[-1] = None
            elif key is None or key in container:
                raise _Unreadable
            else:
                self._keys[-1] = key


def _size(value: Json) -> int:
    if isinstance(value, dict | list):
        return 1 + sum(map(_size, value.values() if isinstance(value, dict) else value))
    return 1
