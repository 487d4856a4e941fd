"""Puts labels and annotations on the objects of a rendered manifest, as text: all else stays as it is. Pure.

Text, because a manifest that is read and written again loses comments and changes scalars. An object is left alone
where more than an insertion would be needed: its labels are an alias or have an anchor, or it has one of them already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from yaml import Mark, YAMLError
from yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
)

from xapp_operator.api.models import XAppSpec
from xapp_operator.api.names import HELM_HOOK, LABEL_COMPONENT
from xapp_operator.domain.chart_values.yaml_events import YamlReader, YamlRefused
from xapp_operator.domain.managed_fields import OWN_KEYS
from xapp_operator.domain.registration import original_text_annotations, registration_labels
from xapp_operator.helm.manifest import DEPTH_MAX

_LABELS: Final = "labels"
_ANNOTATIONS: Final = "annotations"
_INDENT: Final = 2
_OWN: Final = "|".join(sorted(OWN_KEYS)).replace(".", "[.]")
_METADATA: Final = re.compile(r"^metadata:", re.MULTILINE)
_NEXT_MEMBER: Final = re.compile(r"^[^ #\n]", re.MULTILINE)
_OWN_LINES: Final = re.compile(
    rf"^(?P<key>  (?:{_LABELS}|{_ANNOTATIONS}):\n)(?:    (?:{_OWN}): [^\n]*\n)++(?=(?P<others>    )?)", re.MULTILINE
)
_FLOW_MEMBERS: Final = "(?P<comma>, )?(?:%s(?:, )?)++(?P<end>})?"
"""Such members of a mapping in flow style, one after the other, with the commas around them."""
_OWN_MEMBERS: Final = re.compile(_FLOW_MEMBERS % rf'(?:{_OWN}): "(?:[^"\\\n]|\\.)*+"')
_EMPTY_MEMBERS: Final = re.compile(_FLOW_MEMBERS % rf"(?:{_LABELS}|{_ANNOTATIONS}): {{}}")


@dataclass(frozen=True, slots=True)
class ObjectMetadata:
    """What every object of a release gets; Services also get their name as the label `service_name_label`."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    service_name_label: str = ""

    @classmethod
    def for_xapp(cls, name: str, spec: XAppSpec) -> ObjectMetadata:
        """Return what the objects of the XApp `name` get."""
        return cls(registration_labels(name, spec), original_text_annotations(spec), LABEL_COMPONENT)


@dataclass(frozen=True, slots=True)
class LabelledManifest:
    """A manifest with labels; `complete` means that every object has them, apart from hooks."""

    text: str
    complete: bool


@dataclass(slots=True)
class _Mapping:
    """A mapping of the text: where its first key is, or its `{`."""

    start: int
    flow: bool
    anchored: bool
    first_key: int | None = None
    column: int = 0
    keys: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Object:
    """What is read of one document."""

    kind: str = ""
    api_version: str = ""
    name: str = ""
    metadata: _Mapping | None = None
    members: dict[str, _Mapping] = field(default_factory=dict)
    """Labels and annotations."""
    is_unusual: bool = False


def add_metadata(manifest: str, added: ObjectMetadata) -> LabelledManifest:
    """Return `manifest` with labels and annotations on its objects, but not on hooks.

    A manifest that is not YAML, or is nested more than DEPTH_MAX levels deep, is returned as it is.
    """
    insertions: list[tuple[int, str]] = []
    complete = True
    try:
        for found in _read_objects(_BoundedReader(manifest)):
            if found is None or HELM_HOOK in _keys(found, _ANNOTATIONS):
                continue
            inserted = None if found.is_unusual else _insertions(manifest, found, added)
            if inserted is None:
                complete = False
            else:
                insertions += inserted
    except (YAMLError, YamlRefused):
        return LabelledManifest(manifest, complete=False)
    pieces, end = [], 0
    for at, text in sorted(insertions):
        pieces += [manifest[end:at], text]
        end = at
    return LabelledManifest("".join((*pieces, manifest[end:])), complete)


def remove_metadata(document: str) -> str:
    """Return one object of a stored manifest without the labels and annotations that `add_metadata` has added.

    Only as `add_metadata` writes them: quoted, each in one line, in `metadata` of the object itself.
    """
    start = _METADATA.search(document)
    if start is None:
        return document
    end = _NEXT_MEMBER.search(document, start.end())
    after = end.start() if end is not None else len(document)
    stripped = _OWN_LINES.sub(_remove_own, document[start.end() : after])
    stripped = _EMPTY_MEMBERS.sub(_remove_members, _OWN_MEMBERS.sub(_remove_members, stripped))
    return f"{document[: start.end()]}{stripped}{document[after:]}"


def _remove_own(found: re.Match[str]) -> str:
    """Return what remains of labels or annotations: their key, if they have other members."""
    return found["key"] if found["others"] else ""


def _remove_members(found: re.Match[str]) -> str:
    """Return what remains of the commas around members in flow style: helm sorts them, so they may be the last ones."""
    return found["end"] or found["comma"] or ""


def _keys(found: _Object, member: str) -> list[str]:
    return found.members[member].keys if member in found.members else []


