"""Secrets in values: they are masked, a mask that comes back keeps the old value, and texts are scrubbed. Pure.

The words of a key decide (`dbPassword`, see `secret_keys`), or what a text contains (`password: x` in a configuration
file, see `text_secrets`); if in doubt, the value is masked.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, cast
from urllib.parse import quote

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.masking.secret_keys import is_reference_key, is_secret_key, is_secret_scalar
from xapp_operator.domain.masking.text_secrets import find_secrets, is_value_of_option, mask_secrets, masked_lines
from xapp_operator.errors import FieldError, ValuesInvalid

MASK: Final = "••••••"

SCRUB_MIN: Final = 4
"""Shorter secrets are not scrubbed: the gaps in the text would show what they are."""

SCRUB_CHARACTERS_MAX: Final = 8 * 1024
SCRUB_QUICKLY_MAX: Final = 64 * 1024
"""Characters of a text of which all fragments are kept while secrets are looked for in it."""

_TEXT_MIN: Final = 6  # of a text whose key does not say that it is a secret
_BASE64_MIN: Final = 8
"""A shorter part of base64 may be in that of any text."""
_LINE_MIN: Final = 8  # a shorter line of a secret may be any word

_SECRET_IF_TEXT: Final = frozenset({"auth", "basicauth", "basic_auth", "cookie", "set-cookie"})
"""An object with one of these names has plain members (`auth.username`); a text is `user:password`, or a cookie."""

_PLAIN_MEMBERS: Final = frozenset({"name", "namespace", "type", "kind"})
_SELECTOR_MEMBERS: Final = frozenset({"operator", "effect"})
_VOLUME_SOURCES: Final = {
    "secret": frozenset({"secretName", "name", "items", "defaultMode", "optional"}),
    "serviceAccountToken": frozenset({"path", "audience", "expirationSeconds"}),
}
"""Members of volumes made of a Secret or a token, which only name it."""


def redact(values: JsonObject) -> JsonObject:
    """Return `values` with every secret replaced by MASK; true, false, null and empty texts stay."""
    return _redact_object(values, secret=False)


def unmask(new: JsonObject, old: JsonObject) -> JsonObject:
    """Return `new` with every MASK replaced by the value that `redact(old)` hid there.

    Items of lists are matched by their `name`, else by what is readable of them, else by their index if the list has
    not become shorter.

    Raises ValuesInvalid with each path at which a mask has no known value.
    """
    unmatched: list[str] = []
    result = cast("JsonObject", _unmask(new, old, redact(old), path="values", unmatched=unmatched))
    if unmatched:
        message = f"has {MASK}, which stands for no known value here: give the value itself"
        raise ValuesInvalid(
            f"{unmatched[0]} {message}", errors=tuple(FieldError(field=path, message=message) for path in unmatched)
        )
    return result


def secret_texts(values: JsonObject) -> frozenset[str]:
    """Return the texts that `redact(values)` hides, for `scrub`."""
    return frozenset(_hidden_texts(values, redact(values)))


def long_texts(value: Json) -> Iterator[str]:
    """Yield every text of `value` that is too long to be a common word, for `scrub`."""
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from long_texts(member)
    elif isinstance(value, str) and len(value) >= _TEXT_MIN:
        yield value


def scrub(text: str, secrets: Iterable[str], *, make_mask: Callable[[str], str] = lambda _: MASK) -> str:
    """Return `text` with each secret masked, also as JSON, URL-encoded, each of its lines, and in base64.

    In base64 it is also found as a part of a longer text, such as `user:password`.

    Of a longer secret, its first and its last SCRUB_CHARACTERS_MAX characters are looked for. `make_mask` returns what
    replaces a secret as it is written there.
    """
    fragments = _fragments(text) if len(text) <= SCRUB_QUICKLY_MAX else None
    parts = (part for secret in secrets for part in _searched_parts(secret))
    spellings = {
        spelling
        for part in parts
        if fragments is None or _may_be_in(fragments, part)
        for spelling in _spellings(part)
        if len(spelling) >= SCRUB_MIN
    }
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, make_mask(spelling))
    return text


def _is_volume_source(key: str, member: Json) -> bool:
    if not isinstance(member, dict) or not member.keys() <= _VOLUME_SOURCES.get(key, frozenset()):
        return False
    return not any(isinstance(each, dict) for each in member.values())


def _redact_object(value: JsonObject, *, secret: bool, reference: bool = False) -> JsonObject:
    plain = set(_PLAIN_MEMBERS if secret else ())
    if reference or not _SELECTOR_MEMBERS.isdisjoint(value) or (value.keys() == {"key", "path"}):
        plain.add("key")
    name = value.get("name")
    named_like_a_secret = isinstance(name, str) and is_secret_key(name)
    result: JsonObject = {}
    for key, member in value.items():
        if is_reference_key(key) or _is_volume_source(key, member):
            result[key] = _redact(member, secret=False, reference=True)
        elif key in plain and not isinstance(member, dict | list):
            result[key] = member
        else:
            hidden = is_secret_key(key) or (key == "value" and named_like_a_secret)
            is_object = isinstance(member, dict | list)
            hidden = hidden or (key.lower() in _SECRET_IF_TEXT and isinstance(member, str))
            hidden = hidden or (not is_object and is_secret_scalar(key, member))
            result[key] = _redact(member, secret=secret or hidden)
    return result


def _redact(value: Json, *, secret: bool, reference: bool = False) -> Json:
    if isinstance(value, dict):
        return _redact_object(value, secret=secret, reference=reference)
    if isinstance(value, list):
        before: list[Json] = [None, *value]
        return [
            _redact(member, secret=secret or _is_argument(option, member), reference=reference)
            for option, member in zip(before, value, strict=False)
        ]
    if value is None or isinstance(value, bool) or value == "":
        return value
    if secret:
        return MASK
    return _redact_text(value) if isinstance(value, str) else value


def _is_argument(option: Json, member: Json) -> bool:
    return isinstance(member, str) and is_value_of_option(option, member)


def _redact_text(text: str) -> str:
    """Return `text` without the secrets in it; MASK alone if nothing else is in it."""
    masked = mask_secrets(text, lambda _: MASK)
    return MASK if masked != text and masked.strip() == MASK else masked


def _unmask(new: Json, old: Json, redacted: Json, *, path: str, unmatched: list[str]) -> Json:
    """Return `new` unmasked; `old` is the previous value, `redacted` what was shown of it."""
    if isinstance(new, str) and MASK in new:
        restored = _unmask_text(new, old, redacted)
        if restored is None:
            unmatched.append(path)
            return new
        return restored
    if isinstance(new, dict):
        below = old if isinstance(old, dict) else {}
        shown = redacted if isinstance(redacted, dict) else {}
        return {
            key: _unmask(member, below.get(key), shown.get(key), path=f"{path}.{key}", unmatched=unmatched)
            for key, member in new.items()
        }
    if isinstance(new, list):
        below_list = old if isinstance(old, list) else []
        shown_list = redacted if isinstance(redacted, list) else []
        return _unmask_list(new, below_list, shown_list, path=path, unmatched=unmatched)
    return new


def _unmask_text(new: str, old: Json, redacted: Json) -> Json:
    """Return `new` with its masks replaced, or None if it is not certain what they stand for.

    A text may have changed between its masks. A line with a mask stands for the same line of the old text: at the same
    place from the beginning or the end, or the only such line, also with the line before it.
    """
    if new == redacted:
        return old
    if not isinstance(old, str) or redacted == MASK:
        return None
    shown = masked_lines(old, MASK)
    lines = new.split("\n")
    from_start = _common_length(lines, [line for line, _ in shown])
    from_end = _common_length(lines[::-1], [line for line, _ in shown[::-1]])
    known = _unambiguous_lines(shown)
    result: list[str] = []
    for index, line in enumerate(lines):
        if index < from_start:
            result.append(shown[index][1])
        elif index >= len(lines) - from_end:
            result.append(shown[index - len(lines)][1])
        elif MASK not in line:
            result.append(line)
        else:
            original = known.get(("", line)) or known.get((lines[index - 1] if index else "", line))
            if original is None:
                return None
            result.append(original)
    return "\n".join(result)


def _common_length(one: list[str], other: list[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))


def _unambiguous_lines(shown: list[tuple[str, str]]) -> dict[tuple[str, str], str | None]:
    """Return what lines stand for, by the line before ("" for any) and the line; None if it may be one of several."""
    known: dict[tuple[str, str], str | None] = {}
    before = ""
    for line, original in shown:
        if MASK in line:
            for key in {("", line), (before, line)}:
                known[key] = original if known.setdefault(key, original) == original else None
        before = line
    return known


def _unmask_list(
    new: list[Json], old: list[Json], redacted: list[Json], *, path: str, unmatched: list[str]
) -> list[Json]:
    indexes_match = len(new) == len(old) or new[: len(redacted)] == redacted
    by_name = _only_indexes(item.get("name") if isinstance(item, dict) else None for item in redacted)
    by_content = _only_indexes(_content(item) for item in redacted)
    result: list[Json] = []
    for index, item in enumerate(new):
        old_index = _find_old_index(item, by_name=by_name, by_content=by_content)
        if old_index is None and indexes_match and index < len(redacted):
            old_index = index
        below, shown = (None, None) if old_index is None else (old[old_index], redacted[old_index])
        result.append(_unmask(item, below, shown, path=f"{path}[{index}]", unmatched=unmatched))
    return result


def _only_indexes(keys: Iterable[Json]) -> dict[str, int | None]:
    """Return the index of each text in `keys`, or None for a text that is there several times."""
    found: dict[str, int | None] = {}
    for index, key in enumerate(keys):
        if isinstance(key, str):
            found[key] = None if key in found else index
    return found


def _content(item: Json) -> str | None:
    """Return a text that equals that of an equal item, for items by which a list is matched."""
    if isinstance(item, dict) or (isinstance(item, str) and item != MASK and MASK in item):
        return json.dumps(item, sort_keys=True)
    return None


def _find_old_index(
    item: Json, *, by_name: Mapping[str, int | None], by_content: Mapping[str, int | None]
) -> int | None:
    """Return the index that `item` had in the old list by its name or content, or None if it is not certain."""
    name = item.get("name") if isinstance(item, dict) else None
    if isinstance(name, str) and name != MASK and (named := by_name.get(name)) is not None:
        return named
    content = _content(item)
    return None if content is None else by_content.get(content)


def _hidden_texts(value: Json, redacted: Json) -> Iterator[str]:
    if isinstance(value, dict):
        below = cast("JsonObject", redacted)  # what is masked keeps its shape
        for key, member in value.items():
            yield from _hidden_texts(member, below[key])
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _hidden_texts(member, cast("list[Json]", redacted)[index])
    elif redacted == MASK and value != MASK:
        yield str(value)
    elif isinstance(value, str) and redacted != value:
        yield from (value[start:end] for start, end in find_secrets(value) if value[start:end] != MASK)


def _searched_parts(secret: str) -> tuple[str, ...]:
    if len(secret) <= 2 * SCRUB_CHARACTERS_MAX:
        return (secret,)
    return secret[:SCRUB_CHARACTERS_MAX], secret[-SCRUB_CHARACTERS_MAX:]


def _fragments(text: str) -> frozenset[str]:
    return frozenset(text[at : at + SCRUB_MIN] for at in range(len(text) - SCRUB_MIN + 1))


def _may_be_in(fragments: frozenset[str], secret: str) -> bool:
    """Return whether the beginning of any spelling of `secret` is in the text; so most are ruled out quickly."""
    start = secret[:SCRUB_MIN]
    if base64.b64encode(secret[:3].encode()[:3]).decode() in fragments:
        return True
    if any(core[:SCRUB_MIN] in fragments for core in _base64_cores(secret[:_BASE64_MIN])):
        return True
    if not start.isalnum() or not start.isascii():
        return any(spelling[:SCRUB_MIN] in fragments for spelling in _spellings(secret))
    lines = secret.splitlines()
    return any(line.strip()[:SCRUB_MIN] in fragments for line in lines)


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield base64.b64encode(secret.encode()).decode()
    yield from (core for core in _base64_cores(secret) if len(core) >= _BASE64_MIN)
    yield quote(secret, safe="")
    yield from (line.strip() for line in secret.splitlines() if len(line.strip()) >= _LINE_MIN)


def _base64_cores(secret: str) -> Iterator[str]:
    """Yield what is the same in the base64 of all texts that contain `secret`, for each place where it can begin."""
    data = secret.encode()
    for before, changed in enumerate((0, 2, 3)):  # characters that depend on what is before
        encoded = base64.b64encode(bytes(before) + data).decode()
        yield encoded[changed : (before + len(data)) * 8 // 6]
