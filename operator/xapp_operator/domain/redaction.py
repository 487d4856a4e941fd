"""Secrets in values: they are masked, a mask that comes back keeps the old value, and texts are scrubbed. Pure.

The words of a key decide (`dbPassword`, `API_KEY`, `auth-token`); if in doubt, the value is masked. Names of Kubernetes
Secrets and of keys in them (`existingSecret`, `secretKeyRef`), and other keys such as the `key` of a toleration, stay
readable.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, cast
from urllib.parse import quote

from xapp_operator.api.json import Json, JsonObject
from xapp_operator.errors import FieldError, ValuesInvalid

MASK: Final = "••••••"

SCRUB_MIN: Final = 4
"""Shorter secrets are not scrubbed: the gaps in the text would show what they are."""

_TEXT_MIN: Final = 6  # of a text whose key does not say that it is a secret
_LINE_MIN: Final = 8  # a shorter line of a secret may be any word

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_SECRET: Final = re.compile(
    r"password|passwd|passphrase|passcode|secret|token(?!iz)|credential|dockerconfigjson|connectionstring"
    r"|(?:api|private|secret|access|auth|ssh|encryption|signing|master)key"
)
"""Matched anywhere in the joined words of a key."""

_SECRET_WORD: Final = re.compile(
    r"pass|dbpass|rootpass|userpass|adminpass|pwd|pw|pin|creds?|jwt|bearer|authorization|dsn|salt|kubeconfig"
)
"""Matched against a whole word of a key."""

_KEY_WORDS: Final = frozenset({"key", "keys"})

_PLAIN_KEY_KINDS: Final = frozenset(
    {"public", "topology", "label", "annotation", "map", "sort", "routing", "partition", "primary", "foreign", "host"}
)
"""A `…Key` after one of these words is public, or names a location."""

_DESCRIPTIVE_WORD: Final = re.compile(
    r"names?|id|namespace|refs?|paths?|dir|files?|filename|enabled|created?|optional|types?|kind|size|length|bits"
    r"|algorithm|policy|ttl|expiry|expiration|expires|lifetime|seconds|minutes|hours|days|interval|audiences?|issuer"
    r"|urls?|uri|endpoint|host|port|header|prefix|suffix|format|version|mode|class|labels|annotations|provider|engine"
    r"|backend|strategy|method|mounts?|volumes?"
)
"""A key whose last word is one of these only describes a secret."""

_SECRET_IF_TEXT: Final = frozenset({"auth", "basicauth", "basic_auth"})
"""An object with one of these names has plain members (`auth.username`); a text is `user:password`."""

_PLAIN_MEMBERS: Final = frozenset({"name", "namespace", "type", "kind"})
_SELECTOR_MEMBERS: Final = frozenset({"operator", "effect"})
_VOLUME_SOURCES: Final = {
    "secret": frozenset({"secretName", "name", "items", "defaultMode", "optional"}),
    "serviceAccountToken": frozenset({"path", "audience", "expirationSeconds"}),
}
"""Members of volumes made of a Secret or a token, which only name it."""

_CREDENTIALS_IN_URL: Final = re.compile(r"://[^/\s@:]*:[^/\s@]+@")
_PEM_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")


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
        message = f"{MASK} does not stand for a known value here: give the value itself"
        raise ValuesInvalid(
            f"{unmatched[0]}: {message}", errors=tuple(FieldError(field=path, message=message) for path in unmatched)
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
    """Return `text` with each secret masked, also as JSON, as base64, URL-encoded, and each of its lines.

    `make_mask` returns what replaces a secret as it is written there.
    """
    spellings = {spelling for secret in secrets for spelling in _spellings(secret) if len(spelling) >= SCRUB_MIN}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, make_mask(spelling))
    return text


def is_secret_key(key: str) -> bool:
    """Return whether a value under `key` is masked."""
    words = _words(key)
    if not words or _DESCRIPTIVE_WORD.fullmatch(words[-1]) or _names_a_secret(words):
        return False
    if words[-1] in _KEY_WORDS and words[-2:-1] and words[-2] in _PLAIN_KEY_KINDS:
        return False
    return words[-1] in _KEY_WORDS or any(map(_SECRET_WORD.fullmatch, words)) or bool(_SECRET.search("".join(words)))


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key)]


def _names_a_secret(words: list[str]) -> bool:
    """Return whether the value is the name of a Kubernetes Secret: `existingSecret`, `imagePullSecrets`."""
    return not {"secret", "secrets"}.isdisjoint(words) and not {"existing", "pull"}.isdisjoint(words)


def _is_reference(key: str) -> bool:
    words = _words(key)
    return bool(words) and (words[-1] in {"ref", "refs", "reference"} or _names_a_secret(words))


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
        if _is_reference(key) or _is_volume_source(key, member):
            result[key] = _redact(member, secret=False, reference=True)
        elif key in plain and not isinstance(member, dict | list):
            result[key] = member
        else:
            hidden = is_secret_key(key) or (key == "value" and named_like_a_secret)
            scalar_hidden = key.lower() in _SECRET_IF_TEXT and isinstance(member, str)
            result[key] = _redact(member, secret=secret or hidden or scalar_hidden)
    return result


def _redact(value: Json, *, secret: bool, reference: bool = False) -> Json:
    if isinstance(value, dict):
        return _redact_object(value, secret=secret, reference=reference)
    if isinstance(value, list):
        return [_redact(member, secret=secret, reference=reference) for member in value]
    if value is None or isinstance(value, bool) or value == "":
        return value
    if isinstance(value, str):
        secret = secret or bool(_CREDENTIALS_IN_URL.search(value) or _PEM_PRIVATE_KEY.search(value))
    return MASK if secret else value


def _unmask(new: Json, old: Json, redacted: Json, *, path: str, unmatched: list[str]) -> Json:
    """Return `new` unmasked; `old` is the previous value, `redacted` what was shown of it."""
    if new == MASK:
        if redacted == MASK:
            return old
        unmatched.append(path)
        return new
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


def _unmask_list(
    new: list[Json], old: list[Json], redacted: list[Json], *, path: str, unmatched: list[str]
) -> list[Json]:
    indexes_match = len(new) == len(old) or new[: len(redacted)] == redacted
    result: list[Json] = []
    for index, item in enumerate(new):
        old_index = _find_old_index(item, index, redacted, indexes_match=indexes_match)
        below, shown = (None, None) if old_index is None else (old[old_index], redacted[old_index])
        result.append(_unmask(item, below, shown, path=f"{path}[{index}]", unmatched=unmatched))
    return result


def _find_old_index(item: Json, index: int, redacted: list[Json], *, indexes_match: bool) -> int | None:
    """Return the index that `item` had in the old list, or None if it is not certain."""
    if isinstance(item, dict):
        name = item.get("name")
        named = [i for i, other in enumerate(redacted) if isinstance(other, dict) and other.get("name") == name]
        if name is not None and name != MASK and len(named) == 1:
            return named[0]
        alike = [i for i, other in enumerate(redacted) if other == item]
        if len(alike) == 1:
            return alike[0]
    return index if indexes_match and index < len(redacted) else None


def _hidden_texts(value: Json, redacted: Json) -> Iterator[str]:
    if isinstance(value, dict) and isinstance(redacted, dict):
        for key, member in value.items():
            yield from _hidden_texts(member, redacted[key])
    elif isinstance(value, list) and isinstance(redacted, list):
        for member, shown in zip(value, redacted, strict=True):
            yield from _hidden_texts(member, shown)
    elif redacted == MASK and value != MASK:
        yield str(value)


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield base64.b64encode(secret.encode()).decode()
    yield quote(secret, safe="")
    yield from (line.strip() for line in secret.splitlines() if len(line.strip()) >= _LINE_MIN)
