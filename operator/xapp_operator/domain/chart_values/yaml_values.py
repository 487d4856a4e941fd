"""The loader of values files and of JSON: a values file means here what it means to helm. Pure.

Helm 4 reads values with sigs.k8s.io/yaml, which is go.yaml.in/yaml/v2 (YAML 1.1 with its own scalar rules) followed by
encoding/json (every number is a float64). PyYAML's resolver disagrees on `22:22`, `2020-01-01`, `1e3`, `0o10` and `y`.
Unlike helm, the loader refuses duplicate keys, a second document, and bytes that are not UTF-8. The tests in
tests/integration/domain compare it with the real helm.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, Protocol, cast

from yaml import MarkedYAMLError, YAMLError
from yaml.events import AliasEvent, Event, ScalarEvent
from yaml.reader import ReaderError

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.common.text import quote_input
from xapp_operator.domain.chart_values import yaml_scalars
from xapp_operator.domain.chart_values.yaml_events import Tree, TreeBuilder, YamlRefused
from xapp_operator.domain.chart_values.yaml_scalars import Scalar, ScalarRefused, is_whole_number
from xapp_operator.errors import FieldError, ValuesInvalid

MAX_DEPTH: Final = 100
"""How deep objects and lists may be nested."""

MAX_NODES: Final = 100_000
"""Scalars, lists and objects of one file. What an alias repeats counts again; keys do not count."""

MAX_KEY_BYTES: Final = 1_000
"""Helm's parser does not recognise a key of more than 1,024 bytes, quotes and escapes included."""

_CHARACTER_BYTES_MAX: Final = 6  # \u0085
_SURROGATES: Final = range(0xD800, 0xE000)
_UNSAFE_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


@dataclass(slots=True)
class ValuesBudget:
    """Bounds what several files have together, aliases expanded, and counts it, also of files that are refused.

    Like the bound of one file, `characters_max` only refuses aliases: the caller bounds the length of the files.
    """

    nodes_max: int
    characters_max: int
    nodes: int = 0
    characters: int = 0


def load_values(
    data: bytes | str,
    *,
    source: str,
    max_bytes: int,
    repeated_keys: bool = False,
    exact_integers: bool = False,
    budget: ValuesBudget | None = None,
) -> JsonObject:
    """Return the object that helm would read from a values file; an empty one for a file without an object.

    Arguments and errors are those of `load_stated_values`.
    """
    stated = load_stated_values(
        data,
        source=source,
        max_bytes=max_bytes,
        repeated_keys=repeated_keys,
        exact_integers=exact_integers,
        budget=budget,
    )
    return stated or {}


def load_stated_values(
    data: bytes | str,
    *,
    source: str,
    max_bytes: int,
    repeated_keys: bool = False,
    exact_integers: bool = False,
    budget: ValuesBudget | None = None,
) -> JsonObject | None:
    """Return the object in a values file; None for a file without one: empty, of comments only, or null.

    Whole numbers are `int`, those beyond 64 bits `float`.

    Args:
        data: the file.
        source: the name of the input in errors, such as `values` or `valuesFrom[0]`.
        max_bytes: bounds the file, and the characters in it once its aliases are expanded.
        repeated_keys: the last of equal keys counts, as for helm. For files of a chart, which its user did not write.
        exact_integers: refuse whole numbers beyond 64 bits, which Kubernetes would round. For values of an XApp.
        budget: bounds this file together with those that were loaded with it before.

    Raises:
        ValuesInvalid: with line and column, never with what is written there.
    """
    text = _decode_text(data, source=source, max_bytes=max_bytes)
    if budget is None:
        budget = ValuesBudget(nodes_max=MAX_NODES, characters_max=max_bytes)
    builder = _ValuesBuilder(
        text,
        depth_max=MAX_DEPTH,
        nodes_max=min(budget.nodes + MAX_NODES, budget.nodes_max),
        characters_max=min(budget.characters + max_bytes, budget.characters_max),
        repeated_keys=repeated_keys,
    )
    builder.nodes, builder.characters = budget.nodes, budget.characters
    builder.counted_with = " together with the files before it" if budget.nodes else ""
    builder.exact_integers = exact_integers
    try:
        return builder.root()
    except YamlRefused as error:
        position = _position(error.mark.line, error.mark.column) if error.mark else "the end"
        raise _marked_error(source, f"is refused at {position}: {error}", error.mark) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = _position(mark.line, mark.column) if mark else "somewhere"
        sentence = f"is not YAML: {position}: {error.problem}. Correct the syntax there."
        raise _marked_error(source, sentence, mark) from None
    except YAMLError as error:
        line = text.encode()[: error.position].count(b"\n") + 1 if isinstance(error, ReaderError) else 1
        sentence = f"is not YAML: line {line}: a control character. Write it as an escape in a double-quoted string."
        raise _values_error(source, sentence, line=line) from None
    finally:
        budget.nodes, budget.characters = builder.nodes, builder.characters


