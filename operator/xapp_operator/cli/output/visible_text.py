"""Foreign text made harmless for a terminal. Pure.

Names, messages and logs come from charts, pods and other people. An escape sequence in them could change what a
terminal shows, or what it sends. So each control character becomes an escape that everybody can read.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

_LINE_BREAK: Final = 0x0A
_TAB: Final = 0x09
_LATIN_MAX: Final = 0xFF

_UNSAFE: Final = (
    *chain(range(0x20), range(0x7F, 0xA0)),  # control characters: Unicode Cc
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),  # marks of direction, line separators, byte order mark
    *chain(range(0x202A, 0x202F), range(0x2066, 0x206A)),  # marks that change the direction of text
    *range(0xD800, 0xE000),  # halves of surrogate pairs
)
_ESCAPES: Final = {code: f"\\x{code:02x}" if code <= _LATIN_MAX else f"\\u{code:04x}" for code in _UNSAFE}
_ON_ONE_LINE: Final = {**_ESCAPES, _LINE_BREAK: " ", _TAB: " ", 0x0D: " "}
_ON_LINES: Final = {code: text for code, text in _ESCAPES.items() if code not in {_LINE_BREAK, _TAB}}
_IN_JSON: Final = {code: f"\\u{code:04x}" for code in _ON_LINES}


def on_one_line(text: str) -> str:
    """Return `text` without control characters; line breaks and tabs become blanks."""
    return text.translate(_ON_ONE_LINE)


def on_lines(text: str) -> str:
    """Return `text` of several lines without control characters but line breaks and tabs."""
    return text.replace("\r\n", "\n").translate(_ON_LINES)


def in_json(document: str) -> str:
    """Return a JSON document with escapes that mean the same characters: JSON has such characters in strings only."""
    return document.translate(_IN_JSON)


def is_harmless(text: str) -> bool:
    """Return whether a terminal can show `text` of several lines as it is."""
    return text.translate(_ON_LINES) == text
