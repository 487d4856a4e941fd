"""Reading of helm's standard error: its error, its warnings, and what must not be passed on. Pure.

Helm writes log lines in logfmt (`level=WARN msg="…" key=value`; what it prints as `warning: …` has the level INFO), and
at the end `Error: …`, which may have several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from xapp_operator.common.text import shorten
from xapp_operator.domain.masking.redaction import scrub
from xapp_operator.kube.api_errors import without_invalid_values

SECRETS_MAX: Final = 50_000
"""Texts that are looked for in a message; a values file of 1 MiB has fewer."""
WITHHELD: Final = (
    f"helm's message is not shown: the values have more than {SECRETS_MAX:,} texts that may be secrets. Look for the "
    "error with helm template, or put fewer texts into Secrets"
)
WITHHELD_UNREAD: Final = (
    "helm's message is not shown: it may contain secret values of the release, and they could not be read: "
)
MESSAGE_MAX_CHARACTERS: Final = 2000
MESSAGE_READ_CHARACTERS: Final = 8000
WARNINGS_MAX: Final = 20
WARNING_MAX_CHARACTERS: Final = 500

_ERROR: Final = re.compile(r"^Error: ", re.MULTILINE)
_STEP_PREFIX: Final = re.compile(r"^(?:INSTALLATION FAILED|UPGRADE FAILED): ")
_DEBUG_HINT: Final = "Use --debug flag to render out invalid YAML"
_LOG_LINE: Final = re.compile(r'^level=(?P<level>[A-Z]+) msg=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>\S*))')
_DELETE_ERROR: Final = re.compile(r'msg="uninstall: Failed to delete release" error="\[((?:[^"\\]|\\.)*)\]"')
_LAST_WORD: Final = re.compile(r"(?<!\S)\S*+\Z")
_FIRST_WORD: Final = re.compile(r"\S*+")
_GO_ESCAPE: Final = re.compile(r"\\(.)")
_LOCAL_PATH: Final = re.compile(r"(?<![\w:/.])/(?:[\w.@+-]+/)+[\w.@+-]*")

_HOOK_WARNING: Final = "warning: Hook "
"""In the error of a hook whose object is refused (hooks.go), which is no warning."""


def error_text(stderr: str, *, uninstall: bool = False) -> str:
    """Return helm's error without its prefix and its log lines, or all other lines if there is no `Error:`.

    The error of an uninstall names no cause, so this is the cause that `--debug` prints. It is not looked for in other
    output, where the log of a hook (`helm.sh/hook-output-log-policy`) could contain it.
    """
    if uninstall and (cause := _DELETE_ERROR.search(stderr)):
        return unescape_go_string(cause.group(1)).strip()
    starts = list(_ERROR.finditer(stderr))
    body = stderr[starts[-1].end() :] if starts else stderr
    lines = [line for line in body.splitlines() if not _LOG_LINE.match(line)]
    text = "\n".join(lines).strip().removesuffix(_DEBUG_HINT).strip()
    return _STEP_PREFIX.sub("", text).replace(_HOOK_WARNING, _HOOK_WARNING.removeprefix("warning: "), 1)


def parse_warnings(stderr: str) -> tuple[str, ...]:
    """Return helm's warnings, at most WARNINGS_MAX, without values."""
    found = (_parse_warning(line) for line in stderr.splitlines())
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))[:WARNINGS_MAX]


def presentable_message(message: str, *, secrets: Iterable[str] = ()) -> str:
    """Return `message` on one line, without local paths, `secrets`, and the values that the API server quotes.

    With more than SECRETS_MAX secrets, no message is shown, because not all of them can be looked for.
    """
    searched = tuple(islice(secrets, SECRETS_MAX + 1))
    if len(searched) > SECRETS_MAX:
        return WITHHELD
    message = scrub(_cut_middle_words(message, MESSAGE_READ_CHARACTERS), searched)
    message = without_invalid_values(_LOCAL_PATH.sub("…", message))
    return _cut_middle(" ".join(message.split()), MESSAGE_MAX_CHARACTERS)


def unescape_go_string(text: str) -> str:
    named = {"n": "\n", "t": "\t", "r": "\r"}
    return _GO_ESCAPE.sub(lambda match: named.get(match.group(1), match.group(1)), text)


def _cut_middle(text: str, characters: int) -> str:
    # Go wraps errors from the outside in: the location is at the beginning, the cause at the end.
    head = characters // 4
    return text if len(text) <= characters else f"{text[:head]} … {text[head + 3 - characters :]}"


def _cut_middle_words(text: str, characters: int) -> str:
    """Cut like `_cut_middle`, between words: a part of a secret could not be found."""
    if len(text) <= characters:
        return text
    head, tail = text[: characters // 4], text[characters // 4 - characters :]
    last, first = _LAST_WORD.search(head), _FIRST_WORD.match(tail)
    return f"{head[: last.start()] if last else head} … {tail[first.end() :] if first else tail}"


def _parse_warning(line: str) -> str:
    matched = _LOG_LINE.match(line)
    if not matched:
        return ""
    message = unescape_go_string(matched["quoted"] or matched["bare"] or "")
    if matched["level"] == "INFO" and message.startswith("warning: "):
        return shorten(_without_coalesced_value(message.removeprefix("warning: ")), WARNING_MAX_CHARACTERS)
    return shorten(message, WARNING_MAX_CHARACTERS) if matched["level"] == "WARN" else ""


def _without_coalesced_value(text: str) -> str:
    """Return a warning without the value that it ends with, in parentheses."""
    return text.partition(" (")[0] if text.rstrip().endswith(")") else text
