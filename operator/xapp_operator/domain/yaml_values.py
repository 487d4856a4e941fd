"""The one loader of values, for operator and gateway: a values file means here what it means to helm.

Helm 4 reads values with sigs.k8s.io/yaml, which is go.yaml.in/yaml/v2 (YAML 1.1 with its own scalar rules) followed by
encoding/json (every number a float64). PyYAML's own resolver disagrees on `22:22`, `2020-01-01`, `1e3`, `0o10` and `y`,
so only its scanner and parser (libyaml, in C) are used; scalars are read by `yamlscalars` and objects are built here,
event by event, so that every bound is checked before memory is spent. Stricter than helm on purpose: duplicate keys, a
second document and bytes that are not UTF-8 are refused. tests/integration/domain compares all this with the real helm.

It lives in `domain` because both processes must read a values file alike; it does no I/O.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, NoReturn

from yaml import MarkedYAMLError, YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.common.text import quote_input
from xapp_operator.domain import yaml_scalars
from xapp_operator.domain.yaml_scalars import ScalarRefused
from xapp_operator.errors import FieldError, ValuesInvalid

MAX_DEPTH: Final = 100
"""Objects and lists may lie this deep in each other."""

MAX_NODES: Final = 100_000
"""Scalars, lists and objects of one file, those that an alias repeats counted again; keys are not counted."""

MAX_KEY_BYTES: Final = 1_000
"""Helm's parser does not recognise a key beyond 1,024 bytes, quotes and escapes included."""

_CHARACTER_BYTES_MAX: Final = 6  # \u0085
_SURROGATES: Final = range(0xD800, 0xE000)
_UNSAFE_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def load_values(data: bytes | str, *, source: str, max_bytes: int, repeated_keys: bool = False) -> JsonObject:
    """Return the object that helm would read from a values file.

    `what` names the input in errors (`values`, `valuesFrom[0]`). `max_bytes` bounds the file, and also the text that it
    holds once its aliases are expanded. With `repeated_keys` the last of equal keys counts, as for helm: for files of a
    chart, which its user did not write. An empty file, or one of comments only, is an empty object. Whole numbers are
    `int`, those beyond 64 bits `float`.

    Raises ValuesInvalid, with line and column, never with what is written there.
    """
    text = _decode_text(data, source=source, max_bytes=max_bytes)
    try:
        return _ValuesBuilder(text, source=source, max_bytes=max_bytes, repeated_keys=repeated_keys).stream()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = _position(mark.line, mark.column) if mark else "somewhere"
        raise _values_error(source, f"is not YAML: {position}: {error.problem}. Correct the syntax there.") from None
    except YAMLError as error:
        line = text.encode()[: error.position].count(b"\n") + 1 if isinstance(error, ReaderError) else 1
        raise _values_error(
            source, f"is not YAML: line {line}: a control character. Write it as an escape in a double-quoted string."
        ) from None


def load_json(data: bytes | str, *, source: str) -> Json:
    """Return decoded JSON (RFC 8259), numbers held as `load_values` holds them; the caller bounds its size.

    Raises ValuesInvalid for what is not JSON, for duplicate keys, numbers beyond a float64, lone surrogates, bytes that
    are not UTF-8, and more than MAX_DEPTH levels.
    """
    text = _decode_text(data, source=source, max_bytes=None)
    try:
        value = _decode_json(text, source=source)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        position = _position(error.lineno - 1, error.colno - 1)
        raise _values_error(source, f"is not JSON: {position}: {error.msg}. Correct the syntax there.") from None
    except ScalarRefused:
        raise _values_error(source, "has a number that no 64-bit float can hold. Write it as a string.") from None
    except UnicodeEncodeError:
        raise _values_error(source, "has half of a surrogate pair in a \\u escape. Give both halves.") from None
    except RecursionError:
        raise _too_deep_error(source) from None
    if deeper_than(value, MAX_DEPTH):
        raise _too_deep_error(source)
    return value


