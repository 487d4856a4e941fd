"""The rule for the path of every request: it means the same to each server that handles it.

A proxy in front, the gateway and an xApp may decode a path differently, or drop parameters of a segment (`..;`). A path
whose meaning could change by that is refused.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from xapp_operator.errors import MalformedRequest

PATH_MAX_BYTES: Final = 8192

_NEEDS_CHECK: Final = re.compile(rb"[%;\\]|/\.|[^!-~]")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_DOT_SEGMENTS: Final = frozenset({b".", b".."})


PAGE_PATH: Final = r"(?!(?:api|assets|helmrepo|healthz|readyz|metrics)(?:/|$))(?:[^./]+(?:/.*)?)?"
"""What follows the first / in the path of a page: its first segment is not one of the API, and has no dot."""

_PAGE_PATH: Final = re.compile(PAGE_PATH, re.DOTALL)


def can_be_page(path: str) -> bool:
    """Return whether this decoded path is one of the dashboard, which itself tells pages from other addresses."""
    return _PAGE_PATH.fullmatch(path.removeprefix("/")) is not None


def check_path(raw_path: bytes) -> None:
    """Refuse a path whose meaning changes when it is decoded or resolved.

    Raises:
        MalformedRequest: names the rule.
    """
    if len(raw_path) > PATH_MAX_BYTES:
        raise MalformedRequest(
            f"the path is longer than {PATH_MAX_BYTES} bytes: shorten it, or send the data in the body"
        )
    if _NEEDS_CHECK.search(raw_path) is None:
        return
    if _BAD_ESCAPE.search(raw_path):
        raise MalformedRequest("the path has a % without two hexadecimal digits after it: write %25")
    decoded = unquote_to_bytes(raw_path)
    if _ESCAPE.search(decoded):
        raise MalformedRequest("the path is encoded twice, as in %252F: encode it once")
    if _CONTROL.search(decoded):
        raise MalformedRequest("the path has a control character: remove it")
    if b"\\" in decoded:
        raise MalformedRequest("the path has a backslash, which some servers treat as a slash: use /")
    try:
        decoded.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedRequest("the path is not UTF-8, or has an overlong encoding: encode it as UTF-8") from None
    if any(segment.partition(b";")[0] in _DOT_SEGMENTS for segment in decoded.split(b"/")):
        raise MalformedRequest("the path has a segment . or .., perhaps with parameters: write the resolved path")
