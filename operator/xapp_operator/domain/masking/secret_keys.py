"""Which keys of values hold secrets: the words of a key decide (`dbPassword`, `API_KEY`, `auth-token`). Pure.

If in doubt, a value is a secret. Names of Kubernetes Secrets and of keys in them (`existingSecret`, `secretKeyRef`),
and other keys such as the `key` of a toleration, are not.
"""

from __future__ import annotations

import re
from typing import Final

from xapp_operator.api.json import Json

KEY_CHARACTERS_MAX: Final = 256
"""Of a longer key, only the end is looked at."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_SECRET: Final = re.compile(
    r"password|passwd|passphrase|passcode|secret|token(?!iz)|credential|dockerconfigjson|connectionstring"
    r"|(?:api|private|secret|access|auth|ssh|encryption|signing|master|preshared|integration|subscriber)key"
    r"|(?:snmp|ro|rw|read|write|trap)community|communitystring|erlangcookie"
)
"""Matched anywhere in the joined words of a key."""

_SECRET_WORD: Final = re.compile(
    r"pass|dbpass|rootpass|userpass|adminpass|pwd|pw|pin|creds?|jwt|bearer|authorization|dsn|salt|kubeconfig|psk"
)
"""Matched against a whole word of a key."""

_SIM_WORDS: Final = frozenset({"ki", "opc", "topc", "kasme", "kausf", "kseaf", "kamf", "kgnb"})
"""Keys of a subscriber (3GPP TS 33.501, TS 35.206): the last word of a key, or its joined words (`OPc`)."""

_SIM_LETTERS: Final = frozenset({"k", "op", "ck", "ik"})
"""Short names of the same; they only count above a value of 128 bits, since they mean much else (`op: add`)."""

_KEY_128_BIT: Final = re.compile(r"(?:0x)?[0-9A-Fa-f]{8}(?:[ :-]?[0-9A-Fa-f]{8}){3}")
_DIGITS_OF_SIM_KEY: Final = 10  # a smaller number under `ki` is the gain of a controller

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

_SECRET_IDS: Final = frozenset({("token", "id"), ("secret", "id")})
"""The last words of keys that look descriptive and are half of a credential (an AppRole's `secretId`)."""


def is_secret_key(key: str) -> bool:
    """Return whether every value under `key` is a secret."""
    words = _words(key)
    if not words:
        return False
    if tuple(words[-2:]) in _SECRET_IDS:
        return True
    if _DESCRIPTIVE_WORD.fullmatch(words[-1]) or names_a_secret(key):
        return False
    if words[-1] in _KEY_WORDS and words[-2:-1] and words[-2] in _PLAIN_KEY_KINDS:
        return False
    return words[-1] in _KEY_WORDS or any(map(_SECRET_WORD.fullmatch, words)) or bool(_SECRET.search("".join(words)))


def is_secret_scalar(key: str, value: Json) -> bool:
    """Return whether `value`, which is no object and no list, is a secret because of a key that often is none."""
    words = _words(key)
    joined = "".join(words)
    if not words:
        return False
    if words[-1] in _SIM_WORDS or joined in _SIM_WORDS:
        return isinstance(value, str) or len(str(value)) >= _DIGITS_OF_SIM_KEY
    return words[-1] in _SIM_LETTERS and bool(_KEY_128_BIT.fullmatch(str(value).strip()))


def may_be_secret_scalar(key: str) -> bool:
    """Return whether `is_secret_scalar` is true for some value under `key`."""
    words = _words(key)
    return bool(words) and (not _SIM_WORDS.isdisjoint((words[-1], "".join(words))) or words[-1] in _SIM_LETTERS)


def is_reference_key(key: str) -> bool:
    """Return whether the value names something, such as a Kubernetes Secret, and a key in it."""
    words = _words(key)
    return bool(words) and (words[-1] in {"ref", "refs", "reference"} or names_a_secret(key))


def names_a_secret(key: str) -> bool:
    """Return whether the value is the name of a Kubernetes Secret: `existingSecret`, `imagePullSecrets`."""
    words = set(_words(key))
    return not {"secret", "secrets"}.isdisjoint(words) and not {"existing", "pull"}.isdisjoint(words)


def is_only_key(key: str) -> bool:
    """Return whether `key` is no more than the word key, which in a text mostly names something."""
    return "".join(_words(key)) in _KEY_WORDS


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key[-KEY_CHARACTERS_MAX:])]