def load_json(data: bytes | str, *, source: str) -> Json:
    """Return decoded JSON (RFC 8259), with numbers as `load_values` returns them. The caller bounds its size.

    Raises ValuesInvalid for anything else, and for duplicate keys, numbers beyond a float64, whole numbers beyond 64
    bits, lone surrogates, bytes that are not UTF-8, and more than MAX_DEPTH levels.
    """
    text = _decode_text(data, source=source, max_bytes=None)
    try:
        value = _decode_json(text, source=source)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        position = _position(error.lineno - 1, error.colno - 1)
        raise _values_error(source, f"is not JSON: {position}: {error.msg}. Correct the syntax there.") from None
    except ScalarRefused as error:
        raise _values_error(source, f"has {error}. Write it as a string.") from None
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
        raise _values_error(source, f"has {name}, which JSON cannot represent. Leave it out or write it as a string.")

    value: Json = json.loads(
        text,
        object_pairs_hook=object_from_pairs,
        parse_int=yaml_scalars.parse_json_number,
        parse_float=yaml_scalars.parse_json_number,
        parse_constant=refuse_constant,
    )
    return value


def dump_values(values: JsonObject) -> bytes:
    """Return `values` as one line of JSON that helm's YAML parser reads as the same values.

    Raises ValuesInvalid for a key of more than MAX_KEY_BYTES.
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text) * _CHARACTER_BYTES_MAX > MAX_KEY_BYTES:
        _check_keys(values)
    return _escape_for_yaml(text).encode()


def deeper_than(value: Json, levels: int) -> bool:
    """Return whether objects and lists are nested more than `levels` deep."""
    if not isinstance(value, dict | list):
        return False
    return levels == 0 or any(
        deeper_than(member, levels - 1) for member in (value.values() if isinstance(value, dict) else value)
    )


def _escape_for_yaml(text: str) -> str:
    """Escape what JSON allows, but YAML 1.1 refuses or reads as a line break."""
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
        raise _values_error(source, f"is not UTF-8: line {line}. Save the file as UTF-8.", line=line) from None


def _position(line: int, column: int) -> str:
    return f"line {line + 1}, column {column + 1}"


def _marked_error(source: str, sentence: str, mark: Mark | None) -> ValuesInvalid:
    if mark is None:
        return _values_error(source, sentence)
    return _values_error(source, sentence, line=mark.line + 1, column=mark.column + 1)


def _values_error(source: str, sentence: str, *, line: int | None = None, column: int = 1) -> ValuesInvalid:
    error = FieldError(source, sentence, line, None if line is None else column)
    return ValuesInvalid(f"{source} {sentence}", errors=(error,))


def _too_deep_error(source: str) -> ValuesInvalid:
    return _values_error(source, f"is nested more than {MAX_DEPTH} levels deep. Flatten it.")


class Mark(Protocol):
    """A place in a text; PyYAML has two classes of them. Line and column from 0."""

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...


class _ValuesBuilder(TreeBuilder[Scalar]):
    """Builds the one object of a values file."""

    exact_integers: bool
    """Refuse whole numbers beyond 64 bits."""

    def root(self) -> JsonObject | None:
        result: Tree[Scalar] = None
        for start, value in self.roots():
            if value is None:
                continue
            if result is not None:
                raise YamlRefused(start, "a second document begins. Put all values into one document.")
            if not isinstance(value, dict):
                raise YamlRefused(start, "values must be an object, lines of `key: value`.")
            result = value
        return cast("JsonObject | None", result)

    def scalar(self, event: ScalarEvent) -> Scalar:
        try:
            value = yaml_scalars.parse_scalar(tag=event.tag, text=event.value, plain=event.implicit[0])
        except ScalarRefused as error:
            raise YamlRefused(event, f"{error}. Write it in quotes, or correct it.") from None
        if self.exact_integers and isinstance(value, float) and is_whole_number(event.value):
            raise YamlRefused(event, f"{yaml_scalars.TOO_LARGE_INTEGER}. Write it in quotes, or as a smaller number.")
        return value

    def key(self, event: Event) -> str:
        try:
            if isinstance(event, ScalarEvent):
                self.anchor_key(event)
                return yaml_scalars.parse_key(tag=event.tag, text=event.value, plain=event.implicit[0])
            value = self.alias(event, 1) if isinstance(event, AliasEvent) else []
            if isinstance(value, dict | list):
                raise YamlRefused(event, "a key that is a list or an object. Use a string.")
            return yaml_scalars.scalar_to_key(value)
        except ScalarRefused as error:
            raise YamlRefused(event, f"{error}. Write the key in quotes, or correct it.") from None

    def alias(self, event: AliasEvent, depth: int) -> Tree[Scalar]:
        return _copy(super().alias(event, depth))


def _copy(value: Tree[Scalar]) -> Tree[Scalar]:
    if isinstance(value, dict):
        return {key: _copy(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_copy(member) for member in value]
    return value