class _BoundedReader(YamlReader):
    """Refuses deep nesting, for which the parser takes quadratic time."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._depth = 0

    def next_event(self) -> Event:
        event = super().next_event()
        self._depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if self._depth > DEPTH_MAX:
            raise YamlRefused(event, f"more than {DEPTH_MAX} levels")
        return event


def _read_objects(reader: YamlReader) -> list[_Object | None]:
    """Return the objects; None for a document that is none, such as an empty one."""
    reader.next_event()  # the start of the stream
    objects: list[_Object | None] = []
    while isinstance(reader.next_event(), DocumentStartEvent):
        root = reader.next_event()
        objects.append(_read_object(reader) if isinstance(root, MappingStartEvent) else None)
        if not isinstance(root, MappingStartEvent):
            reader.skip(root)
        reader.next_event()  # the end of the document
    return objects


def _read_object(reader: YamlReader) -> _Object:
    found = _Object()
    for key in reader.members():
        name = _read_key(reader, key)
        value = reader.next_event()
        if name == "metadata" and isinstance(value, MappingStartEvent):
            found.is_unusual |= found.metadata is not None
            found.metadata = _read_metadata(reader, value, found)
            continue
        if isinstance(value, ScalarEvent):
            if name == "kind":
                found.kind = value.value
            elif name == "apiVersion":
                found.api_version = value.value
        reader.skip(value)
    found.is_unusual |= found.metadata is None or found.kind.endswith("List")
    return found


def _read_metadata(reader: YamlReader, start: MappingStartEvent, found: _Object) -> _Mapping:
    metadata = _mapping(start)
    for key in reader.members():
        _note_key(metadata, key)
        name = _read_key(reader, key)
        value = reader.next_event()
        if name in (_LABELS, _ANNOTATIONS):
            found.is_unusual |= name in found.members or not isinstance(value, MappingStartEvent)
        if name in (_LABELS, _ANNOTATIONS) and isinstance(value, MappingStartEvent):
            found.members[name] = _read_texts(reader, value)
            continue
        if name == "name" and isinstance(value, ScalarEvent):
            found.name = value.value
        reader.skip(value)
    return metadata


def _read_texts(reader: YamlReader, start: MappingStartEvent) -> _Mapping:
    mapping = _mapping(start)
    for key in reader.members():
        _note_key(mapping, key)
        mapping.keys.append(_read_key(reader, key))
        reader.skip(reader.next_event())
    return mapping


def _read_key(reader: YamlReader, key: Event) -> str:
    reader.skip(key)
    return key.value if isinstance(key, ScalarEvent) else ""


def _mapping(start: MappingStartEvent) -> _Mapping:
    index, _ = _position(start)
    return _Mapping(index, bool(start.flow_style), bool(start.anchor or start.tag))


def _note_key(mapping: _Mapping, key: Event) -> None:
    if mapping.first_key is None:
        mapping.first_key, mapping.column = _position(key)


def _position(event: Event) -> tuple[int, int]:
    """Return where an event starts: characters from the start of the text, and of the line."""
    mark = cast("Mark", event.start_mark)
    return mark.index, mark.column


def _insertions(manifest: str, found: _Object, added: ObjectMetadata) -> list[tuple[int, str]] | None:
    """Return what to insert where, or None if this object needs more than that."""
    labels = dict(added.labels)
    if added.service_name_label and (found.api_version, found.kind) == ("v1", "Service"):
        labels[added.service_name_label] = found.name
    texts = {_LABELS: labels, _ANNOTATIONS: dict(added.annotations)}
    missing: dict[str, dict[str, str]] = {}
    insertions: list[tuple[int, str]] = []
    for member, members in texts.items():
        if any(key in members for key in _keys(found, member)):
            return None
        if member not in found.members:
            missing[member] = members
            continue
        inserted = _insert(manifest, found.members[member], {key: _quote(value) for key, value in members.items()})
        if inserted is None:
            return None
        insertions.append(inserted)
    if missing and found.metadata is not None:
        inserted = _insert(
            manifest, found.metadata, {member: _map(members, found.metadata) for member, members in missing.items()}
        )
        if inserted is None:
            return None
        insertions.append(inserted)
    return insertions


def _map(members: Mapping[str, str], parent: _Mapping) -> str:
    """Return a mapping as the value of a member of `parent`."""
    texts = [f"{key}: {_quote(value)}" for key, value in members.items()]
    if parent.flow:
        return f"{{{', '.join(texts)}}}"
    indent = " " * (parent.column + _INDENT)
    return "".join(f"\n{indent}{each}" for each in texts)


def _insert(manifest: str, mapping: _Mapping, values: Mapping[str, str]) -> tuple[int, str] | None:
    """Return where to insert the members `values`, and the text: in front of the first key of a mapping."""
    if mapping.anchored:  # an alias elsewhere, such as in a selector, would get them too
        return None
    members = [f"{key}:{value}" if value.startswith("\n") else f"{key}: {value}" for key, value in values.items()]
    if mapping.flow:
        return mapping.start + 1, ", ".join(members) + (", " if mapping.first_key is not None else "")
    if mapping.first_key is None or manifest[mapping.first_key - mapping.column : mapping.first_key].strip(" "):
        return None
    return mapping.first_key, "".join(f"{member}\n{' ' * mapping.column}" for member in members)


def _quote(value: str) -> str:
    """Return a double-quoted scalar in ASCII."""
    return f'"{"".join(map(_escape, value))}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isascii() and character.isprintable() else f"\\U{ord(character):08x}"
