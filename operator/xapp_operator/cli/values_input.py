"""Values and forms from files and from `--set`. YAML means here what it means to helm."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.cli.errors import InputRefused, UsageError
from xapp_operator.domain.chart_values.values import merge_values
from xapp_operator.domain.chart_values.values_text import dump_values_text
from xapp_operator.domain.chart_values.yaml_scalars import ScalarRefused, parse_scalar
from xapp_operator.domain.chart_values.yaml_values import load_values
from xapp_operator.errors import ValuesInvalid

VALUES_MAX_BYTES: Final = 8 * 1024 * 1024
FILE_MAX_BYTES: Final = 64 * 1024 * 1024

ValuesOption = Annotated[
    list[str] | None,
    typer.Option("--values", "-f", metavar="FILE", help="Values file (YAML), - for stdin; later ones count more."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One value, such as log.level=debug; counts more than files."),
]
SetStringOption = Annotated[
    list[str] | None, typer.Option("--set-string", metavar="KEY=VALUE", help="The same, always a text.")
]


def read_file(path: str) -> bytes:
    """Return the content of a file, or of stdin for `-`. Raises UsageError if it cannot be read."""
    try:
        if path == "-":
            return sys.stdin.buffer.read(FILE_MAX_BYTES)
        with Path(path).open("rb") as file:
            return file.read(FILE_MAX_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def read_object(path: str) -> JsonObject:
    """Return the object in a YAML or JSON file. Raises InputRefused if there is none."""
    return _load(read_file(path), source=path)


def values_text(
    files: Sequence[str], settings: Sequence[str], strings: Sequence[str], *, below: JsonObject | None = None
) -> bytes | None:
    """Return the values to send as YAML, or None if none are given.

    One file alone is sent as it is, with its comments.

    Args:
        files, settings, strings: the options.
        below: what `--set` changes if there is no file.
    """
    if not files and not settings and not strings:
        return None
    if len(files) == 1 and not settings and not strings:
        return read_file(files[0])
    layers = [read_object(path) for path in files] or [below or {}]
    try:
        merged = merge_values(*layers, parse_settings(settings, strings))
    except ValuesInvalid as error:
        raise InputRefused(error.message) from error
    # An empty text is refused: it may be a file that could not be read.
    return (dump_values_text(merged) or "{}\n").encode()


def parse_settings(settings: Sequence[str], strings: Sequence[str]) -> JsonObject:
    """Return the values that `--set` and `--set-string` name, as one object.

    Raises UsageError for one that is not KEY=VALUE.
    """
    result: JsonObject = {}
    for setting in settings:
        key, value = _split(setting)
        result = merge_values(result, _nested(key, _parsed(value, setting)))
    for setting in strings:
        key, value = _split(setting)
        result = merge_values(result, _nested(key, value))
    return result


def _split(setting: str) -> tuple[list[str], str]:
    key, equals, value = setting.partition("=")
    path = [part.replace("\0", ".") for part in key.replace("\\.", "\0").split(".")]
    if not equals or not all(path):
        raise UsageError(f"{setting!r} is not KEY=VALUE, such as log.level=debug (write a dot in a name as \\.)")
    if "[" in key:
        raise UsageError(f"{key!r} names an item of a list: set the whole list (KEY='[a, b]'), or use a values file")
    return path, value


def _nested(path: Sequence[str], value: Json) -> JsonObject:
    *above, last = path
    result: JsonObject = {last: value}
    for key in reversed(above):
        result = {key: result}
    return result


def _parsed(value: str, setting: str) -> Json:
    if not value:
        return ""
    if value[0] in "[{":
        return _load(f"value: {value}", source=setting).get("value")
    try:
        return parse_scalar(tag=None, text=value, plain=True)
    except ScalarRefused as error:
        raise UsageError(f"{setting!r}: {error}") from error


def _load(data: bytes | str, *, source: str) -> JsonObject:
    try:
        return load_values(data, source=source, max_bytes=VALUES_MAX_BYTES, exact_integers=True)
    except ValuesInvalid as error:
        raise InputRefused(error.message) from error
