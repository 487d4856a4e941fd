"""Control characters in what users send: refused in names, keys and texts of one line. Pure.

A text in values may have several lines, so it may have tabs and line breaks. What else is a control character there is
refused too: NUL cannot be stored by Kubernetes and helm, and escape sequences change what a terminal shows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.api.rules import CONTROL_CHARACTERS, CONTROL_CHARACTERS_MESSAGE
from xapp_operator.common.text import escape_input
from xapp_operator.errors import FieldError, ValuesInvalid

ERRORS_MAX: Final = 20

_IN_NAME: Final = re.compile(CONTROL_CHARACTERS)
_IN_NAME_RUN: Final = re.compile(f"{CONTROL_CHARACTERS}+")
_IN_TEXT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")

KEY_MESSAGE: Final = f"is a key that {CONTROL_CHARACTERS_MESSAGE}"
TEXT_MESSAGE: Final = "must not have control characters except tabs and line breaks: remove them, or encode the text"
SURROGATE_MESSAGE: Final = "must be valid Unicode: it has half of a surrogate pair"


def has_control_characters(text: str) -> bool:
    """Return whether a name or a text of one line has characters that are not allowed in it."""
    return bool(_IN_NAME.search(text) or _LONE_SURROGATE.search(text))


def is_plain_text(text: str) -> bool:
    """Return whether a text of several lines has no control characters but tabs and line breaks."""
    return _message(text, is_multiline=True) is None


def on_one_line(text: str) -> str:
    """Return `text` with a blank for each run of control characters, without blanks around it."""
    return _IN_NAME_RUN.sub(" ", text).strip()


def control_character_errors(value: Json, *, path: str = "", multiline: Collection[str] = ()) -> Iterator[FieldError]:
    """Yield an error for each key and each text in a request that has control characters.

    Args:
        value: the decoded body.
        path: its name in errors; empty for a body whose fields are named alone.
        multiline: names of fields whose texts may have tabs and line breaks, with everything below them.
    """
    yield from _errors(value, path, multiline=multiline, is_multiline=False)


def require_plain_values(values: JsonObject, *, source: str = "values") -> None:
    """Refuse values with control characters in a key, or in a text except tabs and line breaks.

    Raises:
        ValuesInvalid: naming `source` and the paths of the first ERRORS_MAX of them.
    """
    found = _errors(values, source, multiline=(), is_multiline=True)
    errors = tuple(error for error, _ in zip(found, range(ERRORS_MAX), strict=False))
    if errors:
        raise ValuesInvalid(f"{errors[0].field} {errors[0].message}", errors=errors)


def _errors(value: Json, path: str, *, multiline: Collection[str], is_multiline: bool) -> Iterator[FieldError]:
    if isinstance(value, str):
        message = _message(value, is_multiline=is_multiline)
        if message is not None:
            yield FieldError(path, message)
    elif isinstance(value, dict):
        for key, member in value.items():
            below = f"{path}.{key}" if path else key
            if has_control_characters(key):
                below = f"{path}.{escape_input(key)}" if path else escape_input(key)
                yield FieldError(below, KEY_MESSAGE)
            yield from _errors(member, below, multiline=multiline, is_multiline=is_multiline or key in multiline)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _errors(item, f"{path}[{index}]", multiline=multiline, is_multiline=is_multiline)


def _message(text: str, *, is_multiline: bool) -> str | None:
    if _LONE_SURROGATE.search(text):
        return SURROGATE_MESSAGE
    if is_multiline:
        return TEXT_MESSAGE if _IN_TEXT.search(text) else None
    return CONTROL_CHARACTERS_MESSAGE if _IN_NAME.search(text) else None