def _decode_json(text: str, *, source: str) -> Json:
    def object_from_pairs(pairs: list[tuple[str, Json]]) -> JsonObject:
        result: JsonObject = {}
        for key, value in pairs:
            if key in result:
                raise _values_error(source, f"has the key {quote_input(key)} twice in one object. Give it once.")
            result[key] = value
        return result

    def refuse_constant(name: str) -> Json:
        raise _values_error(source, f"has {name}, which JSON cannot carry. Leave it out or write it as a string.")

    value: Json = json.loads(
        text,
        object_pairs_hook=object_from_pairs,
        parse_int=yaml_scalars.parse_json_number,
        parse_float=yaml_scalars.parse_json_number,
        parse_constant=refuse_constant,
    )
    return value


def dump_values(values: JsonObject) -> bytes:
    """Return `values` as one line of JSON that helm's YAML parser reads back as the same values.

    Raises ValuesInvalid for a key that helm's parser cannot recognise (MAX_KEY_BYTES).
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text) * _CHARACTER_BYTES_MAX > MAX_KEY_BYTES:
        _check_keys(values)
    return _escape_for_yaml(text).encode()


def deeper_than(value: Json, levels: int) -> bool:
    """Tell whether objects and lists lie more than `levels` deep in each other."""
    if isinstance(value, dict):
        return levels == 0 or any(deeper_than(member, levels - 1) for member in value.values())
    if isinstance(value, list):
        return levels == 0 or any(deeper_than(member, levels - 1) for member in value)
    return False


def _escape_for_yaml(text: str) -> str:
    """Escape what JSON allows and YAML 1.1 does not, or reads as a line break."""
    return _UNSAFE_IN_YAML.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match.group())
    return "\\ufffd" if code in _SURROGATES else f"\\u{code:04x}"


def _check_keys(value: Json) -> None:
    if isinstance(value, dict):
        for key, member in value.items():
            if len(key) * _CHARACTER_BYTES_MAX > MAX_KEY_BYTES:
                size = len(_escape_for_yaml(json.dumps(key, ensure_ascii=False)).encode())
                if size > MAX_KEY_BYTES:
                    raise _values_error(
                        "values", f"has a key of {size:,} bytes; at most {MAX_KEY_BYTES:,}. Shorten it."
                    )
            _check_keys(member)
    elif isinstance(value, list):
        for member in value:
            _check_keys(member)


def _decode_text(data: bytes | str, *, source: str, max_bytes: int | None) -> str:
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if max_bytes is not None and len(raw) > max_bytes:
        raise _values_error(source, f"has {len(raw):,} bytes; at most {max_bytes:,} are allowed. Make it smaller.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _values_error(source, f"is not UTF-8: line {line}. Save the file as UTF-8.") from None


def _position(line: int, column: int) -> str:
    return f"line {line + 1}, column {column + 1}"


def _values_error(source: str, sentence: str) -> ValuesInvalid:
    return ValuesInvalid(f"{source} {sentence}", errors=(FieldError(field=source, message=sentence),))


def _too_deep_error(source: str) -> ValuesInvalid:
    return _values_error(source, f"is nested more than {MAX_DEPTH} levels deep. Flatten it.")


@dataclass(frozen=True, slots=True)
class _AnchoredValue:
    """A value that an alias may repeat, with what repeating it costs."""

    value: Json
    nodes: int
    size: int


class _ValuesBuilder:
    """Builds one object from libyaml's events, and counts while it builds."""

    def __init__(self, text: str, *, source: str, max_bytes: int, repeated_keys: bool) -> None:
        self._parser = CParser(text)
        self._source = source
        self._max_bytes = max_bytes
        self._repeated_keys = repeated_keys
        self._nodes = 0
        self._size = 0
        self._anchors: dict[str, _AnchoredValue | None] = {}

    def stream(self) -> JsonObject:
        result: JsonObject | None = None
        self._next()  # the start of the stream
        while not isinstance(event := self._next(), StreamEndEvent):
            self._anchors.clear()
            root = self._next()
            value = self._value(root, 1)
            self._next()  # the end of the document
            if value is None:
                continue
            if result is not None:
                self._refuse(event, "a second document begins. Put all values into one document.")
            if not isinstance(value, dict):
                self._refuse(root, "values must be an object, lines of `key: value`.")
            result = value
        return result or {}

    def _next(self) -> Event:
        return self._parser.get_event() or StreamEndEvent()

    def _value(self, event: Event, depth: int) -> Json:
        self._count(event, 1)
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        if not isinstance(event, CollectionStartEvent):
            self._refuse(event, "a value is missing.")
        if depth > MAX_DEPTH:
            self._refuse(event, f"more than {MAX_DEPTH} levels deep. Flatten the values.")
        nodes, size = self._nodes, self._size
        if event.anchor:
            self._anchors[event.anchor] = None
        value: Json = self._mapping(depth) if isinstance(event, MappingStartEvent) else self._sequence(depth)
        if event.anchor:
            self._anchors[event.anchor] = _AnchoredValue(value, self._nodes - nodes, self._size - size)
        return value

    def _scalar(self, event: ScalarEvent) -> Json:
        self._size += len(event.value)
        try:
            value = yaml_scalars.parse_scalar(tag=event.tag, text=event.value, plain=event.implicit[0])
        except ScalarRefused as refused:
            self._refuse(event, f"{refused}. Write it in quotes, or correct it.")
        if event.anchor:
            self._anchors[event.anchor] = _AnchoredValue(value, 0, len(event.value))
        return value

    def _sequence(self, depth: int) -> list[Json]:
        result: list[Json] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            result.append(self._value(event, depth + 1))
        return result

    def _mapping(self, depth: int) -> JsonObject:
        result: JsonObject = {}
        lines: dict[str, int] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            if isinstance(event, ScalarEvent) and _is_merge_key(event):
                self._merge(result, depth)
                continue
            key = self._key(event)
            if key in lines and not self._repeated_keys:
                self._refuse(event, f"a key that line {lines[key] + 1} has given already. Give it once.")
            lines[key] = event.start_mark.line if event.start_mark else 0
            result[key] = self._value(self._next(), depth + 1)
        return result

    def _key(self, event: Event) -> str:
        try:
            if isinstance(event, ScalarEvent):
                self._size += len(event.value)
                if event.anchor:
                    self._scalar(event)
                return yaml_scalars.parse_key(tag=event.tag, text=event.value, plain=event.implicit[0])
            value = self._alias(event, 1) if isinstance(event, AliasEvent) else []
            if isinstance(value, dict | list):
                self._refuse(event, "a key that is a list or an object. Use a string.")
            return yaml_scalars.scalar_to_key(value)
        except ScalarRefused as refused:
            self._refuse(event, f"{refused}. Write the key in quotes, or correct it.")

    def _merge(self, result: JsonObject, depth: int) -> None:
        """Apply a merge key `<<` as go-yaml does: where it stands, so that it overrides the keys before it."""
        event = self._next()
        value = self._value(event, depth)
        sources = value if isinstance(event, SequenceStartEvent) and isinstance(value, list) else [value]
        for source in reversed(sources):
            if not isinstance(source, dict):
                self._refuse(event, "the merge key `<<` takes an object or a list of objects. Give it one.")
            result.update(source)

    def _alias(self, event: AliasEvent, depth: int) -> Json:
        name = event.anchor or ""
        anchored = self._anchors.get(name)
        if anchored is None:
            inside = "inside the value that it repeats" if name in self._anchors else "without its anchor before it"
            self._refuse(event, f"an alias {inside}. Write the value out.")
        self._count(event, anchored.nodes)
        self._size += anchored.size
        if self._size > self._max_bytes:
            self._refuse(event, f"with its aliases expanded the text has more than {self._max_bytes:,} bytes.")
        if deeper_than(anchored.value, MAX_DEPTH - depth + 1):
            self._refuse(event, f"more than {MAX_DEPTH} levels deep. Flatten the values.")
        return _copy(anchored.value)

    def _count(self, event: Event, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            self._refuse(event, f"more than {MAX_NODES:,} values, aliases expanded. Use fewer, or fewer aliases.")

    def _refuse(self, event: Event, sentence: str) -> NoReturn:
        mark = event.start_mark
        position = _position(mark.line, mark.column) if mark else "the end"
        raise _values_error(self._source, f"is refused at {position}: {sentence}")


def _is_merge_key(event: ScalarEvent) -> bool:
    return event.value == "<<" and (event.implicit[0] or event.tag == yaml_scalars.TAG_MERGE)


def _copy(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copy(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_copy(member) for member in value]
    return value
